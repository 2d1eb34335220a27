"""A record on its way to the browser: what comes out there is what went in, and it is small."""

import base64
import json
import shutil
import subprocess

import numpy as np
import pytest
from visit import opened

from mha_core.draw.bundle import SCRIPTS
from pages.parts.picture.sealed import encode_record

# Opens a record within a larger message: after "before".
OPEN = """
import { decodeRecord } from "SCRIPTS/sealed.js";
const message = new Uint8Array(Buffer.from("YmVmb3Jl" + process.argv[1], "base64"));
const record = await decodeRecord(message.subarray("before".length));
const plain = (value) => (ArrayBuffer.isView(value) ? [value.constructor.name, ...value] : value);
console.log(JSON.stringify(Object.fromEntries(Object.entries(record).map(([name, value]) => [name, plain(value)]))));
"""


def test_a_sealed_record_is_opened_as_it_was():
    columns = {
        "weights": np.arange(0, 65536, 13, dtype=np.uint16),
        "small": np.array([0, 7, 255], dtype=np.uint8),
        "change": np.array([-128, 5], dtype=np.int8),
        "exact": np.array([0.1, 1e-7], dtype=np.float32),
        "more": np.array([515, 0], dtype=np.uint16),
    }
    plain = {"title": "“ä” 🙂\u2028", "names": ["a", None]}
    sealed = encode_record(plain | columns)
    node = shutil.which("node") or pytest.skip("needs node to run the browser's side")
    script = OPEN.replace("SCRIPTS", SCRIPTS.as_uri())
    command = [node, "--input-type=module", "-e", script, base64.b64encode(sealed).decode()]
    record = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    python = opened(sealed)
    assert {name: record[name] for name in plain} == plain == {name: python[name] for name in plain}
    for name, column in columns.items():
        kind, *numbers = record[name]
        assert (kind.removesuffix("Array").lower(), python[name].dtype) == (column.dtype.name, column.dtype)
        np.testing.assert_array_equal(np.array(numbers, column.dtype), column)
        np.testing.assert_array_equal(python[name], column)


def test_weights_that_are_mostly_small_take_less_than_two_bytes_each():
    weights = np.random.default_rng(0).dirichlet(np.full(16, 0.3), 5_000).ravel()
    steps = np.round(weights * 65535).astype(np.uint16)
    assert len(encode_record({"weights": steps})) < 1.75 * steps.size
