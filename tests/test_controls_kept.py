"""A request that was made before the page changed a control does not take back what the page put into it.

Against Streamlit's own state of a session and its own line of requests.
"""

from dataclasses import replace
from inspect import unwrap
from types import SimpleNamespace

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import SessionState, WStates

from pages.parts.serve import streamlit_controls
from pages.parts.serve.streamlit_controls import BY_ITSELF, ON_ITS_WAY

TEXT, BOX, BUTTON, PICTURE, FILE = (
    f"$$ID-0123-{key}" for key in ("text", "box", "button", "picture", "file")
)
KINDS = {
    TEXT: "string_value",
    BOX: "int_value",
    BUTTON: "trigger_value",
    PICTURE: "json_value",
    FILE: "bytes_value",
}


def name_of(widget):
    return widget.rpartition("-")[2]


def same(value):
    return value


class Session:
    """Of one reader: a text, a box with a number, a button, a picture and a file, as the page of one run drew them."""

    def __init__(self, manager=None):
        self.state, self.manager = SessionState(), manager or SimpleManager()
        self.heard: list[str] = []
        self.back = False
        for widget, kind in KINDS.items():
            known = WidgetMetadata(widget, same, same, kind, callback=lambda: None)
            self.state._set_widget_metadata(known)
            self.state._set_key_widget_mapping(widget, name_of(widget))

    def asks(self, **said):
        """A request of its browser; returns what changed for the page."""
        return self.hears(self.states(**said))

    @staticmethod
    def states(text="tired", box=1, picture='{"head": 1}', button=False, file=None):
        """What a browser says all its controls are."""
        states = WidgetStates()
        for widget, value in (
            (TEXT, text),
            (BOX, box),
            (PICTURE, picture),
            (BUTTON, button or None),
            (FILE, file),
        ):
            if value is not None:
                setattr(states.widgets.add(id=widget), KINDS[widget], value)
        return states

    def hears(self, states):
        self.heard.clear()
        self.state.on_script_will_rerun(states)
        return [*self.heard]

    def puts(self, **values):
        """The page puts values into its controls."""
        for key, value in values.items():
            self.state[key] = value

    def __getitem__(self, key):
        return self.state[key]

    def tells(self, key):
        """Whether the browser is told the value of a control when the page draws it."""
        return self.state.is_new_state_value(key)


class SimpleManager:
    """Of the pages of one session."""


@pytest.fixture
def session(monkeypatch):
    """A session that has asked once; `session.clock` is the time."""
    one, clock = Session(), [100.0]
    here = SimpleNamespace(session=one)
    monkeypatch.setattr(
        streamlit_controls,
        "get_script_run_ctx",
        lambda: SimpleNamespace(pages_manager=here.session.manager, is_history_navigation=here.session.back),
    )
    monkeypatch.setattr(streamlit_controls.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(
        WStates, "call_callback", lambda _, widget: here.session.heard.append(name_of(widget))
    )
    for where, name in ((SessionState, "set_widgets_from_proto"), (ScriptRequests, "_request_rerun_locked")):
        monkeypatch.setattr(where, name, unwrap(getattr(where, name)))  # as Streamlit has it
    streamlit_controls.keep_controls.__wrapped__()
    one.clock, one.here = clock, here
    one.asks()
    return one


@pytest.mark.parametrize("cause", [{"picture": '{"head": 2}'}, {"button": True}, {"box": 2}])
def test_what_the_page_put_in_stays_when_the_reader_did_something_else_meanwhile(session, cause):
    session.puts(text="wide")
    assert "text" not in session.asks(**cause), "nobody typed the text from before"
    assert session["text"] == "wide"
    assert session.tells("text"), "the browser is told, should the page not have done so yet"
    assert session.asks(**{**cause, "button": True}) == ["button"]
    assert session["text"] == "wide", "and the next request on its way takes nothing back either"


def test_the_change_that_was_the_cause_counts(session):
    session.puts(text="wide")
    assert session.asks(box=2) == ["box"]
    assert (session["text"], session["box"]) == ("wide", 2)


def test_who_changes_it_back_has_changed_it(session):
    session.puts(text="wide", box=7)
    assert session.asks(text="wide", box=1) == ["box"], (
        "one asked and said the other's new value: it has heard"
    )
    assert session["box"] == 1
    session.puts(box=7)
    assert session.asks(text="wide", box=1) == ["box"], "a request that says nothing else new says this"
    assert session["box"] == 1


def test_what_the_reader_typed_counts_whatever_the_page_put_in(session):
    session.puts(text="wide")
    assert session.asks(text="long", button=True) == ["text", "button"]
    assert session["text"] == "long"


def test_later_the_browser_is_right(session):
    session.puts(text="wide")
    session.asks(button=True)
    session.clock[0] += ON_ITS_WAY
    assert session.asks(button=True) == ["text", "button"]
    assert session["text"] == "tired"


def test_a_second_change_is_as_new_as_the_first(session):
    session.puts(text="wide")
    session.asks(button=True)
    session.asks(text="wide")
    session.clock[0] += 2 * ON_ITS_WAY
    session.puts(text="long")
    assert session.asks(text="wide", button=True) == ["button"]
    assert session["text"] == "long"


def test_back_means_what_it_says(session):
    session.puts(text="wide")
    session.back = True
    session.asks(button=True)
    assert session["text"] == "tired"


def test_a_control_that_comes_onto_the_page_is_no_cause(session):
    session.asks(box=None)
    session.puts(text="wide")
    assert session.asks(box=3) == ["text", "box"], "it says what it begins with, and the text is the reader's"
    assert session["text"] == "tired"


def test_what_a_picture_says_of_itself_is_left_to_it(session):
    session.puts(picture='{"head": 5}')
    assert "picture" in session.asks(button=True)


def test_a_file_is_never_put_in_by_the_page(session):
    session.asks(file=b"one")
    session.puts(file=b"two")
    session.asks(file=b"one", button=True)
    assert session["file"] == b"one"
    assert not session.tells("file"), "Streamlit would end the page"


def test_no_session_hears_of_anothers_controls(session):
    session.puts(text="wide")
    other = session.here.session = Session()
    other.puts(text="wide")
    assert "text" in other.asks(button=True), "its first request is no repetition"
    session.here.session = session
    assert session.asks(button=True) == ["button"]


def test_a_part_that_runs_by_itself_takes_nothing_back_though_nothing_else_is_new_in_its_request(session):
    requests = ScriptRequests()
    session.puts(text="wide")
    itself = RerunData(widget_states=session.states(), fragment_id="part", is_auto_rerun=True)
    assert requests.request_rerun(itself)
    assert requests.request_rerun(RerunData()), "the page asks for a run of its own meanwhile"
    together = requests.on_scriptrunner_ready().rerun_data
    assert not together.is_auto_rerun
    assert session.hears(together.widget_states) == []
    assert session["text"] == "wide"
    assert session.tells("text")
    assert {state.id for state in session.state.get_widget_states()} == {BOX, PICTURE}
    assert requests.request_rerun(replace(itself, widget_states=session.states(box=4)))
    assert session.hears(requests.on_scriptrunner_ready().rerun_data.widget_states) == ["box"]
    assert (session["text"], session["box"]) == ("wide", 4), "what the reader changed comes by it, too"


@pytest.mark.usefixtures("session")
def test_only_a_part_that_runs_by_itself_is_marked():
    requests, session = ScriptRequests(), Session()
    for by_itself in (False, True):
        assert requests.request_rerun(RerunData(widget_states=session.states(), is_auto_rerun=by_itself))
        ids = {state.id for state in requests.on_scriptrunner_ready().rerun_data.widget_states.widgets}
        assert ids - {TEXT, BOX, PICTURE} == ({BY_ITSELF} if by_itself else set())
    assert requests.request_rerun(RerunData(is_auto_rerun=True))
    assert requests.on_scriptrunner_ready().type is ScriptRequestType.RERUN
