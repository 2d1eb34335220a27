"""The figure studio: a figure for a paper or a slide of the heads and words at hand, as it will be, with its link.

In: a record, a grid and what is chosen. Out: controls, the drawing and its files; what it looks like is the link's
field `figure`.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b

import streamlit as st

from mha_core import Grid, HeadScopeError, InputError, Record
from mha_core.figures import Design, caption, figure, from_link
from mha_core.figures.arcs import fitted_size
from mha_core.figures.design import GROUNDS, KINDS, MIXES, SCALES, SIZES, UNITS, WIDTHS
from mha_core.heads import measures
from mha_core.picture.bundle import bundle, style
from mha_core.picture.payload import Role
from mha_core.picture.text import spelled
from mha_core.wording import Head, Per, head_name, short_name
from pages.parts.explore import export
from pages.parts.frame import state
from pages.parts.frame.prose import heading, say
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.serve import cache
from pages.parts.serve.streamlit_again import unless_drawn

FIELD = "figure"
SAID = "figure-said"  # the design that the controls show, and of how many layers and heads
COLUMNS = {"one column, 8.5 cm": 8.5, "two columns, 17 cm": 17.0}
FREE = "free"
ANY_ROLE = "—"
LABELS = {
    "each": "each on its own",
    "full": "0 to 100 %",
    "largest": "0 to the largest",
    "pieces": "word pieces",
    "words": "whole words",
}
Roles = dict[Head, Role]

_draw = st.components.v2.component("headscope_figure", css=style("figure"), js=bundle("figure"))


def offer(record: Record, grid: Grid, chosen: Selection, request: Request, roles: Roles) -> None:
    """The button that opens the studio, and the studio if the link asks for it."""
    asked = state.params().get(FIELD)
    opens = first(chosen, request).as_link()
    label = "Close the figure studio" if asked else "Figure for a paper or slide"
    then = partial(state.change, {FIELD: None if asked else opens})
    unless_drawn("figure-open", (label, opens), lambda: st.button(label, key="figure-open", on_click=then))
    if asked:
        with st.container(key="studio"):
            _studio(asked, record, grid, chosen, request, roles)


def first(chosen: Selection, request: Request) -> Design:
    """The figure that the studio opens with: the chosen head, in one column."""
    return Design(heads=(chosen.head,), unit="words" if request.words else "pieces")


def _studio(
    asked: str, record: Record, grid: Grid, chosen: Selection, request: Request, roles: Roles
) -> None:
    heading("Figure studio")
    try:
        _show(asked, chosen, request, grid)
        design = _controls(grid, request, roles)
        state.change({FIELD: design.as_link()})
        st.session_state[SAID] = (design.as_link(), *grid.weights.shape[:2])
        drawn = request if request.unit == design.unit else replace(request, unit=design.unit)
        figured = cache.grid(drawn, record)
        pins = moved(chosen.pins, grid, figured)
        link = export.link_of(st.context.url or "", request, chosen, {FIELD: design.as_link()})
        _drawn(record, figured, design, pins, drawn, link)
    except HeadScopeError as error:
        say(str(error), "problem")


def _show(asked: str, chosen: Selection, request: Request, grid: Grid) -> None:
    """Let the controls show what the link asks for, unless they say so already."""
    layers, heads = grid.weights.shape[:2]
    if st.session_state.get(SAID) == (asked, layers, heads) and f"{FIELD}-kind" in st.session_state:
        return
    try:
        design = from_link(asked)
    except InputError as error:
        say(str(error), "notice")
        design = first(chosen, request)
    wanted = dict.fromkeys(_place(head, request.per) for head in design.heads)
    inside = [head for head in wanted if head[0] < layers and head[1] < heads] or [chosen.head]
    column = next((name for name, width in COLUMNS.items() if width == design.width), FREE)
    values = {
        "kind": design.kind,
        "heads": [head_name(head) for head in inside],
        "mix": design.mix,
        "column": column,
        "width": design.width,
        "size": design.size,
        "ground": design.ground,
        "unit": design.unit,
        "scale": design.scale,
    }
    st.session_state.update({f"{FIELD}-{name}": value for name, value in values.items()})


def _place(head: Head, per: Per) -> Head:
    """The picture that a head is part of: its own, that of its layer, or the only one."""
    return head if per == "head" else (head[0] if per == "layer" else 0, 0)


def _controls(grid: Grid, request: Request, roles: Roles) -> Design:
    """The reader's choices, as a design. Raises InputError for one that cannot be drawn."""
    layers, heads = grid.weights.shape[:2]
    every = [head_name((layer, head)) for layer in range(layers) for head in range(heads)]
    with st.container(horizontal=True, vertical_alignment="bottom", key="figure-what"):
        kind = _choice("Drawn as", "kind", KINDS)
        mix = _choice("Several heads", "mix", MIXES)
        scale = _choice("Scale", "scale", SCALES)
    names = st.multiselect(
        "Heads" if request.per == "head" else "Layers",
        every,
        key=f"{FIELD}-heads",
        format_func=lambda name: short_name(_head(name), request.per),
        placeholder="Choose one or more",
    )
    if roles:
        groups = sorted({role.label for role in roles.values()})
        st.selectbox(
            "Take the heads of a role",
            [ANY_ROLE, *groups],
            key=f"{FIELD}-role",
            on_change=partial(_take_role, roles),
        )
    with st.container(horizontal=True, vertical_alignment="bottom", key="figure-how"):
        column = _choice("Width", "column", (*COLUMNS, FREE))
        width = COLUMNS.get(column) or _number("Centimetres", "width", WIDTHS, 0.5)
        size = _number("Type, points", "size", SIZES, 0.5)
        ground = _choice("Ground", "ground", GROUNDS)
        unit = _choice("Labels", "unit", UNITS)
    chosen = tuple(_head(name) for name in names)
    return Design(kind, chosen, mix, float(width), float(size), ground, unit, scale)  # type: ignore[arg-type]


def _choice(label: str, name: str, options: Sequence[str]) -> str:
    found = st.segmented_control(
        label, options, required=True, key=f"{FIELD}-{name}", format_func=lambda each: LABELS.get(each, each)
    )
    return found or options[0]


def _number(label: str, name: str, limits: tuple[float, float], step: float) -> float:
    least, most = limits
    return st.number_input(label, least, most, step=step, key=f"{FIELD}-{name}", width=140)


def _head(name: str) -> Head:
    layer, head = name.split("-")
    return int(layer) - 1, int(head) - 1


def _take_role(roles: Roles) -> None:
    label = st.session_state[f"{FIELD}-role"]
    if label != ANY_ROLE:
        of_role = sorted(head for head, role in roles.items() if role.label == label)
        st.session_state[f"{FIELD}-heads"] = [head_name(head) for head in of_role]


def moved(pins: Sequence[int], before: Grid, after: Grid) -> list[int]:
    """The units of another grid of the same text that share a piece with the pinned ones."""
    pieces = {piece for pin in pins for piece in before.units[pin].pieces}
    return [i for i, unit in enumerate(after.units) if pieces & set(unit.pieces)]


def _drawn(
    record: Record, grid: Grid, design: Design, pins: Sequence[int], request: Request, link: str
) -> None:
    measure = measures.BY_KEY[request.measure].label
    said = caption(record, grid, design, pins, measure=measure, per=request.per, link=link)
    names = spelled(grid, record.tokens)["names"]
    svg = figure(grid, design, pins, names=names, told=said, per=request.per)
    _draw(
        key="figure-drawn",
        data={
            "svg": svg,
            "name": name_of(design, pins, request),
            "alt": said,
            "clear": design.ground != "white",
        },
    )
    if design.kind == "arcs" and (fits := fitted_size(names, design)) < design.size:
        say(f"The words are set in {fits:.1f} points, so that the line fits into {design.width:g} cm.")
    say("The caption, ready to paste; its link brings this figure back:")
    st.code(said, language=None, wrap_lines=True)


def name_of(design: Design, pins: Sequence[int], request: Request) -> str:
    """A file name of plain letters; other figures, other names."""
    digest = blake2b(repr((design.as_link(), tuple(pins))).encode(), digest_size=3).hexdigest()
    return export.file_name(request, "", f"figure-{design.kind}-{digest}").removesuffix(".")
