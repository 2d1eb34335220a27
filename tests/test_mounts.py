"""What a browser tells of something that is no longer on the page is heard as nothing, and ends no page."""

import re
from pathlib import Path

import pytest

from pages.parts.frame import mounts

PAGES = Path(__file__).resolve().parent.parent / "pages"


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"heads": {"ask": {"do": "undo"}}}, {"do": "undo"}),
        ({"heads": {"other": 1}}, None),
        ({"heads": None}, None),
        ({"heads": "ask"}, None),
        ({}, None),
    ],
)
def test_what_a_mount_tells_is_heard_as_long_as_it_is_there(monkeypatch, state, said):
    monkeypatch.setattr(mounts.st, "session_state", state)
    assert mounts.heard_from("heads", "ask") == said


def test_no_page_takes_for_granted_that_a_mount_is_there():
    """Its state is read by `heard_from` alone: a session's state has nothing under the key of what is gone."""
    direct = re.compile(r"session_state\[[^]]+\]\.(?!strip\(|append\(|pop\()")
    found = [path.name for path in PAGES.rglob("*.py") if direct.search(path.read_text(encoding="utf-8"))]
    assert found == []
