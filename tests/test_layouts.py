"""How frozen matrices lie in memory: panels of a width that fits, and a choice that a busy machine does not move."""

import pytest
import torch

from mha_core import InputError, layouts


@pytest.fixture(autouse=True)
def nothing_is_forced(monkeypatch):
    monkeypatch.delenv(layouts.LAYOUT_VARIABLE, raising=False)


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        ((384,), 384),
        ((3072,), 384),
        ((576,), 288),
        ((576, 192, 192), 192),
        ((30522,), 30522),
        ((64, 64), 64),
        ((96, 32), 0),
    ],
)
def test_panels_are_as_wide_as_fits(columns, width):
    assert layouts.panel_width(*columns) == width


@pytest.mark.parametrize(
    ("times", "layout"), [((1.0, 0.71), "onednn"), ((1.0, 0.73), "panels"), ((1.0, 1.2), "panels")]
)
def test_the_layout_is_that_of_onednn_only_where_that_is_clearly_faster(times, layout, monkeypatch):
    monkeypatch.setattr(layouts, "packing_works", lambda: True)
    monkeypatch.setattr(layouts, "fastest", lambda calls: times)
    assert layouts.chosen.__wrapped__() == layout


def test_the_least_time_counts_and_the_first_never(monkeypatch):
    clock = iter([0, 1, 10, 19, 20, 29, 30, 33, 40, 48, 50, 57])
    monkeypatch.setattr(layouts.time, "thread_time", lambda: next(clock))
    assert layouts.fastest([lambda: None]) == [3]


def test_a_layout_is_wanted_measured_or_forced_and_a_decoder_has_panels(monkeypatch):
    monkeypatch.setattr(layouts, "chosen", lambda: "onednn")
    monkeypatch.setattr(layouts, "packing_works", lambda: True)
    assert layouts.layout_for() == "onednn"
    assert layouts.layout_for(steps=True) == "panels"
    assert layouts.layout_for("rows") == "rows"
    monkeypatch.setenv(layouts.LAYOUT_VARIABLE, " Rows ")
    assert {layouts.layout_for(), layouts.layout_for("panels"), layouts.layout_for(steps=True)} == {"rows"}
    monkeypatch.setenv(layouts.LAYOUT_VARIABLE, "columns")
    with pytest.raises(InputError, match="is 'columns'; it is one of rows, panels, onednn, or not set"):
        layouts.layout_for()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("n_out", "panels"), [(768, 2), (384, 1), (1031, 1), (5, 1)])
@pytest.mark.parametrize("shape", [(96,), (1, 96), (2, 3, 96)])
def test_panels_multiply_as_the_matrix_does_and_give_it_back(bias, n_out, panels, shape):
    torch.manual_seed(0)
    w, b, x = torch.randn(n_out, 96), torch.randn(n_out), torch.randn(shape)
    laid = layouts.to_panels(w)
    assert laid.shape == (panels, 96, n_out // panels)
    assert torch.equal(layouts.from_panels(laid), w)
    expected = torch.nn.functional.linear(x.double(), w.double(), b.double() if bias else None).float()
    found = layouts.times_panels(x, laid, b if bias else None)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_the_choice_is_one_of_those_that_there_are_and_made_once():
    assert layouts.chosen() in ("panels", "onednn")
    assert layouts.chosen() is layouts.chosen()


def test_the_operators_of_onednn_add_the_bias_and_take_the_exact_gelu_where_there_are_any():
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")):
        pytest.skip("this torch has no oneDNN")
    torch.manual_seed(0)
    w, b, x = torch.randn(19, 17), torch.randn(19), torch.randn(3, 5, 17)
    packed = torch.ops.mkldnn._reorder_linear_weight(w)
    expected = x.double() @ w.double().T + b.double()
    exact = expected * (1 + torch.erf(expected / 2**0.5)) / 2
    for found, truth in (
        (layouts.times_packed(x, packed, b), expected),
        (layouts.times_packed(x, packed, b, True), exact),
    ):
        torch.testing.assert_close(found, truth.float(), atol=2e-5, rtol=2e-5)
