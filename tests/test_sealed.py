"""A record on its way to the browser: what comes out is what went in, and small."""

import numpy as np
from visit import opened

from pages.parts.picture.sealed import encode_record


def test_what_is_opened_is_what_was_sealed():
    columns = {
        "weights": np.arange(0, 65536, 13, dtype=np.uint16),
        "small": np.array([0, 7, 255], dtype=np.uint8),
        "change": np.array([-128, 5], dtype=np.int8),
        "exact": np.array([0.1, 1e-7], dtype=np.float32),
        "more": np.array([515, 0], dtype=np.uint16),
    }
    record = opened(encode_record({"title": "“ä” 🙂\u2028", "names": ["a", None], **columns}))
    assert (record["title"], record["names"]) == ("“ä” 🙂\u2028", ["a", None])
    for name, column in columns.items():
        assert record[name].dtype == column.dtype
        np.testing.assert_array_equal(record[name], column)


def test_weights_that_are_mostly_small_take_less_than_two_bytes_each():
    weights = np.random.default_rng(0).dirichlet(np.full(16, 0.3), 5_000).ravel()
    steps = np.round(weights * 65535).astype(np.uint16)
    assert len(encode_record({"weights": steps})) < 1.75 * steps.size
