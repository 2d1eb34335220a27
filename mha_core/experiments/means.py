"""What every head mixes on average over the built-in sentences: a neutral value to stand for a head.

The mean is over all tokens of all sentences, special ones included. It is a property of the model: made once for
all readers and kept as long as the model is.
"""

import threading
from collections.abc import Iterator
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from mha_core.experiments.kept import kept_of_batch
from mha_core.experiments.parts import Part, last
from mha_core.heads.builtin import read_builtin
from mha_core.model import Model

BATCH = 32
_MEANS: "WeakKeyDictionary[Model, Tensor]" = WeakKeyDictionary()
_LOCK = threading.Lock()


def mean_contexts(model: Model) -> Tensor:
    """The mean context of every head, (n_layers, n_heads, d_v); waits until it is known."""
    return last(mean_steps(model))


def mean_steps(model: Model) -> Iterator[Part[Tensor]]:
    """The same in steps of some sentences; at once where it is known already."""
    with _LOCK:
        known = _MEANS.get(model)
    if known is not None:
        yield Part(1.0, 0, known)
        return
    texts = [model.tokenizer.encode(one.text) for one in read_builtin()]
    texts.sort(key=len)
    total, n = torch.zeros(model.n_layers, model.n_heads, model.config.d_k, dtype=torch.float64), 0
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        contexts = torch.stack(kept_of_batch(batch, model).contexts)
        for member, tokens in enumerate(batch):
            total += contexts[:, member, :, : len(tokens)].sum(2).double().cpu()
            n += len(tokens)
        means = (total / n).to(device=model.device, dtype=model.dtype)
        done = start + len(batch)
        if done == len(texts):
            with _LOCK:
                means = _MEANS.setdefault(model, means)
        yield Part(done / len(texts), done, means)
