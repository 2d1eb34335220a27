"""`headscope atlas`: what every head does over a text, as a table for a person or as rows for a program.

In: arguments. Out: an exit code (0 done, 2 cannot be used, 130 stopped: what was read by then is written).
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from mha_core.command_io import Answer, add_format, add_model, give, model_asked
from mha_core.console import STOPPED
from mha_core.errors import InputError
from mha_core.export import model_of
from mha_core.heads.atlas.collect import Collection
from mha_core.heads.atlas.describe import sentences
from mha_core.heads.atlas.passages import LEAST_TOKENS, own_passages, read_passages
from mha_core.heads.atlas.shipped import read_shipped
from mha_core.heads.atlas.table import Atlas, atlas
from mha_core.heads.corpora import Lines
from mha_core.model import Model
from mha_core.wording import Head, counted, head_name, size_in_words

SHOWN = 8  # examples of a head in the table
Stop = Callable[[], bool]


def add_atlas_parser(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> argparse.ArgumentParser:
    """Add `atlas` to the command line, and return its parser."""
    text = "find what every head does in ordinary text, and list its top examples"
    parser: argparse.ArgumentParser = commands.add_parser(
        "atlas", help=text, description=f"{text.capitalize()}."
    )
    add_model(parser, "minilm")
    parser.add_argument(
        "--text",
        type=Path,
        metavar="FILE",
        help="your text, one passage per line (default: the corpus of HeadScope)",
    )
    parser.add_argument("--head", help="show one head with its examples, such as 24-4")
    add_format(parser)
    parser.add_argument("--progress", action="store_true", help="show progress")
    return parser


def run(args: argparse.Namespace, stop: Stop) -> int:
    """Write the atlas. Raises HeadScopeError."""
    model = model_asked(args)
    head = None if args.head is None else _head(args.head, model)
    found, stopped = _found(args, model, stop)
    answer = _of_all(found, model) if head is None else _of_one(found.only(head))
    text = "the project's own passages" if args.text is None else args.text.name
    give(args, answer._replace(about={"model": model_of(model.info), "text": text, **answer.about}))
    if stopped:
        _say(f"Stopped after {counted(found.n_passages, 'passage')}; the numbers are those of what was read.")
    return STOPPED if stopped else 0


def _found(args: argparse.Namespace, model: Model, stop: Stop) -> tuple[Atlas, bool]:
    """The atlas asked for, and whether it was stopped before the end of the text."""
    there = read_shipped(args.model, model.digest) if args.text is None and model.trained else None
    if there is not None:
        return there.atlas, False
    kept = Collection(model.n_layers, model.n_heads, model.is_causal)
    stopped = False
    for batch in read_passages(own_passages() if args.text is None else Lines(args.text), model):
        for passage in batch:
            kept.add(*passage)
        if args.progress:
            _say(counted(kept.n_passages, "passage"))
        stopped = stop()
        if stopped:
            break
    if not kept.n_passages:
        raise InputError(f"{args.text.name} has no line of {LEAST_TOKENS} tokens or more.")
    return atlas(kept), stopped


def _head(given: str, model: Model) -> Head:
    layer, _, head = given.partition("-")
    if layer.isdecimal() and head.isdecimal():
        found = int(layer) - 1, int(head) - 1
        if 0 <= found[0] < model.n_layers and 0 <= found[1] < model.n_heads:
            return found
    raise InputError(
        f"Unknown head '{given[:20]}'. {model.title} has {size_in_words(model.n_layers, model.n_heads)}."
    )


def _of_all(found: Atlas, model: Model) -> Answer:
    """A row a head and feature; the examples stand beside them."""
    frame, beside = found.descriptions(), found.to_data()
    del beside["descriptions"]  # they are the rows
    said = (
        f"{found.n_described} of {counted(len(found.heads), 'head')} described, {found.n_by_content} by more than a "
        f"position. {model.title}, {counted(found.n_passages, 'passage')}, {counted(found.n_tokens, 'token')}.\n"
        "share of the n top examples, its 95 % interval, and how many times the baseline it is (lift)\n"
    )
    return Answer(frame, beside, said)


def _of_one(found: Atlas) -> Answer:
    """A row an example of one head; its description stands beside them."""
    frame, beside, (entry,) = found.to_frame(), found.to_data(), found.heads
    del beside["examples"]  # they are the rows
    lines = [f"Head {head_name(entry.head)}", *sentences(entry.description)]
    lines.append(f"Its largest weight is on an attention sink in {100 * entry.sink:.0f}% of rows.")
    columns = ["query_text", "key_text", "weight", "output_norm", "passage", "raises", "lowers"]
    shown = frame.loc[frame.kind == "top", columns].head(SHOWN)
    return Answer(frame, beside, "\n".join(lines) + "\n", shown.loc[:, shown.astype(bool).any()])


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
