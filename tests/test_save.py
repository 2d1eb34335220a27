"""The boxes Table and Save under the pictures: made when opened, and what they hold is the engine's."""

import json

import numpy as np
import pytest
from contexts import context_of
from test_show import content_of
from visit import TIRED, WIDE, figures, numbers, roles_of, run, said, unopened

from mha_core import load_model, trace
from mha_core.display_names import head_name
from mha_core.heads.roles import roles
from mha_core.heads.table import read_roles
from mha_core.record.compare import difference
from pages.parts.explore import save
from pages.parts.explore.comparison import Comparison
from pages.parts.explore.export import SIDES
from pages.parts.frame.request import Request

COMPARE = "pages/compare.py"
HEAD, IT = (3, 1), 10


def with_boxes(page: str = "app.py", chosen: dict[str, str] | None = None, **query: str):
    """A page with both boxes open; `chosen`: what its controls say, by their keys."""
    app = unopened(page, head="4-2", pin=str(IT), **query)
    for key, value in {"table": True, "save": True, **(chosen or {})}.items():
        app.session_state[key] = value
    return run(app)


def test_the_boxes_of_explore_hold_the_weights_of_the_chosen_head():
    app = with_boxes()
    weights = trace(TIRED, load_model()).weights[HEAD]
    np.testing.assert_array_equal(app.dataframe[0].value["From it"], weights[IT].astype(float))
    (drawn,) = figures(app)
    np.testing.assert_array_equal(numbers(drawn["data"][0]["z"]), weights)
    assert drawn["layout"]["width"] == pytest.approx(16 / 2.54 * 96)
    config = json.loads(app.get("plotly_chart")[0].proto.config)["toImageButtonOptions"]
    assert (config["format"], config["width"]) == ("svg", drawn["layout"]["width"])
    link, python = (code.value for code in app.code)
    assert "head=4-2" in link
    assert 'record.plot("matrix", "4-2", [\'it\']' in python


def test_heads_that_are_added_stand_beside_the_chosen_one_in_the_chosen_kind_and_width_also_by_the_lines():
    app = with_boxes(chosen={"figure-kind": "bars", "figure-width": 20.0, "figure-heads": ["3-1", "1-3"]})
    weights = trace(TIRED, load_model()).weights
    (drawn,) = figures(app)
    space: dict[str, object] = {}
    exec(compile(app.code[1].value, "shown", "exec"), space)  # noqa: S102 - our own lines
    for figure in (drawn, json.loads(space["picture"].to_json())):
        assert figure["layout"]["width"] == pytest.approx(20 / 2.54 * 96)
        assert {trace["type"] for trace in figure["data"]} == {"bar"}
        for panel, head in zip(figure["data"], (HEAD, (2, 0), (0, 2)), strict=True):
            np.testing.assert_allclose(numbers(panel["x"]), weights[head][IT], rtol=1e-6)


def test_bars_without_a_word_say_what_to_do():
    app = unopened(head="4-2", pin="none")
    app.session_state["save"], app.session_state["figure-kind"] = True, "bars"
    run(app)
    assert not app.get("plotly_chart")
    assert any("choose a word" in sentence for sentence in said(app, "notice"))


@pytest.mark.parametrize("side", SIDES)
def test_the_figure_of_a_comparison_is_of_the_side_that_was_chosen(side):
    app = with_boxes(COMPARE, {"figure-of": side}, text=TIRED, text2=WIDE)
    a, b = (trace(text, load_model()).grid() for text in (TIRED, WIDE))
    wanted = {"A": a, "B": b, "A minus B": difference(a, b)}[side].weights[HEAD]
    (drawn,) = figures(app)
    np.testing.assert_array_equal(numbers(drawn["data"][0]["z"]), wanted)
    assert (drawn["layout"]["coloraxis"]["cmin"] < 0) == (side == "A minus B")
    shown = next(each.value for each in app.dataframe if "Looked at" in each.value)
    np.testing.assert_array_equal(shown["A"], a.weights[HEAD][IT].astype(float))
    np.testing.assert_array_equal(shown["B"], b.weights[HEAD][IT].astype(float))


def test_a_measure_of_layers_is_named_by_its_layer():
    app = with_boxes(measure="rollout")
    (drawn,) = figures(app)
    assert drawn["layout"]["title"]["text"].startswith("Layer 4 of MiniLM, attention rollout")
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels[:3] == ["CSV, all 6 layers", "JSON, all 6 layers", "HTML, works offline"]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "n"), [("app.py", 4), (COMPARE, 3)])
def test_every_file_of_a_page_is_of_its_sentence_head_and_weights(page, n, monkeypatch):
    files = {}
    monkeypatch.setattr(
        save.st, "download_button", lambda label, make, name, *_, **__: files.update({name: make()})
    )
    with_boxes(page, text="The dog ran home.", text2="The dog sat down.", weights="untrained")
    weights = trace("The dog ran home.", load_model(trained=False)).weights
    assert len(files) == n
    for name, content in files.items():
        assert "untrained" in name
        assert "The dog ran home." in content
        assert page != COMPARE or "The dog sat down." in content
        if name.endswith(".json"):
            written = json.loads(content)
            written, expected = (written["A"], weights[HEAD]) if page == COMPARE else (written, weights)
            np.testing.assert_allclose(np.reshape(written["weights"], expected.shape), expected, atol=1e-6)
            assert not written["trained"]


@pytest.mark.parametrize("trained", [True, False])
def test_the_offline_page_names_the_roles_of_its_own_weights(trained):
    context = context_of(trace(TIRED, load_model(trained=trained)), request=Request(TIRED, trained=trained))
    (sent,) = content_of(save.offline(Comparison((context,), {}, "")))["records"]
    known = read_roles("minilm") if trained else read_roles("minilm").untrained
    assert set(roles_of(sent)) == {head_name(head) for head in roles(known)}
