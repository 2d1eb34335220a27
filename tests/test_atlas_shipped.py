"""The atlas that comes with the program: it is of this text and these weights, and a part of it is computed again."""

import gzip
import json

import pytest

from mha_core.heads.atlas.passages import attention_and_norms, own_digest, own_passages, passage_tokens
from mha_core.heads.atlas.shipped import packed, read_shipped, shipped_file
from mha_core.models.model_list import DECODER_DIGEST, EMBEDDED_DIGESTS

DIGESTS = {"minilm": EMBEDDED_DIGESTS["model.safetensors"], "smollm2": DECODER_DIGEST}
AGAIN = 6  # passages


@pytest.mark.parametrize("name", DIGESTS)
def test_it_belongs_to_this_text_and_these_weights_and_names_what_each_example_raises(name):
    shipped = read_shipped(name, DIGESTS[name])
    data = json.loads(gzip.decompress(shipped_file(name).read_bytes()))
    assert (data["text"], data["digest"]) == (own_digest(), DIGESTS[name])
    assert read_shipped(name, "another") is None
    assert json.loads(json.dumps(packed(shipped))) == data
    rows = [row for row in shipped.atlas.example_rows() if row["raises"]]
    effects = [effect for entry in shipped.atlas.heads for effect in entry.effects]
    for row, effect in zip(rows, effects, strict=True):
        assert [row["raises"], row["lowers"]] == [[token.text for token in side] for side in effect]


@pytest.mark.slow
def test_examples_of_minilm_come_out_again(model):
    frame = read_shipped("minilm").atlas.to_frame()
    tokens = [passage_tokens(text, model) for text in own_passages()[:AGAIN]]
    numbers = attention_and_norms(tokens, model)
    again = frame[frame.passage < AGAIN]
    assert len(again) > 100
    for one in again.itertuples():
        weights, norms = (found[one.layer - 1, one.head - 1] for found in numbers[one.passage])
        weight = float(weights[one.query, one.key])
        assert one.weight == pytest.approx(weight, rel=1e-3, abs=1e-5)
        assert one.output_norm == pytest.approx(weight * float(norms[one.key]), rel=1e-3, abs=1e-5)
