"""Write tests/acceptance/odd_texts.json anew: which tokens, words and spans each model gives for 300 odd texts.

`PYTHONPATH=. python benchmarks/odd_texts.py` asks today's program and rewrites every line; read the
difference before you keep it. A line is a text (`times`: so many times over) and what each model makes of it. Write
a new text with its kind alone.

Words stand apart and the tokens of a word are joined by +. A token is its place in the text and its number in the
vocabulary: `4-10:4111`. Those that the model adds have no place (`:101`), special ones that were typed stand in
brackets, // begins the second text of a pair. Of more than MANY tokens a digest is kept.

When the texts were first kept, other programs were asked too: for MiniLM transformers' BertTokenizerFast, and
Devlin's algorithm in plain Python over vocab.txt; for SmolLM2 byte-pair encoding in plain Python over the merges that
the package gguf reads; for the toy model Python's own `re`.
"""

import hashlib
import json
import unicodedata
from itertools import groupby
from pathlib import Path
from typing import Any

import mha_core

FILE = Path(__file__).parents[1] / "tests" / "acceptance" / "odd_texts.json"
MODELS = ("minilm", "smollm2", "classroom")
MANY = 150
# Combining, invisible and unassigned characters and odd spaces are spelt out in the file: nobody would see them.
UNSEEN = ("Cc", "Cf", "Cn", "Co", "Mn", "Me", "Zl", "Zp", "Zs")


def lines() -> list[dict[str, Any]]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def typed(line: dict[str, Any]) -> str:
    """The text of a line."""
    return line["text"] * line.get("times", 1)


def written(model: mha_core.Model, text: str) -> str:
    """Say in one line what a model makes of a text, or that it refuses it."""
    try:
        tokens = model.tokenizer.encode(text)
    except mha_core.InputError:
        return "refused"
    found, segment = list[str](), 0
    for (of, _), group in groupby(enumerate(tokens.pieces), lambda one: (one[1].segment, word_of(*one))):
        found += ["//"] * (of - segment) + ["+".join(placed(piece) for _, piece in group)]
        segment = of
    for word in tokens.words:
        own = tokens.pieces[word.first : word.stop]
        if (word.start, word.end) != (own[0].start, max(piece.end for piece in own)):
            found.append(f"(a word from {word.start} to {word.end})")
    said = " ".join(found)
    if len(tokens) > MANY:
        digest = hashlib.sha256(said.encode()).hexdigest()[:16]
        said = f"{len(tokens)} tokens, {len(tokens.words)} words, {digest}"
    if (tokens.text, tokens.pair) != (text, None):
        said += f", read as {tokens.text!r} and {tokens.pair!r}"
    return said + (f", {tokens.n_cut} cut" if tokens.n_cut else "")


def word_of(at: int, piece: mha_core.Token) -> int:
    """The number of its word; a token outside all words is alone."""
    return -1 - at if piece.word is None else piece.word


def placed(piece: mha_core.Token) -> str:
    if piece.special and not piece.end:
        return f":{piece.id}"
    place = f"{piece.start}-{piece.end}:{piece.id}"
    return f"({place})" if piece.special else place


def as_line(line: dict[str, Any]) -> str:
    shown = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    unseen = {c for c in shown if c != " " and unicodedata.category(c) in UNSEEN}
    return shown.translate({ord(c): json.dumps(c)[1:-1] for c in unseen})


def main() -> None:
    models = {name: mha_core.load_model(name, device="cpu") for name in MODELS}
    found = lines()
    for line in found:
        line |= {name: written(model, typed(line)) for name, model in models.items()}
    FILE.write_text("[\n" + ",\n".join(map(as_line, found)) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
