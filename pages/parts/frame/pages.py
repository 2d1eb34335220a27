"""Every page of the app, a line each, and every value that a link can hold. No Streamlit here.

To add a page: a file in pages/, a line here. To add a value of the link: a `Field` here, and the control that
has its key.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from mha_core.shelf import DECODER, DECODER_PACKAGE
from pages.parts.frame import presets
from pages.parts.frame.request import AGAINST, ATTENTION, MEASURES, SPECIALS, UNITS, WEIGHTS, models


@dataclass(frozen=True)
class Page:
    """`title` names it, `path` is its file, `presented` pages can fill a projector's screen.

    `own` are the keys of its own controls, which stay in its link and go to no other page. `first`: what some values
    of every link are at first on this page, where that is not what they are elsewhere. `menu` is the entry of the
    top line that it stands under (its title, unless given): pages of one entry are a row of links, named by `tab`.
    """

    title: str
    path: str
    presented: bool = True
    own: tuple[str, ...] = ()
    first: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    menu: str = ""
    tab: str = ""

    @property
    def entry(self) -> str:
        """The entry of the top line that leads to it."""
        return self.menu or self.title

    @property
    def address(self) -> str:
        """Where it is from any other page, without the link's parameters."""
        return "./" if self.path == "app.py" else f"./{self.path.removeprefix('pages/').removesuffix('.py')}"


def _who_speaks() -> str:
    """The decoder, which says a next word, where its package is; else the first model there is."""
    return DECODER if find_spec(DECODER_PACKAGE) else models()[0]


PAGES = (
    Page("Explore", "app.py", own=("moment",)),
    Page("Compare", "pages/compare.py"),
    Page(
        "Roles",
        "pages/roles.py",
        presented=False,
        own=("by", "as"),
        tab="Roles",
    ),
    Page(
        "Atlas",
        "pages/atlas.py",
        presented=False,
        own=("x", "y", "colour", "does", "which", "ask", "looks", "seen"),
        menu="Roles",
        tab="Atlas",
    ),
    Page(
        "Experiment",
        "pages/experiment.py",
        presented=False,
        own=("try", "off", "set", "word", "rival", "from", "map"),
        first={"model": _who_speaks, "text": lambda: presets.MARY},
    ),
    Page(
        "Inside",
        "pages/inside.py",
        own=(
            *("part", "at", "cell", "matrices", "turned", "same", "output", "typed", "row", "by"),
            *("divide", "causal", "temperature", "unseen", "edits"),
            *("across", "groups", "n", "d", "h", "layers", "kv", "biases"),
        ),
    ),
    Page("Learn", "pages/learn.py", own=("show", "step", "done"), tab="Lesson"),
    Page(
        "Training",
        "pages/training.py",
        own=(
            *("train", "left", "right", "shallow", "deep", "each"),
            *("window", "seed", "limit", "upto", "guess", "expect", "without"),
        ),
        menu="Learn",
        tab="Training",
    ),
)


def page_called(title: str) -> Page:
    """The page with that title."""
    return next(page for page in PAGES if page.title == title)


def beside(page: Page) -> tuple[Page, ...]:
    """The pages under the same entry of the top line, itself among them; the first is where the entry leads."""
    return tuple(other for other in PAGES if other.entry == page.entry)


@dataclass(frozen=True)
class Field:
    """A value that goes along from page to page: what it is at first, and what may be chosen (free text if None).

    `spelled_out`: it stands in the link even where it is what it is at first. `page`: only that page's link has it.
    """

    key: str
    first: Callable[[], str] = str
    options: Callable[[], tuple[str, ...]] | None = None
    spelled_out: bool = False
    page: str | None = None


def _choice(key: str, options: tuple[str, ...], page: str | None = None) -> Field:
    return Field(key, lambda: options[0], lambda: options, page=page)


FIELDS = (
    Field("text", lambda: presets.TIRED, spelled_out=True),
    Field("pair"),
    Field("model", lambda: models()[0], models),
    _choice("weights", WEIGHTS),
    _choice("unit", UNITS),
    _choice("specials", SPECIALS),
    _choice("measure", MEASURES),
    _choice("attention", ATTENTION),
    _choice("against", AGAINST, page="Compare"),
    Field("text2", spelled_out=True, page="Compare"),  # at first the twin of the first sentence
    Field("model2", lambda: models()[0], models, page="Compare"),
)
KEYS = tuple(value.key for value in FIELDS)
# What is not the same on every page at first.
OWN_FIRSTS = frozenset(key for page in PAGES for key in page.first)


def first_of(value: Field, page: Page) -> str:
    """What a value of the link is at first on that page."""
    return page.first.get(value.key, value.first)()
