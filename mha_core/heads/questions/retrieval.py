"""Retrieval: asked for one of two needles among filler, at which of the two values does a head look?

In: a decoder. Out: `ScoredCases` of one question. A case is a pair of texts with the same two needles of one form ("The
code of the garden is river."), each asked for another one by its words up to the value. It is right where the last
token, the attention sink left out, looks most at the right value in both. So a favourite value, place or distance gets
nothing, a coin between the two values a quarter. Both needles and the question end alike: a head that matches the last
token alone is blind. The model's own answers and an ablation are told in the question.

Sources: Wu et al. 2024 (retrieval heads); Kamradt 2023 (a needle in a haystack).
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mha_core.arrays import FloatArray
from mha_core.causal.activation_cache import run_with_cache
from mha_core.causal.outcomes import token_of
from mha_core.causal.prompts import prompts
from mha_core.causal.residual_parts import next_matrix
from mha_core.display_names import head_name, percent
from mha_core.engine.visibility import attention_sinks
from mha_core.errors import InputError
from mha_core.heads.baselines import constant
from mha_core.heads.cases import ScoredCases
from mha_core.heads.questions.base import Question
from mha_core.heads.survey import Options
from mha_core.heads.verdict import beyond_chance
from mha_core.heads.word_weights import tokens_in
from mha_core.models.model import Model
from mha_core.models.trace import check_model, run, to_numpy
from mha_core.text.tokens import Tokens

N_PAIRS, SEED, MIN_WORDS = 60, 0, 8
FORMS = (
    "The password for the {} is",
    "The code of the {} is",
    "The secret word of the {} is",
    "The symbol of the {} is",
)
PLACES = "kitchen garden garage office library school church hotel station farm bank museum hospital castle".split()  # noqa: SIM905
VALUES = "apple river stone silver winter tiger orange cloud bread horse paper mountain summer gold fish moon".split()  # noqa: SIM905
N_ABLATED, N_RANDOM = 5, 6  # heads that are ablated together, and random sets of their layers
KEY, CHANCE = "retrieval", 0.25
ASKS = (
    "Two needles of one form stand among filler; each text asks for one of them. "
    "In both texts of a pair, does a head look most at the right value?"
)


@dataclass(frozen=True)
class NeedleText:
    """A text that asks for one of its two needles: the places of the right value and the other one, and their ids."""

    tokens: Tokens
    places: tuple[int, int]
    values: tuple[int, int]


def needle_pairs(model: Model) -> list[tuple[NeedleText, NeedleText]]:
    """Return the pairs of texts, the same for every model that knows the words.

    Raises InputError for a model that cannot be asked: one without a known inside or a next token, with too small a
    vocabulary, or too short a context.
    """
    check_model(model)
    next_matrix(model)
    places, values = (
        [word for word in words if len(model.tokenizer.ids_of(f" {word}")) == 1] for words in (PLACES, VALUES)
    )
    if min(len(places), len(values)) < MIN_WORDS:
        raise InputError(f"Too few of the needles' words are one token of {model.title}.")
    filler = [sentence for text in prompts().ordinary for sentence in re.findall(r"[^ .][^.]*\.", text)]
    generator, pairs = np.random.default_rng(SEED), list[tuple[NeedleText, NeedleText]]()
    for number in range(N_PAIRS):
        form = FORMS[number % len(FORMS)]
        named, of_names, between = (
            generator.choice(words, n, replace=False).tolist()
            for words, n in ((places, 2), (values, 2), (filler, 3))
        )
        text, spans = between[0], list[tuple[int, int]]()
        for place, value, after in zip(named, of_names, between[1:], strict=True):
            start = len(text) + len(f" {form.format(place)} ")
            spans.append((start, start + len(value)))
            text += f" {form.format(place)} {value}. {after}"
        ids = [token_of(f" {value}", model) for value in of_names]
        first, second = (model.tokenizer.encode(f"{text} {form.format(place)}") for place in named)
        if first.n_cut or second.n_cut:
            raise InputError(f"{model.title} reads too few tokens for two needles among filler.")
        a, b = (tokens_in(first, span)[0] for span in spans)
        pairs.append(
            (NeedleText(first, (a, b), (ids[0], ids[1])), NeedleText(second, (b, a), (ids[1], ids[0])))
        )
    return pairs


class RetrievalCollector:
    """Collects whether every head looks most at the right value from the last token, the attention sink left out."""

    def __init__(self) -> None:
        self.right: list[FloatArray] = []
        self.mass: list[FloatArray] = []
        self.distances: Counter[int] = Counter()

    def add(self, weights: FloatArray, item: NeedleText) -> None:
        """Collect one text, the two of a pair in turn; weights (layer, head, query, key) over its tokens."""
        row, place = weights[:, :, -1].reshape(-1, len(item.tokens)), item.places[0]
        special = np.array([piece.special for piece in item.tokens.pieces])
        looks = np.where(attention_sinks(special, is_causal=True), -1.0, row).argmax(-1)
        self.right.append(looks == place)
        self.mass.append(row[:, place])
        self.distances[len(item.tokens) - 1 - place] += 1

    @property
    def pairs(self) -> FloatArray:
        """True where a head is right in both texts of a pair, (pair, head)."""
        pairs: FloatArray = np.logical_and(self.right[::2], self.right[1::2]).astype(np.float32)
        return pairs

    def scored(self, corpus: str, asks: str) -> ScoredCases:
        """Return the question, put as `asks`."""
        ((distance, count),), n = self.distances.most_common(1), len(self.right) // 2
        return ScoredCases(
            Question(
                KEY,
                KEY,
                "question → the value asked for",
                "finds what is asked for in the text",
                asks,
                corpus,
            ),
            self.pairs,
            np.arange(n),
            np.arange(n) % 2 == 1,
            (
                constant("a coin between the two values", CHANCE, n),
                constant(f"always {distance} tokens back, in single texts", count / len(self.right), n),
            ),
            mass=np.mean(self.mass, 0, dtype=np.float64),
        )


def retrieval_cases(model: Model, corpus: str, options: Options | None = None) -> Iterator[ScoredCases]:
    """Yield the question; nothing where it is stopped. Raises InputError as `needle_pairs` does."""
    pairs, stop = needle_pairs(model), None if options is None else options.stop
    collector, margins = RetrievalCollector(), list[float]()
    for text in (text for pair in pairs for text in pair):
        output = run([text.tokens], model)
        collector.add(to_numpy(output.weights[:, 0]), text)
        margins += _margins(output.hidden, text, model).tolist()
        if stop and stop():
            return
    own = float((np.array(margins).reshape(-1, 2) > 0).all(1).mean())
    asks = f"{ASKS} The model itself is right in {percent(own)} of {len(pairs)} pairs; chance is {percent(CHANCE)}."
    if beyond_chance(own, len(pairs), CHANCE, 1):
        asks = f"{asks} {_ablation_text(model, collector.pairs[::2].mean(0), pairs[1::2])}"
    else:
        asks = f"{asks} So it is at chance itself, and no head can be said to retrieve for it."
    yield collector.scored(corpus, asks)


def _margins(hidden: Tensor, text: NeedleText, model: Model) -> Tensor:
    """Return the logit of the right value less that of the other, (batch,), from final states (batch, n, d_model)."""
    rows = next_matrix(model)[list(text.values)]
    with torch.inference_mode():
        return hidden[:, -1] @ (rows[0] - rows[1])


def _ablation_text(model: Model, scores: FloatArray, pairs: list[tuple[NeedleText, NeedleText]]) -> str:
    """Ablate the best heads by their scores (head,) on other pairs, and random sets of as many from the same layers;
    say what the mean logit difference becomes."""
    best = [divmod(int(head), model.n_heads) for head in np.argsort(-scores, kind="stable")[:N_ABLATED]]
    gates, generator = torch.ones(model.n_layers, 2 + N_RANDOM, model.n_heads), np.random.default_rng(SEED)
    for layer in {layer for layer, _ in best}:
        chosen = [head for of_layer, head in best if of_layer == layer]
        gates[layer, 1, chosen] = 0
        others = [head for head in range(model.n_heads) if head not in chosen]
        for row in range(2, 2 + N_RANDOM):
            gates[layer, row, generator.choice(others, min(len(chosen), len(others)), replace=False)] = 0
    first, margins, gates = min(best)[0], list[Tensor](), gates.to(model.device, model.dtype)
    for text in (text for pair in pairs for text in pair):
        state = run_with_cache([text.tokens], model).states[first]
        with torch.inference_mode():
            hidden = model.encoder.resume(state.expand(2 + N_RANDOM, -1, -1), first, gates=gates)
        margins.append(_margins(hidden, text, model))
    before, after, *others_after = torch.stack(margins).mean(0).tolist()
    low, high = min(others_after), max(others_after)
    return (
        f"Without {', '.join(map(head_name, best))}, chosen on half of them, its logit difference on the rest "
        f"is {after:.2f}, not {before:.2f}. Without {N_RANDOM} random sets of their layers: {low:.2f} to {high:.2f}."
    )
