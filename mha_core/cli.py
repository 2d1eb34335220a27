"""The command line, `headscope` or `python -m mha_core`: `app`, `trace TEXT`, `next TEXT`, `ablate TEXT`,
`patch SOURCE INTO`, `models`, `heads ...` and `learn ...`.

Layers and heads that a person reads count from 1 ("4-2" is layer 4, head 2, as Clark et al. 2019 write);
positions in arrays count from 0. Exit codes: 0, and 2 for bad input with one sentence on stderr.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import mha_core
from mha_core.app_command import add_app_parser
from mha_core.console import guarded, write_file
from mha_core.decoder_command import add_decoder_parser
from mha_core.embedded import DECODER, EMBEDDED
from mha_core.errors import InputError
from mha_core.experiments.cli import add_experiment_parsers
from mha_core.heads.cli import add_heads_parser
from mha_core.learning.cli import add_learn_parser
from mha_core.listing import HeadFilter, strongest_heads, unit_named
from mha_core.models import Model, load_model, shelf
from mha_core.output import FORMATS, render
from mha_core.prediction import predict_next
from mha_core.trace import trace

NOTE = (
    "Layers and heads are numbered from 1: 4-2 is layer 4, head 2. Positions in the JSON, CSV and NPZ arrays, "
    "[layer][head][query][key], are from 0. A row is the token that looks, a column the one looked at."
)
MESSAGE = 300  # characters of what was given that a sentence about it repeats at most


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    return guarded(_run, sys.argv[1:] if arguments is None else arguments)


def _run(arguments: Sequence[str]) -> int:
    options = build_parser().parse_args(arguments)
    code: int = options.run(options)
    return code


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line, without repeating its usage."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2 and one sentence."""
        message = message if len(message) <= MESSAGE else f"{message[:MESSAGE]}…"
        self.exit(2, f"{message[:1].upper()}{message[1:]}; see '{self.prog} --help'.\n")


def _root() -> argparse.ArgumentParser:
    called = Path(sys.argv[0]).stem
    prog = "headscope" if called == "headscope" else "python -m mha_core"
    parser = Parser(prog=prog, description="See what attention heads do.", epilog=NOTE)
    parser.add_argument("--version", action="version", version=f"HeadScope {mha_core.__version__}")
    return parser


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = _root()
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_app_parser(commands)
    _add_trace(commands)
    _add_next(commands)
    models = commands.add_parser("models", help="the models to choose from")
    models.set_defaults(run=_run_models)
    add_heads_parser(commands)
    add_experiment_parsers(commands, _load, _write, NOTE)
    add_learn_parser(commands)
    add_decoder_parser(commands)
    return parser


def _add_trace(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("trace", help="the attention of every head for a sentence", epilog=NOTE)
    parser.add_argument("text", metavar="TEXT", help="the sentence")
    parser.add_argument("--pair", metavar="TEXT", help="a second sentence")
    parser.add_argument(
        "--model", default=EMBEDDED, help="a name on the shelf, a folder or a hub id (%(default)s)"
    )
    parser.add_argument(
        "--sha256", metavar="HEX", help="the one digest that the model's files must have together"
    )
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
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write here instead of the screen")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    parser.add_argument("--precision", help="float32 (default), float64, bfloat16 or float16")
    parser.set_defaults(run=_run_trace)


def _run_trace(options: argparse.Namespace) -> int:
    for name, given in (("--from", options.source), ("--to", options.target), ("--pair", options.pair)):
        if given is not None and not given.strip():
            raise InputError(f"{name} is empty; give a text, or leave it out.")
    if options.target and not options.source:
        raise InputError("--to says where to look and needs --from, the token that looks.")
    if options.format == "npz" and options.out is None:
        raise InputError("NPZ is binary; say where to write it with --out FILE.")
    model = _load(options)
    record = trace(options.text, model, pair=options.pair)
    _warn_if_cut(record.tokens.n_cut, model)
    grid = record.grid(words=options.words)
    ranking = None
    if options.source:
        source = unit_named(grid, options.source)
        target = unit_named(grid, options.target) if options.target else None
        ranking = strongest_heads(grid, source, target)
    choice = HeadFilter(options.layer, options.head, ranking, options.top)
    choice.check(record.n_layers, record.n_heads)
    result = render(record, grid, choice, options.format)
    _write(result, options.out)
    return 0


def _add_next(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("next", help="the likeliest next tokens of a text, by a decoder")
    parser.add_argument("text", metavar="TEXT", help="the text to go on with")
    parser.add_argument("--model", default=DECODER, help="shelf name, hub id or folder (%(default)s)")
    parser.add_argument(
        "--sha256", metavar="HEX", help="the one digest that the model's files must have together"
    )
    parser.add_argument("--untrained", action="store_true", help="the same shape with random weights")
    parser.add_argument("--top", type=int, default=10, help="how many tokens to list (%(default)s)")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write here instead of the screen")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    parser.add_argument("--precision", help="float32 (default), float64, bfloat16 or float16")
    parser.set_defaults(run=_run_next)


def _run_next(options: argparse.Namespace) -> int:
    model = _load(options)
    tokens = model.tokenizer.encode(options.text)
    _warn_if_cut(tokens.n_cut, model)
    best = predict_next(tokens, model, k=options.top)
    if options.format == "json":
        rows = [
            {
                "token": guess.text,
                "id": guess.id,
                "probability": round(guess.probability, 6),
                "logit": guess.logit,
            }
            for guess in best
        ]
        result = json.dumps({"next": rows}, ensure_ascii=False) + "\n"
    else:
        result = "".join(f"{100 * guess.probability:5.1f} %  {guess.text!r}\n" for guess in best)
    _write(result, options.out)
    return 0


def _warn_if_cut(n_cut: int, model: Model) -> None:
    if n_cut:
        print(
            f"The text is longer than the {model.max_tokens} tokens that {model.title} takes; "
            f"{n_cut} tokens were left out.",
            file=sys.stderr,
        )


def _load(options: argparse.Namespace) -> Model:
    def progress(file: str, done: int, total: int) -> None:
        share = f"{100 * done / total:.0f} %" if total else f"{done / 1e6:.0f} MB"
        print(f"\rFetching {file}: {share}", end="\n" if total and done >= total else "", file=sys.stderr)

    model = load_model(
        options.model,
        trained=not options.untrained,
        device=options.device,
        dtype=options.precision,
        progress=progress,
        sha256=options.sha256,
    )
    _warn_if_unpinned(model)
    return model


def _warn_if_unpinned(model: Model) -> None:
    if not model.pinned:
        print(
            f"The files of {model.title} were compared with no digest; --sha256 {model.files_digest} pins them.",
            file=sys.stderr,
        )


def _write(result: str | bytes, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(result if isinstance(result, str) else "")
        return
    write_file(out, result)


def _run_models(_: argparse.Namespace) -> int:
    for entry in shelf():
        where = "embedded" if entry.embedded else "from the hub"
        print(f"{entry.name:32} {entry.title:18} {where:14} {entry.description}")
    print(
        "Also: any BERT, DistilBERT, ELECTRA, RoBERTa, XLM-R, GPT-2 or Llama checkpoint in safetensors, by folder or "
        "hub id; any of them --untrained."
    )
    return 0
