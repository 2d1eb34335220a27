"""300 odd texts: their tokens, words and spans stay, and what holds of every text holds of them.

benchmarks/odd_texts.py says how they are written and which other programs were asked.
"""

import unicodedata

import pytest

import mha_core
from benchmarks.odd_texts import MODELS, lines, typed, written

LINES = lines()


@pytest.fixture(scope="module")
def models(model, smollm2):
    return {"minilm": model, "smollm2": smollm2, "classroom": mha_core.load_model("classroom", device="cpu")}


@pytest.mark.parametrize("name", MODELS)
def test_tokens_words_and_spans_stay(name, models):
    expected = {typed(line): line[name] for line in LINES}
    assert len(expected) == 300
    assert {text: written(models[name], text) for text in expected} == expected


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("text", ["café's café-bar", "naïve Ångström", "=\u0338 x\u0338", "여 각", "ḗ's"])
def test_words_are_the_same_however_their_accents_are_written(name, text, models):
    composed, apart = (
        [unicodedata.normalize("NFC", word.text) for word in models[name].tokenizer.encode(form).words]
        for form in (unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text))
    )
    assert composed == apart


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("one", ["👩‍👩‍👧", "👍🏽", "🇫🇷", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏳️‍🌈", "#️⃣", "#⃣", "می‌خواهم", "ශ්‍රී", "≠"])
def test_what_the_eye_sees_as_one_is_one_word(name, one, models):
    text = f"the {unicodedata.normalize('NFD', one)} cat"
    assert [word.text for word in models[name].tokenizer.encode(text).words] == text.split()


def test_a_text_that_is_cut_before_a_number_has_no_empty_word_at_its_end(models):
    assert models["smollm2"].tokenizer.encode("3,000.5 " * 200).words[-1].text
