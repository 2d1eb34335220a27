"""State: changing one thing changes exactly that on the page, nothing old stays, and the link says it all."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from bert_folders import random_bert, write
from streamlit.testing.v1 import AppTest
from visit import STEP, TWO, drawn, mounted, open_page, picture, run, said

from mha_core import grid_of, load_model, trace
from mha_core.heads.measures import importance
from pages.parts.frame import loading

pytestmark = pytest.mark.slow  # every test opens a page of the app

COMPARE = "pages/compare.py"
OTHER = "bert-base-uncased"  # a small stranger answers to this name
OWN = "The cat saw it."


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Two layers of three heads that guess a [MASK], and its untrained twin."""
    folder = tmp_path_factory.mktemp("small") / "two-by-three"
    folder.mkdir()
    write(folder, random_bert("BertForMaskedLM", num_hidden_layers=2, num_attention_heads=3))
    return {trained: load_model(str(folder), trained=trained) for trained in (True, False)}


@pytest.fixture(autouse=True)
def two_models(monkeypatch, small):
    def load(name: str, trained: bool = True, **_options: object):
        return load_model(name, trained=trained) if name == "minilm" else small[trained]

    monkeypatch.setattr(loading, "load_model", load)
    monkeypatch.setattr("mha_core.models.load.is_here", lambda _name: True)
    return load


@dataclass(frozen=True)
class View:
    """Settings by their names in the link; head, pins and target as the picture has them."""

    text: str = TWO[0]
    pair: str = TWO[1]
    model: str = "minilm"
    weights: str = "trained"
    unit: str = "pieces"
    specials: str = "shown"
    measure: str = "raw"
    head: tuple[int, int] = (1, 2)
    pins: tuple[int, ...] = (3,)
    to: int | None = 5

    def link(self) -> dict[str, str]:
        first = {"pair": "", "model": "minilm", "weights": "trained", "unit": "pieces", "specials": "shown"}
        first["measure"] = "raw"
        query = {key: getattr(self, key) for key in first if getattr(self, key) != first[key]}
        query |= {"text": self.text, "head": f"{self.head[0] + 1}-{self.head[1] + 1}"}
        query |= {"pin": ",".join(map(str, self.pins)) or "none"}
        return query if self.to is None else {**query, "to": str(self.to)}

    def grid(self, load):
        """The numbers, from the engine alone."""
        model = load(self.model, self.weights == "trained")
        record = trace(self.text, model, pair=self.pair or None)
        weights = importance(record.tokens, model, self.measure).weights
        return grid_of(record, weights, self.unit == "words", self.specials)


def shows(page: AppTest, view: View, load) -> None:
    """Every control, the choice in the picture and every weight are those of `view`."""
    grid, (data,) = view.grid(load), mounted(page, "record")
    for key in ("text", "pair"):
        assert page.text_input(key=key).value == getattr(view, key)
    assert page.selectbox(key="model-chosen").value == view.model
    assert picture(page)["measures"]["chosen"] == view.measure
    for key in ("weights", "unit", "specials"):
        assert page.segmented_control(key=key).value == getattr(view, key)
    assert drawn(page).shape == grid.weights.shape
    assert np.abs(drawn(page) - grid.weights).max() < STEP
    assert (data["words"], data["specialsShown"]) == (view.unit == "words", view.specials)
    assert data["title"] == f"{view.text} {view.pair}".strip()
    assert data["model"] == load(view.model, view.weights == "trained").title
    assert any("weights are random" in line for line in said(page, "note")) == (view.weights == "untrained")
    chosen = {"head": list(view.head), "pins": list(view.pins), "to": view.to}
    assert picture(page)["selection"] == chosen


# What changes, to what, and where the words then stand: they move along with the text, or another is chosen.
CHANGES = (
    ({"text": OWN}, {"pins": (4,), "to": None}),
    ({"pair": "Then it rained."}, {}),
    ({"pair": ""}, {}),
    ({"model": OTHER}, {"head": (1, 1)}),  # opens on its own head
    ({"weights": "untrained"}, {}),
    ({"unit": "words"}, {}),
    ({"specials": "hidden"}, {"pins": (2,), "to": 4}),
    ({"specials": "renormalised"}, {"pins": (2,), "to": 4}),
    ({"measure": "value"}, {}),
)


@pytest.mark.parametrize(("change", "follows"), CHANGES, ids=lambda part: "-".join(map(str, part.values())))
def test_one_change_changes_that_and_nothing_else(change, follows, two_models):
    view = View()
    page = open_page(**view.link())
    shows(page, view, two_models)
    ((key, value),) = change.items()
    set_control(page, key, value)
    shows(page, replace(view, **change, **follows), two_models)


def set_control(page: AppTest, key: str, value: str) -> None:
    if key == "measure":  # its switch is in the picture
        page.query_params["measure"] = value
    elif key == "model":
        page.selectbox(key="model-chosen").set_value(value)
    else:
        control = page.text_input if key in ("text", "pair") else page.segmented_control
        control(key=key).set_value(value)
    run(page)


def test_a_choice_in_the_picture_changes_that_and_nothing_else(two_models):
    view = View()
    page = open_page(**view.link())
    for key, value, chosen in (
        ("head", "6-11", {"head": (5, 10)}),
        ("to", "9", {"to": 9}),
        ("pin", "2,7", {"pins": (2, 7)}),
        ("pin", "none", {"pins": (), "to": None}),
    ):
        page.query_params[key], view = value, replace(view, **chosen)
        shows(run(page), view, two_models)


@pytest.mark.parametrize(("measure", "head"), [("value", (1, 2)), ("rollout", (1, 0)), ("residual", (1, 0))])
def test_every_parameter_of_explore_comes_back_from_its_own_link(measure, head, two_models):
    view = View(OWN, "It rained.", OTHER, "untrained", "words", "renormalised", measure, head, to=2)
    page = open_page(**view.link())
    shows(page, view, two_models)
    assert page.get("popover")[0].proto.popover.label == "BERT base, untrained"


def test_every_parameter_of_compare_comes_back_from_its_own_link(two_models):
    view = View(OWN, "", OTHER, "untrained", "words", "hidden", "value", pins=(1,), to=2)
    page = open_page(COMPARE, **view.link(), text2="The cat saw her.")
    assert [page.text_input(key=key).value for key in ("text", "text2")] == [OWN, "The cat saw her."]
    assert [record["title"] for record in mounted(page, "record")][:2] == [OWN, "The cat saw her."]
    assert picture(page)["selection"] == {"head": list(view.head), "pins": [1], "to": 2}
    page = open_page(COMPARE, **view.link(), against="weights")
    assert page.segmented_control(key="against").value == "weights"
    for side, weights in enumerate(("untrained", "trained")):
        expected = replace(view, weights=weights).grid(two_models).weights
        assert np.abs(drawn(page, side) - expected).max() < STEP
    page = open_page(COMPARE, text=OWN, model2=OTHER, against="model", pin="4")
    assert [record["model"] for record in mounted(page, "record")] == ["MiniLM", "two-by-three"]
    assert page.selectbox(key="model2-chosen").value == OTHER
