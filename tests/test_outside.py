"""Records of what was computed elsewhere: arrays of one's own, and models of transformers, cross-attention included."""

import copy
import csv
import io
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from bert_folders import embedded_folder, random_bert

from mha_core import (
    CrossRecord,
    HeadScopeError,
    InputError,
    ModelError,
    Record,
    SizeError,
    export,
    from_transformers,
    record_of,
    trace,
)
from mha_core.given import spelt_by
from mha_core.picture.about import columns
from mha_core.record import ENGINE

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


def test_files_of_cross_attention_have_both_texts_each_under_its_name():
    record = record_of(rows(1, 1, 1, 2), ["Katze"], keys=["The", "cat"])
    said = columns(record, record.grid())
    assert (said["text"], said["source"]) == ("Katze", "The cat")


def test_a_piece_after_a_separator_goes_on_with_no_word():
    record = record_of(rows(1, 1, 4, 4), ["tired", "[SEP]", "##ness", "[SEP]"])
    assert record.grid(words=True).labels == ("tired", "[SEP]", "##ness", "[SEP]")


def test_signs_of_spaces_and_of_a_word_s_end_are_read_as_spaces():
    names = ["<s>", "low</w>", "er", "case</w>", "</s>"]
    special = [True, False, False, False, True]
    assert spelt_by(names, special) == ("low ercase", [(0, 0), (0, 3), (4, 6), (6, 10), (0, 0)])
    assert spelt_by(["▁low", "er", "Ġcase"], [False] * 3) == ("lower case", [(0, 3), (3, 5), (6, 10)])


def test_layers_as_transformers_gives_them_and_a_decoder_is_seen_to_be_one():
    layers = tuple(rows(1, 3, 4, 4, seed=i).tril() for i in range(2))
    layers = tuple(layer / layer.sum(-1, keepdim=True) for layer in layers)
    record = record_of(layers, ["a", "b", "c", "d"])
    np.testing.assert_array_equal(record.weights[1], layers[1][0].numpy())
    assert record.model.is_causal
    assert not record_of(layers, list("abcd"), causal=False).model.is_causal
    assert not record_of([[[[1.0]]]], ["a"]).model.is_causal, "one token could look nowhere else"


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


def test_a_cross_record_tells_the_words_of_its_rows_from_those_of_its_columns():
    weights = [[[[0.1, 0.8, 0.1], [0.7, 0.2, 0.1]]]]
    record = record_of(weights, ["[CLS]", "it"], keys=["[CLS]", "tired", "."])
    assert "strongest links: 1-1 it → tired 20.0 %\n" in repr(record)
    with pytest.raises(
        InputError, match=r"^'dog' is not in the sentence; its tokens are: \[CLS\] tired \.\.$"
    ):
        record.rank("it", "dog", words=False)


def test_a_cross_record_is_frozen_and_made_of_rows_that_sum_to_one():
    made = record_of(rows(1, 1, 2, 3), ["it", "slept"], keys=["[CLS]", "a", "b"])
    given = np.array(made.weights)
    assert not CrossRecord(made.model, made.queries, made.keys, given).weights.flags.writeable
    with pytest.raises(HeadScopeError, match="rows that do not sum to one"):
        CrossRecord(made.model, made.queries, made.keys, made.weights * np.float32(0.5))
    assert (
        made.said == "cross-attention, rows 'it slept', 2 tokens, 2 words; columns 'a b', 3 tokens, 2 words"
    )


def test_a_row_that_looks_at_special_tokens_alone_keeps_nothing():
    whole = torch.tensor([[[[1.0, 0, 0], [0.5, 0.2, 0.3]]]])
    grid = record_of(whole, ["it", "slept"], keys=["[CLS]", "a", "b"]).grid(specials="renormalised")
    np.testing.assert_allclose(grid.weights[0, 0], [[0, 0], [0.4, 0.6]], rtol=1e-6)


@pytest.mark.parametrize(
    ("weights", "tokens", "options", "message"),
    [
        (rows(2, 3, 4, 4), ["a", "b"], {}, r"shape \(2, 3, 4, 4\) were given with 2 tokens of rows"),
        (rows(3, 4, 4), list("abcd"), {}, r"Weights are \(layer, head, query, key\)"),
        (2 * rows(1, 1, 2, 2), ["a", "b"], {}, "every row sums to one; these are not"),
        (-rows(1, 1, 2, 2), ["a", "b"], {}, "from 0 to 1"),
        (rows(1, 1, 2, 2), "ab", {}, "Tokens are a list of strings; str was given"),
        (rows(1, 1, 2, 2), ["a", 3], {}, "Token 1 is 3; tokens are strings"),
        ("abc", ["a"], {}, "an array of numbers; str was given"),
        ([rows(1, 2, 2), rows(2, 2, 2)], ["a", "b"], {}, "have different shapes"),
        (rows(1, 1, 2, 2), ["a", "b"], {"causal": True}, "look at later tokens"),
    ],
)
def test_arrays_that_cannot_be_attention_are_refused_in_a_sentence(weights, tokens, options, message):
    with pytest.raises((InputError, SizeError), match=message) as caught:
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


def test_what_another_library_computed_says_so_everywhere(tokenizer):
    record = from_transformers(random_bert(), tokenizer)(TEXT)
    by = f"transformers {transformers.__version__}"
    assert record.model.computed_by == by
    assert record.versions["transformers"] == transformers.__version__
    assert f"computed by: {by}, not by HeadScope's engine" in repr(record)
    assert "not by HeadScope" in record._repr_html_()
    assert json.loads(export.weights_json(record, record.grid()))["model_details"]["computed_by"] == by
    assert columns(record, record.grid())["computed_by"] == by
    ours = replace(record, model=replace(record.model, computed_by=ENGINE))
    assert "computed_by" not in columns(ours, ours.grid()), (
        "of the engine's own numbers the model says enough"
    )


def test_a_decoder_sees_nothing_that_comes_later(tokenizer):
    config = transformers.GPT2Config(n_embd=15, n_layer=2, n_head=3, n_positions=21, **SMALL)
    record = from_transformers(transformers.GPT2LMHeadModel(config).eval(), tokenizer)(TEXT)
    assert record.model.is_causal
    assert record.grid().visible is not None


@pytest.mark.parametrize(("shared", "kept", "together"), [(2, 2, 3), (6, 6, 1), (None, None, 1)])
def test_heads_that_share_keys_in_another_library_s_model_are_known_to(tokenizer, shared, kept, together):
    sizes = {"hidden_size": 24, "intermediate_size": 13, "num_hidden_layers": 1, "num_attention_heads": 6}
    config = transformers.Qwen2Config(**sizes, num_key_value_heads=shared or 6, **SMALL)
    theirs = transformers.Qwen2Model(config).eval()
    if shared is None:
        del config.num_key_value_heads
    record = from_transformers(theirs, tokenizer)(TEXT)
    assert (record.model.n_kv_heads, record.grid().sharing) == (kept, together)


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


class SlowTokenizer:
    """A tokenizer as Marian's: pieces with "▁" for a space, and no spans."""

    all_special_ids = (0,)
    pieces = ("</s>", "▁The", "▁ani", "mal", "▁sat", ".")

    def __call__(self, text=None, text_target=None, **options):
        assert not options
        return {"input_ids": [1, 2, 3, 4, 5, 0], "attention_mask": [1] * 6}

    def convert_ids_to_tokens(self, ids):
        return [self.pieces[i] for i in ids]


def test_a_tokenizer_that_tells_no_spans_spells_the_text_by_its_pieces():
    config = transformers.MarianConfig(**{**SEQUENCES["MarianMTModel"].to_dict(), "vocab_size": 7})
    config._attn_implementation = "eager"
    traced = from_transformers(transformers.MarianMTModel(config).eval(), SlowTokenizer())
    found = traced("The animal sat.", target="The animal sat.")
    assert found.encoder.tokens.text == "The animal sat."
    assert found.encoder.grid(words=True).labels == ("The", "animal", "sat", ".", "</s>")
    assert found.cross.grid(words=True).labels == ("</s>", "The", "animal", "sat", ".")
    spaced = traced("The animal sat.", target="The  animal   sat.")
    assert spaced.decoder.tokens.text == "The animal sat.", (
        "spelt by the pieces, whose places are in that text"
    )
    assert spaced.cross.grid(words=True).labels == ("</s>", "The", "animal", "sat", ".")
    with pytest.raises(InputError, match="give one text"):
        traced("a", pair="b", target="c")


@pytest.mark.parametrize(("said", "most"), [(512, 37), (20, 20), (10**30, 37)])
def test_a_text_has_the_fewest_tokens_that_model_and_tokenizer_take(tokenizer, said, most):
    other = copy.deepcopy(tokenizer)
    other.model_max_length = said
    traced = from_transformers(random_bert(), other)
    assert traced("it " * (most - 2)).model.max_tokens == most
    with pytest.raises(SizeError, match=f"has {most + 1} tokens; BertModel takes {most} at most"):
        traced("it " * (most - 1))


def test_a_model_that_gives_no_attentions_or_is_asked_wrongly_says_so_in_a_sentence(tokenizer):
    bert = random_bert()
    traced = from_transformers(bert, tokenizer)
    for call, error, message in (
        (lambda: traced(TEXT, target="x"), InputError, "BertModel takes no target"),
        (lambda: traced(" "), InputError, "sentence is empty"),
        (lambda: traced(b"It"), InputError, "A text is asked for and bytes was given"),
        (lambda: traced("it " * 40), SizeError, "has 42 tokens; BertModel takes 37 at most"),
        (
            lambda: trace(TEXT, traced, gates=np.ones((3, 5))),
            InputError,
            "A run can be changed in models that this engine computes",
        ),
        (
            lambda: from_transformers("bert", tokenizer),
            InputError,
            "A model of transformers is asked for; str",
        ),
        (lambda: from_transformers(bert, "bert"), InputError, "tokenizer is asked for; str"),
    ):
        with pytest.raises(error, match=message):
            call()
    bert.train()
    with pytest.raises(ModelError, match="training mode"):
        traced(TEXT)
    bert.eval()
    bert.config._attn_implementation = "sdpa"
    with pytest.raises(
        ModelError, match="by 'sdpa', which gives no weights; load it with attn_implementation='eager'"
    ):
        traced(TEXT)
    kind = "T5ForConditionalGeneration"
    with pytest.raises(InputError, match="reads a source and a target; give target="):
        trace(TEXT, from_transformers(getattr(transformers, kind)(SEQUENCES[kind]).eval(), tokenizer))


def test_a_model_whose_output_has_no_weights_is_refused(tokenizer):
    class Silent(torch.nn.Linear):
        config = type("Config", (), {})()

        def forward(self, **inputs):
            return type("Output", (), {"attentions": (None,)})()

    with pytest.raises(ModelError, match="Silent gave no attention weights"):
        from_transformers(Silent(1, 1).eval(), tokenizer)(TEXT)


def test_where_layers_are_mixed_a_row_names_neither_layer_nor_head():
    grid = record_of(np.full((1, 1, 2, 2), 0.5), ["a", "b"]).grid()
    places = {
        per: next(iter(csv.DictReader(io.StringIO(export.weights_csv(grid, [(0, 0)], per=per)))))
        for per in ("head", "layer", "model")
    }
    assert {per: (row["layer"], row["head"]) for per, row in places.items()} == {
        "head": ("1", "1"), "layer": ("1", ""), "model": ("", ""),
    }  # fmt: skip
