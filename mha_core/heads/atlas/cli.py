"""`python -m mha_core heads atlas`: what every head does over a text, as a table for a person or as JSON.

In: arguments. Out: an exit code (0 done, 2 cannot be used, 130 stopped by the reader: what there was is written).
Without --text it is the project's own reader, whose numbers come with the program.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from mha_core.command_io import add_digest, warn_if_unpinned
from mha_core.console import STOPPED
from mha_core.errors import InputError
from mha_core.export import model_of
from mha_core.heads.answers import Answer, add_answer, cells_of_atlas, give
from mha_core.heads.atlas.making import make
from mha_core.heads.atlas.reader import read_reader
from mha_core.heads.atlas.reading import read_passages
from mha_core.heads.atlas.said import label, sentence
from mha_core.heads.atlas.shipped import read_shipped, shipped_file, write_shipped
from mha_core.heads.atlas.table import Atlas, HeadEntry, atlas, atlas_data
from mha_core.heads.corpora import Lines
from mha_core.load import load_model
from mha_core.model import Model
from mha_core.wording import Head, counted, head_name, size_in_words

LINES = 8  # moments of a head in the table
Stop = Callable[[], bool]


def add_atlas_parser(questions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `heads atlas` to the command line."""
    text = "what every head does over ordinary text, found without being told what to look for"
    parser = questions.add_parser("atlas", help=text, description=f"Find out {text}.")
    parser.add_argument("--model", default="minilm", help="a name on the shelf, a hub id or a folder")
    parser.add_argument(
        "--text",
        type=Path,
        metavar="FILE",
        help="plain text, one passage a line (the reader)",
    )
    parser.add_argument("--head", help="one head alone, counted from 1, such as 24-4")
    add_answer(parser)
    add_digest(parser)
    parser.add_argument("--untrained", action="store_true", help="the same model with random weights")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, mps")
    parser.add_argument("--progress", action="store_true", help="say how far it is")
    parser.add_argument(
        "--ship", action="store_true", help="compute the reader's numbers and write them to assets/"
    )


def run(args: argparse.Namespace, stop: Stop) -> int:
    """Write the atlas. Raises HeadScopeError."""
    model = load_model(args.model, trained=not args.untrained, device=args.device, sha256=args.sha256)
    warn_if_unpinned(model)
    head = _head(args.head, model)
    if args.ship:
        return _ship(args, model)
    found, stopped = _found(args, model, stop)
    text = _name(args.text)
    data = {"model": model_of(model.info), "text": text, **atlas_data(found, head)}
    give(args, Answer(data, data["heads"], lambda: _table(found, model, head), cells_of_atlas(data)))
    if stopped:
        _say(f"Stopped after {counted(found.n_passages, 'passage')}; the numbers are those of what was read.")
    return STOPPED if stopped else 0


def _found(args: argparse.Namespace, model: Model, stop: Stop) -> tuple[Atlas, bool]:
    """The atlas asked for, and whether it was stopped before the end of the text."""
    if args.text is None and model.trained:
        there = read_shipped(args.model, model.digest)
        if there is not None:
            return there.atlas, False
    lines: Iterable[str] = (one.text for one in read_reader()) if args.text is None else Lines(args.text)
    sums = None
    for part in read_passages(lines, model):
        sums = part.sums
        if args.progress:
            _say(counted(part.n, "passage"))
        if stop():
            return atlas(sums), True
    if sums is None:
        raise InputError(f"There is no passage of a few words in {_name(args.text)}.")
    return atlas(sums), False


def _name(text: Path | None) -> str:
    return "the reader" if text is None else text.name


def _ship(args: argparse.Namespace, model: Model) -> int:
    if args.text is not None or args.untrained:
        raise InputError("The shipped numbers are those of the trained model on the reader.")
    write_shipped(
        make(model, _say if args.progress else lambda _: None), args.model, shipped_file(args.model)
    )
    return 0


def _head(given: str | None, model: Model) -> Head | None:
    if given is None:
        return None
    layer, _, head = given.partition("-")
    if not (layer.isdecimal() and head.isdecimal()) or not (
        1 <= int(layer) <= model.n_layers and 1 <= int(head) <= model.n_heads
    ):
        raise InputError(
            f"There is no head '{given[:20]}'; {model.title} has {size_in_words(model.n_layers, model.n_heads)}."
        )
    return int(layer) - 1, int(head) - 1


def _table(found: Atlas, model: Model, head: Head | None) -> str:
    rests_on = "the first token" if model.is_causal else " or ".join(model.tokenizer.special_names)
    if head is not None:
        return "\n".join(_card(found, found.entry(head), rests_on)) + "\n"
    has = "has" if 1 in (found.n_described, len(found.heads)) else "have"
    lines = [
        f"{model.title}: {counted(found.n_passages, 'passage')}, {counted(found.n_tokens, 'token')}. "
        f"{found.n_described} of {counted(len(found.heads), 'head')} {has} a description, "
        f"{found.n_by_content} by more than a position.",
        f"{'head':>6}  {'rests':>6}  does",
    ]
    for entry in found.heads:
        rests = 100 * entry.measures["rests"]
        findings = ", ".join(
            f"{one.feature.key} {100 * one.share:.0f} % (x{one.lift:.1f})"
            for one in entry.description.findings
        )
        lines.append(f"{head_name(entry.head):>6}  {rests:4.0f} %  {findings or label(entry.description)}")
    return "\n".join(lines) + "\n"


def _card(found: Atlas, entry: HeadEntry, rests_on: str) -> Iterable[str]:
    yield f"{head_name(entry.head)}: {sentence(entry, rests_on)}"
    for one in entry.strongest[:LINES]:
        labels = found.passages[one.passage].labels
        yield (
            f"  {labels[one.query]!r} -> {labels[one.key]!r}  weight {one.weight:.2f}, brings {one.brings:.1f}, "
            f"passage {one.passage}"
        )


def _say(sentence_: str) -> None:
    sys.stderr.write(sentence_ + "\n")
