"""Pictures in tabs of their own, without the app; what goes wrong on one fails the test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from drawn import Picture, own_page

from mha_core.draw.standalone import standalone_html


@pytest.fixture
def tab(chromium) -> Iterator[Any]:
    """An empty page without a network."""
    with own_page(chromium) as page:
        yield page


@pytest.fixture
def draw(chromium, tmp_path) -> Iterator[Callable[..., Picture]]:
    """`draw(payload, scheme)`: a picture in a tab of its own, without motion and without a network."""
    with ExitStack() as tabs:
        yield lambda payload, scheme="light", **options: Picture(
            tabs.enter_context(own_page(chromium, scheme)), **options
        ).open(standalone_html(payload, title="HeadScope"), tmp_path)
