"""Path patching against transformers' own modules with hooks, and a composition that was planted."""

from contextlib import ExitStack

import numpy as np
import pytest
import torch
from bert_folders import random_bert, write
from decoder_folders import shared_decoder

from mha_core import InputError, load_model
from mha_core.causal import LogitDifference, default_outcome, final_result, sweep_receivers

pytest.importorskip("transformers")
INPUTS = ("query", "key", "value")
TEXTS = {  # the source, the text that is run, and the outcome
    "gpt2": ("it dog the", "the cat it", LogitDifference(" the", " it")),
    "llama": ("it dog the", "the cat it", LogitDifference(" the", " it")),
    "bert": ("a [MASK] dog barked.", "the [MASK] cat slept.", LogitDifference("cat", "dog")),
}


@pytest.fixture(scope="module", params=list(TEXTS))
def pair(request, tmp_path_factory):
    """A random model of three layers, transformers' and ours; its name."""
    if request.param != "bert":
        return request.param, *shared_decoder(request.param)
    folder = tmp_path_factory.mktemp("bert")
    theirs = write(folder, random_bert("BertForMaskedLM"))
    return "bert", theirs, load_model(str(folder), device="cpu")


def sites(kind, theirs, layer):
    """The modules that make a layer's queries, keys and values, with their first column, and the one that mixes."""
    if kind == "gpt2":
        attention, d = theirs.transformer.h[layer].attn, theirs.config.n_embd
        return [(attention.c_attn, i * d) for i in range(3)], attention.c_proj
    if kind == "llama":
        attention = theirs.model.layers[layer].self_attn
        return [(getattr(attention, f"{name}_proj"), 0) for name in "qkv"], attention.o_proj
    attention = theirs.bert.encoder.layer[layer].attention
    return [(getattr(attention.self, name), 0) for name in INPUTS], attention.output.dense


def run(theirs, ids, *edits):
    """The logits of a run with edits: (module, columns, values), "in" or "out" of the module; without values they are
    put into the list that stands there."""
    with ExitStack() as stack, torch.no_grad():
        for module, side, columns, values in edits:

            def edit(tensor, columns=columns, values=values):
                if isinstance(values, list):
                    values.append(tensor[..., columns].clone())
                    return tensor
                tensor = tensor.clone()
                tensor[..., columns] = values
                return tensor

            if side == "in":
                handle = module.register_forward_pre_hook(lambda _, given, edit=edit: (edit(given[0]),))
            else:
                handle = module.register_forward_hook(lambda _module, _given, result, edit=edit: edit(result))
            stack.callback(handle.remove)
        return theirs(torch.tensor([ids])).logits[0]


def plain_path_patching(kind, theirs, model, source, into, sender):
    """The logits after each path, (input, layer, head) to (n, vocabulary): three runs each, as Wang et al. 2022 do."""
    layers, d, everything = range(model.n_layers), model.config.d_k, slice(None)
    outputs = [(sites(kind, theirs, layer)[1], "in", everything) for layer in layers]
    seen = {}
    for name, ids in (("source", source), ("into", into)):
        seen[name] = [[] for _ in layers]
        run(theirs, ids, *((*where, values) for where, values in zip(outputs, seen[name], strict=True)))
    frozen = [values[0].clone() for values in seen["into"]]
    own = slice(sender[1] * d, (sender[1] + 1) * d)
    frozen[sender[0]][..., own] = seen["source"][sender[0]][0][..., own]
    freeze = [(*where, values) for where, values in zip(outputs, frozen, strict=True)]
    logits = {}
    for layer in range(sender[0] + 1, model.n_layers):
        for side, (module, first) in enumerate(sites(kind, theirs, layer)[0]):
            for head in range(model.n_heads):
                shared = head if side == 0 else head * model.config.n_kv_heads // model.n_heads
                columns, arriving = slice(first + shared * d, first + (shared + 1) * d), []
                run(theirs, into, *freeze, (module, "out", columns, arriving))
                logits[side, layer, head] = run(theirs, into, (module, "out", columns, arriving[0]))
    return logits


@pytest.mark.slow
@pytest.mark.parametrize("sender", [(0, 1), (1, 4)])
def test_every_path_of_a_head_is_that_of_transformers_with_hooks(sender, pair):
    kind, theirs, model = pair
    *texts, outcome = TEXTS[kind]
    source, into = (model.tokenizer.encode(text) for text in texts)
    parts = list(sweep_receivers(source, into, model, outcome, sender=sender))
    fractions = [part.fraction for part in parts]
    assert len(parts) == model.n_layers - 1 - sender[0] == len(set(fractions))
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    result = parts[-1].result
    place = into.ids.index(model.tokenizer.mask_id) if kind == "bert" else -1
    target, against = (model.tokenizer.ids_of(word)[0] for word in (outcome.target, outcome.against))

    def difference(logits):
        return float(logits[place, target] - logits[place, against])

    plain = {name: difference(run(theirs, tokens.ids)) for name, tokens in (("s", source), ("i", into))}
    np.testing.assert_allclose((result.source[0], result.before[0]), (plain["s"], plain["i"]), atol=1e-5)
    paths = plain_path_patching(kind, theirs, model, source.ids, into.ids, sender)
    assert len(paths) == result.after.size
    moved = 0
    for row in result.to_frame().itertuples():
        after = difference(paths[INPUTS.index(row.input), row.layer - 1, row.head - 1])
        assert row.after == pytest.approx(after, abs=1e-5)
        assert row.effect == pytest.approx(after - plain["i"], abs=1e-5)
        moved += abs(row.effect) > 1e-3
    assert moved > len(paths) / 3, "not because all of them do nothing"
    largest = sorted(map(abs, result.to_frame().effect), reverse=True)
    assert [abs(effect) for _, effect in result.strongest(2)] == pytest.approx(largest[:2])


def test_a_text_into_itself_changes_nothing_where_each_layer_has_a_window_of_its_own():
    classroom = load_model("classroom")
    tokens = classroom.tokenizer.encode("the tired dog did not cross the street because it was [MASK] .")
    outcome = default_outcome(tokens, classroom)
    result = final_result(sweep_receivers(tokens, tokens, classroom, outcome, sender=(0, 1)))
    np.testing.assert_allclose(result.effect, 0, atol=1e-5)


@pytest.mark.parametrize(
    ("source", "sender", "says"),
    [("it dog the", (2, 0), "last layer"), ("it dog the", (3, 0), "4-1"), ("it", (0, 0), "same number")],
)
def test_a_path_that_is_not_there_is_refused(source, sender, says):
    model = shared_decoder("llama")[1]
    texts = [model.tokenizer.encode(text) for text in (source, "the cat it")]
    with pytest.raises(InputError, match=says):
        next(sweep_receivers(*texts, model, LogitDifference(" the", " it"), sender=sender))
