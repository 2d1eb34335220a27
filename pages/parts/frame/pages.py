"""Every page of the app, a line each, and what an address carries from page to page. No Streamlit here.

To add a page: a module in pages/ with a function `draw`, and a line here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from mha_core.models.model_list import DECODER, DECODER_PACKAGE
from pages.parts.frame import presets
from pages.parts.frame.request import models
from pages.parts.frame.selection import PARAMS


@dataclass(frozen=True)
class Page:
    """`title` names it, `name` is its address and its module in pages/.

    `first`: what an address says at first on this page, where that is not what it says elsewhere. `menu` is the entry
    of the top line that it stands under (its title, unless given). `tabs` are the page's parts, in a row of links with
    those of the other pages of its entry; the address says by `tab_key` which is open.
    """

    title: str
    name: str
    first: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    menu: str = ""
    tabs: tuple[str, ...] = ("",)
    tab_key: str = ""

    @property
    def entry(self) -> str:
        """The entry of the top line that leads to it."""
        return self.menu or self.title

    @property
    def address(self) -> str:
        """Its address from any other page, without parameters."""
        return "./" if self.name == "explore" else f"./{self.name}"


def _who_speaks() -> str:
    """The decoder, which says a next word, where its package is; else the first model there is."""
    return DECODER if find_spec(DECODER_PACKAGE) else models()[0]


PAGES = (
    Page("Explore", "explore"),
    Page("Compare", "compare"),
    Page("Roles", "roles", tabs=("roles", "atlas"), tab_key="part"),
    Page(
        "Experiment",
        "experiment",
        first={"model": _who_speaks, "text": lambda: presets.MARY},
        tabs=("Ablate heads", "Ablation sweep", "Activation patching"),
        tab_key="try",
    ),
    Page(
        "Inside",
        "inside",
        tabs=("Step by step", "By hand", "One head or many", "Variants", "Sizes and costs"),
        tab_key="part",
    ),
    Page("Learn", "learn", tabs=("Lesson", "Quiz", "Glossary", "For teachers"), tab_key="show"),
    Page("Training", "training", menu="Learn", tabs=("Training",)),
)
# What goes along to another page; all else belongs to the page that has it.
CARRIED = (
    *("text", "pair", "model", "weights", "unit", "specials", "measure", "attention"),
    *("against", "text2", "model2", "moment", "checkpoint"),
    *PARAMS,
)


def page_called(title: str) -> Page:
    """The page with that title."""
    return next(page for page in PAGES if page.title == title)


def beside(page: Page) -> tuple[Page, ...]:
    """The pages under the same entry of the top line, itself among them; the first is where the entry leads."""
    return tuple(other for other in PAGES if other.entry == page.entry)


def first_of(key: str, page: Page) -> str:
    """The text or the model that a page begins with."""
    return page.first.get(key, {"text": lambda: presets.TIRED, "model": lambda: models()[0]}[key])()
