"""`headscope trace TEXT`: the attention of every head, of one text or of many."""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mha_core.command_io import (
    Answer,
    add_format,
    add_model,
    add_texts,
    form_of,
    give,
    give_many,
    model_asked,
    texts_of,
    told,
    warn_if_cut,
)
from mha_core.errors import InputError
from mha_core.export import described, weights_data
from mha_core.grid import Grid
from mha_core.hf_layers import PARTS
from mha_core.model import Model
from mha_core.model_list import EMBEDDED
from mha_core.ranked_links import strongest_links
from mha_core.record import AttentionRecord
from mha_core.summary import layers_without
from mha_core.trace import trace
from mha_core.wording import counted

if TYPE_CHECKING:
    import pandas as pd


def add_trace_parser(commands: Any, note: str) -> None:
    """The command `trace`."""
    parser = commands.add_parser("trace", help="show the attention of every head for a sentence", epilog=note)
    add_texts(parser, "the sentence")
    parser.add_argument(
        "--pair", metavar="TEXT", help="second sentence; for an encoder-decoder, the decoder's text"
    )
    parser.add_argument(
        "--attention",
        choices=PARTS,
        default=PARTS[0],
        help="attention of an encoder-decoder: encoder, decoder or cross (%(default)s)",
    )
    add_model(parser, EMBEDDED)
    parser.add_argument("--words", action="store_true", help="merge tokens to whole words")
    parser.add_argument("--layer", type=int, help="show one layer")
    parser.add_argument("--head", type=int, help="show one head of --layer")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="WORD",
        help="rank heads by attention from this token (it#2: the second)",
    )
    parser.add_argument("--to", dest="target", metavar="WORD", help="rank heads by attention to this token")
    parser.add_argument(
        "--top", type=int, default=10, help="number of heads to list (%(default)s; 0 for all)"
    )
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    for name, given in (("--from", options.source), ("--to", options.target), ("--pair", options.pair)):
        if given is not None and not given.strip():
            raise InputError(f"{name} is empty. Give a text, or leave it out.")
    if options.target and not options.source:
        raise InputError("--to needs --from, the token that looks.")
    texts = texts_of(options)
    if len(texts) == 1:
        give(options, _answer(texts[0], model_asked(options), options, form_of(options)))
        return 0
    if options.pair is not None:
        raise InputError("--pair works with one sentence, not with --file.")
    give_many(options, _answers(texts, model_asked(options), options))
    return 0


def _answers(texts: Sequence[str], model: Model, options: argparse.Namespace) -> Iterator[Answer]:
    for number, text in told(texts):
        try:
            answer = _answer(text, model, options, form_of(options, "jsonl"))
        except InputError as problem:
            raise InputError(f"Text {number}: {problem}") from None
        yield answer


def _answer(text: str, model: Model, options: argparse.Namespace, form: str) -> Answer:
    """Weights are arrays in JSON, where a row for each would be ten times as long."""
    record = trace(text, model, pair=options.pair, part=options.attention)
    warn_if_cut(record.tokens.n_cut, model, record.tokens.cut_text)
    _check(options, record)
    grid = record.grid(words=options.words)
    if options.source:
        ranked = _chosen(grid.rank(options.source, options.target), options)
        asked = {"from": options.source, "to": options.target}
        return Answer(ranked.head(options.top or len(ranked)), described(record, grid) | asked)
    if form in ("json", "jsonl"):
        layers, heads = (
            slice(None) if number is None else slice(number - 1, number)
            for number in (options.layer, options.head)
        )
        return Answer(None, weights_data(record, grid, layers, heads))
    if form == "csv":
        return Answer(_chosen(grid.to_frame(), options), {})
    return Answer(None, {"text": text}, *_for_people(record, grid, options))


def _check(options: argparse.Namespace, record: AttentionRecord) -> None:
    """Raise InputError for a layer or head that the model does not have."""
    sizes = (("layer", options.layer, record.n_layers), ("head", options.head, record.n_heads))
    for name, value, count in sizes:
        if value is not None and not 1 <= value <= count:
            raise InputError(f"Unknown {name} {value}. This model has {name}s 1 to {count}.")
    if options.head is not None and options.layer is None:
        raise InputError("--head needs --layer: head numbers start again in every layer.")
    if options.top < 0:
        raise InputError(f"--top must be 0 (all heads) or more, not {options.top}.")


def _chosen(frame: "pd.DataFrame", options: argparse.Namespace) -> "pd.DataFrame":
    """The rows of the layer and of the head that were asked for; where `head` is its name, by its number."""
    by_head = "head_in_layer" if "head_in_layer" in frame else "head"
    for axis, number in (("layer", options.layer), (by_head, options.head)):
        frame = frame if number is None else frame[frame[axis] == number]
    return frame


def _for_people(
    record: AttentionRecord, grid: Grid, options: argparse.Namespace
) -> tuple[str, "pd.DataFrame"]:
    """One head: its matrix. Several: where each looks most."""
    model, tokens = record.model, record.tokens
    said = (
        f"{model.title}: {counted(model.n_layers, 'layer')} x {counted(model.n_heads, 'head')}, "
        f"{counted(len(tokens), 'token')}, {counted(len(tokens.words), 'word')}\n"
    )
    if options.head is not None:
        matrix = grid[f"{options.layer}-{options.head}"].to_frame()
        return f"{said}Head {options.layer}-{options.head}\n", matrix.rename_axis("looks at →", columns=None)
    without = layers_without(record)
    said += f"No attention weights: {without}.\n" if without else ""
    return f"{said}The largest weight of every head:\n", _chosen(strongest_links(grid), options)
