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
