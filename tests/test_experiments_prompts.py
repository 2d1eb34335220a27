"""Ablation sweeps over many prompts: prompts with other names, resample ablation, intervals, and heads that matter."""

import json
from collections import Counter

import numpy as np
import pytest
import scipy.stats
import torch
from decoder_folders import random_decoder, write_decoder

from mha_core import InputError, load_model
from mha_core.causal import (
    LogitDifference,
    MeanAblation,
    PatchHeads,
    Prompt,
    PromptEffects,
    activation_cache,
    final_result,
    mean_steps,
    measure,
    read_prompts,
    sweep_prompts,
    with_other_names,
)
from mha_core.causal.activation_cache import run_with_cache
from mha_core.causal.intervention_hooks import intervention_hooks
from mha_core.causal.prompt_sweep import resample_sources
from mha_core.cli import main

pytest.importorskip("transformers")
MARY = Prompt("When Mary and John went to the store, John gave a drink to", " Mary", " John")
TEXTS = ("the cat it", "it dog the")  # as many tokens of the tiny decoders


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def decoder(request, tmp_path_factory):
    """A random decoder of three layers, transformers' and ours, and its folder."""
    folder = tmp_path_factory.mktemp(request.param)
    theirs = write_decoder(folder, random_decoder(request.param, int(request.param == "llama")))
    return theirs, load_model(str(folder), device="cpu"), str(folder)


# ---- prompts


@pytest.mark.parametrize("n", [12, 32])
def test_every_name_is_the_answer_as_often_as_it_is_the_other_name(n, model):
    prompts = with_other_names(MARY, model, n)
    assert prompts[0] == MARY
    assert len({prompt.text for prompt in prompts}) == n
    assert Counter(p.target for p in prompts) == Counter(p.against for p in prompts)
    assert set(Counter(p.target for p in prompts).values()) == {1}
    assert {len(model.tokenizer.encode(prompt.text)) for prompt in prompts} == {
        len(model.tokenizer.encode(MARY.text))
    }
    begins_with_answer = [prompt.text.startswith(f"When{prompt.target} and") for prompt in prompts]
    assert sum(begins_with_answer) == n / 2, "ABBA and BABA"
    for prompt in prompts:
        assert prompt.text.count(prompt.against) == 2
        assert prompt.text.count(prompt.target) == 1


def test_names_are_found_in_the_sentence_where_the_answers_are_none(model):
    prompts = with_other_names(Prompt("Anna told Tom that he was late, and Anna", " left", " laughed"), model)
    assert {prompt.answers for prompt in prompts} == {(" left", " laughed")}
    assert all(prompt.text.endswith(prompt.text.split()[0]) for prompt in prompts)


@pytest.mark.parametrize(
    "text", ["The key to the cabinets", "When Mary went home, Mary", "Mary, John and Tom met"]
)
def test_without_two_names_there_are_no_other_prompts(text, model):
    assert with_other_names(Prompt(text, " is", " are"), model) == ()


def test_fewer_than_four_prompts_or_more_than_names_are_refused(model):
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


# ---- resample ablation


def test_resample_ablation_is_the_other_prompt_s_head_put_in_by_hand_in_transformers(decoder):
    theirs, model, _ = decoder
    prompts = [Prompt(text, " the", " it") for text in TEXTS]
    tokens = [model.tokenizer.encode(prompt.text) for prompt in prompts]
    found = final_result(sweep_prompts(prompts, model, "resample"))
    if hasattr(theirs, "transformer"):
        mixers = [block.attn.c_proj for block in theirs.transformer.h]
    else:
        mixers = [block.self_attn.o_proj for block in theirs.model.layers]
    answers = [model.tokenizer.ids_of(word)[0] for word in (" the", " it")]

    def run(number, hook=None, layer=0):
        handle = hook and mixers[layer].register_forward_pre_hook(hook)
        with torch.no_grad():
            logits = theirs(torch.tensor([tokens[number].ids])).logits[0, -1, answers]
        if handle:
            handle.remove()
        return logits

    for layer in range(model.n_layers):
        mixed = []
        for number in (0, 1):
            run(number, lambda _, given, mixed=mixed: mixed.append(given[0].clone()), layer)
        width = mixed[0].shape[-1] // model.n_heads
        for head in range(model.n_heads):
            at = slice(head * width, (head + 1) * width)
            for number in (0, 1):

                def other(_, given, theirs=mixed[1 - number], at=at):
                    changed = given[0].clone()
                    changed[..., at] = theirs[..., at]
                    return (changed,)

                expected = run(number, other, layer)
                np.testing.assert_allclose(found.after[number, layer, head], expected, atol=1e-4)
    np.testing.assert_allclose(found.before, np.stack([run(number) for number in (0, 1)]), atol=1e-4)


def test_the_seed_draws_the_prompts_that_heads_are_taken_from(decoder):
    _, model, _ = decoder
    prompts = [Prompt(text, " the", " it") for text in (*TEXTS, "it cat the", "the dog it")]
    drawn = [resample_sources(prompts, seed) for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    for seed, sources in enumerate(drawn):
        sweep = final_result(sweep_prompts(prompts, model, seed=seed))
        for number, source in enumerate(sources):
            tokens, other = model.tokenizer.encode(prompts[number].text), prompts[source].text
            after = measure(tokens, model, LogitDifference(" the", " it"), (PatchHeads(((1, 2),), other),))[0]
            assert sweep.effects[number, 1, 2] + sweep.before[number] @ (1, -1) == pytest.approx(
                after, abs=1e-4
            )


@pytest.mark.parametrize("method", ["zero", "mean"])
def test_other_methods_are_those_of_one_prompt_at_a_time(method, decoder):
    _, model, _ = decoder
    from mha_core.causal import ScaleHeads

    found = final_result(sweep_prompts([Prompt(text, " the", " it") for text in TEXTS], model, method))
    ablation = ScaleHeads if method == "zero" else MeanAblation
    for number, text in enumerate(TEXTS):
        tokens = model.tokenizer.encode(text)
        before = measure(tokens, model, LogitDifference(" the", " it"))[0]
        for head in ((0, 1), (2, 3)):
            after = measure(tokens, model, LogitDifference(" the", " it"), (ablation((head,)),))[0]
            assert found.effects[(number, *head)] == pytest.approx(after - before, abs=1e-4)


def test_prompts_of_unequal_lengths_and_a_single_prompt_are_refused(decoder):
    _, model, _ = decoder
    for texts in (("the cat it", "it"), ("the cat it",)):
        with pytest.raises(InputError):
            final_result(sweep_prompts([Prompt(text, " the", " it") for text in texts], model))


# ---- intervals, and heads that matter


def effects_of(values, method="resample"):
    """Effects (prompt, layer, head) as the logits of one answer."""
    before = np.full((len(values), 1), 3.0)
    prompts = tuple(Prompt(str(i), " a") for i in range(len(values)))
    return PromptEffects(prompts, method, before, before[:, None, None] + values[..., None])


def test_intervals_are_scipy_s_and_a_head_matters_only_with_the_corrected_one_clear_of_zero():
    values = np.random.default_rng(0).normal(size=(12, 10, 5))
    values[:, 3, 1] -= 4.0
    values[:, 5, 2] += 1.0
    found = effects_of(values)
    low, high = scipy.stats.t.interval(0.95, 11, values.mean(0), scipy.stats.sem(values, 0))
    intervals = np.stack([low, high])
    np.testing.assert_allclose(found.mean - found.half_width(), low)
    np.testing.assert_allclose(found.mean + found.half_width(), high)
    assert ((low > 0) | (high < 0)).sum() > 2, "chance alone passes some uncorrected intervals"
    low, high = scipy.stats.t.interval(1 - 0.05 / 50, 11, values.mean(0), scipy.stats.sem(values, 0))
    clear = {tuple(place) for place in np.argwhere((low > 0) | (high < 0)).tolist()}
    assert set(found.named) == clear
    assert found.named[0] == (3, 1)
    rows = found.to_frame()
    assert {(r.layer - 1, r.head - 1) for r in rows[rows.matters].itertuples()} == clear
    np.testing.assert_allclose(rows[["low", "high"]], intervals.reshape(2, -1).T)
    np.testing.assert_allclose(rows.after, 3 + values.mean(0).ravel())
    for method in ("zero", "mean"):
        assert effects_of(values, method).named == ()


def test_a_head_that_was_not_tried_yet_does_not_matter():
    values = np.full((12, 2, 3), np.nan)
    values[:, 1] = -2 + np.random.default_rng(0).normal(size=(12, 3)) / 10
    assert set(effects_of(values).named) == {(1, 0), (1, 1), (1, 2)}


# ---- mean ablation


def test_mean_ablation_keeps_the_first_token_of_a_decoder(decoder, monkeypatch):
    _, model, folder = decoder
    few = activation_cache.builtin_texts()[::40]
    monkeypatch.setattr(activation_cache, "builtin_texts", lambda: few)
    model = load_model(folder, device="cpu", dtype="float64")
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


# ---- the command line


def test_the_command_sweeps_a_file_of_prompts_by_three_methods(decoder, tmp_path, capsys):
    _, model, folder = decoder
    file = tmp_path / "prompts.txt"
    file.write_text("".join(f"{text}\tthe\tit\n" for text in TEXTS))
    asked = ("ablate", "--file", str(file), "--every", "--model", folder)
    assert main([*asked, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    read = [(prompt["text"], prompt["target"], prompt["against"]) for prompt in data["prompts"]]
    assert read == [(text, " the", " it") for text in TEXTS]
    lines = [f"{text}\tthe\tit" for text in TEXTS]
    by_method = {}
    for method in ("resample", "mean", "zero"):
        found = final_result(sweep_prompts(read_prompts(lines, model), model, method))
        effects = [row["effect"] for row in data["rows"] if row["method"] == method]
        np.testing.assert_allclose(effects, found.mean.ravel(), atol=1e-4)
        by_method[method] = found.mean
        after = found.after.mean(0).reshape(-1, 2)
        expected = np.c_[after @ (1, -1), after - found.before.mean(0)]
        rows = [row for row in data["rows"] if row["method"] == method]
        numbers = [[row["before"] + row["effect"], row["target"], row["against"]] for row in rows]
        np.testing.assert_allclose(numbers, expected, atol=1e-4)
        np.testing.assert_allclose([row["after"] for row in rows], expected[:, 0], atol=1e-4)
    outcomes = [
        measure(model.tokenizer.encode(text), model, LogitDifference(" the", " it"))[0] for text in TEXTS
    ]
    assert data["before"] == pytest.approx(np.mean(outcomes), abs=1e-4)
    assert main([*asked]) == 0
    heading, first = (line.split() for line in capsys.readouterr().out.splitlines()[2:4])
    shown = dict(zip(heading, first, strict=True))
    place = int(shown["layer"]) - 1, int(shown["head"]) - 1
    assert np.abs(by_method["resample"]).max() == np.abs(by_method["resample"][place])
    for method, mean in by_method.items():
        assert float(shown[method]) == pytest.approx(mean[place], abs=6e-4)
    file.write_text("the cat it\tthe\n")
    assert main([*asked]) != 0
    capsys.readouterr()
    assert main(["ablate", "the cat it", "--every", "--model", folder]) == 0
    assert "a single prompt's map" in capsys.readouterr().out
