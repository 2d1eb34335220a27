"""Inside: attention computed step by step, from the sentence to the output."""

from pages.parts.frame import shell, state
from pages.parts.inside.example import example_view
from pages.parts.inside.one_or_many import many_view
from pages.parts.inside.scene import style
from pages.parts.inside.sizes import sizes_view
from pages.parts.inside.variants import variants_view
from pages.parts.inside.view import walk_view

PARTS = ("Step by step", "By hand", "One head or many", "Variants", "Sizes and costs")
OF_THE_SENTENCE = {
    "Step by step": walk_view,
    "One head or many": many_view,
    "Variants": variants_view,
    "Sizes and costs": sizes_view,
}


def draw() -> None:
    """The part of the page that is chosen, of the reader's sentence or of numbers by hand."""
    request = shell.page(
        "Inside",
        question="How does a head compute attention?",
        shown=shell.Shown(sentence=state.own_part("part", PARTS) != "By hand", as_read=True),
    )
    style()
    part = shell.part_of("What to look at", PARTS, "part")
    if part == "By hand":
        example_view(request)
    elif shell.read(request) is not None:
        OF_THE_SENTENCE.get(part, walk_view)(request)
