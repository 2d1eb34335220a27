"""`record.widget()`: what its messages and Python's own values do to its traits."""

import sys

import numpy as np
import pytest

from mha_core import InputError, Unavailable, record_from_weights

TOKENS = ["[CLS]", "The", "cat", "sat", "cat", "[SEP]"]


@pytest.fixture
def record():
    weights = np.random.default_rng(0).dirichlet(np.ones(6), (2, 3, 6)).astype(np.float32)
    return record_from_weights(weights, TOKENS)


def arrives(widget, **state):
    """A message of the notebook's front end, as Jupyter's protocol has it."""
    data = {"method": "update", "state": state, "buffer_paths": []}
    widget._handle_msg({"content": {"data": data}, "buffers": []})


def test_what_the_picture_says_is_in_the_traits_and_heard_of(record):
    widget, heard = record.widget(head="1-2", word="sat", to="cat#2"), []
    assert (widget.head, widget.query, widget.key) == ("1-2", 3, 4)
    widget.observe(lambda change: heard.append((change.name, change.new)), ["head", "query", "key"])
    arrives(widget, head="2-3", query=1, key=None)
    assert (widget.head, widget.query, widget.key) == ("2-3", 1, None)
    assert heard == [("head", "2-3"), ("query", 1), ("key", None)]
    assert widget.grid.labels[widget.query] == "The"


def test_python_may_name_words_and_what_is_not_there_is_refused(record):
    widget = record.widget()
    widget.query, widget.key = "cat#2", "sat"
    assert (widget.query, widget.key) == (4, 3)
    for name, value in (("head", "3-1"), ("head", "x"), ("query", "dog"), ("query", 6), ("key", -1)):
        with pytest.raises(InputError):
            setattr(widget, name, value)
    with pytest.raises(InputError):
        record.widget(word="dog")


def test_without_anywidget_it_says_what_to_install(record, monkeypatch):
    monkeypatch.delitem(sys.modules, "mha_core.draw.widget", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(Unavailable, match=r"headscope\[notebook\]"):
        record.widget()
