"""Scores of how a head follows what "it" means: its attention on the right and on the wrong noun in minimal pairs.

In: a stack, and pairs. Out: numbers for every head and pair, and the report card. A head passes a pair if it puts at
least MIN_RIGHT on the right noun and at most MAX_WRONG on the other, in both texts. The head is chosen on other pairs.
Beside it stand the answers where a word is hidden: for "it" in the pairs, and task by task in new texts of the
training's grammar, whose seed no training has. A right answer does not say which head it comes from.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mha_core.arrays import FloatArray
from mha_core.display_names import Head, head_name
from mha_core.engine.stack import Stack
from mha_core.heads.cluster_stats import wilson
from mha_core.training.attention_only import gates_without
from mha_core.training.toy.batches import padded
from mha_core.training.toy.grammar import RATE, Grammar, Text
from mha_core.training.toy.lexicon import MASK, token_ids, vocabulary
from mha_core.training.toy.pairs import CHOICE_SEED, FAMOUS, N_PAIRS, TEST_SEED, Pair, pairs
from mha_core.training.toy.recipe import word_logits

MIN_RIGHT, MAX_WRONG = 0.6, 0.15  # of a head's attention from "it"
HALF = 0.5
TASKS = ("because", "names", "gender", "agreement", "repeated")
TASK_SEED, N_TEXTS = 2**31, 200  # live trainings have seeds below
COPULAS = (("is", "was"), ("are", "were"))
FAMOUS_TITLES = {"famous": "street", "trophy and suitcase": "suitcase", "cat and mat": "mat"}
# Student's t for 95 % by the number of seeds less one.
T_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}


@dataclass(frozen=True, eq=False)
class Masses:
    """Attention from "it" on the right noun and on the wrong one, (layer, head, pair, text)."""

    right: FloatArray
    wrong: FloatArray

    @property
    def passed(self) -> FloatArray:
        """1 where a head passes a pair, (layer, head, pair)."""
        passed: FloatArray = ((self.right >= MIN_RIGHT) & (self.wrong <= MAX_WRONG)).all(-1).astype(float)
        return passed


class Probe(NamedTuple):
    """A text; any of `answers` is right for its word at `slot`, a position from 0."""

    words: tuple[str, ...]
    slot: int
    answers: tuple[str, ...]


def evaluate(stack: Stack, n: int = N_PAIRS) -> dict[str, Any]:
    """Return the report card: the best head on n chosen pairs, and its results on n held-out ones, shares from 0 to 1.

    `pointing`: heads with more than HALF of their attention on the right noun and at most MAX_WRONG on the other, on
    average; `without_...`: answers with these heads ablated. Raises InputError for a number of pairs that cannot be.
    """
    head = best_head(masses(stack, cached_pairs(CHOICE_SEED, n, False)))
    held_out = cached_pairs(TEST_SEED, n, True)
    unseen = masses(stack, held_out)
    passed, is_animate = unseen.passed[head], np.array([pair.kind == "animate" for pair in held_out])
    points = (unseen.right.mean((-2, -1)) > HALF) & (unseen.wrong.mean((-2, -1)) <= MAX_WRONG)
    pointing = [(int(i), int(j)) for i, j in np.argwhere(points)]
    return {
        "pairs": n,
        "pass": float(passed.mean()),
        "interval": [round(float(end), 4) for end in wilson(float(passed.sum()), float(n))],
        "head": head_name(head),
        "animate": float(passed[is_animate].mean()),
        "inanimate": float(passed[~is_animate].mean()),
        "right": round(float(unseen.right[head].mean()), 4),
        "wrong": round(float(unseen.wrong[head].mean()), 4),
        **{title: _noun_masses(stack, FAMOUS[name], head) for title, name in FAMOUS_TITLES.items()},
        "answers": answers(stack, held_out),
        "tasks": task_scores(stack),
        "without_head": answers(stack, held_out, [head]) | {"tasks": task_scores(stack, [head])},
        "pointing": [head_name(pointer) for pointer in pointing],
        "without_pointing": answers(stack, held_out, pointing),
    }


@cache
def cached_pairs(seed: int, n: int, unseen: bool) -> tuple[Pair, ...]:
    """Return `pairs`, drawn once."""
    return pairs(seed, n, unseen=unseen)


def best_head(measured: Masses) -> Head:
    """Return the head that passes most pairs; of several the one with the most attention on the right noun."""
    score = measured.passed.mean(-1) + 1e-3 * measured.right.mean((-2, -1))
    layer, head = np.unravel_index(int(score.argmax()), score.shape)
    return int(layer), int(head)


def masses(stack: Stack, measured: Sequence[Pair]) -> Masses:
    """Return every head's attention from "it" on both nouns of each pair."""
    ids, real = padded([_ids(words) for pair in measured for words in pair.words])
    with torch.inference_mode():
        weights = stack(ids, real=real).weights  # (layer, text, head, query, key)
    slots = torch.tensor([pair.slot for pair in measured for _ in pair.words])
    rows = weights.movedim(2, 0)[:, :, torch.arange(len(ids)), slots]  # (head, layer, text, key)
    positions = torch.tensor([order for pair in measured for order in (pair.places, pair.places[::-1])])
    shares = rows.gather(-1, positions.expand(*rows.shape[:2], -1, -1)).transpose(0, 1)
    by_pair = shares.reshape(*shares.shape[:2], len(measured), 2, 2).double().numpy()
    return Masses(by_pair[..., 0], by_pair[..., 1])


def pair_weights(stack: Stack, pair: Pair) -> FloatArray:
    """Return every head's weights in both texts of a pair, (text, layer, head, query, key)."""
    ids, real = padded([_ids(words) for words in pair.words])
    with torch.inference_mode():
        weights: FloatArray = stack(ids, real=real).weights.transpose(0, 1).numpy().copy()
    return weights


def _noun_masses(stack: Stack, pair: Pair, head: Head) -> dict[str, dict[str, float]]:
    """Return one head's attention on either noun, by the predicate of the text."""
    measured = masses(stack, [pair])
    right, wrong = measured.right[head][0], measured.wrong[head][0]
    shares = (right[0], wrong[0]), (wrong[1], right[1])
    return {
        words[-2]: {noun: round(float(share), 4) for noun, share in zip(pair.nouns, both, strict=True)}
        for words, both in zip(pair.words, shares, strict=True)
    }


def answers(stack: Stack, measured: Sequence[Pair], without: Sequence[Head] = ()) -> dict[str, float]:
    """Return the shares of texts with "it" hidden in which the model names the right noun, `exact`, and prefers it to
    the other one, `better`; the heads `without` are ablated."""
    texts = [(words, noun) for pair in measured for words, noun in zip(pair.words, pair.nouns, strict=True)]
    slots = [pair.slot for pair in measured for _ in pair.words]
    probes = [Probe(words, slot, (noun,)) for (words, noun), slot in zip(texts, slots, strict=True)]
    logits, rows = _masked_logits(stack, probes, without), torch.arange(len(probes))
    wrong_nouns = [noun for pair in measured for noun in pair.nouns[::-1]]
    right, wrong = torch.tensor(_ids([noun for _, noun in texts])), torch.tensor(_ids(wrong_nouns))
    better = (logits[rows, right] > logits[rows, wrong]).double().mean()
    return {"exact": _share_right(logits, probes), "better": float(better)}


def task_scores(stack: Stack, without: Sequence[Head] = (), n: int = N_TEXTS) -> dict[str, float]:
    """Return the accuracy at [MASK] in n texts of each of TASKS, with the heads `without` ablated."""
    return {
        task: _share_right(_masked_logits(stack, probes(task, n), without), probes(task, n)) for task in TASKS
    }


@cache
def probes(task: str, n: int = N_TEXTS) -> tuple[Probe, ...]:
    """Return n texts of a task, each with the word that follows from the rest."""
    return tuple(islice(_probes(task), n))


def _probes(task: str) -> Iterator[Probe]:
    for text in Grammar(TASK_SEED).texts():
        if text.task == task and (probe := _probe(text)) is not None:
            yield probe


def _probe(text: Text) -> Probe | None:
    """Return what "it" stands for, or the last word that repeats or agrees; None for another slot after "because"."""
    if text.task == "because":
        if text.slot is None or text.right is None or text.pronoun != "it":
            return None
        return Probe(tuple(text.words), text.slot, (text.words[text.right],))
    slot = max(i for i, rate in enumerate(text.rates) if rate == RATE["again"])
    word = text.words[slot]  # of a copula either tense is right: the noun before "near" gives its number
    return Probe(tuple(text.words), slot, next((forms for forms in COPULAS if word in forms), (word,)))


def _masked_logits(stack: Stack, texts: Sequence[Probe], without: Sequence[Head]) -> Tensor:
    """Return the logits (text, vocab_size) at each text's slot, which is [MASK]."""
    ids, real = padded([_ids(probe.words) for probe in texts])
    rows, slots = torch.arange(len(texts)), torch.tensor([probe.slot for probe in texts])
    ids[rows, slots] = MASK
    gates = gates_without(stack.config, without)
    with torch.inference_mode():
        hidden = stack(ids, real=real, gates=gates, need_weights=False).hidden
        return word_logits(stack, hidden[rows, slots])


def _share_right(logits: Tensor, texts: Sequence[Probe]) -> float:
    """Return the share of texts whose likeliest word is one of the answers."""
    best = [vocabulary()[i] for i in logits.argmax(-1).tolist()]
    return float(np.mean([word in probe.answers for word, probe in zip(best, texts, strict=True)]))


def _ids(words: Sequence[str]) -> list[int]:
    return [token_ids()[word] for word in words]


def over_seeds(cards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mean share of pairs over seeds, its interval (95 %, Student's t), the least and the most."""
    shares = [float(card["pass"]) for card in cards]
    n, mean = len(shares), sum(shares) / len(shares)
    summary: dict[str, Any] = {"seeds": n, "pass": round(mean, 4), "least": min(shares), "most": max(shares)}
    if n - 1 in T_95:
        spread = sqrt(sum((share - mean) ** 2 for share in shares) / (n - 1))
        half = T_95[n - 1] * spread / sqrt(n)
        summary["interval"] = [round(max(0.0, mean - half), 4), round(min(1.0, mean + half), 4)]
    return summary
