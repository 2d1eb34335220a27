"""Sweeps: paths against transformers' own modules with hooks, and heads over many prompts, with their intervals."""

import json
from collections import Counter
from contextlib import ExitStack

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from decoder_folders import shared_model, write_decoder

from mha_core import InputError, load_model
from mha_core.causal import (
    LogitDifference,
    MeanAblation,
    Prompt,
    PromptEffects,
    ScaleHeads,
    activation_cache,
    default_outcome,
    final_result,
    mean_steps,
    measure,
    read_prompts,
    sweep_prompts,
    sweep_receivers,
    sweep_state_patches,
    with_other_names,
)
from mha_core.causal.activation_cache import run_with_cache
from mha_core.causal.intervention_hooks import intervention_hooks
from mha_core.causal.prompt_sweep import resample_sources
from mha_core.causal.sweep import run_from
from mha_core.cli import main

pytest.importorskip("transformers")
MARY = Prompt("When Mary and John went to the store, John gave a drink to", " Mary", " John")
TEXTS = ("the cat it", "it dog the")  # as many tokens of the tiny decoders
INPUTS = ("query", "key", "value")
WORD = LogitDifference(" the", " it")
PATHS = {  # the source, the text that is run, and the outcome
    "gpt2": (*TEXTS, WORD),
    "llama": (*TEXTS, WORD),
    "bert": ("a [MASK] dog barked.", "the [MASK] cat slept.", LogitDifference("cat", "dog")),
}


@pytest.fixture(params=["gpt2", "llama"])
def decoder(request):
    return shared_model(request.param)


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
@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("sender", [(0, 1), (1, 4)])
def test_every_path_of_a_head_is_that_of_transformers_with_hooks(sender, kind):
    theirs, model = shared_model(kind)
    *texts, outcome = PATHS[kind]
    source, into = (model.tokenizer.encode(text) for text in texts)
    parts = list(sweep_receivers(source, into, model, outcome, sender=sender))
    fractions = [part.fraction for part in parts]
    assert len(parts) == model.n_layers - 1 - sender[0]
    assert fractions == sorted(set(fractions))
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
        moved += abs(row.effect) > 1e-3
    assert moved > len(paths) / 3, "not because all of them do nothing"


def test_a_text_into_itself_changes_nothing_where_each_layer_has_a_window_of_its_own():
    classroom = load_model("classroom")
    tokens = classroom.tokenizer.encode("the tired dog did not cross the street because it was [MASK] .")
    outcome = default_outcome(tokens, classroom)
    result = final_result(sweep_receivers(tokens, tokens, classroom, outcome, sender=(0, 1)))
    np.testing.assert_allclose(result.effect, 0, atol=1e-5)


def test_a_state_counts_as_tried_only_once_it_was_run(decoder, monkeypatch):
    _, model = decoder
    parts = []

    def check(x, layer, *more):
        assert not parts or np.isnan(parts[-1].result.effect[layer]).all()
        return run_from(x, layer, *more)

    monkeypatch.setattr("mha_core.causal.sweep.run_from", check)
    for part in sweep_state_patches(*map(model.tokenizer.encode, TEXTS), model, WORD):
        parts.append(part)


@pytest.mark.parametrize(
    ("source", "sender", "says"),
    [("it dog the", (2, 0), "last layer"), ("it dog the", (3, 0), "4-1"), ("it", (0, 0), "same number")],
)
def test_a_path_that_is_not_there_is_refused(source, sender, says):
    model = shared_model("llama")[1]
    texts = [model.tokenizer.encode(text) for text in (source, "the cat it")]
    with pytest.raises(InputError, match=says):
        next(sweep_receivers(*texts, model, WORD, sender=sender))


@pytest.mark.parametrize("n", [12, 32])
def test_every_name_is_the_answer_as_often_as_it_is_the_other_name(n, model):
    prompts = with_other_names(MARY, model, n)
    assert prompts[0] == MARY
    assert len({prompt.text for prompt in prompts}) == n
    assert Counter(p.target for p in prompts) == Counter(p.against for p in prompts)
    assert set(Counter(p.target for p in prompts).values()) == {1}
    assert len({len(model.tokenizer.encode(prompt.text)) for prompt in prompts}) == 1
    begins_with_answer = [prompt.text.startswith(f"When{prompt.target} and") for prompt in prompts]
    assert sum(begins_with_answer) == n / 2, "ABBA and BABA"
    for prompt in prompts:
        assert prompt.text.count(prompt.against) == 2
        assert prompt.text.count(prompt.target) == 1


def test_names_are_found_in_the_sentence_where_the_answers_are_none(model):
    prompts = with_other_names(Prompt("Anna told Tom that he was late, and Anna", " left", " laughed"), model)
    assert {prompt.answers for prompt in prompts} == {(" left", " laughed")}
    assert all(prompt.text.endswith(prompt.text.split()[0]) for prompt in prompts)


def test_other_prompts_need_two_names_and_are_four_to_sixty(model):
    for text in ("The key to the cabinets", "When Mary went home, Mary", "Mary, John and Tom met"):
        assert with_other_names(Prompt(text, " is", " are"), model) == ()
    for n in (3, 61):
        with pytest.raises(InputError):
            with_other_names(MARY, model, n)


def test_a_source_has_other_answers_and_every_prompt_is_a_source_once(model):
    prompts = with_other_names(MARY, model, 12)
    sources = resample_sources(prompts)
    assert sorted(sources) == list(range(12))
    for prompt, source in zip(prompts, sources, strict=True):
        assert not set(prompt.answers) & set(prompts[source].answers)
    verbs = [Prompt(f"{i}", *((" is", " are") if i % 2 else (" are", " is"))) for i in range(8)]
    assert all(verbs[i].target != verbs[j].target for i, j in enumerate(resample_sources(verbs)))


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_resample_ablation_puts_in_the_head_of_the_prompt_that_the_seed_draws(kind):
    theirs, model = shared_model(kind)
    prompts = [Prompt(text, " the", " it") for text in (*TEXTS, "it cat the", "the dog it")]
    ids = [model.tokenizer.encode(prompt.text).ids for prompt in prompts]
    answers = [model.tokenizer.ids_of(word)[0] for word in (" the", " it")]
    drawn = [resample_sources(prompts, seed) for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    for seed, sources in enumerate(drawn):
        result = final_result(sweep_prompts(prompts, model, seed=seed))
        for number, own in enumerate(ids):
            np.testing.assert_allclose(result.before[number], run(theirs, own)[-1, answers], atol=1e-4)
            for layer, head in np.ndindex(model.n_layers, model.n_heads):
                mixer, contexts = sites(kind, theirs, layer)[1], []
                columns = slice(head * model.config.d_k, (head + 1) * model.config.d_k)
                run(theirs, ids[sources[number]], (mixer, "in", columns, contexts))
                expected = run(theirs, own, (mixer, "in", columns, contexts[0]))[-1, answers]
                np.testing.assert_allclose(result.after[number, layer, head], expected, atol=1e-4)


@pytest.mark.parametrize(("method", "ablation"), [("zero", ScaleHeads), ("mean", MeanAblation)])
def test_other_methods_are_those_of_one_prompt_at_a_time(method, ablation, decoder):
    _, model = decoder
    sweep = final_result(sweep_prompts([Prompt(text, " the", " it") for text in TEXTS], model, method))
    for number, text in enumerate(TEXTS):
        tokens = model.tokenizer.encode(text)
        before = measure(tokens, model, WORD)[0]
        for head in ((0, 1), (2, 3)):
            after = measure(tokens, model, WORD, (ablation((head,)),))[0]
            assert sweep.effects[(number, *head)] == pytest.approx(after - before, abs=1e-4)


def test_prompts_of_unequal_lengths_and_a_single_prompt_are_refused(decoder):
    _, model = decoder
    for texts in (("the cat it", "it"), ("the cat it",)):
        with pytest.raises(InputError):
            final_result(sweep_prompts([Prompt(text, " the", " it") for text in texts], model))


def effects_of(values, method="resample"):
    """Effects (prompt, layer, head) as the logits of one answer."""
    before = np.full((len(values), 1), 3.0)
    prompts = tuple(Prompt(str(i), " a") for i in range(len(values)))
    return PromptEffects(prompts, method, before, before[:, None, None] + values[..., None])


def test_intervals_are_scipy_s_and_a_head_matters_only_with_the_corrected_one_clear_of_zero():
    values = np.random.default_rng(0).normal(size=(12, 10, 5))
    values[:, 3, 1] -= 4.0
    values[:, 5, 2] += 1.0
    effects = effects_of(values)
    low, high = scipy.stats.t.interval(0.95, 11, values.mean(0), scipy.stats.sem(values, 0))
    intervals = np.stack([low, high])
    assert ((low > 0) | (high < 0)).sum() > 2, "chance alone passes some uncorrected intervals"
    low, high = scipy.stats.t.interval(1 - 0.05 / 50, 11, values.mean(0), scipy.stats.sem(values, 0))
    clear = {tuple(place) for place in np.argwhere((low > 0) | (high < 0)).tolist()}
    assert set(effects.named) == clear
    assert effects.named[0] == (3, 1)
    rows = effects.to_frame()
    assert {(r.layer - 1, r.head - 1) for r in rows[rows.matters].itertuples()} == clear
    np.testing.assert_allclose(rows[["low", "high"]], intervals.reshape(2, -1).T)
    np.testing.assert_allclose(rows.after, 3 + values.mean(0).ravel())
    for method in ("zero", "mean"):
        assert effects_of(values, method).named == ()
    values[:, 0] = np.nan  # not tried yet
    assert set(effects_of(values).named) == clear


def test_mean_ablation_keeps_the_first_token_of_a_decoder(decoder, monkeypatch):
    model = decoder[1].to("cpu", "float64")
    few = activation_cache.builtin_texts()[::40]
    monkeypatch.setattr(activation_cache, "builtin_texts", lambda: few)
    means = final_result(mean_steps(model))
    contexts = [run_with_cache([model.tokenizer.encode(text)], model).contexts[1][0, 3] for text in few]
    np.testing.assert_allclose(means[1, 3], torch.cat([each[1:] for each in contexts]).mean(0), atol=1e-9)
    tokens = model.tokenizer.encode("the cat it")
    own = run_with_cache([tokens], model).contexts[1][0]
    chosen = (MeanAblation(((1, 3),)),)
    ablated = run_with_cache([tokens], model, intervention_hooks(chosen, tokens, model)).contexts[1][0]
    np.testing.assert_allclose(ablated[3, 0], own[3, 0])
    np.testing.assert_allclose(ablated[3, 1:], means[1, 3].expand(len(tokens) - 1, -1))
    np.testing.assert_allclose(ablated[[0, 1, 2]], own[[0, 1, 2]])


def test_the_command_sweeps_a_file_of_prompts_by_three_methods(tmp_path, capsys):
    theirs, model = shared_model("llama")
    write_decoder(tmp_path, theirs)
    file, lines = tmp_path / "prompts.txt", [f"{text}\tthe\tit" for text in TEXTS]
    file.write_text("\n".join(lines))
    command = ["ablate", "--file", str(file), "--every", "--model", str(tmp_path)]
    assert main([*command, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    read = [(prompt["text"], prompt["target"], prompt["against"]) for prompt in data["prompts"]]
    assert read == [(text, " the", " it") for text in TEXTS]
    for method in ("resample", "mean", "zero"):
        sweep = final_result(sweep_prompts(read_prompts(lines, model), model, method))
        before, after = sweep.before.mean(0), sweep.after.mean(0).reshape(-1, 2)
        rows = pd.DataFrame(data["rows"]).query("method == @method")
        expected = np.c_[sweep.mean.ravel(), after @ (1, -1), after @ (1, -1) - rows.effect, after - before]
        numbers = rows[["effect", "after", "before", "target", "against"]]
        np.testing.assert_allclose(numbers, expected, atol=1e-4)
    assert data["before"] == pytest.approx(before @ (1, -1), abs=1e-4)
    assert main(command) == 0
    heading, first = (line.split() for line in capsys.readouterr().out.splitlines()[2:4])
    shown = {name: float(number) for name, number in zip(heading, first, strict=True)}
    effects = pd.DataFrame(data["rows"]).pivot(index=["layer", "head"], columns="method", values="effect")
    assert (shown["layer"], shown["head"]) == effects["resample"].abs().idxmax()
    for method, effect in effects.loc[shown["layer"], shown["head"]].items():
        assert shown[method] == pytest.approx(effect, abs=6e-4)
    file.write_text("the cat it\tthe\n")
    assert main(command) != 0
    capsys.readouterr()
    assert main(["ablate", "the cat it", "--every", "--model", str(tmp_path)]) == 0
    assert "a single prompt's map" in capsys.readouterr().out
