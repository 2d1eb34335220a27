"""The boxes Table and Save under the pictures: made when opened, and what they hold is the engine's."""

import base64
import json

import numpy as np
import pytest
from contexts import context_of
from test_show import content_of
from visit import TIRED, WIDE, roles_of, run, said, unopened

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


def figure_of(app) -> dict:
    (built,) = app.get("plotly_chart")
    return json.loads(built.proto.spec)


def array_of(values) -> np.ndarray:
    if isinstance(values, list):
        return np.array(values, dtype=float)
    shape = [int(size) for size in values.get("shape", "-1").split(",")]
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).reshape(shape)


def test_the_boxes_of_explore_hold_the_weights_of_the_chosen_head():
    app = with_boxes()
    weights = trace(TIRED, load_model()).weights[HEAD]
    np.testing.assert_array_equal(app.dataframe[0].value["From it"], weights[IT].astype(float))
    drawn = figure_of(app)
    np.testing.assert_array_equal(array_of(drawn["data"][0]["z"]), weights)
    assert drawn["layout"]["width"] == pytest.approx(16 / 2.54 * 96)
    config = json.loads(app.get("plotly_chart")[0].proto.config)["toImageButtonOptions"]
    assert (config["format"], config["width"]) == ("svg", drawn["layout"]["width"])
    link, python = (code.value for code in app.code)
    assert "head=4-2" in link
    assert 'record.plot("matrix", "4-2", [\'it\']' in python


def test_heads_that_are_added_are_drawn_beside_the_chosen_one_also_by_the_lines_of_python():
    app = with_boxes(chosen={"figure-heads": ["3-1", "1-3"]})
    weights = trace(TIRED, load_model()).weights
    panels = [array_of(trace["z"]) for trace in figure_of(app)["data"] if trace["type"] == "heatmap"]
    for panel, head in zip(panels, (HEAD, (2, 0), (0, 2)), strict=True):
        np.testing.assert_array_equal(panel, weights[head])
    space: dict[str, object] = {}
    exec(compile(app.code[1].value, "shown", "exec"), space)  # noqa: S102 - our own lines
    assert len([trace for trace in space["picture"].data if trace.type == "heatmap"]) == 3


def test_the_figure_is_of_the_chosen_kind_and_as_wide_as_was_asked_for():
    app = with_boxes(chosen={"figure-kind": "bars", "figure-width": 20.0})
    drawn = figure_of(app)
    assert drawn["layout"]["width"] == pytest.approx(20 / 2.54 * 96)
    assert {trace["type"] for trace in drawn["data"]} == {"bar"}


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
    drawn = figure_of(app)
    np.testing.assert_array_equal(array_of(drawn["data"][0]["z"]), wanted)
    assert (drawn["layout"]["coloraxis"]["cmin"] < 0) == (side == "A minus B")
    shown = next(each.value for each in app.dataframe if "Looked at" in each.value)
    np.testing.assert_array_equal(shown["A"], a.weights[HEAD][IT].astype(float))
    np.testing.assert_array_equal(shown["B"], b.weights[HEAD][IT].astype(float))


def test_a_measure_of_layers_is_named_by_its_layer():
    app = with_boxes(measure="rollout")
    assert figure_of(app)["layout"]["title"]["text"].startswith("Layer 4 of MiniLM, attention rollout")
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels[:3] == ["CSV, all 6 layers", "JSON, all 6 layers", "HTML, works offline"]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "n"), [("app.py", 4), (COMPARE, 3)])
@pytest.mark.parametrize("weights", ["trained", "untrained"])
def test_every_file_of_a_page_is_of_its_sentence_head_and_weights(page, n, weights, monkeypatch):
    files = {}
    monkeypatch.setattr(
        save.st, "download_button", lambda label, make, name, *_, **__: files.update({name: make()})
    )
    with_boxes(page, text="The dog ran home.", text2="The dog sat down.", weights=weights)
    record = trace("The dog ran home.", load_model(trained=weights == "trained"))
    assert len(files) == n
    for name, content in files.items():
        assert ("untrained" in name) == (weights == "untrained")
        assert "The dog ran home." in content
        assert page != COMPARE or "The dog sat down." in content
        if name.endswith(".json"):
            written = json.loads(content)
            written = written if page != COMPARE else written["A"]
            expected = record.weights if page != COMPARE else record.weights[HEAD]
            np.testing.assert_allclose(np.reshape(written["weights"], expected.shape), expected, atol=1e-6)
            assert written["trained"] == (weights == "trained")


@pytest.mark.parametrize("trained", [True, False])
def test_the_offline_page_names_the_roles_of_its_own_weights(trained):
    context = context_of(trace(TIRED, load_model(trained=trained)), request=Request(TIRED, trained=trained))
    (sent,) = content_of(save.offline(Comparison((context,), {}, "")))["records"]
    known = read_roles("minilm") if trained else read_roles("minilm").untrained
    assert set(roles_of(sent)) == {head_name(head) for head in roles(known)}
