"""`python -m mha_core ablate TEXT` and `patch SOURCE INTO`: the same experiments without a screen."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from mha_core.command_io import (
    STDIN,
    Answer,
    add_format,
    add_model,
    add_texts,
    at_terminal,
    give,
    give_many,
    model_asked,
    one_text,
    positive,
    texts_of,
    told,
    warn_if_cut,
)
from mha_core.errors import InputError
from mha_core.experiments.interventions import (
    Factor,
    Intervention,
    MeanAblation,
    PatchHeads,
    heads_from,
    same_length,
)
from mha_core.experiments.once import measure, next_words
from mha_core.experiments.outcomes import Outcome, Word, bind, default_outcome
from mha_core.experiments.parts import Part
from mha_core.experiments.prompt_sweep import METHODS, sweep_prompts
from mha_core.experiments.prompts import USUAL, Prompt, read_prompts, with_other_names
from mha_core.experiments.report import Asked, once_answer, prompts_answer, sweep_answer
from mha_core.experiments.sweep import every_head, patch_heads, patch_states
from mha_core.model import Model
from mha_core.model_list import DECODER
from mha_core.tokens import Tokens
from mha_core.wording import Head, head_name

T = TypeVar("T")
Commands = Any  # argparse keeps the type of its subparsers to itself
NO_HEADS = "Name the heads with --heads 19-7,18-4, or sweep all of them with --every."
NO_PATCH = "Name the heads to patch with --heads 19-7,18-4, or choose --every heads or --every layers."
MANY = (
    "--every sweeps the heads over 12 prompts of the same kind: a file's (a prompt and its two answers a line, between "
    "tabs), or those that other first names make of the sentence. Without two names in it, or with --heads, --factor "
    "or --mean, it is a single prompt's map."
)


def add_experiment_parsers(commands: Commands, note: str) -> None:
    """Add `ablate` and `patch` to the command line."""
    ablate = commands.add_parser(
        "ablate", help="ablate heads and show how predictions change", epilog=f"{MANY} {note}"
    )
    add_texts(ablate, "the sentence")
    ablate.add_argument("--heads", metavar="HEADS", help="heads to ablate together, such as 19-7,18-4")
    ablate.add_argument("--every", action="store_true", help="ablate one head at a time (ablation sweep)")
    how = ablate.add_mutually_exclusive_group()
    how.add_argument(
        "--factor", type=float, help="multiply the head output by this (default: 0, zero ablation)"
    )
    how.add_argument(
        "--mean", action="store_true", help="mean ablation; the first token of a decoder keeps its output"
    )
    how.add_argument("--method", choices=METHODS, help="method of a sweep over prompts (default: all three)")
    ablate.add_argument(
        "--prompts", type=positive, default=USUAL, metavar="N", help="number of prompts (%(default)s)"
    )
    ablate.set_defaults(run=_run_ablate)
    patch = commands.add_parser(
        "patch", help="run one text with heads or states of another (activation patching)", epilog=note
    )
    patch.add_argument("source", metavar="SOURCE", help="text to patch from; - reads standard input")
    patch.add_argument(
        "text", metavar="INTO", help="text to run, with as many tokens; - reads standard input"
    )
    patch.add_argument("--heads", metavar="HEADS", help="heads to patch together, such as 19-7,18-4")
    patch.add_argument(
        "--every",
        choices=("heads", "layers"),
        help="patch each head, or the state of each layer and token",
    )
    patch.set_defaults(run=_run_patch)
    for parser in (ablate, patch):
        _add_options(parser)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_model(parser, DECODER)
    parser.add_argument(
        "--target", metavar="WORD", help="word whose logit to measure, with its space: ' Mary'"
    )
    parser.add_argument("--against", metavar="WORD", help="word whose logit to subtract")
    parser.add_argument(
        "--top", type=positive, default=5, help="number of words and heads to list (%(default)s)"
    )
    add_format(parser)


def _run_ablate(options: argparse.Namespace) -> int:
    if not options.heads and not options.every:
        raise InputError(NO_HEADS)
    texts = texts_of(options, tables=(".tsv",))
    model = model_asked(options)
    heads = heads_from(options.heads or "", model.n_layers, model.n_heads)
    if not heads and not options.every:
        raise InputError(NO_HEADS)
    if prompts := _prompts(texts, model, options):
        methods = METHODS if options.method is None else (options.method,)
        effects = [_finished(sweep_prompts(prompts, model, method), method) for method in methods]
        give(options, prompts_answer(model.info, effects, options.top))
    elif len(texts) == 1:
        give(options, _ablated(texts[0], model, heads, options))
    else:
        give_many(options, (_ablated(text, model, heads, options) for _, text in told(texts)))
    return 0


def _prompts(texts: Sequence[str], model: Model, options: argparse.Namespace) -> tuple[Prompt, ...]:
    """The prompts to sweep over: a file's, or those made of one sentence; none for a single prompt's map."""
    if not options.every or options.heads or options.mean or options.factor is not None:
        return ()
    if "\t" in texts[0]:
        return read_prompts(texts, model)
    outcome = default_outcome(model.tokenizer.encode(texts[0]), model, options.target, options.against)
    if len(texts) > 1 or not isinstance(outcome, Word):
        return ()
    return with_other_names(Prompt(texts[0], outcome.target, outcome.against), model, options.prompts)


def _ablated(text: str, model: Model, heads: tuple[Head, ...], options: argparse.Namespace) -> Answer:
    """One text, with the heads ablated together or one at a time."""
    tokens, outcome = _begin(text, model, options)
    factor = None if options.mean else options.factor or 0.0
    chosen: tuple[Intervention, ...] = ()
    if heads:
        chosen = (MeanAblation(heads) if factor is None else Factor(heads, factor),)
    asked = Asked(tokens, model.info, outcome, _named(heads), "mean" if factor is None else factor)
    if not options.every:
        return _once(options, asked, model, chosen)
    effects = _finished(every_head(tokens, model, outcome, factor=factor, base=chosen))
    return sweep_answer(asked, effects, options.top)


def _run_patch(options: argparse.Namespace) -> int:
    if bool(options.heads) == bool(options.every):
        raise InputError(NO_PATCH)
    if options.source == options.text == STDIN:
        raise InputError("Standard input can be read once: one of the two texts can be -.")
    model = model_asked(options)
    tokens, outcome = _begin(one_text(options.text), model, options)
    source = model.tokenizer.encode(one_text(options.source))
    warn_if_cut(source.n_cut, model)
    same_length(source, tokens)
    heads = heads_from(options.heads or "", model.n_layers, model.n_heads)
    asked = Asked(tokens, model.info, outcome, _named(heads), "patch", source)
    if options.every:
        sweep = patch_heads if options.every == "heads" else patch_states
        found = sweep_answer(asked, _finished(sweep(source, tokens, model, outcome)), options.top)
    elif heads:
        found = _once(options, asked, model, (PatchHeads(heads, source.text),))
    else:
        raise InputError(NO_PATCH)
    give(options, found)
    return 0


def _named(heads: Sequence[Head]) -> str:
    return ", ".join(map(head_name, heads))


def _begin(text: str, model: Model, options: argparse.Namespace) -> tuple[Tokens, Outcome]:
    """The text and what is measured: known to be sound before anything is tried."""
    tokens = model.tokenizer.encode(text)
    warn_if_cut(tokens.n_cut, model)
    outcome = default_outcome(tokens, model, options.target, options.against)
    bind(outcome, tokens, model)
    return tokens, outcome


def _once(options: argparse.Namespace, asked: Asked, model: Model, chosen: Sequence[Intervention]) -> Answer:
    """One run with all that was chosen, beside the plain one."""
    before, after = (
        (
            measure(asked.tokens, model, asked.outcome, one),
            next_words(asked.tokens, model, one, options.top) if isinstance(asked.outcome, Word) else (),
        )
        for one in ((), chosen)
    )
    return once_answer(asked, bind(asked.outcome, asked.tokens, model).names, before, after)


def _finished(parts: Iterator[Part[T]], name: str = "") -> T:
    """The result, with a line of progress where somebody sits in front of a screen."""
    for part in parts:
        if at_terminal():
            sys.stderr.write(f"\r{name} {100 * part.fraction:3.0f} %" + ("\n" if part.fraction >= 1 else ""))
            sys.stderr.flush()
    return part.result
