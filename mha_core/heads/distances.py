"""How far do a relation's words stand apart: in the built-in sentences, and in a treebank?

In: sentences with relations. Out: for every relation that the built-in sentences ask for, how many of its dependents
have their head at which distance, in words as they are written ("didn't" is one word, punctuation is one of its own);
positive where the head comes later. The treebank's numbers come with the program (`assets/distances.json`).

Why: a head that looks three words on is a specialist or not, depending on how often the answer stands there.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from mha_core.heads.builtin import BuiltIn, builtin_items, read_builtin
from mha_core.heads.corpora import Sentence
from mha_core.heads.jobs import GOLD
from mha_core.heads.relations import RelationCases
from mha_core.resources import asset
from mha_core.tokens import Tokenizer

Distances = dict[str, Counter[int]]
FILE = asset("distances.json")
RELATIONS = tuple(relation for relation, *_ in GOLD.values())
# In a treebank what hangs on a word is a word of its own: 's, 've, n't.
HANGS_ON = re.compile(r"['’]\w*|n['’]t", re.IGNORECASE)


@dataclass(frozen=True)
class Reference:
    """What a treebank has: its name, the digest of the file, and its distances."""

    corpus: str
    sha256: str
    distances: Distances


def of_treebank(sentences: Iterable[Sentence]) -> Distances:
    """The distances in a treebank."""
    found: Distances = {relation: Counter() for relation in RELATIONS}
    for sentence in sentences:
        places, here = [], -1
        for word in sentence.words:
            here += here < 0 or not HANGS_ON.fullmatch(word)
            places.append(here)
        for i, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
            if relation in found and head >= 0 and places[head] != places[i]:
                found[relation][places[head] - places[i]] += 1
    return found


def of_builtin(tokenizer: Tokenizer, sentences: Iterable[BuiltIn] | None = None) -> Distances:
    """The distances in the built-in sentences, in the words of a model's tokenizer."""
    found: Distances = {relation: Counter() for relation in RELATIONS}
    for item in builtin_items(read_builtin() if sentences is None else sentences, tokenizer):
        if isinstance(item, RelationCases):
            for dependent, head, relation in zip(item.dependents, item.heads, item.relations, strict=True):
                found[relation][int(head) - int(dependent)] += 1
    return found


def apart(one: Counter[int], other: Counter[int]) -> float | None:
    """The share of one that would have to move to another distance to give the other, from 0 to 1; None where one of
    them is empty."""
    n, m = one.total(), other.total()
    if not n or not m:
        return None
    return sum(abs(one[place] / n - other[place] / m) for place in one.keys() | other.keys()) / 2


@cache
def reference() -> Reference:
    """The treebank's distances that come with the program."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    counts = {
        relation: Counter({int(place): n for place, n in places.items()})
        for relation, places in data["distances"].items()
    }
    return Reference(data["corpus"], data["sha256"], counts)


def table(ours: Distances, theirs: Distances, rare: float = 0.02) -> list[str]:
    """Both as lines of text, for every relation its distances and the shares; those that are rarer than `rare` in
    both are put together."""
    lines = []
    for relation in RELATIONS:
        a, b = ours[relation], theirs[relation]
        share = apart(a, b)
        said = "nothing to compare" if share is None else f"apart {share:.1%}"
        lines.append(f"{relation}: built-in n = {a.total():,}, treebank n = {b.total():,}, {said}")
        shares = {
            place: (a[place] / max(a.total(), 1), b[place] / max(b.total(), 1)) for place in sorted(a | b)
        }
        shown = {place: both for place, both in shares.items() if max(both) >= rare}
        for place, both in shown.items():
            lines.append(f"  {place:+4d} {both[0]:7.1%} {both[1]:7.1%}")
        rest = [both for place, both in shares.items() if place not in shown]
        lines.append(f"  else {sum(x for x, _ in rest):7.1%} {sum(y for _, y in rest):7.1%}")
    return lines
