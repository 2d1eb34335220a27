"""`python -m mha_core ablate TEXT` and `patch SOURCE INTO`: the same experiments without a screen."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mha_core.command_io import (
    STDIN,
    Write,
    add_digest,
    add_format,
    add_texts,
    at_terminal,
    form_of,
    one_text,
    texts_of,
    told,
    written,
)
from mha_core.errors import InputError
from mha_core.experiments.interventions import (
    Factor,
    Intervention,
    MeanOutput,
    PatchHeads,
    heads_from,
    same_length,
)
from mha_core.experiments.once import measure, next_words
from mha_core.experiments.outcomes import Outcome, Word, bind, default_outcome
from mha_core.experiments.parts import Part
from mha_core.experiments.report import (
    Asked,
    effects_data,
    effects_rows,
    effects_text,
    once_data,
    once_rows,
    once_text,
)
from mha_core.experiments.sweep import every_head, patch_heads, patch_states
from mha_core.export import json_of
from mha_core.model import Model
from mha_core.shelf import DECODER
from mha_core.tokens import Tokens
from mha_core.wording import Head, head_name

Commands = Any  # argparse keeps the type of its subparsers to itself
Load = Callable[[argparse.Namespace], Model]
Warn = Callable[[int, Model], None]  # of so many tokens that a model leaves out
NO_HEADS = "Say which heads with --heads 19-7,18-4, or try one after the other with --every."
NO_PATCH = "Say which heads to take over with --heads 19-7,18-4, or --every heads, or --every layers."


@dataclass(frozen=True)
class Found:
    """What one text gave: everything, its rows, and its table."""

    data: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    text: str


def add_experiment_parsers(commands: Commands, load: Load, write: Write, warn: Warn, note: str) -> None:
    """Add `ablate` and `patch` to the command line, which loads models and writes results as it always does."""
    ablate = commands.add_parser(
        "ablate", help="take heads away: what changes in what the model says", epilog=note
    )
    add_texts(ablate, "the sentence")
    ablate.add_argument("--heads", metavar="HEADS", help="the heads to change, from 1: 19-7,18-4")
    ablate.add_argument(
        "--every", action="store_true", help="one head after the other (with --heads: beside those)"
    )
    how = ablate.add_mutually_exclusive_group()
    how.add_argument("--factor", type=float, default=0.0, help="times what a head mixes (0: taken away)")
    how.add_argument(
        "--mean", action="store_true", help="its mean output over the built-in sentences instead"
    )
    ablate.set_defaults(run=partial(_run_ablate, load, write, warn))
    patch = commands.add_parser(
        "patch", help="run one text with the heads' output, or the states, of another", epilog=note
    )
    patch.add_argument("source", metavar="SOURCE", help="the text to take from; - reads standard input")
    patch.add_argument("text", metavar="INTO", help="the text to run, of as many tokens; or -")
    patch.add_argument("--heads", metavar="HEADS", help="the heads to take over together, from 1: 19-7,18-4")
    patch.add_argument(
        "--every",
        choices=("heads", "layers"),
        help="one head after the other, or the state of every layer at every token",
    )
    patch.set_defaults(run=partial(_run_patch, load, write, warn))
    for parser in (ablate, patch):
        _add_options(parser)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default=DECODER, help="shelf name, hub id or folder (%(default)s)")
    add_digest(parser)
    parser.add_argument(
        "--target", metavar="WORD", help="the word whose logit is measured, ' Mary' with its space"
    )
    parser.add_argument("--against", metavar="WORD", help="less the logit of this word")
    parser.add_argument("--top", type=int, default=5, help="how many words and heads to list (%(default)s)")
    parser.add_argument("--untrained", action="store_true", help="the same shape with random weights")
    add_format(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    parser.add_argument("--precision", help="float32 (default), float64, bfloat16 or float16")


def _run_ablate(load: Load, write: Write, warn: Warn, options: argparse.Namespace) -> int:
    if not options.heads and not options.every:
        raise InputError(NO_HEADS)
    _check_top(options)
    texts = texts_of(options)
    model = load(options)
    heads = heads_from(options.heads or "", model.n_layers, model.n_heads)
    if not heads and not options.every:
        raise InputError(NO_HEADS)
    found = [_ablated(text, model, heads, options, warn) for _, text in told(texts)]
    _answer(write, options, found, numbered=len(texts) > 1)
    return 0


def _ablated(
    text: str, model: Model, heads: tuple[Head, ...], options: argparse.Namespace, warn: Warn
) -> Found:
    """One text, with the heads changed together or one after the other."""
    tokens, outcome = _begin(text, model, options, warn)
    chosen: tuple[Intervention, ...] = ()
    if heads:
        chosen = (MeanOutput(heads) if options.mean else Factor(heads, options.factor),)
    how = "mean" if options.mean else options.factor
    asked = Asked(tokens, model.info, outcome, _named(heads), how)
    if options.every:
        factor = None if options.mean else options.factor
        return _every(options, asked, every_head(tokens, model, outcome, factor=factor, base=chosen))
    return _once(options, asked, model, chosen)


def _run_patch(load: Load, write: Write, warn: Warn, options: argparse.Namespace) -> int:
    if bool(options.heads) == bool(options.every):
        raise InputError(NO_PATCH)
    if options.source == options.text == STDIN:
        raise InputError("Standard input can be read once: one of the two texts can be -.")
    _check_top(options)
    model = load(options)
    tokens, outcome = _begin(one_text(options.text), model, options, warn)
    source = model.tokenizer.encode(one_text(options.source))
    warn(source.n_cut, model)
    same_length(source, tokens)
    heads = heads_from(options.heads or "", model.n_layers, model.n_heads)
    asked = Asked(tokens, model.info, outcome, _named(heads), "patch", source)
    if options.every:
        sweep = patch_heads if options.every == "heads" else patch_states
        found = _every(options, asked, sweep(source, tokens, model, outcome))
    else:
        if not heads:
            raise InputError(NO_PATCH)
        found = _once(options, asked, model, (PatchHeads(heads, source.text),))
    _answer(write, options, [found])
    return 0


def _named(heads: Sequence[Head]) -> str:
    """The heads that are changed, each once, from 1: "19-7,18-4"."""
    return ",".join(map(head_name, heads))


def _check_top(options: argparse.Namespace) -> None:
    if options.top < 1:
        raise InputError(f"--top is {options.top}; it is the number of words and heads to list, from 1.")


def _begin(text: str, model: Model, options: argparse.Namespace, warn: Warn) -> tuple[Tokens, Outcome]:
    """The text and what is measured: known to be sound before anything is tried."""
    tokens = model.tokenizer.encode(text)
    warn(tokens.n_cut, model)
    outcome = default_outcome(tokens, model, options.target, options.against)
    bind(outcome, tokens, model)
    return tokens, outcome


def _once(options: argparse.Namespace, asked: Asked, model: Model, chosen: Sequence[Intervention]) -> Found:
    """One run with all that was chosen, beside the plain one."""
    runs = [
        (
            measure(asked.tokens, model, asked.outcome, one),
            next_words(asked.tokens, model, one, options.top) if isinstance(asked.outcome, Word) else (),
        )
        for one in ((), chosen)
    ]
    names = bind(asked.outcome, asked.tokens, model).names
    data = once_data(asked, names, *runs)
    return Found(data, once_rows(data), once_text(data))


def _every(options: argparse.Namespace, asked: Asked, parts: Iterator[Part[Any]]) -> Found:
    """One change after the other, with a line of progress where somebody sits in front of a screen."""
    for part in parts:
        if at_terminal():
            sys.stderr.write(f"\r{100 * part.fraction:3.0f} %" + ("\n" if part.fraction >= 1 else ""))
            sys.stderr.flush()
    data = effects_data(asked, part.result, options.top)
    return Found(data, effects_rows(data), effects_text(data))


def _answer(
    write: Write, options: argparse.Namespace, found: Sequence[Found], numbered: bool = False
) -> None:
    """JSON is everything; CSV and lines of JSON are the rows alone, `numbered` by their text."""
    form = form_of(options, "jsonl" if numbered else "table")
    data = [one.data for one in found]
    if form == "json":
        write(json_of(data if numbered else data[0], indent=1), options.out)
        return
    rows = [
        {**({"sentence": number} if numbered else {}), **row}
        for number, one in enumerate(found, 1)
        for row in one.rows
    ]
    texts = [f"{one.data['text']}\n{one.text}\n" if numbered else one.text for one in found]
    write(written(form, rows, list(rows[0]), data, lambda: "".join(texts)), options.out)
