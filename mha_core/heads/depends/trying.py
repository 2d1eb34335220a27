"""Which earlier heads does a head depend on? Take each of them away, and see how often it is still right.

In: texts with gold, a model, a head and a question that it answers. Out: for every head of the layers before it, by how
much the head's score falls without that one, with the interval of a bootstrap over texts. "zero" takes a head's output
away; "mean" puts its mean output over the built-in sentences there (experiments/means.py), for zero is not neutral.

What it shows is an effect, direct or through any layer between, and none of a head that another one stands in for. A
fall below zero: the head is right more often without.

Sources: Michel et al. 2019, section 3.2, for one head at a time; Wang et al. 2022, section 3, for mean output; Efron
1979 for the bootstrap.
"""

import time
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from mha_core.errors import InputError
from mha_core.experiments.interventions import check_heads
from mha_core.experiments.kept import Kept, kept_of
from mha_core.experiments.means import mean_steps
from mha_core.experiments.parts import Part
from mha_core.heads.depends.questions import Asked, Question
from mha_core.heads.depends.table import WAYS, Depends, Sums, Way
from mha_core.heads.positions import HasTokens
from mha_core.heads.words import FloatArray
from mha_core.models import Model
from mha_core.wording import Head, head_name

BATCH_TOKENS = 4096
MEANS_SHARE = 0.1
REPORT_EVERY = 0.3  # seconds


def depends(
    items: Iterable[HasTokens],
    model: Model,
    head: Head,
    question: Question,
    ways: tuple[Way, ...] = WAYS,
    n_items: int | None = None,
) -> Iterator[Part[Depends]]:
    """Try every earlier head on one text after the other; now and then a part.

    `n_items`: how many there are, for the progress. Raises InputError for a head that there is not, or of the first
    layer: there is nothing before it.
    """
    check_heads([head], model.n_layers, model.n_heads)
    if head[0] == 0:
        raise InputError(f"Head {head_name(head)} is in the first layer; there is no head before it.")
    sums, start, means = Sums(head, question, ways, model.n_heads), 0.0, None
    if "mean" in ways:
        for part in mean_steps(model):
            means = part.result
            if part.fraction < 1:
                start = MEANS_SHARE
                yield Part(start * part.fraction, 0, sums.result())
    said = time.monotonic()
    for i, item in enumerate(items, start=1):
        asked = Asked.of(question, item, model.is_causal)
        if asked is None:
            continue
        sums.add(asked.cluster, *_try_each(asked, model, head, ways, means))
        if time.monotonic() - said >= REPORT_EVERY:
            done = 0.0 if n_items is None else min(i / n_items, 1.0)
            yield Part(start + (1 - start) * done, sums.n_texts, sums.result())
            said = time.monotonic()
    yield Part(1.0, sums.n_texts, sums.result())


def _try_each(
    asked: Asked, model: Model, head: Head, ways: tuple[Way, ...], means: Tensor | None
) -> tuple[int, float, FloatArray]:
    """The cases of one text, how many the head has right, and how many without each earlier one (way, layer, head)."""
    kept = kept_of(asked.item.tokens, model)
    right = np.zeros((len(ways), head[0], model.n_heads))
    with torch.inference_mode():
        plain = asked.right(_weights(kept.states[head[0]], model, head[0], head))[0]
        for layer in range(head[0]):
            for at, way in enumerate(ways):
                wanted = means[layer][None, :, None] if way == "mean" and means is not None else 0.0
                x = _without_each(kept, wanted, model, layer)
                right[at, layer] = asked.right(_weights(x, model, layer + 1, head))
    return asked.n, float(plain), right


def _without_each(kept: Kept, wanted: Tensor | float, model: Model, layer: int) -> Tensor:
    """What comes out of a layer when one head at a time mixes what is wanted of it, (head, n, d_model)."""
    block = model.encoder.layer(layer)
    changed = block.attention.contributions(wanted - kept.contexts[layer])[0]
    return block.feed_forward(kept.states[layer], kept.attended[layer] + changed)


def _weights(x: Tensor, model: Model, layer: int, head: Head) -> FloatArray:
    """The weights of a head, (run, query, key), from the input (run, n, d_model) of `layer` on."""
    step = max(1, BATCH_TOKENS // x.shape[1])
    found = [
        model.encoder.weights_of(model.encoder.between(x[i : i + step], layer, head[0]), head[0])[:, head[1]]
        for i in range(0, len(x), step)
    ]
    return np.asarray(torch.cat(found).float().cpu().numpy())
