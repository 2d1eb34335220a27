"""Where the chosen words look, as bars with their numbers: a row a word, a column a panel, one axis for all."""

from mha_core.errors import InputError
from mha_core.figures.lettering import width
from mha_core.figures.panels import Panel
from mha_core.figures.sheet import Sheet
from mha_core.figures.svg import tag, words
from mha_core.wording import percent

LEADING = 1.4
NARROWEST = 1.5  # of the size: the room of the longest bar


def draw(sheet: Sheet, found: list[Panel]) -> tuple[list[str], float]:
    """The panels, side by side; how high they are, in points."""
    if not sheet.pins:
        raise InputError("Bars show where one word looks; choose a word in the sentence first.")
    rows = [panel.weights[list(sheet.pins)].mean(axis=0) for panel in found]
    seen = [
        any(sheet.visible is None or sheet.visible[pin, i] for pin in sheet.pins) for i in range(sheet.n_keys)
    ]
    size, said = sheet.size, width("100.0 %", sheet.size) + 0.5 * sheet.size
    wide = (sheet.width - sheet.room) / len(found)
    longest = wide - said - 0.8 * size
    if longest < NARROWEST * size:
        raise InputError(
            "So many heads leave no room for bars at this width; choose fewer, or a wider figure."
        )
    body, start = [], 3.0 * size
    looked = ", ".join(sheet.names[pin] for pin in sheet.pins)
    body.append(words(f"From: {looked}", 0.0, 0.8 * size, size, fill=sheet.accent, font_weight=650))
    for i, name in enumerate(sheet.keys):
        y = start + (i + 0.5) * LEADING * size
        bold = sheet.bold(i) if sheet.key_names is None else {"fill": sheet.ink}
        body.append(words(name, sheet.room - 0.5 * size, y, size, text_anchor="end", **bold))
    for column, (panel, row) in enumerate(zip(found, rows, strict=True)):
        x = sheet.room + column * wide
        body.append(sheet.title(panel, x, 2.1 * size))
        for i, weight in enumerate(row):
            if not seen[i]:  # a decoder has no weight there, not one of 0 %
                continue
            y = start + (i + 0.5) * LEADING * size
            long = sheet.share(float(weight)) * longest
            body.append(
                tag("rect", x=x, y=y - 0.4 * size, width=long, height=0.8 * size, fill=sheet.ramp[210])
            )
            body.append(words(percent(float(weight)), x + long + 0.3 * size, y, 0.9 * size, fill=sheet.ink))
    return body, start + sheet.n_keys * LEADING * size + 0.4 * size
