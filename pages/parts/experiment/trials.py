"""The ready experiments: a question, and the runs that answer it, in parts. No Streamlit here.

In: the model of the experiment. Out: an iterator of `Part`s, the last of which has the `Answer`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mha_core import Model, trace_tokens
from mha_core.embedded import DECODER, EMBEDDED
from mha_core.experiments import (
    Cosine,
    Factor,
    Intervention,
    Loss,
    MeanOutput,
    Part,
    Word,
    every_head,
    mean_steps,
    measure,
)
from mha_core.heads.builtin import read_builtin
from mha_core.heads.repeated import RepeatedSums, is_repeated, repeated_samples
from mha_core.heads.words import FloatArray
from mha_core.tokens import Tokens
from mha_core.wording import Head
from pages.parts.experiment import answers
from pages.parts.experiment.answers import Answer
from pages.parts.frame import presets

BEST = 8
DRAWS = 10
TEXTS = 5
SENTENCES = 40
ORDINARY = (
    "The old library stood at the end of a quiet street. Every Saturday a few children came to read by the tall "
    "windows, and the librarian brought them tea. In winter the rooms were cold, so they kept their coats on and "
    "turned the pages with gloves. When the town decided to build a new school, people feared that nobody would "
    "come any more, but the children went on visiting."
)
SIX_SIX: Head = (5, 5)
Parts = Iterator[Part[Answer | None]]


@dataclass(frozen=True)
class Trial:
    """One ready experiment: its name in the link, its question, the model that is asked, and how."""

    key: str
    title: str
    question: str
    model: str
    run: Callable[[Model], Parts]


def repeated(model: Model) -> Parts:
    """Random tokens said twice, without the heads that do most induction and without others."""
    samples = [sample for sample in repeated_samples(model) if is_repeated(sample)][:TEXTS]
    sums, n = RepeatedSums(), len(samples)
    for done, sample in enumerate(samples, 1):
        sums.add(trace_tokens(sample.tokens, model).weights, sample)
        yield Part(0.2 * done / n, done, None)
    best = strongest(sums.result().induction, BEST)
    sets = [(), best, *others(best, model)]
    losses = np.zeros((len(sets), n))
    for i, heads in enumerate(sets):
        for j, sample in enumerate(samples):
            outcome = Loss(len(sample.tokens) - sample.said_twice)
            losses[i, j] = measure(sample.tokens, model, outcome, _without(heads))[0]
            done = n + i * n + j + 1
            yield Part(0.2 + 0.8 * (done - n) / losses.size, done, None)
    intact, without, *draws = losses.mean(1).tolist()
    yield Part(1.0, done, answers.repetition(best, intact, without, draws, n))


def _two_words(text: str) -> Callable[[Model], Parts]:
    def run(model: Model) -> Parts:
        word, rival = presets.FOLLOWED[text]
        for part in every_head(model.tokenizer.encode(text), model, Word(word, rival)):
            done = part.fraction >= 1
            yield Part(
                part.fraction, part.n, answers.next_word(part.result, text, word, rival) if done else None
            )

    return run


def first_token(model: Model) -> Parts:
    """The heads that rest on the first token, taken away together, set to their mean, and against others."""
    tokens = model.tokenizer.encode(ORDINARY)
    resting = resting_heads(tokens, model)
    yield Part(0.05, 1, None)
    for part in mean_steps(model):
        read = 1 + part.n
        yield Part(0.05 + 0.6 * part.fraction, read, None)
    tries: list[tuple[Intervention, ...]] = [(), _without(resting), (MeanOutput(resting),)]
    tries += map(_without, others(resting, model))
    losses = list[float]()
    for how in tries:
        losses.append(measure(tokens, model, Loss(), how)[0])
        yield Part(0.65 + 0.35 * len(losses) / len(tries), read + len(losses), None)
    intact, without, mean, *draws = losses
    total = model.n_layers * model.n_heads
    answer = answers.sink(total, resting, intact, without, mean, draws, len(tokens) - 1, ORDINARY)
    yield Part(1.0, read + len(losses), answer)


def turning(model: Model) -> Parts:
    """How far every head's absence turns the embedding, over some of the built-in sentences."""
    texts = [one.text for one in read_builtin()][:: max(1, len(read_builtin()) // SENTENCES)][:SENTENCES]
    total = np.zeros((model.n_layers, model.n_heads))
    for done, text in enumerate(texts, 1):
        for part in every_head(model.tokenizer.encode(text), model, Cosine()):
            effects = part.result
        total += effects.after
        yield Part(done / len(texts), done, None)
    yield Part(1.0, done, answers.embedding(total / len(texts), len(texts), SIX_SIX, presets.TIRED))


def resting_heads(tokens: Tokens, model: Model) -> tuple[Head, ...]:
    """The heads in which the first token takes more than half, mean over the rows that see another."""
    mass = trace_tokens(tokens, model).weights[:, :, 1:, 0].mean(-1)
    return tuple((int(layer), int(head)) for layer, head in np.argwhere(mass > 0.5))


def strongest(scores: FloatArray, k: int) -> tuple[Head, ...]:
    """The k heads with the highest score, best first."""
    order = np.argsort(-scores, axis=None, kind="stable")[:k]
    return tuple(divmod(int(i), scores.shape[1]) for i in order)


def others(heads: Sequence[Head], model: Model) -> list[tuple[Head, ...]]:
    """As many heads at random, drawn DRAWS times from those that are not given (from all, where too few are left)."""
    every = [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]
    rest = [head for head in every if head not in set(heads)]
    rest = rest if len(rest) >= len(heads) else every
    random = np.random.default_rng(0)
    return [
        tuple(sorted(rest[i] for i in random.choice(len(rest), len(heads), replace=False)))
        for _ in range(DRAWS)
    ]


def _without(heads: Sequence[Head]) -> tuple[Intervention, ...]:
    return (Factor(tuple(heads)),) if heads else ()


TRIALS = (
    Trial(
        "repeated",
        "A repeated text",
        "Random tokens are said twice. Is it the induction heads that know what comes next?",
        DECODER,
        repeated,
    ),
    Trial(
        "names",
        "Mary and John",
        "“When Mary and John went to the store, John gave a drink to”: which head knows that it is Mary?",
        DECODER,
        _two_words(presets.MARY),
    ),
    Trial(
        "key",
        "The key to the cabinets",
        "“The key to the cabinets”: which heads keep the verb from agreeing with the nearer noun?",
        DECODER,
        _two_words(presets.KEY),
    ),
    Trial(
        "sink",
        "The first token",
        "Many heads rest on the first token. Take them all away: does nothing happen?",
        DECODER,
        first_token,
    ),
    Trial("six", "MiniLM's 6-6", "Which head does MiniLM's embedding need most? 6-6?", EMBEDDED, turning),
)
BY_KEY = {trial.key: trial for trial in TRIALS}
