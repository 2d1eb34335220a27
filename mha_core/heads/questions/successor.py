"""Successors: does what a head writes about "Monday" speak for "Tuesday"?

In: a decoder. Out: `ScoredCases` of one question. A case is a member of a series (days, months, numbers, letters). It
is right where, of the other members, the next one has the highest logit of what the head's value and output matrices
make of the member, as in `mha_core.heads.copying`. To beat: the best of all heads with random weights, and with
shuffled output matrices. The control is the member before: a head that raises all neighbours knows no order.

Source: Gould et al. 2023 (successor heads).
"""

from collections.abc import Iterator

import numpy as np
import torch

from mha_core.arrays import FloatArray
from mha_core.causal.residual_parts import at_least_float32, next_matrix
from mha_core.engine.torch_modes import plain_numbers
from mha_core.errors import InputError
from mha_core.heads.baselines import constant
from mha_core.heads.cases import ScoredCases
from mha_core.heads.copying import Weights, written_about
from mha_core.heads.questions.base import Question
from mha_core.heads.questions.copying import RIVALS
from mha_core.heads.survey import Options
from mha_core.models.model import Model
from mha_core.models.trace import check_model

SERIES = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "January February March April May June July August September October November December",
    "one two three four five six seven eight nine ten eleven twelve",
    "first second third fourth fifth sixth seventh eighth ninth tenth",
    "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z",
    "I II III IV V VI VII VIII IX X",
)
KEY = "successor"
ASKS = "Does what a head writes about a member of a series raise the next one more than all others?"


def series_of(model: Model) -> list[list[str]]:
    """Return the series whose members are one token each. Raises InputError where there is none."""
    series = [[f" {word}" for word in line.split()] for line in SERIES]
    series = [words for words in series if all(len(model.tokenizer.ids_of(word)) == 1 for word in words)]
    if not series:
        raise InputError(f"No series of words is one token each in the vocabulary of {model.title}.")
    return series


def successor_cases(model: Model, corpus: str, options: Options | None = None) -> Iterator[ScoredCases]:
    """Yield the question; nothing where it is stopped. Raises InputError for a model that predicts no next token, and
    where `series_of` does."""
    check_model(model)
    next_matrix(model)
    series, stop = series_of(model), None if options is None else options.stop
    results = dict[Weights, tuple[FloatArray, FloatArray]]()
    for weights in ("own", *RIVALS):
        results[weights] = _neighbours(series, model, weights)
        if stop and stop():
            return
    right, before = results["own"]
    rivals = [(name, results[weights][0]) for weights, name in RIVALS.items()]
    yield ScoredCases(
        Question(KEY, KEY, "member of a series → the next one", "raises the next member of a series", ASKS, corpus,
                 control="the member before it has the highest logit"),
        right,
        np.arange(len(right)),
        np.arange(len(right)) % 2 == 1,
        tuple(constant(name, hits[:, hits.mean(0).argmax()]) for name, hits in rivals),
        before,
    )  # fmt: skip


def _neighbours(series: list[list[str]], model: Model, weights: Weights) -> tuple[FloatArray, FloatArray]:
    """Return whether the next member of a series has the highest logit, and whether the one before has, nan for the
    first of a series; (case, head) both, a case a member that has a next one."""
    words = [word for members in series for word in members]
    ids = torch.tensor([model.tokenizer.ids_of(word)[0] for word in words])
    of_series = np.repeat(np.arange(len(series)), [len(members) for members in series])
    others = (of_series[:, None] == of_series) & ~np.eye(len(words), dtype=bool)
    best = list[np.ndarray]()
    for written in written_about(words, model, weights=weights):
        with torch.inference_mode(), plain_numbers():
            logits = (written @ next_matrix(at_least_float32(model))[ids].T).float().cpu().numpy()
        best.append(np.where(others, logits, -np.inf).argmax(-1))
    place, has_next = np.arange(len(words)), np.append(of_series[1:] == of_series[:-1], False)
    has_previous = np.append(False, has_next[:-1])
    highest = np.concatenate(best).T  # (case, head)
    previous = np.where(has_previous[:, None], highest == place[:, None] - 1, np.nan)
    return (highest == place[:, None] + 1)[has_next].astype(np.float32), previous[has_next]
