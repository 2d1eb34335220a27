"""The widget of a notebook without the notebook: its module in a page, between it and Python a model made by hand."""

import json

import numpy as np
import pytest
from drawn import FRAME, Picture, percent

from mha_core import record_from_weights
from mha_core.draw.figures.colours import page as page_colours

pytestmark = pytest.mark.browser
TOKENS = ["[CLS]", "The", "cat", "sat", "there", "[SEP]"]
# As anywidget's front end has it: get, set, save_changes, on, off; what is saved is sent to Python.
MOUNT = """async ([source, state]) => {
  const listeners = {}, sent = {};
  globalThis.model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = sent[name] = value; listeners[`change:${name}`]?.forEach((call) => call()); },
    save_changes: () => python(JSON.stringify(sent)),
    on: (event, call) => (listeners[event] ??= []).push(call),
    off: (event, call) => { listeners[event] = listeners[event].filter((one) => one !== call); },
  };
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const made = (await import(address)).default;
  const { render } = typeof made === "function" ? await made() : made;
  const el = document.createElement("div");
  const end = render({ model, el });
  document.body.append(el); // Jupyter's order
  globalThis.unmount = end;
}"""


def mounted(tab, widget):
    """The widget on a page; what its module saves reaches Python."""
    tab.expose_function(
        "python",
        lambda state: widget._handle_msg(
            {
                "content": {"data": {"method": "update", "state": json.loads(state), "buffer_paths": []}},
                "buffers": [],
            }
        ),
    )
    tab.set_content(FRAME)
    state = {name: getattr(widget, name) for name in ("_content", "head", "query", "key")}
    tab.evaluate(MOUNT, [widget._esm, state])
    picture = Picture(tab)
    picture.root.wait_for()
    return picture.settle()


def random_record(queries=TOKENS, keys=None):
    n = len(keys or queries)
    weights = np.random.default_rng(1).dirichlet(np.ones(n), (2, 3, len(queries))).astype(np.float32)
    return record_from_weights(weights, queries, keys=keys)


@pytest.mark.parametrize("keys", [None, ["Die", "Katze", "sitzt", "da"]])
def test_what_is_clicked_is_in_python_and_what_python_sets_is_shown(tab, keys):
    record = random_record(keys=keys)
    widget = record.widget(head="1-1", word="sat")
    picture = mounted(tab, widget)
    offset = len(keys or ())
    assert picture.pressed() == [offset + 3]
    tab.get_by_role("gridcell", name="Head 2-3:").click()
    picture.settle()
    assert (widget.head, widget.query, widget.key) == ("2-3", 3, None)
    picture.word(1).click()  # a word looked at, where another looks
    picture.settle()
    assert (widget.query, widget.key) == (3, 1)
    weight = record.grid()["2-3"].weights[3, 1]
    assert percent(weight) in picture.said()
    tab.evaluate("() => { model.set('head', '1-2'); model.set('key', null); model.set('query', 4); }")
    picture.settle()
    assert picture.said().startswith("Head 1-2 looks from “there” to ")
    assert picture.pressed() == [offset + 4]
    tab.evaluate("unmount()")


def test_the_picture_follows_the_notebook_into_the_dark(tab):
    picture = mounted(tab, random_record().widget())
    paper = "getComputedStyle(document.querySelector('div')).getPropertyValue('--st-background-color')"
    light = tab.evaluate(paper)
    tab.evaluate("document.body.style.color = 'oklch(0.95 0 0)'")
    tab.wait_for_function(f"{paper} !== '{light}'")
    drawn = picture.settle().root.evaluate("e => getComputedStyle(e).getPropertyValue('--paper')")
    assert light == page_colours(dark=False)["paper"]
    assert drawn == "rgb({}, {}, {})".format(*bytes.fromhex(page_colours(dark=True)["paper"][1:]))
