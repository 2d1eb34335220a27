"""Ablation sweeps over many prompts: prompts with other names, resample ablation, intervals, and heads that matter."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from decoder_folders import shared_decoder, write_decoder
from test_path_patching import run, sites

from mha_core import InputError, load_model
from mha_core.causal import (
    LogitDifference,
    MeanAblation,
    PatchHeads,
    Prompt,
    PromptEffects,
    ScaleHeads,
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


@pytest.fixture(params=["gpt2", "llama"])
def decoder(request):
    return shared_decoder(request.param)


def effect_of(model, text, *interventions):
    tokens, outcome = model.tokenizer.encode(text), LogitDifference(" the", " it")
    return measure(tokens, model, outcome, interventions)[0] - measure(tokens, model, outcome)[0]


# ---- prompts


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


# ---- resample ablation


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_resample_ablation_is_the_other_prompt_s_head_put_in_by_hand_in_transformers(kind):
    theirs, model = shared_decoder(kind)
    prompts = [Prompt(text, " the", " it") for text in TEXTS]
    ids = [model.tokenizer.encode(prompt.text).ids for prompt in prompts]
    answers = [model.tokenizer.ids_of(word)[0] for word in (" the", " it")]
    result = final_result(sweep_prompts(prompts, model, "resample"))
    for number, own in enumerate(ids):
        np.testing.assert_allclose(result.before[number], run(theirs, own)[-1, answers], atol=1e-4)
        for layer in range(model.n_layers):
            mixer, contexts = sites(kind, theirs, layer)[1], []
            run(theirs, ids[1 - number], (mixer, "in", slice(None), contexts))
            for head in range(model.n_heads):
                columns = slice(head * model.config.d_k, (head + 1) * model.config.d_k)
                expected = run(theirs, own, (mixer, "in", columns, contexts[0][..., columns]))[-1, answers]
                np.testing.assert_allclose(result.after[number, layer, head], expected, atol=1e-4)


def test_the_seed_draws_the_prompts_that_heads_are_taken_from(decoder):
    _, model = decoder
    prompts = [Prompt(text, " the", " it") for text in (*TEXTS, "it cat the", "the dog it")]
    drawn = [resample_sources(prompts, seed) for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    for seed, sources in enumerate(drawn):
        sweep = final_result(sweep_prompts(prompts, model, seed=seed))
        for number, source in enumerate(sources):
            expected = effect_of(model, prompts[number].text, PatchHeads(((1, 2),), prompts[source].text))
            assert sweep.effects[number, 1, 2] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("method", "ablation"), [("zero", ScaleHeads), ("mean", MeanAblation)])
def test_other_methods_are_those_of_one_prompt_at_a_time(method, ablation, decoder):
    _, model = decoder
    sweep = final_result(sweep_prompts([Prompt(text, " the", " it") for text in TEXTS], model, method))
    for number, text in enumerate(TEXTS):
        for head in ((0, 1), (2, 3)):
            expected = effect_of(model, text, ablation((head,)))
            assert sweep.effects[(number, *head)] == pytest.approx(expected, abs=1e-4)


def test_prompts_of_unequal_lengths_and_a_single_prompt_are_refused(decoder):
    _, model = decoder
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
    effects = effects_of(values)
    low, high = scipy.stats.t.interval(0.95, 11, values.mean(0), scipy.stats.sem(values, 0))
    intervals = np.stack([low, high])
    np.testing.assert_allclose(effects.mean - effects.half_width(), low)
    np.testing.assert_allclose(effects.mean + effects.half_width(), high)
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


# ---- mean ablation


def test_mean_ablation_keeps_the_first_token_of_a_decoder(decoder, tmp_path, monkeypatch):
    theirs, model = decoder
    few = activation_cache.builtin_texts()[::40]
    monkeypatch.setattr(activation_cache, "builtin_texts", lambda: few)
    write_decoder(tmp_path, theirs)
    model = load_model(tmp_path, device="cpu", dtype="float64")
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


def test_the_command_sweeps_a_file_of_prompts_by_three_methods(tmp_path, capsys):
    theirs, model = shared_decoder("llama")
    write_decoder(tmp_path, theirs)
    file, lines = tmp_path / "prompts.txt", [f"{text}\tthe\tit" for text in TEXTS]
    file.write_text("\n".join(lines))
    command = ["ablate", "--file", str(file), "--every", "--model", str(tmp_path)]
    assert main([*command, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    read = [(prompt["text"], prompt["target"], prompt["against"]) for prompt in data["prompts"]]
    assert read == [(text, " the", " it") for text in TEXTS]
    means = {}
    for method in ("resample", "mean", "zero"):
        sweep = final_result(sweep_prompts(read_prompts(lines, model), model, method))
        means[method], before = sweep.mean, sweep.before.mean(0)
        after = sweep.after.mean(0).reshape(-1, 2)
        rows = pd.DataFrame(data["rows"]).query("method == @method")
        expected = np.c_[sweep.mean.ravel(), after @ (1, -1), after @ (1, -1) - rows.effect, after - before]
        numbers = rows[["effect", "after", "before", "target", "against"]]
        np.testing.assert_allclose(numbers, expected, atol=1e-4)
    assert data["before"] == pytest.approx(before @ (1, -1), abs=1e-4)
    assert main(command) == 0
    heading, first = (line.split() for line in capsys.readouterr().out.splitlines()[2:4])
    shown = dict(zip(heading, first, strict=True))
    place = int(shown["layer"]) - 1, int(shown["head"]) - 1
    assert np.abs(means["resample"]).max() == np.abs(means["resample"][place])
    for method, mean in means.items():
        assert float(shown[method]) == pytest.approx(mean[place], abs=6e-4)
    file.write_text("the cat it\tthe\n")
    assert main(command) != 0
    capsys.readouterr()
    assert main(["ablate", "the cat it", "--every", "--model", str(tmp_path)]) == 0
    assert "a single prompt's map" in capsys.readouterr().out
