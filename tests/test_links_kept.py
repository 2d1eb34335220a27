"""A request that was made before the page wrote its link does not take back what was written, and loses nothing."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.query_params import QueryParams

from pages.parts.serve import streamlit_links
from pages.parts.serve.streamlit_links import ON_ITS_WAY, Link, merged


class Manager:
    """Of the pages of one session."""


@pytest.fixture
def session(monkeypatch):
    """Runs of a session's page: `run(asked, page, then, **more)` gives the link that the run begins with, after which
    its page writes `then`; `clock` is the time."""
    began, clock, contexts = [], [100.0], []
    here = SimpleNamespace(context=None)

    def reset(_ctx, query_string="", page_script_hash="", **_named):
        began.append(query_string)

    monkeypatch.setattr(streamlit_links, "get_script_run_ctx", lambda **_: here.context)
    monkeypatch.setattr(streamlit_links.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(ScriptRunContext, "reset", reset)
    monkeypatch.setattr(
        QueryParams, "_send_query_param_msg", lambda _: setattr(here.context, "query_string", here.then)
    )
    streamlit_links.keep_links.__wrapped__()

    def run(asked, page="home", then=None, manager=None, **more):
        manager = manager or run.manager
        ScriptRunContext.reset(
            SimpleNamespace(pages_manager=manager), query_string=asked, page_script_hash=page, **more
        )
        here.context = SimpleNamespace(pages_manager=manager, page_script_hash=page, query_string=began[-1])
        if then is not None:
            here.then = then
            QueryParams._send_query_param_msg(None)
        contexts.append(here.context)
        return began[-1]

    def tell():
        here.then = here.context.query_string
        QueryParams._send_query_param_msg(None)

    run.manager, run.clock, run.tell = Manager(), clock, tell
    return run


def test_what_was_asked_before_the_link_changed_runs_with_the_link_as_it_is_now(session):
    assert session("a=1", then="a=1&ready=key") == "a=1"
    assert session("a=1") == "a=1&ready=key"
    assert session("a=1") == "a=1&ready=key", "and so does the next on its way"
    assert session("a=1&ready=key") == "a=1&ready=key"
    assert session("a=1") == "a=1", "the browser has heard of it: it means what it says"


def test_several_changes_are_all_behind_the_last(session):
    session("a=1", then="a=2")
    assert session("a=1", then="a=3") == "a=2"
    assert [session("a=1"), session("a=2")] == ["a=3", "a=3"]
    session("a=3", then="a=1")
    assert session("a=1") == "a=1"


def test_a_link_of_the_readers_own_counts(session):
    session("a=1", then="a=2")
    assert session("a=5") == "a=5"
    assert session("a=1") == "a=1", "what came later than the change knows of it"


def test_back_another_page_and_a_later_moment_mean_what_they_say(session):
    session("a=1", then="a=2")
    assert session("a=1", is_history_navigation=True) == "a=1"
    session("a=1", then="a=2")
    assert session("a=1", page="other") == "a=1"
    assert session("a=1") == "a=1"
    session("a=1", then="a=2")
    session.clock[0] += ON_ITS_WAY
    assert session("a=1") == "a=1"


def test_no_session_hears_of_anothers_link(session):
    session("a=1", then="a=2")
    assert session("a=1", manager=Manager()) == "a=1"
    assert session("a=1") == "a=2"


def test_a_link_that_was_written_again_is_not_behind_itself():
    link = Link("home")
    link.write("a=1", "a=2", 0.0)
    link.write("a=2", "a=1", 0.0)
    assert [link.meant(asked, 0.1) for asked in ("a=2", "a=1", "a=2")] == ["a=1", "a=1", "a=2"]


def test_what_the_reader_changed_in_the_link_from_before_is_put_into_the_link_as_it_is_now(
    session, monkeypatch
):
    session("a=1&b=x", then="a=1&b=x&head=4-1")
    assert session("a=1&b=x&colour=layer") == "a=1&b=x&colour=layer&head=4-1"
    told = []
    send = SimpleNamespace(_send_query_param_msg=lambda: (told.append(True), session.tell()))
    monkeypatch.setattr(
        streamlit_links,
        "get_session_state",
        lambda: SimpleNamespace(query_params=lambda: nullcontext(send)),
    )
    streamlit_links.tell_what_was_merged()
    streamlit_links.tell_what_was_merged()
    assert told == [True], "the browser has taken its own address for the page's: it is told once"
    for behind in ("a=1&b=x&colour=layer", "a=1&b=x&head=4-1", "a=1&b=x"):
        assert session(behind) == "a=1&b=x&colour=layer&head=4-1"
    assert session("a=1&b=x&colour=layer&head=4-1") == "a=1&b=x&colour=layer&head=4-1"
    assert session("a=1&b=x&colour=layer") == "a=1&b=x&colour=layer"


@pytest.mark.parametrize(
    ("before", "asked", "said", "found"),
    [
        ("a=1&b=2", "a=1&b=3", "a=2&b=2", "b=3&a=2"),
        ("a=1&b=2", "a=1", "a=2&b=2", "a=2"),
        ("a=1&b=2", "a=1&b=2&c=", "a=1", "a=1&c="),
        ("a=1", "a=1&c=%26+x", "a=2", "c=%26+x&a=2"),
        ("a=1&b=2", "a=2&b=3", "a=2&b=2", None),  # has heard
        ("a=1&b=2", "a=7&b=2", "a=2&b=2", None),  # the same value, otherwise
        ("b=1&a=1", "a=1&b=5", "a=1&b=1", None),  # nothing was changed
    ],
)
def test_three_links_become_one(before, asked, said, found):
    assert merged(before, asked, said) == found
