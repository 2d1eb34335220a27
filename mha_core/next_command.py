"""`headscope next TEXT`: the likeliest next tokens, of one text or of many."""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

from mha_core.command_io import Write, add_digest, add_format, add_texts, form_of, texts_of, told, written
from mha_core.export import model_of
from mha_core.model import Model
from mha_core.prediction import predict_next
from mha_core.shelf import DECODER

COLUMNS = ("text", "rank", "token", "id", "probability", "logit")
Load = Callable[[argparse.Namespace], Model]


def add_next_parser(commands: Any, load: Load, write: Write, warn: Callable[[int, Model], None]) -> None:
    """The command `next`."""
    parser = commands.add_parser("next", help="the likeliest next tokens of a text, by a decoder")
    add_texts(parser, "the text to go on with")
    parser.add_argument("--model", default=DECODER, help="shelf name, hub id or folder (%(default)s)")
    add_digest(parser)
    parser.add_argument("--untrained", action="store_true", help="the same shape with random weights")
    parser.add_argument("--top", type=int, default=10, help="how many tokens to list (%(default)s)")
    add_format(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (%(default)s)")
    parser.add_argument("--precision", help="float32 (default), float64, bfloat16 or float16")
    parser.set_defaults(run=partial(_run, load, write, warn))


def _run(load: Load, write: Write, warn: Callable[[int, Model], None], options: argparse.Namespace) -> int:
    texts = texts_of(options)
    form = form_of(options, "table" if len(texts) == 1 else "jsonl")
    model = load(options)
    answers = list[dict[str, Any]]()
    for _, text in told(texts):
        tokens = model.tokenizer.encode(text)
        warn(tokens.n_cut, model)
        best = [
            {"token": one.text, "id": one.id, "probability": round(one.probability, 6), "logit": one.logit}
            for one in predict_next(tokens, model, k=options.top)
        ]
        answers.append({"model": model_of(model.info), "text": text, "next": best})
    if form == "csv":
        rows = [
            {"text": answer["text"], "rank": rank, **row}
            for answer in answers
            for rank, row in enumerate(answer["next"], 1)
        ]
    else:
        rows = answers
    data = answers[0] if len(answers) == 1 else answers
    write(written(form, rows, COLUMNS, data, lambda: _table(answers)), options.out)
    return 0


def _table(answers: list[dict[str, Any]]) -> str:
    lines = list[str]()
    for answer in answers:
        lines += [f"{answer['text']}\n"] if len(answers) > 1 else []
        lines += [f"{100 * row['probability']:5.1f} %  {row['token']!r}\n" for row in answer["next"]]
    return "".join(lines)
