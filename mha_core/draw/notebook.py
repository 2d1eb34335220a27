"""`mha_core.show`: the picture of Explore, or of Compare, in a notebook, without a server and without a network.

In: a record, or two. Out: an object that JupyterLab, VS Code and Colab draw, and that can be saved as a page.
"""

from pathlib import Path
from uuid import uuid4

from mha_core.display_names import head_name
from mha_core.draw.about import about, title_of
from mha_core.draw.crossed import cross_payload
from mha_core.draw.opening import opening
from mha_core.draw.payload import Payload, compare_payload, explore_payload
from mha_core.draw.selection import Selection
from mha_core.draw.standalone import filled, standalone_html
from mha_core.errors import InputError
from mha_core.record.grid import Grid, Specials
from mha_core.record.record import AttentionRecord

HEIGHT = 900  # pixels, until the picture has said how high it is
FULL_BYTES = 8_000_000  # up to here every head comes in full: 72 heads of 235 tokens
MAX_TITLE = 120  # signs of a text in the page's title
# The frame is told whether the page around it is dark, and says how high the picture is.
FRAME = """<iframe id="@@ID@@" title="@@TITLE@@" sandbox="allow-scripts allow-downloads"
style="width:100%;height:@@HEIGHT@@px;border:0;display:block;color-scheme:normal" srcdoc='@@PAGE@@'></iframe>
<script>
(() => {
  const frame = document.getElementById("@@ID@@");
  if (!frame) return;
  const dark = () => {
    const [r, g, b] = (getComputedStyle(frame.parentElement).color.match(/[\\d.]+/g) ?? [0, 0, 0]).map(Number);
    return 0.299 * r + 0.587 * g + 0.114 * b > 128;
  };
  const say = () => frame.contentWindow?.postMessage({ headscope: dark() ? "dark" : "light" }, "*");
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow || typeof data?.headscope !== "number") return;
    frame.style.height = `${Math.min(Math.max(data.headscope, 200), 5000)}px`;
    say();
  });
  const watch = new MutationObserver(() => setTimeout(say, 50));
  for (const node of [document.documentElement, document.body]) watch.observe(node, { attributes: true });
  frame.addEventListener("load", say);
})();
</script>"""


class Shown:
    """A picture, drawn where it stands as the last line of a cell. `html` is the same as a page of its own."""

    def __init__(self, page: str, title: str, description: str) -> None:
        self.html = page
        self.title = title
        self.description = description

    def _repr_html_(self) -> str:
        parts = {
            "ID": f"headscope-{uuid4().hex}",
            "TITLE": self.title.replace("&", "&amp;").replace('"', "&quot;"),
            "HEIGHT": str(HEIGHT),
            "PAGE": self.html.replace("&", "&amp;").replace("'", "&#39;"),
        }
        return filled(FRAME, **parts)

    def save(self, file: str | Path) -> Path:
        """Write the page into a file, which any browser opens without a network."""
        path = Path(file)
        path.write_text(self.html, encoding="utf-8")
        return path

    def __repr__(self) -> str:
        size = f"{len(self.html.encode()):,} bytes of HTML"
        use = "drawn by a notebook as the last line of a cell; .save('picture.html') writes it"
        return f"{self.description}; {size}, {use}"


def show(
    record: AttentionRecord,
    other: AttentionRecord | None = None,
    *,
    head: str | None = None,
    word: str | None = None,
    to: str | None = None,
    words: bool = False,
    specials: Specials = "shown",
) -> Shown:
    """The interactive picture of one record, or of two against each other, for a notebook.

        show(record)
        show(record, head="4-2", word="it", to="cat")
        show(record, other)
        show(translated.cross)

    It opens with that head and from that word to the other ("it#2" is the second of its kind); what is not said is
    the strongest. `words` and `specials` are those of `AttentionRecord.grid`. Two records are aligned word by word; the
    words asked for are those of the first. Cross-attention has the source above the target: `word` is one of the
    target, `to` one of the source. Raises InputError for what is no record, and for a head or word that is not there.
    """
    payload, _, chosen = picture_of(record, other, head, word, to, words, specials)
    title = f"HeadScope: {record.tokens.text}"[:MAX_TITLE]
    description = f"Picture of {'cross-attention, ' if record.is_cross else ''}head {head_name(chosen.head)}"
    page = standalone_html(payload, title=title)
    return Shown(page, title, description if other is None else f"{description} in two runs")


def picture_of(
    record: AttentionRecord,
    other: AttentionRecord | None,
    head: str | None,
    word: str | None,
    to: str | None,
    words: bool,
    specials: Specials,
) -> tuple[Payload, Grid, Selection]:
    """Return the payload that `show` draws, the grid of the first record, and the selection. Errors: see `show`."""
    _check(record, alone=other is None)
    if other is not None:
        _check(other, alone=False)
    grid = record.grid(words, specials)
    if not len(grid):
        raise InputError("Nothing of this text is left to draw.")
    chosen = opening(grid, head, word, to)
    if record.is_cross:
        return cross_payload(record, grid, chosen), grid, chosen
    if other is None:
        payload: Payload = explore_payload(
            grid,
            record.tokens,
            model_title=_title(record),
            selection=chosen,
            about=about(record, grid),
            full_bytes=FULL_BYTES,
        )
        return payload, grid, chosen
    second = other.grid(words, specials)
    payload = compare_payload(
        grid,
        record.tokens,
        second,
        other.tokens,
        titles=(_title(record), _title(other)),
        selection=chosen,
        abouts=[about(record, grid), about(other, second)],
        full_bytes=FULL_BYTES,
    )
    return payload, grid, chosen


def _title(record: AttentionRecord) -> str:
    """Return the name of the model, and "changed" for a run with edits."""
    return title_of(record) + (", changed" if record.changed else "")


def _check(record: object, *, alone: bool) -> None:
    if isinstance(record, AttentionRecord) and (alone or not record.is_cross):
        return
    if isinstance(record, AttentionRecord):
        raise InputError("Cross-attention is drawn by itself: its rows and columns are different texts.")
    if hasattr(record, "cross"):
        raise InputError("These are three records; show one of them: .encoder, .decoder or .cross.")
    raise InputError(f"Expected a record, as trace gives it, not {type(record).__name__}.")
