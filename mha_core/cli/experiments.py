"""`headscope ablate TEXT` and `patch SOURCE INTO`: experiments on heads, one at a time or together."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from mha_core.causal.interventions import (
    Intervention,
    MeanAblation,
    PatchHeads,
    ScaleHeads,
    heads_from,
    same_length,
)
from mha_core.causal.outcomes import LogitDifference, Outcome, bind, default_outcome
from mha_core.causal.partial_results import PartialResult
from mha_core.causal.path_patching import sweep_receivers
from mha_core.causal.prompt_sweep import METHODS, sweep_prompts
from mha_core.causal.prompts import N_PROMPTS, Prompt, read_prompts, with_other_names
from mha_core.causal.single_run import measure, next_words, predicted_labels
from mha_core.causal.sweep import sweep_head_patches, sweep_heads, sweep_state_patches
from mha_core.cli.arguments import (
    NOTE,
    STDIN,
    Commands,
    add_command,
    encode,
    load_chosen_model,
    model_options,
    number_from,
    output_options,
    read_text,
    read_texts,
    text_options,
)
from mha_core.cli.experiment_output import Experiment, prompts_output, run_output, sweep_output
from mha_core.cli.output import CommandOutput, answer_texts, is_terminal, show_progress, write_output
from mha_core.display_names import Head
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.models.model_list import DECODER
from mha_core.models.prediction import Label, NextToken
from mha_core.record.grid import head_from_name
from mha_core.text.tokens import Tokens

T = TypeVar("T")
NO_HEADS = "Name the heads with --heads 19-7,18-4, or sweep all of them with --every."
NO_PATCH = (
    "Name the heads to patch with --heads 19-7,18-4, choose --every heads or --every layers, or name the sender of "
    "paths with --from 19-7; one of the three."
)
EVERY = (
    "--every sweeps the heads over 12 prompts of the same kind: a file's (a prompt and its two answers a line, between "
    "tabs), or those that other first names make of the sentence. Without two names in it, or with --heads, --factor "
    "or --mean, it is a single prompt's map."
)


def add_experiment_parsers(commands: Commands) -> None:
    """Add the commands `ablate` and `patch`."""
    shared = _outcome_options(), model_options(DECODER), output_options()
    parents = text_options("the sentence"), *shared
    text = "ablate heads and show how predictions change"
    ablate = add_command(commands, "ablate", text, _run_ablate, *parents, epilog=f"{EVERY} {NOTE}")
    ablate.add_argument("--heads", metavar="HEADS", help="heads to ablate together, such as 19-7,18-4")
    ablate.add_argument("--every", action="store_true", help="ablate one head at a time (ablation sweep)")
    add = ablate.add_mutually_exclusive_group().add_argument
    add("--factor", type=float, help="multiply the head output by this (default: 0, zero ablation)")
    add("--mean", action="store_true", help="mean ablation; the first token of a decoder keeps its output")
    add("--method", choices=METHODS, help="method of a sweep over prompts (default: all three)")
    text = "number of prompts (%(default)s)"
    ablate.add_argument("--prompts", type=number_from(1), default=N_PROMPTS, metavar="N", help=text)
    text = "run one text with heads or states of another (activation patching)"
    add = add_command(commands, "patch", text, _run_patch, *shared, epilog=NOTE).add_argument
    add("source", metavar="SOURCE", help="text to patch from; - reads standard input")
    add("text", metavar="INTO", help="text to run, with as many tokens; - reads standard input")
    add("--heads", metavar="HEADS", help="heads to patch together, such as 19-7,18-4")
    text = "patch each head, or the state of each layer and token"
    add("--every", choices=("heads", "layers"), help=text)
    text = (
        "patch the path from this head to each query, key and value input of the later heads (path patching)"
    )
    add("--from", dest="sender", metavar="HEAD", help=text)


def _outcome_options() -> argparse.ArgumentParser:
    """Return a parent with the options that say what is measured and listed."""
    parent = argparse.ArgumentParser(add_help=False)
    add = parent.add_argument
    text = "word whose logit to measure, with its space: ' Mary'; a classifier's label"
    add("--target", metavar="WORD", help=text)
    add("--against", metavar="WORD", help="word or label whose logit to subtract")
    text = "number of words or labels and heads to list (%(default)s)"
    add("--top", type=number_from(1), default=5, help=text)
    return parent


def _run_ablate(options: argparse.Namespace) -> None:
    if not options.heads and not options.every:
        raise InputError(NO_HEADS)
    texts, model = read_texts(options, tables=(".tsv",)), load_chosen_model(options)
    heads = heads_from(options.heads or "", model.n_layers, model.n_heads)
    if not heads and not options.every:
        raise InputError(NO_HEADS)
    if prompts := _prompts(texts, model, options):
        methods = METHODS if options.method is None else (options.method,)
        sweeps = [_result(sweep_prompts(prompts, model, method), method) for method in methods]
        write_output(options, prompts_output(model.info, sweeps, options.top))
    else:
        answer_texts(options, texts, lambda text: _ablated(text, model, heads, options))


def _prompts(texts: Sequence[str], model: Model, options: argparse.Namespace) -> tuple[Prompt, ...]:
    """Return the prompts of a sweep, a file's or those made of one sentence; none for a single prompt's map."""
    if not options.every or options.heads or options.mean or options.factor is not None:
        return ()
    if "\t" in texts[0]:
        return read_prompts(texts, model)
    outcome = default_outcome(model.tokenizer.encode(texts[0]), model, options.target, options.against)
    if len(texts) > 1 or not isinstance(outcome, LogitDifference):
        return ()
    return with_other_names(Prompt(texts[0], outcome.target, outcome.against), model, options.prompts)


def _ablated(text: str, model: Model, heads: tuple[Head, ...], options: argparse.Namespace) -> CommandOutput:
    """Return one text's answer, the heads ablated together or one at a time."""
    tokens, outcome = _prepared(text, model, options)
    factor = None if options.mean else options.factor or 0.0
    interventions: tuple[Intervention, ...] = ()
    if heads:
        interventions = (MeanAblation(heads) if factor is None else ScaleHeads(heads, factor),)
    method = "mean" if factor is None else factor
    experiment = Experiment(tokens, model.info, outcome, heads, method)
    if not options.every:
        return _compared(options, experiment, model, interventions)
    effects = _result(sweep_heads(tokens, model, outcome, factor=factor, base=interventions))
    return sweep_output(experiment, effects, options.top)


def _run_patch(options: argparse.Namespace) -> None:
    if sum(map(bool, (options.heads, options.every, options.sender))) != 1:
        raise InputError(NO_PATCH)
    if options.source == options.text == STDIN:
        raise InputError("Standard input can be read once: one of the two texts can be -.")
    model = load_chosen_model(options)
    tokens, outcome = _prepared(read_text(options.text), model, options)
    source = encode(read_text(options.source), model)
    same_length(source, tokens)
    heads = heads_from(options.heads or "", model.n_layers, model.n_heads)
    experiment = Experiment(tokens, model.info, outcome, heads, "patch", source)
    if options.sender:
        sender = head_from_name(options.sender, model.n_layers, model.n_heads)
        effects = _result(sweep_receivers(source, tokens, model, outcome, sender=sender))
        output = sweep_output(replace(experiment, edited=(sender,), method="path"), effects, options.top)
    elif options.every:
        sweep = sweep_head_patches if options.every == "heads" else sweep_state_patches
        output = sweep_output(experiment, _result(sweep(source, tokens, model, outcome)), options.top)
    elif heads:
        output = _compared(options, experiment, model, (PatchHeads(heads, source.text),))
    else:
        raise InputError(NO_PATCH)
    write_output(options, output)


def _prepared(text: str, model: Model, options: argparse.Namespace) -> tuple[Tokens, Outcome]:
    """Return the text and what is measured, checked before anything is computed."""
    tokens = encode(text, model)
    outcome = default_outcome(tokens, model, options.target, options.against)
    bind(outcome, tokens, model)
    return tokens, outcome


def _compared(
    options: argparse.Namespace, experiment: Experiment, model: Model, interventions: Sequence[Intervention]
) -> CommandOutput:
    """Return the run with all interventions beside the plain one."""
    tokens, outcome = experiment.tokens, experiment.outcome

    def listed(edits: Sequence[Intervention]) -> Sequence[Label | NextToken]:
        if model.label_head is not None:
            return predicted_labels(tokens, model, edits)[: options.top]
        is_word = isinstance(outcome, LogitDifference)
        return next_words(tokens, model, edits, options.top) if is_word else ()

    before, after = ((measure(tokens, model, outcome, edits), listed(edits)) for edits in ((), interventions))
    return run_output(experiment, bind(outcome, tokens, model).names, before, after)


def _result(parts: Iterator[PartialResult[T]], name: str = "") -> T:
    """Return the final result, with progress at a terminal."""
    for part in parts:
        if is_terminal():
            show_progress(f"{name} {100 * part.fraction:3.0f} %", is_last=part.fraction >= 1)
    return part.result
