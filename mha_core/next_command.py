"""`headscope next TEXT`: the likeliest next tokens, of one text or of many."""

import argparse
from typing import Any

from mha_core.command_io import (
    Answer,
    add_format,
    add_model,
    add_texts,
    give,
    give_many,
    model_asked,
    texts_of,
    told,
    warn_if_cut,
)
from mha_core.export import model_of
from mha_core.model import Model
from mha_core.model_list import DECODER
from mha_core.prediction import predict_next


def add_next_parser(commands: Any) -> None:
    """The command `next`."""
    parser = commands.add_parser("next", help="show the likeliest next tokens of a text")
    add_texts(parser, "the text to go on with")
    add_model(parser, DECODER)
    parser.add_argument("--top", type=int, default=10, help="number of tokens to list (%(default)s)")
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    texts = texts_of(options)
    model = model_asked(options)
    if len(texts) == 1:
        give(options, _answer(texts[0], model, options.top))
    else:
        give_many(options, (_answer(text, model, options.top) for _, text in told(texts)))
    return 0


def _answer(text: str, model: Model, top: int) -> Answer:
    import pandas as pd

    tokens = model.tokenizer.encode(text)
    warn_if_cut(tokens.n_cut, model)
    found = predict_next(tokens, model, k=top)
    frame = pd.DataFrame(
        {
            "text": text,
            "rank": range(1, len(found) + 1),
            "token": [one.text for one in found],
            "id": [one.id for one in found],
            "probability": [one.probability for one in found],
            "logit": [one.logit for one in found],
        }
    )
    shown = frame[["probability"]].assign(token=[repr(one.text) for one in found])
    return Answer(frame, {"model": model_of(model.info), "text": text}, shown=shown)
