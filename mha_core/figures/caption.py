"""A figure's caption, ready to paste. In: a record, a grid and a design. Out: plain sentences."""

from collections.abc import Sequence

from mha_core.export import NORMALISED
from mha_core.figures.design import Design
from mha_core.grid import Grid
from mha_core.record import AttentionRecord
from mha_core.wording import Per, short_name

DRAWN = {
    "matrix": "Each row shows where one token looks (query), each column where it is looked at (key)",
    "arcs": "Arcs lead from the tokens that look to those that are looked at",
    "lines": "Lines lead from the tokens that look (left) to those that are looked at (right)",
    "bars": "Bars show where the chosen token looks",
}
DRAWN_OF_SEVERAL = "Bars show where the chosen tokens look on average"


def caption(
    record: AttentionRecord,
    grid: Grid,
    design: Design,
    pins: Sequence[int] = (),
    *,
    measure: str = "Raw attention",
    per: Per = "head",
    link: str = "",
) -> str:
    """What a figure shows, of which model and text, on which scale; `link` opens it again."""
    names = [short_name(head, per) for head in design.heads]
    place = _listed(names)
    if per == "head":
        place = f"{'head' if len(names) == 1 else 'heads'} {place} (layer-head)"
    if design.mix != "each" and len(names) > 1:
        place = f"the {design.mix} of {place}"
    looked = ""
    if pins and design.kind != "matrix":
        looked = f", from {_listed([f'“{grid.units[pin].bare}”' for pin in pins])}"
    pair = record.tokens.pair
    text = record.tokens.text if pair is None else f"{record.tokens.text} {pair}"
    if record.keys is not None:
        text = f"{record.keys.text}” (source) and “{text}"
    short, whole = record.model.short_digest, record.model.digest
    digest = whole and (f" ({whole})" if short == whole else f" (SHA-256 {short}…)")
    by = "" if record.model.is_ours else f", computed by {record.model.computed_by}"
    changed = f" (changed: {'; '.join(record.changed)})" if record.changed else ""
    model = f"{record.model.title}{digest}{by}{changed}"
    drawn = DRAWN_OF_SEVERAL if design.kind == "bars" and len(pins) > 1 else DRAWN[design.kind]
    drawn = drawn.replace("token", "word") if grid.words else drawn
    scale = "0 to 100 %" if design.scale == "full" else "0 to the largest weight shown"
    units = "words" if grid.words else "word pieces"
    stop = "" if text[-1:] in (".", "!", "?") else "."
    opened = f", {link}" if link else ""
    # The rows of a maximum sum to more than those of its heads.
    of_each = f"in every {per} " if design.mix == "maximum" and len(names) > 1 else ""
    return (
        f"{measure} in {place} of {model}{looked}, for “{text}”{stop} {drawn}; scale {scale}; {units}, {of_each}"
        f"{NORMALISED[grid.specials]}. Drawn with HeadScope{opened}."
    )


def _listed(parts: Sequence[str]) -> str:
    return "".join(parts) if len(parts) < 2 else f"{', '.join(parts[:-1])} and {parts[-1]}"
