"""What Streamlit itself writes into the link is known to the browser's history, so that it makes no step of it."""

import re
from pathlib import Path

import pytest
from streamlit.runtime.state.query_params import QueryParams
from visit import unopened

from pages.parts.serve import cache

ASSETS = Path(__file__).parent.parent / "assets"
# A part of a page is what Back leads to; these take the place of what stands there in the same way.
PARTS = {"try", "part", "show", "train"}
PAGES = (
    *(
        ("pages/training.py", {"train": part})
        for part in ("", "Two heads that need each other", "Where does it look?")
    ),
    *(("pages/experiment.py", {"try": part}) for part in ("Which matter?", "Where is it decided?")),
    ("pages/atlas.py", {"ask": "The cat sat."}),
    ("pages/specialization.py", {}),
    ("app.py", {"model": "classroom"}),
)


def known():
    code = (ASSETS / "js" / "history.js").read_text(encoding="utf-8")
    return set(re.findall(r'"([a-z-]+)"', code[code.index("const BOUND = [") :].partition("];")[0]))


@pytest.mark.slow
def test_every_control_that_streamlit_binds_to_the_link_is_known_to_the_history(monkeypatch):
    bound, bind = set(), QueryParams.bind_widget

    def noted(params, param_key, *given, **named):
        bound.add(param_key)
        return bind(params, param_key, *given, **named)

    monkeypatch.setattr(QueryParams, "bind_widget", noted)
    cache.findings("minilm")  # some controls stand there only once it is known what the heads do
    for page, query in PAGES:
        assert not unopened(page, **query).run().exception
    # The failures alone are asked for in a box that is closed at first.
    assert bound - PARTS == known() - {"held-out-failures"}
