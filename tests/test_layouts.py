"""How frozen matrices lie in memory: panels of a width that fits, and a choice that a busy machine does not move."""

import pytest
import torch

from mha_core import InputError, layouts

NEEDS_OPERATORS = pytest.mark.skipif(
    not layouts.packing_works(), reason="this torch lacks oneDNN's operators"
)


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
    ("times", "layout"),
    [
        ([(1.0, 0.71), (1.0, 1.0)], "columns"),
        ([(1.0, 0.71), (1.49, 1.0)], "columns"),
        ([(1.0, 0.71), (1.51, 1.0)], "onednn"),
        ([(1.0, 0.73)], "panels"),
        ([(1.0, 1.2)], "panels"),
    ],
)
def test_a_layout_of_onednn_is_taken_only_where_that_is_clearly_faster(times, layout, monkeypatch):
    given = iter(times)
    monkeypatch.setattr(layouts, "packing_works", lambda: True)
    monkeypatch.setattr(layouts, "to_onednn", torch.clone)
    monkeypatch.setattr(layouts, "fastest", lambda calls: next(given))
    assert layouts.chosen.__wrapped__() == layout
    assert not list(given), "no more is measured than it takes"


@NEEDS_OPERATORS
def test_what_is_measured_by_few_rows_is_each_order_of_as_many_matrices(monkeypatch):
    products, rounds = [], [(1.0, 0.5), (1.0, 1.0)]

    def once(calls):
        products.clear()
        for call in calls:
            call()
        return rounds.pop(0)

    multiply = layouts.times_packed
    monkeypatch.setattr(layouts, "fastest", once)
    monkeypatch.setattr(
        layouts, "times_packed", lambda x, *rest: products.append((x, rest[0])) or multiply(x, *rest)
    )
    layouts.chosen.__wrapped__()
    assert [len(x) for x, _ in products] == [layouts.FEW_ROWS] * 2 * layouts.IN_TURN
    assert [kept.is_mkldnn for _, kept in products] == [False] * layouts.IN_TURN + [True] * layouts.IN_TURN
    assert len({id(kept) for _, kept in products}) == len(products)


def test_the_least_time_counts_and_the_first_never(monkeypatch):
    clock = iter([0, 1, 10, 19, 20, 29, 30, 33, 40, 48, 50, 57])
    monkeypatch.setattr(layouts.time, "thread_time", lambda: next(clock))
    assert layouts.fastest([lambda: None]) == [3]


def test_a_layout_is_wanted_measured_or_forced_and_a_decoder_never_has_the_order_of_onednn(monkeypatch):
    monkeypatch.setattr(layouts, "packing_works", lambda: True)
    for found, of_steps, is_of_onednn in (
        ("onednn", "panels", True), ("columns", "columns", True), ("panels", "panels", False)
    ):  # fmt: skip
        monkeypatch.setattr(layouts, "chosen", lambda found=found: found)
        assert layouts.layout_for() == found
        assert layouts.layout_for(steps=True) == of_steps
        assert layouts.is_onednn_faster() is is_of_onednn
    assert layouts.layout_for("rows") == "rows"
    monkeypatch.setenv(layouts.LAYOUT_VARIABLE, " Rows ")
    assert {layouts.layout_for(), layouts.layout_for("panels"), layouts.layout_for(steps=True)} == {"rows"}
    monkeypatch.setenv(layouts.LAYOUT_VARIABLE, "columns")
    assert layouts.is_onednn_faster()
    monkeypatch.setattr(layouts, "packing_works", lambda: False)
    assert layouts.layout_for() == layouts.layout_for(steps=True) == "rows"
    assert not layouts.is_onednn_faster()
    monkeypatch.setenv(layouts.LAYOUT_VARIABLE, "pillars")
    with pytest.raises(
        InputError, match="is 'pillars'; it is one of rows, panels, columns, onednn, or not set"
    ):
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
    assert layouts.chosen() in ("panels", "columns", "onednn")
    assert layouts.chosen() is layouts.chosen()


def test_the_operators_of_onednn_add_the_bias_and_take_the_exact_gelu_where_there_are_any():
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")):
        pytest.skip("this torch has no oneDNN")
    torch.manual_seed(0)
    w, b, x = torch.randn(19, 17), torch.randn(19), torch.randn(3, 5, 17)
    expected = x.double() @ w.double().T + b.double()
    exact = expected * (1 + torch.erf(expected / 2**0.5)) / 2
    for packed in (layouts.to_onednn(w), layouts.to_columns(w), w):
        for found, truth in (
            (layouts.times_packed(x, packed, b), expected),
            (layouts.times_packed(x, packed, b, True), exact),
        ):
            torch.testing.assert_close(found, truth.float(), atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("gelu", [False, True])
def test_a_part_of_columns_is_never_given_to_onednn_which_would_take_seconds(gelu, monkeypatch):
    torch.manual_seed(0)
    w, b, x = torch.randn(57, 17), torch.randn(19), torch.randn(5, 17)
    part = layouts.to_columns(w)[19:38]
    assert layouts.lies_in_columns(part)
    monkeypatch.setattr(torch.ops, "mkldnn", object())
    found = layouts.times_packed(x, part, b, gelu)
    expected = x.double() @ w[19:38].double().T + b.double()
    truth = expected * (1 + torch.erf(expected / 2**0.5)) / 2 if gelu else expected
    torch.testing.assert_close(found, truth.float(), atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize(
    ("matrix", "lies"),
    [
        (torch.ones(5, 3), False),
        (torch.ones(3, 5).t(), True),
        (torch.ones(3, 9)[:, 2:7].t(), True),
        (torch.ones(1, 3), False),
        (torch.ones(5, 1), False),
        (torch.ones(1, 1), False),
        (torch.ones(3).expand(5, 3), False),
        (torch.ones(9).as_strided((5, 3), (1, 2)), False),
        (torch.ones(2, 5, 3), False),
    ],
)
def test_columns_are_known_by_how_they_lie(matrix, lies):
    assert layouts.lies_in_columns(matrix) is lies
