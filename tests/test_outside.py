"""Records of what was computed elsewhere: arrays of one's own, and models of transformers, cross-attention included."""

import copy
import csv
import io
import json
import pickle

import numpy as np
import pytest
import torch
from bert_folders import embedded_folder, random_bert

from mha_core import CrossRecord, InputError, Record, SizeError, export, from_transformers, record_of, trace

transformers = pytest.importorskip("transformers")
TEXT, TARGET = "The animal didn't sit.", "It slept in tiredness"
SMALL = {"vocab_size": 30522, "attn_implementation": "eager"}
SEQUENCES = {
    "T5ForConditionalGeneration": transformers.T5Config(
        d_model=15, d_kv=4, num_heads=5, d_ff=19, num_layers=2, num_decoder_layers=3, decoder_start_token_id=0, **SMALL
    ),
    "BartForConditionalGeneration": transformers.BartConfig(
        d_model=18, encoder_layers=2, decoder_layers=3, encoder_attention_heads=3, decoder_attention_heads=3,
        encoder_ffn_dim=11, decoder_ffn_dim=11, max_position_embeddings=33, decoder_start_token_id=102, **SMALL,
    ),
    "MarianMTModel": transformers.MarianConfig(
        d_model=22, encoder_layers=1, decoder_layers=2, encoder_attention_heads=11, decoder_attention_heads=11,
        encoder_ffn_dim=7, decoder_ffn_dim=7, max_position_embeddings=29, pad_token_id=0, decoder_start_token_id=0,
        **SMALL,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer():
    names = {f"{kind}_token": f"[{kind.upper()}]" for kind in ("cls", "sep", "pad", "unk", "mask")}
    path = str(embedded_folder() / "tokenizer.json")
    return transformers.PreTrainedTokenizerFast(tokenizer_file=path, **names)


def rows(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).softmax(-1)


# Arrays


def test_arrays_of_ones_own_become_a_record_with_the_tokens_given():
    weights = rows(2, 3, 5, 5)
    record = record_of(weights, ["[CLS]", "The", "tired", "##ness", "[SEP]"])
    assert isinstance(record, Record)
    np.testing.assert_array_equal(record.weights, weights.numpy())
    assert record.grid().labels == ("[CLS]", "The", "tired", "##ness", "[SEP]")
    assert [(word.text, word.segment) for word in record.tokens.words] == [("The", 0), ("tiredness", 0)]
    assert record.grid(words=True).labels == ("[CLS]", "The", "tiredness", "[SEP]")
    by_hand = weights[1, 2, 1, 2:4].sum()
    assert record.grid(words=True)["2-3"].weights[1, 2] == pytest.approx(float(by_hand))
    assert (record.model.trained, record.model.is_ours, record.model.is_causal) == (None, False, False)
    weights[0, 0, 0] = 0.2
    assert record.weights[0, 0, 0, 0] != 0.2
    assert not record.weights.flags.writeable


def test_arrays_between_two_texts_become_a_cross_record():
    weights = rows(2, 3, 2, 4)
    record = record_of(weights, ["it", "slept"], keys=["[CLS]", "tired", "##ness", "."])
    assert isinstance(record, CrossRecord)
    grid = record.grid(words=True, specials="hidden")
    assert (grid.labels, grid.key_labels) == (("it", "slept"), ("tiredness", "."))
    np.testing.assert_allclose(grid.weights[..., 0], weights[..., 1:3].sum(-1), rtol=1e-6)
    np.testing.assert_allclose(
        record.grid(True, "renormalised").weights.sum(-1), np.ones((2, 3, 2)), rtol=1e-6
    )
    split = record_of(rows(2, 3, 3, 4), ["it", "tired", "##ness"], keys=list("abcd"))
    np.testing.assert_allclose(
        split.grid(words=True).weights[..., 1, :], split.weights[..., 1:, :].mean(2), rtol=1e-6
    )
    best = record.rank("slept", "tiredness")[0]
    given = weights[..., 1, 1:3].sum(-1)
    assert (best.layer, best.head) == divmod(int(given.argmax()), 3)


@pytest.mark.parametrize(
    ("weights", "tokens", "options"),
    [
        (rows(2, 3, 4, 4), ["a", "b"], {}),
        (rows(3, 4, 4), list("abcd"), {}),
        (2 * rows(1, 1, 2, 2), ["a", "b"], {}),
        (-rows(1, 1, 2, 2), ["a", "b"], {}),
        (rows(1, 1, 2, 2), "ab", {}),
        (rows(1, 1, 2, 2), ["a", 3], {}),
        ("abc", ["a"], {}),
        ([rows(1, 2, 2), rows(2, 2, 2)], ["a", "b"], {}),
        (rows(1, 1, 2, 2), ["a", "b"], {"causal": True}),
    ],
)
def test_arrays_that_cannot_be_attention_are_refused_in_a_sentence(weights, tokens, options):
    with pytest.raises((InputError, SizeError)) as caught:
        record_of(weights, tokens, **options)
    assert "\n" not in str(caught.value)


# Models of transformers


def test_an_encoder_gives_its_attentions_with_the_readers_own_words(tokenizer):
    theirs = random_bert()
    traced = from_transformers(theirs, tokenizer)
    record = trace(TEXT, traced, pair="It was tiredness.")
    with torch.no_grad():
        output = theirs(**tokenizer(TEXT, "It was tiredness.", return_tensors="pt"), output_attentions=True)
    np.testing.assert_array_equal(record.weights, torch.cat(output.attentions).numpy())
    assert record.tokens.words[2].text == "didn't"
    assert record.grid(words=True).labels == (
        "[CLS]", "The", "animal", "didn't", "sit", ".", "[SEP]", "It", "was", "tiredness", ".", "[SEP]",
    )  # fmt: skip
    assert record.tokens.segments == (0,) * 9 + (1,) * 6
    assert (record.model.d_model, record.model.d_k) == (15, 3)


@pytest.mark.parametrize("kind", SEQUENCES)
def test_an_encoder_decoder_gives_three_records_and_the_cross_one_between_two_lines(kind, tokenizer):
    torch.manual_seed(0)
    theirs = getattr(transformers, kind)(SEQUENCES[kind]).eval()
    found = from_transformers(theirs, tokenizer)(TEXT, target=TARGET)
    source = tokenizer(TEXT, return_tensors="pt")
    labels = tokenizer(text_target=TARGET, return_tensors="pt").input_ids
    with torch.no_grad():
        output = theirs(**source, labels=labels, output_attentions=True)  # it shifts the labels itself
    for record, name in ((found.encoder, "encoder"), (found.decoder, "decoder"), (found.cross, "cross")):
        expected = torch.cat(output[f"{name}_attentions"])
        np.testing.assert_allclose(record.weights, expected.numpy(), atol=1e-6)
    assert (found.encoder.model.is_causal, found.decoder.model.is_causal) == (False, True)
    width = {"T5ForConditionalGeneration": 4, "BartForConditionalGeneration": 6, "MarianMTModel": 2}[kind]
    assert {record.model.d_k for record in (found.encoder, found.decoder, found.cross)} == {width}
    start = tokenizer.convert_ids_to_tokens(theirs.config.decoder_start_token_id)
    assert found.cross.grid(words=True).labels == (start, "[CLS]", *TARGET.split())
    assert found.cross.grid(words=True).key_labels[3] == "didn't"
    assert found.cross.grid().units[0].special
    words, pieces = (each[..., 0] for each in (found.cross.grid(words=True).weights, found.cross.weights))
    np.testing.assert_array_equal(words[..., 4], pieces[..., 4])  # "in"; then "tired", "##ness"
    np.testing.assert_allclose(words[..., 5], (pieces[..., 5] + pieces[..., 6]) / 2, rtol=1e-6)


def test_a_cross_record_is_written_read_shown_and_pickled(tokenizer):
    kind = "T5ForConditionalGeneration"
    theirs = getattr(transformers, kind)(SEQUENCES[kind]).eval()
    cross = from_transformers(theirs, tokenizer)(TEXT, target=TARGET).cross
    grid = cross.grid(words=True)
    table = list(csv.DictReader(io.StringIO(export.weights_csv(grid, [(2, 4)]))))
    n = len(grid.key_labels)
    assert len(table) == len(grid) * n
    assert (table[n + 3]["query_text"], table[n + 3]["key_text"]) == ("[CLS]", "didn't")
    assert np.float32(table[n + 3]["weight"]) == grid.weights[2, 4, 1, 3]
    content = json.loads(export.weights_json(cross, grid))
    assert (content["text"], content["key_text"], content["key_units"][3]) == (TARGET, TEXT, "didn't")
    frame = cross["3-5"].to_frame()
    assert frame.shape == cross.weights.shape[2:]
    assert list(frame.columns) == list(cross.grid().key_labels)
    assert len(repr(cross).splitlines()) == 5
    for other in (pickle.loads(pickle.dumps(cross)), copy.deepcopy(cross)):  # noqa: S301
        np.testing.assert_array_equal(other.weights, cross.weights)
        assert not other.weights.flags.writeable
