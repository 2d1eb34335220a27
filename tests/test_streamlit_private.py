"""What the app leans on in Streamlit beyond its API: all there today, and missed by name where it is gone."""

import asyncio
from copy import deepcopy
from functools import partial
from threading import Thread
from types import SimpleNamespace

import pytest
from streamlit.config import get_option, set_option
from streamlit.cursor import LockedCursor, RunningCursor
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.query_params import QueryParams

from pages.parts.serve import server, streamlit_loop, streamlit_private, streamlit_state
from pages.parts.serve.streamlit_private import message_kind, missing_parts, went_back_or_forward

COLOUR = "theme.light.primaryColor"


def test_this_streamlit_has_every_part():
    assert missing_parts() == []


@pytest.mark.parametrize(
    ("where", "part"),
    [
        (QueryParams, "discard_param_no_forward_msg"),
        (QueryParams, "unbind_widget"),
        (ScriptRunContext, "is_history_navigation"),
    ],
)
def test_a_part_that_is_gone_is_missed_by_name_and_the_server_does_not_start(monkeypatch, where, part):
    monkeypatch.delattr(where, part)
    (said,) = missing_parts()
    assert f"lacks {where.__name__}.{part}, which HeadScope needs" in said
    with pytest.raises(SystemExit, match=part):
        server.warm_up()


@pytest.mark.parametrize(
    ("names", "told"), [("KINDS", "the kinds of BackMsg"), ("OPERATIONS", "the operations of BackMsg")]
)
def test_a_message_that_is_gone_is_missed(monkeypatch, names, told):
    monkeypatch.setattr(streamlit_private, names, {*getattr(streamlit_private, names), "of_another_day"})
    (said,) = missing_parts()
    assert f"lacks {told}, which" in said


def test_a_message_is_told_by_its_kind_and_its_operation():
    message = BackMsg()
    message.backend_operation_request.dataframe_chunk.SetInParent()
    assert message_kind(message.SerializeToString()) == ("backend_operation_request", "dataframe_chunk")
    assert message_kind(BackMsg(stop_script=True).SerializeToString()) == ("stop_script", "")
    assert message_kind(b"") == ("", "")
    with pytest.raises(ValueError, match="not a message"):
        message_kind(b"\xff")


@pytest.mark.parametrize("back", [True, False])
def test_back_and_forward_are_known_from_the_run(monkeypatch, back):
    context = SimpleNamespace(is_history_navigation=back)
    monkeypatch.setattr(streamlit_private, "get_script_run_ctx", lambda: context)
    assert went_back_or_forward() is back


def test_outside_a_run_nobody_came_back():
    assert went_back_or_forward() is False


def test_what_a_run_says_wakes_the_loop_once_and_arrives_whole_and_in_order():
    heard, wakes, troubles, sends = [], [], [], []

    async def of_one_run():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: troubles.append(context["exception"]))
        parcels = streamlit_loop.Parcels()
        parcels._waking = lambda _session, callback: (wakes.append(1), loop.call_soon_threadsafe(callback))
        session = SimpleNamespace(
            _event_loop=loop, _message_enqueued_callback=lambda: sends.append(len(heard))
        )
        wake = session._message_enqueued_callback

        def say():
            for number in range(200):
                parcels.hand_over(session, lambda n=number: take(n))

        def take(number):
            if session._message_enqueued_callback is not None:
                session._message_enqueued_callback()
            heard.append(number) if number != 7 else 1 / 0

        for _ in range(2):
            run = Thread(target=say)
            run.start()
            run.join()  # the loop stands still: all of it is one parcel
            await asyncio.sleep(10 * streamlit_loop.PARCEL)
        assert session._message_enqueued_callback is wake

    asyncio.run(of_one_run())
    assert heard == 2 * [n for n in range(200) if n != 7]
    assert len(wakes) == 2
    assert sends == [199, 398]  # once for each parcel, when all of it is there
    assert [type(trouble) for trouble in troubles] == 2 * [ZeroDivisionError]


def test_what_a_run_said_is_heard_before_its_reader_asks_again(monkeypatch):
    """Else the page that was just finished is lost: a request begins another run, and only that one is heard."""
    monkeypatch.setattr(AppSession, "_call_soon_on_event_loop", lambda _session, callback: callback())
    heard, requests = [], []
    monkeypatch.setattr(AppSession, "request_rerun", lambda _session, _state: requests.append(list(heard)))
    streamlit_loop.hand_over_in_parcels.__wrapped__()

    async def of_two_requests():
        session = SimpleNamespace(_event_loop=asyncio.get_running_loop(), _message_enqueued_callback=None)
        for number in (1, 2, 3):
            AppSession._call_soon_on_event_loop(session, partial(heard.append, number))
        AppSession.request_rerun(session, None)
        AppSession._call_soon_on_event_loop(session, partial(heard.append, 4))
        await asyncio.sleep(10 * streamlit_loop.PARCEL)
        AppSession.request_rerun(session, None)
        elsewhere = Thread(target=AppSession.request_rerun, args=(session, None))
        elsewhere.start()
        elsewhere.join()

    asyncio.run(of_two_requests())
    assert requests == [[1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4]]
    assert heard == [1, 2, 3, 4], "each once"


def message_at(*path, part="", words=""):
    message = ForwardMsg()
    message.metadata.delta_path.extend(path)
    message.delta.fragment_id = part
    message.delta.new_element.markdown.body = words
    return message


def end_of_run(status):
    message = ForwardMsg()
    message.script_finished = status
    return message


def words_sent(queue):
    return [
        message.delta.new_element.markdown.body or f"end {message.script_finished}"
        for message in queue.flush()
    ]


def test_a_page_that_waits_to_be_sent_stays_whole_when_a_part_of_it_runs_again(monkeypatch):
    """Else the browser clears that part away, and the new one takes the place of what stands below it."""
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)
    streamlit_loop.send_whole_pages.__wrapped__()
    queue = ForwardMsgQueue()
    queue.enqueue(message_at(0, 0, words="above"))
    queue.enqueue(message_at(0, 1, part="a", words="part"))
    queue.enqueue(message_at(0, 2, words="below"))
    queue.enqueue(end_of_run(ForwardMsg.FINISHED_SUCCESSFULLY))
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["a"])
    queue.enqueue(message_at(0, 1, part="a", words="part again"))
    assert words_sent(queue) == ["above", "part", "below", "end 0", "part again"]

    queue.enqueue(message_at(0, 1, part="a", words="part"))
    queue.enqueue(message_at(0, 2, part="b", words="other"))
    queue.enqueue(end_of_run(ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY))
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["a"])
    assert words_sent(queue) == ["other", "end 2"], "a part alone replaces what it said before"

    queue.enqueue(message_at(0, 1, part="a", words="part"))
    queue.enqueue(end_of_run(ForwardMsg.FINISHED_SUCCESSFULLY))
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=None)
    assert words_sent(queue) == ["end 2"], "so does a whole page"


@pytest.fixture
def light_theme():
    """A colour of its own for one test."""
    before = get_option(COLOUR)
    set_option(COLOUR, "#123456")
    yield
    set_option(COLOUR, before)


def test_themes_are_read_once_and_say_the_same(monkeypatch, light_theme):
    sections = ["theme", "theme.light", "theme.dark", "theme.sidebar", "theme.light.sidebar"]
    plain = streamlit_private.app_session._populate_theme_msg
    asked = []

    def counted(message, section="theme"):
        asked.append(section)
        plain(message, section)

    monkeypatch.setattr(streamlit_private.app_session, "_populate_theme_msg", counted)
    streamlit_private.read_themes_once.__wrapped__()
    once = streamlit_private.app_session._populate_theme_msg
    for _ in range(3):
        expected, found = CustomThemeConfig(), CustomThemeConfig()
        for section in sections:
            plain(part_of(expected, section), section)
            once(part_of(found, section), section)
        assert found == expected
        assert found.light.primary_color == "#123456"
        assert found.HasField("sidebar") == expected.HasField("sidebar")
    assert asked == sections


def part_of(theme, section):
    for name in section.split(".")[1:]:
        theme = getattr(theme, name)
    return theme


def test_the_loop_that_sends_waits_a_tick_after_a_bundle_and_always_where_it_pauses(monkeypatch):
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr(streamlit_loop.asyncio, "sleep", sleep)
    ticks = streamlit_loop.Ticks()

    async def send(n):
        for _ in range(n):
            await ticks.sleep(0)

    asyncio.run(send(streamlit_loop.BUNDLE - 1))
    assert waited == []
    asyncio.run(send(1))
    assert waited == [0]
    asyncio.run(ticks.sleep(0.01))
    asyncio.run(send(streamlit_loop.BUNDLE - 1))
    assert waited == [0, 0.01]
    assert ticks.Queue is asyncio.Queue


@pytest.mark.parametrize("held", [0, 2])
def test_a_place_is_copied_as_python_copies_it_and_moves_alone(held):
    place = RunningCursor(0, (1, 2), transient_index=held or None)
    place.lock_element()
    for number in range(held):
        place.transient_elements[number] = Element()
    plain, twin = deepcopy(place), streamlit_private.copied(place, {})
    assert repr(twin) == repr(plain)
    assert vars(twin).keys() == vars(plain).keys()
    assert len(twin.transient_elements) == held
    assert twin.transient_elements is not place.transient_elements
    twin.transient_elements[5] = Element()
    twin.lock_element()
    assert (place.index, twin.index, len(place.transient_elements)) == (1, 2, held)
    locked = LockedCursor(root_container=0, parent_path=(3,), index=4)
    assert streamlit_private.copied(locked, {}).delta_path == locked.delta_path


class Wire:
    """A transport that remembers what went through it."""

    def __init__(self):
        self.said = []

    def write(self, data):
        self.said.append(data)

    def close(self):
        self.said.append("closed")


def test_what_is_written_in_one_tick_goes_in_one_piece_and_before_the_end():
    wire = Wire()

    class Protocol:
        def connection_made(self, transport):
            self.transport = transport

    async def talk():
        protocol = streamlit_loop.joining(Protocol)()
        protocol.loop = asyncio.get_running_loop()
        protocol.connection_made(wire)
        for piece in (b"a", b"b", b"c"):
            protocol.transport.write(piece)
        assert wire.said == []
        await asyncio.sleep(0)
        assert wire.said == [b"abc"]
        protocol.transport.write(b"d")
        protocol.transport.write(
            bytes(streamlit_loop.JOINED)
        )  # who writes so much is to hear that it should pause
        assert wire.said[1:] == [b"d" + bytes(streamlit_loop.JOINED)]
        protocol.transport.write(b"e")
        protocol.transport.close()
        await asyncio.sleep(0)
        assert wire.said[2:] == [b"e", "closed"]

    asyncio.run(talk())


@pytest.mark.parametrize("state", list(ScriptRequestType))
def test_what_a_reader_asks_for_is_looked_into_only_where_there_is_something(monkeypatch, state):
    asked = []
    monkeypatch.setattr(ScriptRunner, "_maybe_handle_execution_control_request", asked.append)
    streamlit_state.ask_for_requests_fast.__wrapped__()
    runner = SimpleNamespace(_requests=SimpleNamespace(_state=state))
    ScriptRunner._maybe_handle_execution_control_request(runner)
    assert asked == ([] if state is ScriptRequestType.CONTINUE else [runner])
