"""The layer that the lesson prints is run, and computes what `MultiHeadAttention` computes, to a millionth."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mha_core import MultiHeadAttention

LESSON = Path(__file__).parent.parent / "assets" / "lesson"
D, HEADS, N, M = 32, 4, 7, 5
TOLERANCE = 1e-6


def pair(kv_heads: int, dropout: float = 0.0):
    """The printed layer and ours with the same numbers in them."""
    torch.manual_seed(kv_heads)
    if kv_heads == HEADS:
        printed = runpy.run_path(str(LESSON / "layer.py"))["MultiHeadAttention"](D, HEADS, dropout)
    else:
        printed = runpy.run_path(str(LESSON / "grouped.py"))["GroupedQueryAttention"](
            D, HEADS, kv_heads, dropout
        )
    ours = MultiHeadAttention(D, HEADS, kv_heads).eval()
    ours.load_state_dict(printed.state_dict())
    return printed.eval(), ours


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_the_printed_layer_is_ours(kv_heads, crossed, masked):
    printed, ours = pair(kv_heads)
    x = torch.randn(2, N, D)
    source = torch.randn(2, M, D) if crossed else None
    width = M if crossed else N
    mask = torch.ones(N, width, dtype=torch.bool).tril() if masked else None
    with torch.no_grad():
        output, weights = printed(x, source, mask)
        expected, seen = ours(x, source, mask=mask)

    torch.testing.assert_close(output, expected, atol=TOLERANCE, rtol=0)
    torch.testing.assert_close(weights, seen, atol=TOLERANCE, rtol=0)
    assert not masked or float(weights[..., 0, 1:].abs().max()) == 0


@pytest.mark.parametrize("kv_heads", [4, 2])
def test_dropout_works_on_the_weights_while_training_only(kv_heads):
    printed, _ = pair(kv_heads, dropout=0.5)
    x = torch.randn(1, N, D)
    still = printed(x)[0]
    torch.testing.assert_close(printed(x)[0], still)
    assert (printed.train()(x)[0] - still).abs().max() > 1e-3


@pytest.mark.long
@pytest.mark.parametrize("file", ["layer.py", "grouped.py"])
def test_the_printed_file_runs_by_itself(file):
    done = subprocess.run(
        [sys.executable, str(LESSON / file)], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split("\n")[0] == "(2, 100, 512) (2, 8, 100, 100)"


@pytest.mark.parametrize("file", ["layer.py", "grouped.py"])
def test_the_printed_file_is_short(file):
    lines = (LESSON / file).read_text(encoding="utf-8").split("if __name__")[0].splitlines()
    assert len([line for line in lines if line.strip()]) <= 40
