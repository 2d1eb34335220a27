"""The verdicts that come with the program: of these weights, with what an audit found, and the same when made again.

The corpora are the reader's own: name them in HEADSCOPE_UD_EWT and HEADSCOPE_GAP.
"""

import hashlib

import numpy as np
import pytest

from mha_core.heads.builtin import builtin_path
from mha_core.heads.verdicts.shipped import read_evidence
from mha_core.shelf import DECODER_DIGEST, EMBEDDED_DIGESTS
from mha_core.wording import head_name

DIGESTS = {"minilm": EMBEDDED_DIGESTS["model.safetensors"], "smollm2": DECODER_DIGEST}
FILES = {
    "treebank": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
    "pronouns": "2d784f66b390404f554704b9aef6dcde8845e79dda9886b8391cf7e9a24fdb98",
}


@pytest.fixture(scope="module")
def minilm():
    return read_evidence("minilm", DIGESTS["minilm"])


@pytest.mark.parametrize("name", DIGESTS)
def test_they_belong_to_these_weights_and_say_how_they_were_made(name):
    found = read_evidence(name, DIGESTS[name])
    assert found is not None
    assert read_evidence(name, "another") is None
    assert {key: found.corpora[key].digest for key in FILES} == FILES
    assert found.corpora["builtin"].digest == hashlib.sha256(builtin_path().read_bytes()).hexdigest()
    n_heads = {"minilm": 72, "smollm2": 270}[name]
    assert {entry.tried for entry in found.entries} == {found.tried}
    assert found.tried >= n_heads * len(found.entries)
    assert (found.twin.trained, found.twin.seed) == (False, 0)
    assert {entry.key for entry in found.twin.entries} == {entry.key for entry in found.entries}


@pytest.mark.parametrize(
    ("key", "head", "score", "rule"),
    [
        ("det", "3-9", 0.808, "the end of the next run of nouns or names"),
        ("nsubj", "3-9", 0.575, "the next verb, adjective or noun"),
        ("obj", "3-1", 0.740, "the last verb before it"),
        ("case", "3-9", 0.674, "the end of the next run of nouns, names or pronouns"),
        ("antecedent", "4-2", 0.712, "a logistic model of twelve surface features"),
    ],
)
def test_what_an_audit_found_is_what_is_concluded(minilm, key, head, score, rule):
    found = minilm.entry(key)
    assert (head_name(found.head), found.baseline_name) == (head, rule)
    assert found.score == pytest.approx(score, abs=0.003)
    assert found.baseline > found.held_out - 0.03
    assert found.verdict.word in ("rule", "none")


@pytest.mark.parametrize("name", DIGESTS)
def test_the_untrained_twin_does_nothing_but_spread(name):
    twin = read_evidence(name).twin
    called = {entry.key for entry in twin.entries if np.isin(entry.words, ("specialist", "rule")).any()}
    assert called <= {"broad"}
