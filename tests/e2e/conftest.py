"""Pictures in tabs of their own, without the app; what goes wrong on one fails the test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from alone import own_page, show
from drawn import Picture


@pytest.fixture
def tab(chromium) -> Iterator[Any]:
    """An empty page without a network."""
    with own_page(chromium) as page:
        yield page


@pytest.fixture
def draw(chromium, tmp_path) -> Iterator[Callable[..., Picture]]:
    """`draw(html, scheme)`: a picture in a tab of its own, without motion and without a network."""
    with ExitStack() as tabs:
        yield lambda content, scheme="light": Picture(
            show(tabs.enter_context(own_page(chromium, scheme)), content, tmp_path)
        )
