"""`headscope atlas`: what every head does over a text, as a table for a person or as rows for a program.

In: arguments. Out: an exit code (0 done, 2 cannot be used, 130 stopped: what was read by then is written).
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mha_core.command_io import Answer, add_format, add_model, give, model_asked
from mha_core.console import STOPPED
from mha_core.export import model_of
from mha_core.grid import head_from_name
from mha_core.heads.atlas.collect import Collection
from mha_core.heads.atlas.describe import sentences
from mha_core.heads.atlas.passages import own_passages, read_passages
from mha_core.heads.atlas.shipped import read_shipped
from mha_core.heads.atlas.statistics import AtlasStatistics
from mha_core.heads.atlas.table import Atlas, atlas
from mha_core.heads.corpora import name_of
from mha_core.heads.survey import Options, Progress
from mha_core.model import Model
from mha_core.part_command import add_shards, give_part
from mha_core.wording import counted, head_name

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
    add_shards(parser, "your text, one passage per line, or .jsonl (default: the corpus of HeadScope)")
    parser.add_argument("--head", help="show one head with its examples, such as 24-4")
    add_format(parser)
    parser.add_argument("--progress", action="store_true", help="show progress")
    return parser


def run(args: argparse.Namespace, stop: Stop) -> int:
    """Write the atlas. Raises HeadScopeError."""
    if args.part or args.engine:
        return give_part("atlas", args, stop, _progress if args.progress else None)
    model = model_asked(args)
    shape = (model.n_layers, model.n_heads)
    if args.head is not None:
        head_from_name(args.head, *shape)
    found, stopped = _found(args, model, stop)
    text = ", ".join(map(name_of, args.shards)) or "the project's own passages"
    give_atlas(args, found, model_of(model.info), text, shape, model.title)
    if stopped:
        _say(f"Stopped after {counted(found.n_passages, 'passage')}; the numbers are those of what was read.")
    return STOPPED if stopped else 0


def give_atlas(
    args: argparse.Namespace,
    found: Atlas,
    model: Mapping[str, Any],
    text: str,
    shape: Sequence[int],
    title: str,
) -> None:
    """Write an atlas, or one head of it. Raises InputError for a head that is not in it."""
    answer = (
        _of_all(found, title)
        if args.head is None
        else _of_one(found.only(head_from_name(args.head, shape[0], shape[1])))
    )
    give(args, answer._replace(about={"model": model, "text": text, **answer.about}))


def _found(args: argparse.Namespace, model: Model, stop: Stop) -> tuple[Atlas, bool]:
    """The atlas asked for, and whether it was stopped before the end of the text."""
    if not args.shards:
        there = read_shipped(args.model, model.digest) if model.trained else None
        return atlas(_own(model, stop)) if there is None else there.atlas, stop()
    found = AtlasStatistics.start(model, args.shards)
    for number in found.lines:
        found.add(number, Options(stop=stop, progress=_progress if args.progress else None))
        if stop():
            break
    return found.result(), stop()


def _own(model: Model, stop: Stop) -> Collection:
    kept = Collection(model.n_layers, model.n_heads, model.info.visibility)
    for batch in read_passages(own_passages(), model):
        for passage in batch:
            kept.add(*passage)
        if stop():
            break
    return kept


def _progress(progress: Progress) -> None:
    _say(counted(progress.done, "passage"))


def _of_all(found: Atlas, title: str) -> Answer:
    """A row a head and feature; the examples stand beside them."""
    frame, beside = found.descriptions(), found.to_data()
    del beside["descriptions"]  # they are the rows
    said = (
        f"{found.n_described} of {counted(len(found.heads), 'head')} described, {found.n_by_content} by more than a "
        f"position. {title}, {counted(found.n_passages, 'passage')}, {counted(found.n_tokens, 'token')}.\n"
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
