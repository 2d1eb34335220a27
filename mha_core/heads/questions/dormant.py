"""Dormant heads: does a head that rests on the attention sink write next to nothing, or is it active all the same?

In: a model. Out: `ScoredCases` of one question, a description. An attention sink is a token: a decoder's first, an
encoder's special ones. A case is another token of a built-in sentence: its score is one where the head's output is
shorter than half of the mean over the heads of its layer. A head is dormant where that holds for half of the tokens and
half of its attention lies on the sink; one that does so and writes is active.

Source: Sandoval-Segura et al. 2025 (arXiv 2504.03889: the norm of a head's output beside its layer's).
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from mha_core.arrays import FloatArray
from mha_core.causal.activation_cache import BATCH, run_with_cache
from mha_core.engine.torch_modes import plain_numbers
from mha_core.engine.visibility import attention_sinks
from mha_core.heads.builtin import read_builtin
from mha_core.heads.cases import Baseline, ScoredCases
from mha_core.heads.cluster_stats import digests_of, half_of
from mha_core.heads.questions.base import Question
from mha_core.heads.questions.places import MIDDLE
from mha_core.heads.survey import Options
from mha_core.models.model import Model
from mha_core.models.trace import run, to_numpy
from mha_core.text.tokens import Tokens

SHORT = 0.5  # of the mean norm of a layer's heads: little is written
EVERY = 8  # built-in sentences, of which one is read
KEY = "dormant"
ASKS = (
    "With half of its attention on the attention sink, does a head write less than half of its layer's mean?"
)


def dormant_cases(model: Model, corpus: str, options: Options | None = None) -> Iterator[ScoredCases]:
    """Yield the question; nothing where it is stopped."""
    stop, limit = (None, None) if options is None else (options.stop, options.limit)
    short, mass, clusters = list[FloatArray](), list[FloatArray](), list[str]()
    sentences = sorted(read_builtin()[:limit:EVERY], key=lambda sentence: len(sentence.text))
    for start in range(0, len(sentences), BATCH):
        batch = sentences[start : start + BATCH]
        texts = [model.tokenizer.encode(sentence.text) for sentence in batch]
        weights, norms = to_numpy(run(texts, model).weights), relative_norms(texts, model)
        for i, (sentence, tokens) in enumerate(zip(batch, texts, strict=True)):
            special = np.array([piece.special for piece in tokens.pieces])
            is_sink = np.pad(attention_sinks(special, model.is_causal), (0, weights.shape[-1] - len(tokens)))
            rows = np.flatnonzero(~is_sink[: len(tokens)])
            short.append((norms[:, i, :, rows] < SHORT).reshape(len(rows), -1).astype(np.float32))
            mass.append(weights[:, i, :, rows][..., is_sink].sum(-1).reshape(len(rows), -1))
            clusters += [sentence.cluster] * len(rows)
        if stop and stop():
            return
    title, does = "attention sink → little written", "rests on the attention sink and writes little"
    yield ScoredCases(
        Question(KEY, KEY, title, does, ASKS, corpus),
        np.concatenate(short).astype(np.float32),
        digests_of(clusters),
        np.array([half_of(cluster) for cluster in clusters], dtype=bool),
        (Baseline(MIDDLE, "", None),),
        mass=np.concatenate(mass).mean(0, dtype=np.float64),
    )


def relative_norms(texts: Sequence[Tokens], model: Model) -> FloatArray:
    """Return the norm of every head's output at each token, as a share of its layer's mean there, (layer, text, head,
    token)."""
    cache, norms = run_with_cache(texts, model), list[FloatArray]()
    for layer, contexts in enumerate(cache.contexts):
        with torch.inference_mode(), plain_numbers():
            written = model.encoder.layer(layer).attention.contributions(contexts).float().norm(dim=-1)
        norms.append(to_numpy(written / written.mean(1, keepdim=True)))
    return np.stack(norms)
