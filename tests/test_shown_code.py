"""The torch that Inside shows is run here, with every change a reader can make, and gives the numbers on the page."""

from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mha_core import layer_details, load_model
from mha_core.layer import CellEdit, Edits, ScoreEdit, edited, torch_layer
from pages.parts.inside.shown_code import (
    comparison_lines,
    difference_line,
    function_lines,
    mask_lines,
    program,
    projection_lines,
)

EDITS = {
    "nothing": Edits(),
    "not divided": Edits(scaled=False),
    "warmer": Edits(temperature=2.5),
    "causal": Edits(causal=True),
    "hidden": Edits(hidden_keys=(1, 3)),
    "a row of nothing": Edits(causal=True, hidden_keys=(0,)),
    "a score": Edits(scores=(ScoreEdit(1, 4, 2, 3.5),)),
    "a masked score": Edits(causal=True, scores=(ScoreEdit(1, 2, 4, 9.0),)),
    "weights": Edits(
        cells=(CellEdit("W_q", 1, 2, 3, 4.0), CellEdit("W_v", 2, 5, 1, -2.0), CellEdit("W_o", 0, 1, 2, -4.0))
    ),
    "all": Edits(False, 0.7, True, (2,), (CellEdit("W_k", 2, 0, 1, 2.0),), (ScoreEdit(0, 4, 1, 1.0),)),
}


@pytest.mark.slow
@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize(("name", "layer"), [("minilm", 3), ("smollm2", 13)])
@torch.no_grad()
def test_the_printed_program_gives_what_the_page_shows(name, layer, edits):
    """Run as it is printed: a rotating decoder with shared keys, and a model that torch's own layer can be, whose
    weights are all that is said of it in words."""
    model = load_model(name)
    plain = layer_details(model.tokenizer.encode("The animal was too tired."), model, layer)
    changed, linears = edited(plain, edits), deepcopy(model.encoder.layers[layer].attention)
    left = {"torch": torch, "F": F, "x": torch.from_numpy(plain.x.copy())[None]}
    left |= {matrix: getattr(linears, matrix) for matrix in ("W_q", "W_k", "W_v", "W_o")}
    if rotary := plain.rotary:
        speeds = torch.tensor([rotary.frequency(pair) for pair in range(rotary.d_k // 2)])
        angles = torch.outer(torch.arange(plain.n, dtype=torch.float32), speeds)
        left |= {"cos": angles.cos(), "sin": angles.sin()}
    for line, _ in [*program(changed), *(function_lines if rotary else comparison_lines)(changed)]:
        exec(line, left)  # noqa: S102, our own lines are what is tested
        if line.startswith("layer = torch.nn.MultiheadAttention"):
            left["layer"].load_state_dict(torch_layer(changed.projections).state_dict())
            left["layer"].eval()
    rows, near = changed.allowed.any(axis=1), 2e-5 * np.abs(changed.output).max() + 1e-4
    np.testing.assert_allclose(left["weights"][0], changed.weights, atol=5e-5 if rotary else 2e-5)
    np.testing.assert_allclose(left["output"][0], changed.output, atol=near)
    np.testing.assert_allclose(left["theirs"][0][rows], changed.output[rows], atol=near)
    if not rotary:
        np.testing.assert_allclose(left["their_weights"][0][:, rows], changed.weights[:, rows], atol=2e-5)
        assert float(eval(difference_line(changed), left)) < 1e-4  # noqa: S307, our own line is what is tested
    printed = "\n".join(line for line, _ in program(changed))
    assert (f"/ {plain.q.shape[-1]} ** 0.5" in printed) == edits.scaled
    assert ("/ 0.7" in printed or "/ 2.5" in printed) == (edits.temperature != 1)


def test_a_changed_weight_stands_where_its_head_has_its_rows_also_where_values_are_narrower():
    cells = tuple(CellEdit(matrix, 3, 5, 1, 0.5) for matrix in ("W_q", "W_k", "W_v", "W_o"))
    sizes = SimpleNamespace(n_heads=4, d_k=6, d_v=2, kv_head=lambda head: head // 2)
    run = SimpleNamespace(projections=sizes, n=7, edits=SimpleNamespace(cells=cells))
    *lines, (last, shape) = projection_lines(run)
    assert [line for line, _ in lines] == [
        "W_q.weight.data[19, 5] = 0.5",
        "W_k.weight.data[7, 5] = 0.5",
        "W_v.weight.data[3, 5] = 0.5",
        "W_o.weight.data[1, 11] = 0.5",
    ]
    assert (last, shape) == ("q, k, v = W_q(x), W_k(x), W_v(x)", "(1, 7, 24)")


@pytest.mark.parametrize(("is_causal", "window", "hidden"), [(False, 2, ()), (True, 2, ()), (False, 1, (4,))])
def test_the_printed_mask_lets_a_token_look_as_far_as_its_layer_does(is_causal, window, hidden):
    run = SimpleNamespace(n=6, n_keys=6, is_causal=is_causal, window=window, edits=Edits(hidden_keys=hidden))
    place = {"torch": torch}
    for line, _ in mask_lines(run):
        exec(line, place)  # noqa: S102 - what the page prints
    wanted = [
        [abs(q - k) <= window and not (is_causal and k > q) and k not in hidden for k in range(6)]
        for q in range(6)
    ]
    assert place["allowed"].tolist() == wanted
