"""`headscope trace TEXT`: the attention of every head, of one text or of many."""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from mha_core.command_io import Write, add_digest, add_format, add_texts, form_of, texts_of, told
from mha_core.errors import InputError
from mha_core.hf_layers import PARTS
from mha_core.listing import HeadFilter, strongest_heads, unit_named
from mha_core.model import Model
from mha_core.output import render
from mha_core.shelf import EMBEDDED
from mha_core.trace import trace

Load = Callable[[argparse.Namespace], Model]


def add_trace_parser(
    commands: Any, load: Load, write: Write, warn: Callable[[int, Model], None], note: str
) -> None:
    """The command `trace`."""
    parser = commands.add_parser("trace", help="the attention of every head for a sentence", epilog=note)
    add_texts(parser, "the sentence")
    parser.add_argument(
        "--pair", metavar="TEXT", help="a second sentence; of an encoder-decoder what its decoder reads"
    )
    parser.add_argument(
        "--attention",
        choices=PARTS,
        default=PARTS[0],
        help="of an encoder-decoder: encoder, decoder or cross (%(default)s)",
    )
    parser.add_argument(
        "--model", default=EMBEDDED, help="a name on the shelf, a folder or a hub id (%(default)s)"
    )
    add_digest(parser)
    parser.add_argument("--untrained", action="store_true", help="the same shape with random weights")
    parser.add_argument("--words", action="store_true", help="whole words instead of word pieces")
    parser.add_argument("--layer", type=int, help="only this layer, from 1")
    parser.add_argument("--head", type=int, help="only this head, from 1")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="WORD",
        help="heads by their weight from this token (it#2: the second)",
    )
    parser.add_argument("--to", dest="target", metavar="WORD", help="... to this token")
    parser.add_argument("--top", type=int, default=10, help="how many heads to list (%(default)s; 0 for all)")
    add_format(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    parser.add_argument("--precision", help="float32 (default), float64, bfloat16 or float16")
    parser.set_defaults(run=partial(_run, load, write, warn))


def _run(
    load: Load,
    write: Write,
    warn: Callable[[int, Model], None],
    options: argparse.Namespace,
) -> int:
    for name, given in (("--from", options.source), ("--to", options.target), ("--pair", options.pair)):
        if given is not None and not given.strip():
            raise InputError(f"{name} is empty; give a text, or leave it out.")
    if options.target and not options.source:
        raise InputError("--to says where to look and needs --from, the token that looks.")
    texts = texts_of(options)
    form = form_of(options, "table" if len(texts) == 1 else "jsonl")
    if len(texts) == 1:
        write(_answer(texts[0], load(options), warn, options, form), options.out)
        return 0
    if options.pair is not None:
        raise InputError("--pair is the second of two sentences; a file of sentences takes none.")
    answers = _answers(texts, load(options), warn, options, form)
    if form == "json":
        answers = iter(["[\n", ",".join(answers), "]\n"])
    if options.out is None:
        for answer in answers:
            write(answer, None)
    else:
        write("".join(answers), options.out)
    return 0


def _answers(
    texts: list[str],
    model: Model,
    warn: Callable[[int, Model], None],
    options: argparse.Namespace,
    form: str,
) -> Iterator[str]:
    """One text after the other; tables under their sentence, and one line of headings for all of a CSV."""
    for number, text in told(texts):
        try:
            answer = _answer(text, model, warn, options, form)
        except InputError as problem:
            raise InputError(f"Text {number}: {problem}") from None
        if form == "csv":
            heading, *rows = answer.removesuffix("\n").split("\n")
            answer = ("" if number > 1 else f"sentence,{heading}\n") + "".join(
                f"{number},{row}\n" for row in rows
            )
        yield f"{text}\n{answer}\n" if form == "table" else answer


def _answer(
    text: str,
    model: Model,
    warn: Callable[[int, Model], None],
    options: argparse.Namespace,
    form: str,
) -> str:
    record = trace(text, model, pair=options.pair, part=options.attention)
    warn(record.tokens.n_cut, model)
    grid = record.grid(words=options.words)
    ranking = None
    if options.source:
        source = unit_named(grid, options.source)
        target = unit_named(grid, options.target, among_keys=True) if options.target else None
        ranking = strongest_heads(grid, source, target)
    choice = HeadFilter(options.layer, options.head, ranking, options.top)
    choice.check(record.n_layers, record.n_heads)
    return render(record, grid, choice, form)
