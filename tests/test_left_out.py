"""A tokenizer that leaves out a number: what is said, drawn and counted is of the tokens that there are."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from bert_folders import embedded_folder, random_bert, write
from decoder_folders import random_decoder, write_decoder

from mha_core import load_model, predict_masked
from mha_core.continued import choose
from mha_core.corpus import Lines
from mha_core.experiments.outcomes import scores_of
from mha_core.heads.atlas.effects import raised
from mha_core.heads.corpus_run import kind_of, run
from mha_core.heads.studies import study_builtin, study_corpus
from mha_core.prediction import likeliest, of_pieces

NAMES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "dog", "sat", None, "the", None)
HOLE, LAST = 8, 9  # the last row of the embeddings is padding


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small BERT whose vocabulary lacks number 8, and ends before its embeddings do."""
    folder = tmp_path_factory.mktemp("models") / "left-out"
    write(folder, random_bert("BertForMaskedLM", vocab_size=len(NAMES)), tokenizer=())
    content = json.loads((embedded_folder() / "tokenizer.json").read_text())
    ids = {name: i for i, name in enumerate(NAMES) if name}
    content["model"]["vocab"] = ids
    for token in content["added_tokens"]:
        token["id"] = ids[token["content"]]
    for name, token in content["post_processor"]["special_tokens"].items():
        token["ids"] = [ids[name]]
    (folder / "tokenizer.json").write_text(json.dumps(content))
    return load_model(str(folder), device="cpu")


def test_the_numbers_are_those_that_pieces_have(model):
    there = tuple(i for i, name in enumerate(NAMES) if name)
    assert (model.tokenizer.identities, model.tokenizer.vocab_size) == (there, 9)
    assert [i for i in range(-1, 12) if model.tokenizer.has(i)] == list(there)
    assert model.tokenizer.ordinary() == (5, 6, 7, 9)


def test_what_no_piece_has_as_its_number_is_never_said_and_the_last_piece_may_be(model):
    scores = np.zeros(len(NAMES))
    scores[[HOLE, LAST, 10]] = 50, 40, 60
    assert choose(scores, model) == LAST
    assert {choose(scores, model, temperature=2.0, seed=seed) for seed in range(40)} == {LAST}
    assert [(one.id, one.text) for one in likeliest(scores, model, 1)] == [(LAST, "the")]
    everything = likeliest(scores, model, 9)
    assert {one.id for one in everything} == set(model.tokenizer.identities)
    assert sum(one.probability for one in everything) == pytest.approx(1)


def test_a_masked_place_is_filled_with_pieces_alone(model):
    (guesses,) = predict_masked("the [MASK] sat", model, k=9)
    assert {name for name, _ in guesses} == set(NAMES) - {None}
    assert sum(p for _, p in guesses) == pytest.approx(1, abs=1e-6)
    with torch.inference_mode():
        scores = scores_of(torch.zeros(1, model.d_model), model)
    assert scores.shape == (1, LAST + 1)
    assert scores[0].isneginf().nonzero().flatten().tolist() == [HOLE]


def test_scores_are_left_as_they_are_for_whoever_made_them(model):
    scores = torch.zeros(len(NAMES))
    of_pieces(scores, model)
    assert not scores.any()


@pytest.mark.long
def test_the_last_piece_is_counted_like_any(model, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("The cat sat.\nThe dog sat.\n")
    kind = kind_of(path, ("txt",))
    *_, done = run(path, kind, model, 10)
    assert done.result.n == 2
    read = lambda: kind.items(Lines(path), SimpleNamespace(on_error="skip"), model.tokenizer)  # noqa: E731
    assert study_corpus(read, model).done.n_texts == 2
    assert study_builtin(model, similarity=False).done.n_texts > 10


def test_a_head_raises_the_tokens_that_there_are(tmp_path):
    write_decoder(tmp_path, random_decoder("llama"))
    model = load_model(str(tmp_path), device="cpu")
    tokens = model.tokenizer.encode("the cat sat")
    place, size = [(1, 0, len(tokens) - 1)], model.tokenizer.vocab_size
    (before,) = raised(tokens, model, place, k=size)
    names = [one.text for one in before]
    hole = model.tokenizer.ids_of(names[0])[0]
    model.tokenizer.__dict__["identities"] = tuple(i for i in range(size) if i != hole)
    (after,) = raised(tokens, model, place, k=size - 1)
    assert [one.text for one in after] == names[1:]
    shift = before[0].logits / (size - 1)  # the mean without it is lower by this
    np.testing.assert_allclose(
        [a.logits - b.logits for a, b in zip(after, before[1:], strict=True)], shift, atol=1e-4
    )
