"""What a record gives in one line, what it prints, and that a copy of it is as frozen as it is."""

import copy
import pickle

import numpy as np
import pytest

from mha_core import trace

TEXT = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def record(model):
    return trace(TEXT, model)


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "copy"])
def test_copies_of_records_grids_and_heads_are_equal_and_frozen(record, model, way):
    gated = trace(TEXT, model, gates=np.ones((6, 12)))
    copied = {
        "pickle": lambda x: pickle.loads(pickle.dumps(x)),  # noqa: S301
        "deepcopy": copy.deepcopy,
        "copy": copy.copy,
    }[way]
    for one in (record, gated, record.grid(words=True), record["4-2"]):
        other = copied(one)
        np.testing.assert_array_equal(other.weights, one.weights)
        with pytest.raises(ValueError, match="read-only"):
            other.weights[...] = 0
    other = copied(gated)
    assert other.model == gated.model
    assert other.tokens == gated.tokens
    assert dict(other.versions) == dict(gated.versions)
    with pytest.raises(TypeError):
        other.versions["torch"] = "0"
    with pytest.raises(ValueError, match="read-only"):
        other.gates[0] = 0
