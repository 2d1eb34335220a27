"""Direct logit attribution: how far every head and feed-forward net speaks for the next token.

In: a decoder's text. Out: what each part of the last token's state adds to the logit of a token, or to the difference
of two, through the final norm with its scale held. Sources: Elhage et al. 2021; Wang et al. 2022, section 3.
"""

from typing import TYPE_CHECKING

import torch

from mha_core.errors import InputError
from mha_core.experiments.outcomes import token_of
from mha_core.model import Model
from mha_core.prediction import predict_next
from mha_core.residual_parts import exact, kept_rows, next_matrix, read_parts, writer_columns
from mha_core.tokens import Tokens
from mha_core.torch_modes import plain_numbers
from mha_core.trace import as_tokens, check_model

if TYPE_CHECKING:
    import pandas as pd


def logit_attribution(
    text: str | Tokens, model: Model, target: str | None = None, against: str | None = None
) -> "pd.DataFrame":
    """Split the logit of the next token (`target`; None: the likeliest one) among all that wrote to the last token's
    state, strongest first; with `against`, its difference from that token's logit.

    `target`, `against`: one token each, " Mary" with its space. Returns a row a part: part (embedding, head, mlp,
    bias), layer and head from 1, score; the scores sum to the logit or the difference. `attrs` has both tokens.

    Half precision is computed in float32. Raises InputError for a model that predicts no next token, a word that is
    not one token, and `against` without `target`.
    """
    import pandas as pd

    check_model(model)
    if against is not None and target is None:
        raise InputError("A word to compare with was given without the word itself; give the target, too.")
    tokens, model = as_tokens(text, model), exact(model)
    ids = [token_of(word, model) for word in (target, against) if word is not None]
    ids = ids or [predict_next(tokens, model, k=1)[0].id]
    last = len(tokens) - 1
    with torch.inference_mode(), plain_numbers():
        rows = next_matrix(model)[ids]
        unembedding = rows[0] - rows[1] if len(ids) == 2 else rows[0]
        kept = kept_rows(tokens, model, slice(last, last + 1))
        writers, scores = read_parts(kept, model, model.n_layers, unembedding[None])
    frame = pd.DataFrame({**writer_columns(writers), "score": scores.flatten().tolist()})
    frame = frame.sort_values("score", key=abs, ascending=False, kind="stable", ignore_index=True)
    frame.attrs = dict(zip(("target", "against"), map(model.tokenizer.typed, ids), strict=False))
    return frame
