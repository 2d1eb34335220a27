"""Logit lens: the next token that each layer of a decoder would predict.

In: a decoder's text. Out: after each layer the likeliest tokens, by the model's own final norm and unembedding.
Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from mha_core.engine.torch_modes import plain_numbers
from mha_core.models.model import Model
from mha_core.models.prediction import check_k, next_head_of, of_pieces, position_from_start
from mha_core.models.trace import as_tokens, run
from mha_core.text.tokens import Tokens

if TYPE_CHECKING:
    import pandas as pd

LIMIT = "Early layers may know more than this shows: they are read in the last layer's basis."
MAX_ROWS = 64  # positions whose scores of the whole vocabulary are in memory at once


def logit_lens(
    text: str | Tokens, model: Model, positions: Sequence[int] = (-1,), k: int = 10
) -> "pd.DataFrame":
    """Read the state after each layer through the final norm and the unembedding: the k likeliest tokens after each
    position (from 0; negative from the end).

    Returns a row for each layer (from 1), position and rank (from 1): layer, position, rank, token (as typed, with the
    space before it), id, probability. The last layer's rows are `predict_next`'s. `attrs["stable_from"]` has for each
    position the layer from which the last layer's first token stays first.

    Raises InputError for a model that predicts no next token, and a position or number outside its range.
    """
    import pandas as pd

    head, tokens = next_head_of(model), as_tokens(text, model)
    check_k(k, model)
    places = [position_from_start(position, len(tokens)) for position in positions]
    states = run([tokens], model, need_weights=False).hidden_states[1:]
    best = list[tuple[torch.Tensor, torch.Tensor]]()
    with torch.inference_mode(), plain_numbers():
        for state in states:
            for i in range(0, len(places), MAX_ROWS):
                normed = model.encoder.finish(state[0, places[i : i + MAX_ROWS]])
                scores = of_pieces(head(normed), model)
                best.append(scores.float().softmax(-1).topk(k))
    shares, ids = (torch.cat(each).view(len(states), len(places), k) for each in zip(*best, strict=True))
    axes = {"layer": range(1, len(states) + 1), "position": places, "rank": range(1, k + 1)}
    frame = pd.MultiIndex.from_product(axes.values(), names=axes).to_frame(index=False)
    frame["token"] = list(map(model.tokenizer.typed, ids.flatten().tolist()))
    frame["id"], frame["probability"] = ids.flatten().tolist(), shares.flatten().tolist()
    n_stable = (ids[..., 0] == ids[-1, :, 0]).flip(0).cumprod(0).sum(0)
    frame.attrs["stable_from"] = dict(zip(places, (len(states) + 1 - n_stable).tolist(), strict=True))
    return frame
