"""A model answer to "which relations are there in this sentence?": about the sentence at hand. No Streamlit.

In: the labels of its tokens. Out: what can be read off the words themselves; the rest is said to be the reader's.
"""

from collections.abc import Iterator, Sequence

from pages.parts.frame.presets import PRONOUNS, TIRED, WIDE

WRITTEN = {
    TIRED: "For example: a pronoun and the word it stands for (it → animal), and a verb and its subject (cross → "
    "animal). Others: an article and its noun (the → street), a word and the one before it, an adjective and what it "
    "describes (tired → animal).",
    WIDE: "For example: a pronoun and the word it stands for (it → street), and a verb and its subject (cross → "
    "animal). Others: an article and its noun (the → street), a word and the one before it, an adjective and what it "
    "describes (wide → street).",
}
ARTICLES = {"the", "a", "an"}


def relations_in(labels: Sequence[str], special: Sequence[bool], query: int) -> str:
    """Two relations and more of this sentence, or as many as its words show by themselves."""
    words = [label for label, hidden in zip(labels, special, strict=True) if not hidden]
    for text, answer in WRITTEN.items():
        if words == _words(text):
            return answer
    found = list(_found(labels, special, query))
    return "For example: " + "; ".join(found) + ". Yours may be others: any two that a reader needs will do."


def _words(text: str) -> list[str]:
    """The tokens of a sentence of plain words, as the page writes them."""
    return text.replace(".", " .").replace("didn't", "didn ' t").split()


def _found(labels: Sequence[str], special: Sequence[bool], query: int) -> Iterator[str]:
    plain = [i for i, hidden in enumerate(special) if not hidden and any(map(str.isalnum, labels[i]))]
    word = labels[query]
    if word.lower() in PRONOUNS:
        yield f"a pronoun and what it stands for ({word} → ?)"
    article = next((i for i in plain if labels[i].lower() in ARTICLES and i + 1 in plain), None)
    if article is not None:
        yield f"an article and the word it announces ({labels[article]} → {labels[article + 1]})"
    again = next((i for i in plain if labels[i] in [labels[j] for j in plain if j < i]), None)
    if again is not None:
        yield f"a word and its earlier copy ({labels[again]} → {labels[again]})"
    if query in plain and query - 1 in plain:
        yield f"a word and the one before it ({word} → {labels[query - 1]})"
    if query in plain and query + 1 in plain:
        yield f"a word and the one after it ({word} → {labels[query + 1]})"
    yield "a verb and its subject, if the sentence has both"
