"""The atlas that comes with the program: it is of this text and these weights; a part is computed again."""

import gzip
import json

import pytest

from mha_core.cli import main
from mha_core.heads.atlas.reader import read_reader, reader_digest
from mha_core.heads.atlas.reading import looked_at, passage_tokens
from mha_core.heads.atlas.said import label, sentence
from mha_core.heads.atlas.shipped import packed, read_shipped, shipped_file
from mha_core.shelf import DECODER_DIGEST, EMBEDDED_DIGESTS

DIGESTS = {"minilm": EMBEDDED_DIGESTS["model.safetensors"], "smollm2": DECODER_DIGEST}
AGAIN = 6  # passages


@pytest.fixture(scope="module", params=DIGESTS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def there(name):
    return read_shipped(name, DIGESTS[name])


def test_it_belongs_to_this_text_and_these_weights(name, there):
    data = json.loads(gzip.decompress(shipped_file(name).read_bytes()))
    assert data["text"] == reader_digest()
    assert data["digest"] == DIGESTS[name]
    assert data["command"] == f"python -m mha_core heads atlas --model {name} --ship"
    assert read_shipped(name, "another") is None
    again = json.loads(json.dumps(packed(there, name)))
    assert again["passages"] == data["passages"]
    assert again["heads"] == data["heads"]


def test_every_head_is_in_it_with_moments_of_all_kinds(name, there):
    heads = there.atlas.heads
    assert len(heads) == {"minilm": 72, "smollm2": 270}[name]
    assert there.atlas.n_passages == len(read_reader())
    for entry in heads:
        assert 15 <= len(entry.strongest) <= 40
        assert [len(tenth) for tenth in entry.tenths] == [2] * 10
        assert len(entry.random) == 8
        assert label(entry.description)
        assert "%" in sentence(entry, "the first token")


@pytest.mark.slow
def test_moments_of_minilm_come_out_again(model):
    there = read_shipped("minilm").atlas
    texts = [one.text for one in read_reader()][:AGAIN]
    tokens = [passage_tokens(text, model) for text in texts]
    numbers = looked_at(tokens, model)
    checked = 0
    for entry in there.heads:
        for one in (*entry.strongest, *entry.random, *(m for tenth in entry.tenths for m in tenth)):
            if one.passage >= AGAIN:
                continue
            weights, lengths = numbers[one.passage]
            weight = float(weights[*entry.head, one.query, one.key])
            assert one.weight == pytest.approx(weight, rel=1e-3, abs=1e-5)
            assert one.brings == pytest.approx(
                weight * float(lengths[*entry.head, one.key]), rel=1e-3, abs=1e-5
            )
            assert there.passages[one.passage].text == tokens[one.passage].text
            checked += 1
    assert checked > 100


def test_the_command_line_gives_the_documented_json(capsys):
    assert main(["heads", "atlas", "--head", "3-9", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data) == ["model", "text", "passages", "heads"]
    assert (data["model"]["title"], data["model"]["trained"], data["text"]) == ("MiniLM", True, "the reader")
    (head,) = data["heads"]
    assert (head["layer"], head["head"]) == (3, 9)
    assert all(list(one) == ["feature", "share", "lift", "n"] for one in head["description"])
    brings = [one["brings"] for one in head["moments"]]
    assert brings == sorted(brings, reverse=True)
    assert main(["heads", "atlas", "--head", "9-9"]) == 2
