"""What is drawn again without being made anew: message by message what a fresh drawing would send."""

import time
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest
import visit
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.testing.v1 import AppTest, local_script_runner

from pages.parts.explore import downloads, holds, studio
from pages.parts.frame import controls
from pages.parts.frame.controls import MENU
from pages.parts.serve import cache, streamlit_again, streamlit_state

DRAWING = (controls, downloads, studio, holds)
WALK = (
    {"text": "The dog saw the cat because it was old."},
    {"text": "The cat saw the dog because it was young."},
    {"text": "The cat saw the dog because it was young.", "head": "2-3"},
    {"text": "Nobody knows."},
    {MENU: True},
    {MENU: True, "unit": "words"},
    {MENU: False, "text": "Somebody knows."},
    {"text": "The dog saw the cat because it was here."},
    {"heatmap": True},
    {"heatmap": False, "take": True},
    {"take": False, "pair": "It slept."},
    {"pair": "", "model": "classroom"},
    {"model": "no such model"},
    {"weights": "untrained"},
    {"present": "1", "weights": "trained"},
    {"text": "The dog saw the cat because it was here."},
    {"figure": "1"},
)


class Runs:
    """What every run sends, and which controls it had when it was over."""

    def __init__(self, monkeypatch):
        self.sent, self.controls, self.fragment, self.again = [], [], "", 0
        enqueue, finished = ScriptRunner._enqueue_forward_msg, SafeSessionState.on_script_finished
        send, rerun = streamlit_again._send, local_script_runner.RerunData

        def note(runner, message):
            self.sent[-1].append(message.SerializeToString(deterministic=True))
            element = message.delta.new_element
            if element.HasField("text_input") and element.text_input.label == "Your sentence":
                self.fragment = message.delta.fragment_id
            enqueue(runner, message)

        def over(state, ids, **named):
            self.controls.append(sorted(ids))
            finished(state, ids, **named)

        def counted(ctx, before):
            self.again += 1
            send(ctx, before)

        def of_the_part(**values):
            self.sent.append([])
            return replace(rerun(**values), fragment_id_queue=self.queue)

        for where, name, how in (
            (ScriptRunner, "_enqueue_forward_msg", note),
            (SafeSessionState, "on_script_finished", over),
            (streamlit_again, "_send", counted),
            (local_script_runner, "RerunData", of_the_part),
        ):
            monkeypatch.setattr(where, name, how)
        self.queue = []

    def walk(self, alone):
        """All steps of it, each as a run of the whole page or of its part `alone`."""
        at = visit.run(visit.unopened("app.py"))
        for step in WALK:
            for key, value in step.items():
                if key in ("head", "present", "figure"):
                    at.query_params[key] = value
                else:
                    at.session_state[key] = value
            self.queue = [self.fragment] if alone else []
            at.run()
            assert not at.exception
        return self


@pytest.fixture(scope="module")
def roles():
    """What the heads do is found out behind the pages, and is in what they send from then on."""
    for model, trained in product(("minilm", "classroom"), (True, False)):
        deadline = time.monotonic() + 60
        cache.roles_of(model, trained)
        while cache.finding(model, trained) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not cache.finding(model, trained)


def fresh(_name, _inputs, draw):
    draw()


@pytest.mark.slow
@pytest.mark.parametrize("alone", [pytest.param(False, marks=pytest.mark.long), True])
def test_what_is_drawn_again_is_what_a_fresh_run_sends(monkeypatch, roles, alone):
    with monkeypatch.context() as patched:
        again = Runs(patched).walk(alone)
    with monkeypatch.context() as patched:
        for module in DRAWING:
            patched.setattr(module, "unless_drawn", fresh)
        anew = Runs(patched).walk(alone)
    assert len(again.sent) == len(anew.sent) > len(WALK)
    for step, (here, there) in enumerate(zip(again.sent, anew.sent, strict=True)):
        assert here == there, f"step {step}"
    assert again.controls == anew.controls
    assert anew.again == 0
    assert again.again >= 30


def boxes():
    """A page with a box that a part draws again, whoever opens it."""
    import streamlit as st

    from pages.parts.serve.streamlit_again import unless_drawn

    unless_drawn("boxes", "always the same", lambda: st.checkbox("Open", key="open"))
    st.button("Again")


def test_where_a_control_says_something_else_its_part_is_drawn_afresh(monkeypatch):
    sent = []
    send = streamlit_again._send
    monkeypatch.setattr(streamlit_again, "_send", lambda ctx, before: (sent.append(1), send(ctx, before)))
    at = AppTest.from_function(boxes).run()
    for step, (opens, shown) in enumerate(((None, 0), (True, 0), (None, 1), (False, 1), (None, 2))):
        if opens is not None:
            at.checkbox(key="open").set_value(opens)
        at.button[0].click().run()
        assert not at.exception
        assert at.checkbox(key="open").value is at.session_state["open"] is bool(step in (1, 2))
        assert len(sent) == shown + 1


def test_single_keys_are_looked_up_as_in_the_dictionary_of_all_of_them(monkeypatch):
    at = visit.open_page()
    at.run()
    state = at._session_state if not hasattr(at._session_state, "_state") else at._session_state._state
    everything = state.filtered_state
    looked = streamlit_state.Looked(state)
    ids = [key for key in state._keys() if key not in everything]
    assert {"text", "model", MENU} <= set(everything)
    assert any(key.startswith("$$ID") for key in ids)
    for key in [*everything, *ids, "nothing of the kind"]:
        assert (key in looked, looked.get(key)) == (key in everything, everything.get(key)), key
    assert dict(looked) == everything
    assert len(looked) == len(everything)


def test_a_few_values_are_read_in_one_go_and_ask_once_whether_the_reader_wants_something_else(monkeypatch):
    held = {"text": "a b", "pair": "", "unit": "words"}
    asked = []
    safe = SafeSessionState(SessionState(), lambda: asked.append(1))
    for key, value in held.items():
        safe._state[key] = value
    monkeypatch.setattr(
        streamlit_state, "get_script_run_ctx", lambda **_: SimpleNamespace(session_state=safe)
    )
    assert streamlit_state.values_of(("text", "pair", "nothing of the kind", "unit")) == held
    assert asked == [1]
