"""`headscope why TEXT --head 19-7 --from WORD --to WORD`: why a head looks there, the parts of one link's score."""

import argparse
from functools import partial
from typing import Any

from mha_core.command_io import Answer, add_format, add_model, give, model_asked, one_text, warn_if_cut
from mha_core.errors import InputError
from mha_core.export import model_of
from mha_core.model_list import DECODER
from mha_core.why import why

COLUMNS = ["side", "part", "layer", "head", "score"]


def add_why_parser(commands: Any, note: str) -> None:
    """The command `why`."""
    parser = commands.add_parser(
        "why", help="why a head looks there: the parts of one link's score", epilog=note
    )
    parser.add_argument("text", metavar="TEXT", help="the sentence; - reads standard input")
    add_model(parser, DECODER)
    word = partial(parser.add_argument, required=True, metavar="WORD")
    parser.add_argument("--head", required=True, metavar="HEAD", help="the head, from 1: 19-7")
    word(
        "--from",
        dest="source",
        help="the token that looks (urs#2: the second; #20: the 20th token, special ones counted)",
    )
    word("--to", dest="target", help="the token it looks at")
    parser.add_argument(
        "--top", type=int, default=10, help="parts of each side in a table (%(default)s; 0 for all)"
    )
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.top < 0:
        raise InputError(f"--top must be 0 for all parts, or more, not {options.top}.")
    model = model_asked(options)
    tokens = model.tokenizer.encode(one_text(options.text))
    warn_if_cut(tokens.n_cut, model)
    frame = why(tokens, model, head=options.head, query=options.source, key=options.target)
    weight, score = frame.attrs["weight"], frame.attrs["score"]
    finding = (
        f"Head {options.head} looks from '{options.source}' to '{options.target}' ({weight:.0%}). "
        f"The score is {score:.3f} above the mean of its keys.\n"
    )
    link = {"head": options.head, "from": options.source, "to": options.target}
    about = {"model": model_of(model.info), "text": tokens.text, **link, "weight": weight, "score": score}
    frame = frame[COLUMNS]
    give(options, Answer(frame, about, finding, frame.groupby("side").head(options.top or len(frame))))
    return 0
