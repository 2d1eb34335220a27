"""Inside: attention computed step by step, from the sentence to the output."""

from pages.parts.frame import shell
from pages.parts.inside.example import example_view
from pages.parts.inside.one_or_many import many_view
from pages.parts.inside.scene import style
from pages.parts.inside.sizes import sizes_view
from pages.parts.inside.variants import variants_view
from pages.parts.inside.view import walk_view

OF_THE_SENTENCE = {
    "Step by step": walk_view,
    "One head or many": many_view,
    "Variants": variants_view,
    "Sizes and costs": sizes_view,
}


def draw() -> None:
    """The part of the page that is chosen, of the reader's sentence or of numbers by hand."""
    part = shell.tab_of("Inside")
    request = shell.page(
        "Inside",
        question="How does a head compute attention?",
        shown=shell.Shown(sentence=part != "By hand", as_read=True),
    )
    style()
    if part == "By hand":
        example_view(request)
    elif shell.read(request) is not None:
        OF_THE_SENTENCE.get(part, walk_view)(request)
