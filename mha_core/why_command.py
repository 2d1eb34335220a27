"""`headscope why TEXT --head 19-7 --from WORD --to WORD`: why a head looks there, the parts of one link's score."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from mha_core.command_io import add_digest, add_format, form_of, give_frame, one_text
from mha_core.errors import InputError
from mha_core.export import model_of
from mha_core.model import Model
from mha_core.shelf import DECODER
from mha_core.why import why

COLUMNS = ["side", "part", "layer", "head", "score"]
Load = Callable[[argparse.Namespace], Model]


def add_why_parser(commands: Any, load: Load, warn: Callable[[int, Model], None], note: str) -> None:
    """The command `why`."""
    parser = commands.add_parser(
        "why", help="why a head looks there: the parts of one link's score", epilog=note
    )
    parser.add_argument("text", metavar="TEXT", help="the sentence; - reads standard input")
    parser.add_argument("--model", default=DECODER, help="shelf name, hub id or folder (%(default)s)")
    add_digest(parser)
    parser.add_argument("--head", required=True, metavar="HEAD", help="the head, from 1: 19-7")
    parser.add_argument(
        "--from",
        dest="source",
        required=True,
        metavar="WORD",
        help="the token that looks (urs#2: the second; #20: the 20th token, special ones counted)",
    )
    parser.add_argument("--to", dest="target", required=True, metavar="WORD", help="the token it looks at")
    parser.add_argument(
        "--top", type=int, default=10, help="parts of each side in a table (%(default)s; 0 for all)"
    )
    parser.add_argument("--untrained", action="store_true", help="the same shape with random weights")
    add_format(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    parser.add_argument("--precision", help="float32 (default), float64, bfloat16 or float16")
    parser.set_defaults(run=partial(_run, load, warn))


def _run(load: Load, warn: Callable[[int, Model], None], options: argparse.Namespace) -> int:
    if options.top < 0:
        raise InputError(f"--top must be 0 for all parts, or more, not {options.top}.")
    model = load(options)
    tokens = model.tokenizer.encode(one_text(options.text))
    warn(tokens.n_cut, model)
    frame = why(tokens, model, head=options.head, query=options.source, key=options.target)
    weight, score = frame.attrs["weight"], frame.attrs["score"]
    if form_of(options) == "table":
        sys.stderr.write(
            f"Head {options.head} looks from '{options.source}' to '{options.target}' ({weight:.0%}). "
            f"The score is {score:.3f} above the mean of its keys.\n"
        )
        frame = frame.groupby("side").head(options.top) if options.top else frame
        frame = frame.astype({"layer": object, "head": object}).where(frame.notna(), "")
    link = {"head": options.head, "from": options.source, "to": options.target}
    about = {"model": model_of(model.info), "text": tokens.text, **link, "weight": weight, "score": score}
    give_frame(options, frame[COLUMNS], about)
    return 0
