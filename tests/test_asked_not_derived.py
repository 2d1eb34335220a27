"""What a tokenizer, settings or a model's output say is taken as it is: inputs, padding, windows, starts, names."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from bert_folders import bert_tokenizer, write
from test_any_model import BART, BERT, DECODERS, ENCODERS, HYBRIDS, N_VOCAB, TEXT, random_model

import mha_core
from mha_core import (
    HeadScopeError,
    InputError,
    ModelError,
    from_transformers,
    load_model,
    record_from_weights,
    trace,
)
from mha_core.causal import ablate
from mha_core.cli import main
from mha_core.models import load

transformers = pytest.importorskip("transformers")
GPT2 = {"vocab_size": N_VOCAB, "n_embd": 32, "n_layer": 2, "n_head": 4}


class Adding(transformers.PreTrainedTokenizerFast):
    """A tokenizer that makes its own segments (three kinds), positions or padding."""

    adds = "segments"

    def __call__(self, *texts, return_tensors=None, **options):
        if self.adds == "padding":
            options |= {"padding": "max_length", "max_length": 30}
        result = super().__call__(*texts, **options)
        ids = result["input_ids"]
        rows = ids if isinstance(ids[0], list) else [ids]
        if self.adds == "segments":
            added = [[{101: 2, 102: 1}.get(i, 0) for i in row] for row in rows]
            result["token_type_ids"] = added if rows is ids else added[0]
        elif self.adds == "positions":
            added = [[*range(0, 2 * len(row), 2)] for row in rows]
            result["position_ids"] = added if rows is ids else added[0]
        return result.convert_to_tensors(return_tensors, return_tensors is not None)


def tokenizer(adds="", **options):
    return bert_tokenizer(type("Own", (Adding,), {"adds": adds}) if adds else None, **options)


def outputs(model, given):
    with torch.no_grad():
        return model(**given, output_attentions=True, return_dict=True)


@pytest.mark.parametrize(
    ("kind", "settings", "adds", "texts"),
    [
        ("Bert", {**BERT, "type_vocab_size": 3, "initializer_range": 1.0}, "segments", (TEXT,)),
        ("Bert", {**BERT, "type_vocab_size": 3, "initializer_range": 1.0}, "segments", (TEXT, "It sat.")),
        ("XLNet", ENCODERS["XLNet"], "segments", (TEXT,)),
        ("GPT2", GPT2, "segments", (TEXT,)),
        ("Bert", {**BERT, "initializer_range": 1.0}, "positions", (TEXT,)),
        ("Qwen3", DECODERS["Qwen3"], "positions", (TEXT,)),
    ],
)
def test_all_that_a_tokenizer_makes_reaches_the_model(kind, settings, adds, texts):
    model, own = random_model(kind, settings), tokenizer(adds)
    record = trace(texts[0], from_transformers(model, own), pair=texts[1] if texts[1:] else None)
    expected = torch.cat(outputs(model, own(*texts, return_tensors="pt")).attentions).numpy()
    np.testing.assert_allclose(record.weights, expected, atol=1e-5)
    plain = torch.cat(outputs(model, {"input_ids": torch.tensor([record.tokens.ids])}).attentions).numpy()
    assert np.abs(record.weights - plain).max() > 1e-5


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", ["Qwen3", "Bert"])
def test_padding_is_what_the_mask_says_and_causality_what_the_model_says(kind, side):
    model, own = random_model(kind, (ENCODERS | DECODERS)[kind]), tokenizer(padding_side=side)
    batch = own([TEXT, "It sat."], padding=True, return_tensors="pt")
    layers = [layer[1:2] for layer in outputs(model, batch).attentions]
    names, mask = own.convert_ids_to_tokens(batch["input_ids"][1]), batch["attention_mask"][1]
    real = mask.bool().numpy()
    alone = torch.cat(layers).numpy()[:, :, real][..., real]
    causal = {"causal": kind == "Qwen3"}
    for options in ({"mask": mask, **causal}, {"mask": mask.tolist(), "model": model}, causal):
        record = record_from_weights(layers, names, **options)
        np.testing.assert_allclose(record.weights, alone, atol=1e-5)
        assert record.model.is_causal == (kind == "Qwen3")
        assert [piece.text for piece in record.tokens.pieces] == ["[CLS]", "it", "sat", ".", "[SEP]"]
    if side == "left":  # padded with a token of another name, as GPT-2 is with its end of text
        record = record_from_weights(layers, [name.replace("PAD", "SEP") for name in names], model=model)
        np.testing.assert_allclose(record.weights, alone, atol=1e-5)
        assert record.model.is_causal == (kind == "Qwen3")
    padded = trace(TEXT, from_transformers(model, tokenizer("padding", padding_side=side)))
    assert [word.text for word in padded.tokens.words] == TEXT.split()
    if side == "right" or kind == "Qwen3":  # a BERT counts positions from the first token, padding or not
        np.testing.assert_allclose(
            padded.weights, trace(TEXT, from_transformers(model, own)).weights, atol=1e-5
        )


@pytest.mark.parametrize(
    ("side", "first", "unread"), [("left", "was", "The animal"), ("right", "The", "was too tired")]
)
@pytest.mark.parametrize("given", [TEXT, TEXT.split()])
def test_a_cut_says_the_side_and_the_words(side, first, unread, given):
    model = random_model("Bert", {**BERT, "max_position_embeddings": 5})
    record = trace(given, from_transformers(model, tokenizer(truncation_side=side)))
    assert (record.tokens.words[0].text, record.tokens.n_cut) == (first, 10)
    assert unread in repr(record)
    paired = trace(TEXT, from_transformers(model, tokenizer(truncation_side=side)), pair="it sat down")
    assert paired.tokens.n_cut + 5 == len(tokenizer()(TEXT, "it sat down").input_ids)


@pytest.mark.parametrize("place", ["settings", "generation", "decoder"])
def test_the_decoders_start_is_where_any_settings_name_it(place):
    decoder = {**BERT, "bos_token_id": None, "is_decoder": True, "add_cross_attention": True}
    parts = [transformers.BertConfig(**settings) for settings in (BERT, decoder)]
    config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(*parts)
    model = transformers.EncoderDecoderModel(config).eval()
    model.set_attn_implementation("eager")
    traced = from_transformers(model, tokenizer())
    with pytest.raises(ModelError, match="cls_token_id"):
        traced(TEXT, target="It sat.")
    named = {"settings": model.config, "generation": model.generation_config, "decoder": model.config.decoder}
    named[place].decoder_start_token_id = 101
    records = traced(TEXT, target="It sat.")
    ids = torch.tensor([records.decoder.tokens.ids])
    assert ids[0, 0] == 101
    expected = outputs(model, {**tokenizer()(TEXT, return_tensors="pt"), "decoder_input_ids": ids})
    for part in ("encoder", "decoder", "cross"):
        given = torch.cat(expected[f"{part}_attentions"]).numpy()
        np.testing.assert_allclose(getattr(records, part).weights, given, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "settings", "n_kv_heads"),
    [
        ("Falcon", {"multi_query": True, "new_decoder_architecture": False}, 1),
        ("Falcon", {"num_kv_heads": 2, "new_decoder_architecture": True}, 2),
        ("GPTBigCode", {**GPT2, "multi_query": True}, 1),
        ("Mistral", DECODERS["Mistral"], 2),
        ("GPT2", GPT2, 4),
    ],
)
def test_the_number_of_key_heads_is_known_by_any_name(kind, settings, n_kv_heads):
    sizes = {"vocab_size": N_VOCAB, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = random_model(kind, (sizes if kind == "Falcon" else {}) | settings)
    assert from_transformers(model, tokenizer()).n_kv_heads == n_kv_heads


@pytest.mark.parametrize(
    "text",
    [
        "[CLS] the cat [SEP]", "the cat [SEP] it sat", "[CLS] the cat [SEP] it sat [SEP]", "the [MASK] sat",
        "a [SEP] b [SEP] c", "a [PAD] b",
    ],
)  # fmt: skip
def test_a_frame_that_is_typed_out_is_read_as_the_engine_reads_it(text, model):
    traced = from_transformers(random_model("Bert", BERT), tokenizer())
    theirs, ours = trace(text, traced).tokens, trace(text, model).tokens
    assert (theirs.ids, theirs.words, theirs.segments) == (ours.ids, ours.words, ours.segments)
    assert [(p.special, p.role) for p in theirs.pieces] == [(p.special, p.role) for p in ours.pieces]


def changed(place, value):
    weights = torch.full((2, 2, 4, 4), 0.25)
    weights[place] = value
    return weights


@pytest.mark.parametrize(
    ("weights", "place", "number", "cure"),
    [
        (changed((1, 0, 2), 0), "'c'.*2-1", "0.000", "mask="),
        (changed((1, 0, 2, 1), float("nan")), "'c'.*2-1", "NaN", "float32"),
        (changed((0, 1, 3, 0), 1.3), "'d'.*1-2", "2.050", "eval"),
        (changed(..., 0.24625), "'a'.*1-1", "0.985", "half precision"),
        (changed(..., 0.1875), "'a'.*1-1", "0.750", "sinks=True"),
        (changed((0, 1, 3, 0), -0.5), "'d'.*1-2", "-0.5", "softmax"),
        (changed((0, 1, 3, 0), float("inf")), "'d'.*1-2", "inf", "float32"),
        (torch.nn.functional.dropout(changed((0, 0, 0, 0), 0.25), 0.1), "of head", "1.", "eval"),
    ],
)
def test_a_row_that_is_no_attention_is_named_with_its_sum_and_reason(weights, place, number, cure):
    with pytest.raises(InputError, match=place) as caught:
        record_from_weights(weights, list("abcd"))
    assert number in str(caught.value)
    assert cure in str(caught.value)


def test_a_whole_output_is_taken_and_a_batch_is_named():
    model, own = random_model("Qwen3", DECODERS["Qwen3"]), tokenizer()
    given = own([TEXT, TEXT], return_tensors="pt")
    both, names = outputs(model, given), own.convert_ids_to_tokens(given["input_ids"][0])
    for output in (both, both.attentions):
        with pytest.raises(HeadScopeError, match=r"2 texts.*\[layer\[:1\] for layer in output\.attentions\]"):
            record_from_weights(output, names)
    output = outputs(model, own(TEXT, return_tensors="pt"))
    weights = record_from_weights(output, names, model=model).weights
    np.testing.assert_array_equal(weights, torch.cat(output.attentions).numpy())
    with pytest.raises(InputError, match="output_attentions=True"):
        record_from_weights(model(**own(TEXT, return_tensors="pt")), names)
    bart = random_model("Bart", BART, sequence=True)
    with pytest.raises(InputError, match=r"output\.decoder_attentions"):
        record_from_weights(outputs(bart, own(TEXT, return_tensors="pt")), names)


@pytest.mark.parametrize("gives", [True, False])
def test_a_registered_attention_function_is_tried(gives):
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, eager_mask
    from transformers.models.qwen3.modeling_qwen3 import eager_attention_forward

    def attention(*arguments, **options):
        output, weights = eager_attention_forward(*arguments, **options)
        return output, weights if gives else None

    AttentionInterface.register("own", attention)
    AttentionMaskInterface.register("own", eager_mask)
    model = random_model("Qwen3", DECODERS["Qwen3"])
    expected = trace(TEXT, from_transformers(model, tokenizer())).weights
    model.set_attn_implementation("own")
    if gives:
        weights = trace(TEXT, from_transformers(model, tokenizer())).weights
        np.testing.assert_allclose(weights, expected, atol=1e-6)
    else:
        with pytest.raises(ModelError, match="eager"):
            trace(TEXT, from_transformers(model, tokenizer()))


@pytest.mark.parametrize("options", [{}, {"use_cache": False}, {"cache_implementation": "static"}])
@pytest.mark.parametrize("kind", ["GPT2", "Gemma2", "Qwen3Next", "Bart"])
def test_a_generation_of_any_cache_becomes_a_record(kind, options):
    settings = {"GPT2": GPT2, "Bart": BART}.get(kind) or DECODERS.get(kind) or HYBRIDS[kind][1]
    torch.manual_seed(3)
    auto = transformers.AutoModelForSeq2SeqLM if kind == "Bart" else transformers.AutoModelForCausalLM
    config = getattr(transformers, f"{kind}Config")(**settings)
    model = auto.from_config(config, attn_implementation="eager").eval()
    own = tokenizer()
    given = {"input_ids": torch.tensor([own(TEXT).input_ids])}
    out = model.generate(
        **given, max_new_tokens=5, do_sample=False, eos_token_id=N_VOCAB - 1, output_attentions=True,
        return_dict_in_generate=True, **options,
    )  # fmt: skip
    read = out.sequences[:, :-1]
    rows, keys = (own.convert_ids_to_tokens(ids[0].tolist()) for ids in (read, given["input_ids"]))
    if kind == "Bart":
        whole = outputs(model, given | {"decoder_input_ids": read})
        pairs = [
            (record_from_weights(out, rows, keys=keys), whole.cross_attentions),
            (record_from_weights(out.cross_attentions, rows, keys=keys), whole.cross_attentions),
            (record_from_weights(out.decoder_attentions, rows), whole.decoder_attentions),
        ]
    else:
        whole = [layer for layer in outputs(model, {"input_ids": read}).attentions if layer.ndim == 4]
        whole = [layer for layer in whole if layer.shape[-1] == read.shape[1]]
        pairs = [(record_from_weights(out, rows), whole), (record_from_weights(out.attentions, rows), whole)]
    for record, layers in pairs:
        present = [i for i in range(record.n_layers) if i not in record.without_attention]
        np.testing.assert_allclose(record.weights[present], torch.cat(list(layers)).numpy(), atol=1e-5)
    with pytest.raises(HeadScopeError, match="never read"):
        record_from_weights(pairs[-1][0].weights, [*rows, "more"])


CHAT = [{"role": "user", "content": "The cat sat."}, {"role": "assistant", "content": "It ran."}]
TEMPLATE = "{% for m in messages %}[CLS] {{ m['content'] }} [SEP]{% endfor %}"


def test_chat_messages_are_rendered_by_the_tokenizers_own_template(model):
    qwen, own = random_model("Qwen3", DECODERS["Qwen3"]), tokenizer(chat_template=TEMPLATE)
    record = trace(CHAT, from_transformers(qwen, own))
    given = own.apply_chat_template(CHAT, return_tensors="pt", return_dict=True)
    np.testing.assert_allclose(record.weights, torch.cat(outputs(qwen, given).attentions).numpy(), atol=1e-5)
    assert [word.text for word in record.tokens.words] == ["The", "cat", "sat", ".", "It", "ran", "."]
    refusing = tokenizer(chat_template="{{ raise_exception('Only users') }}")
    for other in (model, from_transformers(qwen, tokenizer()), from_transformers(qwen, refusing)):
        with pytest.raises(InputError, match="template"):
            trace(CHAT, other)


@pytest.mark.parametrize(
    "given",
    [5, 2.5, None, [["a", "b"], ["c"]], [101, 5], np.array([1, 2]), torch.tensor([1]), b"the cat", [], {"a"},
     CHAT[0], np.array(["a", None]), np.array([["a", "b"]]), np.float32(3)],
)  # fmt: skip
def test_what_is_no_text_is_refused_in_a_sentence(given, model):
    traced = from_transformers(random_model("Bert", BERT), tokenizer())
    doors = (
        lambda: trace(given, model), lambda: trace(given, traced), lambda: traced(given),
        lambda: list(mha_core.trace_many([given], model)), lambda: mha_core.layer_details(given, traced, 0),
        lambda: mha_core.embedding(given, model), lambda: trace("a", traced, pair=5),
        lambda: record_from_weights(given, ["a"]),
    )  # fmt: skip
    for door in doors:
        with pytest.raises(HeadScopeError) as caught:
            door()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("words", [("the", "cat"), np.array(["the", "cat"]), pd.Series(["the", "cat"])])
def test_words_in_any_array_are_words(words, model):
    for each in (model, from_transformers(random_model("Bert", BERT), tokenizer())):
        assert [word.text for word in trace(words, each).tokens.words] == ["the", "cat"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["<|endoftext|>", "The", "Ġcat", "Ġdid", "n", "'t", "."], ["The", "cat", "didn't", "."]),
        (["<s>", "▁un", "able", "▁to"], ["unable", "to"]),
        (["▁", "<0xE4>", "<0xB8>", "<0xAD>", "é", "▁la"], ["中", "é", "la"]),
        (["un", "able</w>", "to</w>"], ["unable", "to"]),
        (["[CLS]", "un", "##able", "it", "[SEP]"], ["unable", "it"]),
        (["ÐŁ", "ÑĢÐ¸", "Ð²ÐµÑĤ", "!"], ["Привет", "!"]),
        (["<s>", "Hello", "Ġworld", "</s>", "</s>", "It", "</s>"], ["Hello", "world", "It"]),
        (["New York", "é", "didn't"], ["New York", "é", "didn't"]),
        (["x", "y", "x#2"], ["x", "y", "x#2"]),
    ],
)
def test_names_of_tokens_become_the_words_they_spell(names, words):
    n = len(names)
    record = record_from_weights(np.full((1, 2, n, n), 1 / n), names)
    assert [word.text for word in record.tokens.words] == words
    ranked = record.rank(words[0], words[-1])
    assert list(ranked["head"]) == ["1-1", "1-2"]
    head, pair = (re.search(pattern, repr(record)) for pattern in (r'\["(.*?)"\]', r"\.rank\((.*?)\)"))
    assert record[head[1]] is not None
    assert bool(pair) == (sum(any(map(str.isalnum, word)) for word in words) > 1)  # marks have no links
    assert not pair or len(record.rank(*json.loads(f"[{pair[1]}]"))) == 2


@pytest.mark.parametrize("heads", [[], ["1-1"], [(0, 0)], None, 4.2, ""])
def test_heads_that_are_named_otherwise_are_refused(heads, model):
    with pytest.raises(InputError, match=r"string|named"):
        ablate(TEXT, model, heads)


def adapter(folder, **settings):
    folder.mkdir(exist_ok=True)
    settings = {"peft_type": "LORA", "base_model_name_or_path": "org/base"} | settings
    (folder / "adapter_config.json").write_text(json.dumps(settings))


@pytest.mark.parametrize("place", ["engine", "transformers", "below"])
@pytest.mark.parametrize("has_peft", [False, True])
def test_an_adapter_beside_a_model_is_said_not_to_be_applied(place, has_peft, tmp_path, monkeypatch):
    folder = tmp_path / "tuned"
    if place == "transformers":
        random_model("Qwen3", DECODERS["Qwen3"]).save_pretrained(folder)
        tokenizer().save_pretrained(folder)
    else:
        write(folder)
    adapter(folder / "default" if place == "below" else folder)
    monkeypatch.setattr(load, "_LOADED", {})
    for module in ("integrations.peft", "models.auto.auto_factory"):  # which apply it where peft is installed
        monkeypatch.setattr(f"transformers.{module}.is_peft_available", lambda: has_peft)
    with pytest.warns(UserWarning, match="not applied.*merge_and_unload"):
        loaded = load_model(folder)
    assert "without its adapter" in repr(trace("a cat", loaded))


def test_the_command_line_says_that_an_adapter_was_not_applied(tmp_path, monkeypatch, capsys):
    write(tmp_path / "tuned")
    adapter(tmp_path / "tuned")
    monkeypatch.setattr(load, "_LOADED", {})
    assert main(["trace", "a cat", "--model", str(tmp_path / "tuned")]) == 0
    assert "was not applied" in capsys.readouterr().err.split("\n")[0]


@pytest.mark.parametrize(
    ("settings", "named"),
    [({}, "'org/base'.*merge_and_unload"), ({"peft_type": "PREFIX_TUNING"}, "'org/base'.*cannot be merged"),
     ({"base_model_name_or_path": None}, "does not name")],
)  # fmt: skip
def test_an_adapter_alone_names_its_base_model(settings, named, tmp_path):
    adapter(tmp_path / "alone", **settings)
    with pytest.raises(ModelError, match=named):
        load_model(tmp_path / "alone")
