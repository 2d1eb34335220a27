"""Direct logit attribution: the contribution of every head and feed-forward net to the logit of the next token.

In: a decoder's text. Out: what each part of the last token's state adds to the logit of a token, or to the difference
of two, through the final norm with its scale held. Sources: Elhage et al. 2021; Wang et al. 2022, section 3.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from mha_core.causal.activation_cache import ActivationCache, run_with_cache
from mha_core.causal.outcomes import token_of
from mha_core.causal.prompts import Prompt
from mha_core.causal.residual_parts import (
    FoldedReader,
    at_least_float32,
    next_matrix,
    read_parts,
    writer_columns,
)
from mha_core.engine.torch_modes import plain_numbers
from mha_core.errors import InputError
from mha_core.models.model import Model
from mha_core.models.prediction import predict_next
from mha_core.models.trace import as_tokens, check_model
from mha_core.text.tokens import Tokens

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
    check_model(model)
    if against is not None and target is None:
        raise InputError("A word to compare with was given without the word itself; give the target, too.")
    tokens, model = as_tokens(text, model), at_least_float32(model)
    ids = [token_of(word, model) for word in (target, against) if word is not None]
    ids = ids or [predict_next(tokens, model, k=1)[0].id]
    frame = _split([tokens], [ids], model)
    frame.attrs = dict(zip(("target", "against"), map(model.tokenizer.typed, ids), strict=False))
    return frame


def mean_attribution(prompts: Sequence[Prompt], model: Model) -> "pd.DataFrame":
    """Average the attribution of prompts, each with its own one or two answers, strongest first.

    Returns a frame as `logit_attribution` does; its scores sum to the mean logit or logit difference. Raises InputError
    as it does.
    """
    check_model(model)
    model = at_least_float32(model)
    ids = [[token_of(word, model) for word in prompt.answers] for prompt in prompts]
    return _split([as_tokens(prompt.text, model) for prompt in prompts], ids, model)


def _split(texts: Sequence[Tokens], ids: Sequence[Sequence[int]], model: Model) -> "pd.DataFrame":
    """Return the mean attribution over texts, of one or two tokens each."""
    import pandas as pd

    each, last = range(len(texts)), [len(tokens) - 1 for tokens in texts]
    with torch.inference_mode(), plain_numbers():
        rows = next_matrix(model)[torch.tensor(ids)]
        unembedding = rows[:, 0] - rows[:, 1] if rows.shape[1] == 2 else rows[:, 0]
        cache = run_with_cache(texts, model)
        ends = ActivationCache(
            [state[each, last] for state in cache.states],
            [attended[each, last] for attended in cache.attended],
            [context[each, :, last].transpose(0, 1) for context in cache.contexts],
        )
        writers, scores = read_parts(
            FoldedReader.of_attention(ends, model, model.n_layers, unembedding), ends, model
        )
        means = scores.diagonal(dim1=1, dim2=2).mean(-1)  # every text by its own tokens
    frame = pd.DataFrame({**writer_columns(writers), "score": means.tolist()})
    return frame.sort_values("score", key=abs, ascending=False, kind="stable", ignore_index=True)
