"""The page that computes in the user's browser: what it knows of its models, and the texts that it opens with.

In: models and texts. Out: index.html and the service worker, as text.
"""

import base64
import html
import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from mha_core.draw.bundle import bundle, style
from mha_core.draw.payload import record_payload
from mha_core.draw.selection import Selection
from mha_core.draw.standalone import (
    filled,
    json_in_html,
    portable,
    script_in_html,
    template,
    theme,
    typeface,
)
from mha_core.draw.static_site.vocabulary import max_tokens
from mha_core.heads.roles import roles
from mha_core.heads.table import read_roles
from mha_core.models.model import Model
from mha_core.models.model_list import OPENING_HEADS
from mha_core.models.trace import trace
from mha_core.record.compact_weights import quantise
from mha_core.record.export import model_of
from mha_core.record.record import AttentionRecord
from mha_core.resources import asset
from mha_core.text.tokens import Token, Tokens
from mha_core.wordlists import PRONOUNS

HERE = asset("static")
Places = Callable[..., tuple[int, ...]]
TIRED = "The animal didn't cross the street because it was too tired."
# What a page opens with: the classic, the word to change in it, and two more.
TEXTS = (
    TIRED,
    TIRED.replace("tired", "wide"),
    "The keys to the old wooden cabinet are on the table.",
    "Zbigniew called and said that Zbigniew would be late.",
)
LETTERS = "\u0100"  # a user may type any of the letters that the typeface has
# Nothing from another host, and no script but the page's own; the picture sets styles and draws from blobs.
DRAWS = "style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
POLICY = f"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; {DRAWS}"
ALONE = f"default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; connect-src data: blob:; {DRAWS}"


def page_html(
    models: Mapping[str, Model],
    texts: Sequence[str],
    megabytes: Mapping[str, int],
    inside: Mapping[str, str] | None = None,
) -> str:
    """Return index.html for models by the worker's names, the first chosen at first; `megabytes`: what each has to be
    asked for. `inside`: the worker's files as base64, where the page is one file."""
    first = next(iter(models))
    known = {model.name: model_facts(key, model, megabytes.get(key, 0)) for key, model in models.items()}
    content = {
        "models": known,
        "first": models[first].name,
        "texts": list(texts),
        "pronouns": sorted(PRONOUNS),
        "runs": [run_of(trace(text, models[first]), first, text) for text in texts],
        "css": style(),
        "files": inside,
        "alone": template(),
    }
    options = (
        f'<option value="{html.escape(name)}">{html.escape(model["title"])}</option>'
        for name, model in known.items()
    )
    return filled(
        (HERE / "index.html").read_text("utf-8"),
        POLICY=ALONE if inside else POLICY,
        ICON=base64.b64encode(asset("favicon.svg").read_bytes()).decode(),
        FACES=typeface(LETTERS),
        LIGHT=theme(dark=False),
        DARK=theme(dark=True),
        STYLE=(HERE / "page.css").read_text("utf-8"),
        MODELS="".join(options),
        DATA=json_in_html(content),
        SCRIPTS=_inline() if inside else '<script type="module" id="source" src="page.js"></script>',
    )


def service_worker(files: Mapping[str, bytes]) -> str:
    """Return the service worker that keeps these files, under a name that changes with them."""
    digest = sha256(
        b"".join(name.encode() + sha256(content).digest() for name, content in files.items())
    ).hexdigest()
    return filled(
        (HERE / "sw.js").read_text("utf-8"),
        DIGEST=digest[:16],
        FILES=json.dumps(["./", *(name for name in files if name != "index.html")]),
    )


def run_of(record: AttentionRecord, key: str, text: str) -> dict[str, Any]:
    """Return what the worker answers for a text, its weights in steps of 1/65535; `key`: its name of the model."""
    tokens = record.tokens
    place = _places(text, tokens)
    return {
        "model": key,
        "text": text,
        "spans": [
            place(segment, 0, len(tokens.text_of(segment)))
            for segment in range(1 + (tokens.pair is not None))
        ],
        "pieces": [_piece(piece, place) for piece in tokens.pieces],
        "layers": record.n_layers,
        "heads": record.n_heads,
        "cut": tokens.n_cut,
        **portable({"weights": quantise(record.weights).ravel()}),
    }


def _piece(piece: Token, place: Places) -> dict[str, Any]:
    start, end = place(piece.segment, piece.start, piece.end) if piece.end else (0, 0)
    return {
        "text": piece.text,
        "id": piece.id,
        "start": start,
        "end": end,
        "special": int(piece.special),
        "segment": piece.segment,
        "word": -1 if piece.word is None else piece.word,
        "mark": piece.mark,
    }


def _places(typed: str, tokens: Tokens) -> Places:
    """Return a function from places in a segment to places in what was typed, in units of a JavaScript string."""
    bases = (typed.find(tokens.text), typed.rfind(tokens.pair or ""))

    def place(segment: int, *offsets: int) -> tuple[int, ...]:
        return tuple(len(typed[: bases[segment] + each].encode("utf-16-le")) // 2 for each in offsets)

    return place


def model_facts(key: str, model: Model, megabytes: int) -> dict[str, Any]:
    """Return the facts about a model that the page shows and draws with."""
    info = model.info
    table = read_roles(model.name, info.digest)
    record = trace(TIRED, model)
    grid = record.grid()
    named = roles(table) if table else {}
    return {
        "key": key,
        "name": model.name,
        "title": info.title,
        "digest": info.short_digest,
        "windows": list(info.windows),
        "causal": info.is_causal,
        "sharing": grid.sharing,
        "most": max_tokens(model),
        "megabytes": megabytes,
        "head": Selection(OPENING_HEADS.get(model.name, (3, 1)))
        .inside((model.n_layers, model.n_heads, 0))
        .head,
        "roles": record_payload(grid, record.tokens, info.title, named)["roles"],
        "words": " ".join(model.tokenizer.known_words or ()),
        "details": model_of(info),
    }


def _inline() -> str:
    """Return the page's script and its worker's, for the page."""
    own, other = (script_in_html(bundle(f"static/{name}")) for name in ("page", "worker"))
    return f'<script type="text/plain" id="worker">{other}</script>\n<script type="module" id="source">\n{own}</script>'
