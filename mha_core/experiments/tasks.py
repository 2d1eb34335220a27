"""What the removal of many heads may break: a number over several texts, of a model with gates on its heads.

In: gates (n_layers, n_heads). Out: the mean over the texts. A decoder is asked for four things, a model that predicts
no next word for its embeddings alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from mha_core.experiments.outcomes import losses, scores_of, token_of
from mha_core.experiments.prompts import Prompt, prompts
from mha_core.heads.builtin import read_builtin
from mha_core.heads.questions.repeated import IN_ORDER, repeated_texts
from mha_core.model import Model
from mha_core.tokens import Tokens
from mha_core.trace import run
from mha_core.wording import Head

PLAIN = 60  # built-in sentences that are looked at beside the passages
REPEATED_TEXTS, PASSAGES = (
    4,
    5,
)  # 160 tokens said again, some 270 of ordinary text: a set of heads takes seconds
BATCH = 8


@dataclass(frozen=True)
class Task:
    """Something a model does: its key, what it is called, the unit of its number, and which way is better."""

    key: str
    title: str
    unit: str
    better: Literal["low", "high"]


REPEATED = Task("repeated", "random tokens said again", "nats lost a token", "low")
NAME = Task("name", "the name of the indirect object", "logit difference", "high")
AGREEMENT = Task("agreement", "agreement over an attractor", "logit difference", "high")
ORDINARY = Task("ordinary", "the next word in ordinary text", "nats lost a token", "low")
EMBEDDING = Task("embedding", "the embeddings of sentences", "cosine with the whole model's", "high")
TASKS = (REPEATED, NAME, AGREEMENT, ORDINARY, EMBEDDING)


@dataclass(frozen=True, eq=False)
class Ready:
    """A task with its texts tokenised: `n` of them; `of` takes gates (or None: all ones) to the mean number."""

    task: Task
    n: int
    of: Callable[[Tensor | None], float]


def ready_tasks(model: Model) -> tuple[Ready, ...]:
    """The tasks that can be asked of this model."""
    if model.next_head is None:
        texts = plain_texts(model)
        return (Ready(EMBEDDING, len(texts), EmbeddingTask(texts, model)),)
    said_twice = [text for text in repeated_texts(model) if text.role == IN_ORDER][:REPEATED_TEXTS]
    found = [_pairs(NAME, prompts().name, model), _pairs(AGREEMENT, prompts().agreement, model)]
    if said_twice:
        first = len(said_twice[0].tokens) - said_twice[0].n
        texts = [sample.tokens for sample in said_twice]
        found.insert(0, Ready(REPEATED, len(texts), lambda gates: mean_loss(texts, model, gates, first)))
    passages = [model.tokenizer.encode(text) for text in prompts().ordinary[:PASSAGES]]
    return (*found, Ready(ORDINARY, len(passages), lambda gates: mean_loss(passages, model, gates)))


def plain_texts(model: Model) -> list[Tokens]:
    """Built-in sentences, taken evenly from all of them."""
    every = read_builtin()
    chosen = every[:: max(1, len(every) // PLAIN)][:PLAIN]
    return [model.tokenizer.encode(one.text) for one in chosen]


def gates_without(heads: Sequence[Head], model: Model) -> Tensor:
    """Gates that take these heads away, (n_layers, n_heads)."""
    gates = torch.ones(model.n_layers, model.n_heads, device=model.device)
    for layer, head in heads:
        gates[layer, head] = 0
    return gates


def mean_loss(texts: Sequence[Tokens], model: Model, gates: Tensor | None, first: int = 1) -> float:
    """The mean loss in nats of all tokens from `first` on, all texts together."""
    found = list[Tensor]()
    for tokens, hidden in finals(texts, model, gates):
        ids = torch.tensor(tokens.ids, device=model.device)
        with torch.inference_mode():
            found.append(losses(hidden, ids, model)[first - 1 :])
    return float(torch.cat(found).double().mean())


def share_right(texts: Sequence[Tokens], model: Model, gates: Tensor | None) -> float:
    """The share of all tokens but the first that the model holds likeliest, all texts together."""
    right = list[Tensor]()
    for tokens, hidden in finals(texts, model, gates):
        ids = torch.tensor(tokens.ids, device=model.device)
        with torch.inference_mode():
            right.append(scores_of(hidden[:-1], model).argmax(-1) == ids[1:])
    return float(torch.cat(right).double().mean())


def finals(texts: Sequence[Tokens], model: Model, gates: Tensor | None) -> list[tuple[Tokens, Tensor]]:
    """Every text with its final states (n, d_model), texts of a length run together."""
    order = sorted(texts, key=len)
    found = list[tuple[Tokens, Tensor]]()
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        hidden = run(batch, model, gates=gates, need_weights=False).hidden
        found += [(tokens, hidden[i, : len(tokens)]) for i, tokens in enumerate(batch)]
    return found


class EmbeddingTask:
    """The mean cosine of embeddings with those of the whole model."""

    def __init__(self, texts: Sequence[Tokens], model: Model) -> None:
        self._texts, self._model = texts, model
        self._whole = self._embeddings(None)

    def __call__(self, gates: Tensor | None) -> float:
        return float((self._embeddings(gates) * self._whole).sum(-1).mean())

    def _embeddings(self, gates: Tensor | None) -> np.ndarray:
        """Of length one, (text, d_model)."""
        means = [hidden.double().mean(0) for _, hidden in finals(self._texts, self._model, gates)]
        return torch.nn.functional.normalize(torch.stack(means), dim=-1).cpu().numpy()


def _pairs(task: Task, rows: Sequence[Prompt], model: Model) -> Ready:
    """The mean logit difference of the right word and the wrong one."""
    asked = {
        tokens: [token_of(word, model) for word in row.answers]
        for row, tokens in ((row, model.tokenizer.encode(row.text)) for row in rows)
    }

    def of(gates: Tensor | None) -> float:
        differences = list[Tensor]()
        for tokens, hidden in finals(list(asked), model, gates):
            with torch.inference_mode():
                chosen = scores_of(hidden[-1], model)[asked[tokens]]
            differences.append(chosen[0] - chosen[1])
        return float(torch.stack(differences).double().mean())

    return Ready(task, len(asked), of)
