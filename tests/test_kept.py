"""What a reader's session keeps is small: a record of 500 words has 75 MB, and who has left keeps it for a minute."""

import gc
from types import FunctionType, ModuleType

import numpy as np
import pytest
from streamlit.runtime.state.session_state import SessionState
from visit import unopened

from mha_core import Record

LARGE = 4_000  # numbers; the record of this text has 18,000
PAGES = (
    ("app.py", {}),
    ("pages/compare.py", {"text2": "The animal didn't cross the street because it was too wide."}),
    ("pages/inside.py", {"at": "scaled"}),
    ("pages/inside.py", {"part": "One head or many"}),
    ("pages/inside.py", {"part": "Variants"}),
    ("pages/learn.py", {}),
    ("pages/experiment.py", {"model": "minilm"}),
)


def reached(start):
    """Everything that lives as long as this does, but what the whole process has."""
    seen, todo = {}, [start]
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, type | ModuleType | str | bytes | int | float):
            continue
        seen[id(one)] = one
        leads = gc.get_referents(one)
        todo += [to for to in leads if not (isinstance(one, FunctionType) and to is one.__globals__)]
    return seen.values()


@pytest.mark.parametrize(("page", "query"), PAGES, ids=str)
def test_what_controls_do_and_say_keeps_no_picture(page, query, monkeypatch):
    declared, declare = {}, SessionState.register_widget

    def noted(state, metadata, user_key):
        declared[metadata.id] = metadata
        return declare(state, metadata, user_key)

    monkeypatch.setattr(SessionState, "register_widget", noted)
    at = unopened(page, **query).run()
    assert not at.exception
    assert len(declared) > 5
    for name, metadata in declared.items():
        kept = list(
            reached([metadata.callback, metadata.callback_args, metadata.deserializer, metadata.serializer])
        )
        assert not [one for one in kept if isinstance(one, Record)], name
        assert not [one.shape for one in kept if isinstance(one, np.ndarray) and one.size > LARGE], name
