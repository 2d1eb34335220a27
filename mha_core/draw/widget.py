"""`Widget`: the picture of `show` in Jupyter or marimo, which tells Python what was pressed.

In: a record, or two. Out: a widget whose traits `head`, `query` and `key` follow the picture, and the picture them.
"""

from typing import Any

from mha_core.display_names import head_name
from mha_core.draw.bundle import bundle
from mha_core.draw.notebook import picture_of
from mha_core.draw.standalone import picture_content, theme
from mha_core.errors import InputError, Unavailable
from mha_core.record.grid import Specials, head_from_name
from mha_core.record.links import find_unit
from mha_core.record.record import AttentionRecord

try:
    import anywidget
    import traitlets
except ModuleNotFoundError:
    raise Unavailable("A widget needs anywidget: pip install 'headscope[notebook]'.") from None


class Widget(anywidget.AnyWidget):
    """The picture of one record, or of two against each other, as a widget.

        picture = record.widget(word="it")
        picture  # shown as the last line of a cell
        picture.head, picture.query  # in another cell: what was pressed since
        picture.query = "cat"  # shows another word

    `head`: "4-2", layer and head from 1. `query`: the word that looks, `key`: the word looked at, as indices into
    `picture.grid`, or None; set from Python they may be words, "it#2" the second. Arguments as in `show`. Raises
    InputError for what is no record, and for a head or word that is not there.
    """

    _esm = bundle("widget")
    _content = traitlets.Dict().tag(sync=True)
    head = traitlets.Unicode().tag(sync=True)
    query = traitlets.Any(allow_none=True).tag(sync=True)
    key = traitlets.Any(allow_none=True).tag(sync=True)

    def __init__(
        self,
        record: AttentionRecord,
        other: AttentionRecord | None = None,
        *,
        head: str | None = None,
        word: str | None = None,
        to: str | None = None,
        words: bool = False,
        specials: Specials = "shown",
    ) -> None:
        payload, self.grid, chosen = picture_of(record, other, head, word, to, words, specials)
        content = picture_content(payload) | {
            "themes": {"light": theme(dark=False), "dark": theme(dark=True)}
        }
        query = chosen.pins[0] if chosen.pins else None
        super().__init__(_content=content, head=head_name(chosen.head), query=query, key=chosen.to)

    @traitlets.validate("head")
    def _known_head(self, proposal: Any) -> str:
        return head_name(head_from_name(proposal["value"], *self.grid.weights.shape[:2]))

    @traitlets.validate("query", "key")
    def _index(self, proposal: Any) -> int | None:
        value, is_key = proposal["value"], proposal["trait"].name == "key"
        units = self.grid.columns if is_key else self.grid.units
        if isinstance(value, str):
            return find_unit(units, value)
        if value is not None and not (isinstance(value, int) and 0 <= value < len(units)):
            raise InputError(
                f"Unknown word {value!r:.40}. Give a word, or its index from 0 to {len(units) - 1}."
            )
        return value
