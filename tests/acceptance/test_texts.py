"""300 odd texts: their tokens, words and spans stay.

benchmarks/odd_texts.py says how they are written and which other programs were asked.
"""

import pytest

import mha_core
from benchmarks.odd_texts import MODELS, lines, typed, written


@pytest.mark.parametrize("name", MODELS)
def test_tokens_words_and_spans_stay(name, smollm2):
    model = mha_core.load_model(name, device="cpu")
    expected = {typed(line): line[name] for line in lines()}
    assert len(expected) == 300
    assert {text: written(model, text) for text in expected} == expected
