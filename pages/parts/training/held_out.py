"""The pairs that the classroom's model is judged by, one by one: right and wrong mass in both texts, failures too.

In: the shipped model. Out: a table; every pair opens on Compare.
"""

import html
from collections.abc import Sequence

import streamlit as st

from mha_core import Model
from mha_core.embedded import CLASSROOM
from mha_core.learning.classroom.evaluation import RIGHT, WRONG, PairLine, lines
from mha_core.learning.classroom.pairs import FAMOUS
from mha_core.wording import Head, head_name, percent
from pages.parts.frame.links import link_to
from pages.parts.frame.prose import heading, markup, say
from pages.parts.serve import cache

SHOWN = 200


def table() -> None:
    """Every pair in a line, the famous ones first."""
    used = cache.at_hand(CLASSROOM)
    if used is None:
        return
    heading(f"{SHOWN} pairs of words that it never saw together", 3)
    box = st.expander("See every pair, failures too", key="held-out", on_change="rerun")
    if not box.open:
        return
    with box:
        head, found = _lines(used)
        held = found[len(FAMOUS) :]
        failed = [line for line in held if not line.passes]
        say(
            f"Head {head_name(head)} passes {len(held) - len(failed)} of these {len(held)}: in both texts at least "
            f"{percent(RIGHT)} of its attention from `it` on the noun that is meant and at most {percent(WRONG)} on "
            f"the other. {len(failed)} it fails. A pair opens on Compare."
        )
        alone = st.toggle("Failures alone", key="held-out-failures", bind="query-params")
        markup(table_of(head, failed if alone else found))


def _lines(used: Model) -> tuple[Head, tuple[PairLine, ...]]:
    def make() -> tuple[Head, tuple[PairLine, ...]]:
        with cache.turn():
            return lines(used.encoder, SHOWN)

    return cache.of_model(used, "held-out pairs", make)


def table_of(head: Head, shown: Sequence[PairLine]) -> str:
    """The table as HTML."""
    columns = ("Pair", "first: right", "wrong", "second: right", "wrong", "")
    top = "".join(f'<th scope="col">{name}</th>' for name in columns)
    caption = f"What head {head_name(head)} gives the noun that “it” means, and the other noun"
    return (
        f'<div class="hs-scroll" style="max-height:34rem" tabindex="0" role="region" aria-label="{caption}"><table>'
        f"<caption>{caption}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{''.join(map(_row, shown))}</tbody></table></div>"
    )


def _row(line: PairLine) -> str:
    first, second = line.pair.texts
    link = link_to("Compare", {"text": first, "text2": second, "model": CLASSROOM, "against": "sentence"})
    words, other = line.pair.words[0], line.pair.words[1][-2]
    said = f"{first.removesuffix('.')} / {other}"
    masses = "".join(f"<td>{percent(mass)}</td>" for masses in line.masses for mass in masses)
    nouns = f"{words[-2]}: {line.pair.nouns[0]}; {other}: {line.pair.nouns[1]}"
    return (
        f'<tr><th scope="row"><a href="{html.escape(link)}" target="_self" title="{html.escape(nouns)}">'
        f"{html.escape(said)}</a></th>{masses}<td>{'passes' if line.passes else 'fails'}</td></tr>"
    )
