"""What is sent as a name is what the browser holds: asked of Streamlit's own script."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime
from streamlit.runtime.app_session import AppSession

from pages.parts.serve import streamlit_names
from pages.parts.serve.streamlit_names import Held

AGE = 2
SCRIPT = Path(__file__).parent / "js" / "message_cache.mjs"
PARTS = ["", "above", "below"]


@pytest.fixture(scope="module")
def browser():
    """Ask Streamlit's cache, as browsers get it, what becomes of lists of events."""
    node = shutil.which("node")
    if node is None:
        absent = pytest.fail if os.environ.get("REQUIRE_NODE") == "1" else pytest.skip
        absent("needs node to run the browser's side")
    scripts = (Path(streamlit.__file__).parent / "static" / "static" / "js").glob("*.js")
    script = next(path for path in scripts if "Cached ForwardMsg MISS" in path.read_text(encoding="utf-8"))

    def ask(plays):
        lines = "\n".join(json.dumps(events) for events in plays)
        done = subprocess.run([node, SCRIPT, script], input=lines, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return ask


def whole(name, part="", cacheable=True):
    message = ForwardMsg()
    message.hash, message.metadata.cacheable = name, cacheable
    message.delta.fragment_id = part
    return message


def ended(*parts, status=ForwardMsg.FINISHED_SUCCESSFULLY):
    message = ForwardMsg()
    message.script_finished = status
    message.metadata.run.fragment_ids.extend(parts)
    return message


def a_visit(seed, runs=60):
    """Runs of a page and of its parts, each of which draws some of its messages; some of them are overtaken."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    anywhere = [f"anywhere-{n}" for n in range(2)]
    pool = {part: [*anywhere, *(f"{part}-{n}" for n in range(3))] for part in PARTS}
    for _ in range(runs):
        part = rng.choice(PARTS)
        for place in [part] if part else PARTS:
            for name in rng.sample(pool[place], rng.randrange(4)):
                yield whole(name, place)
        if rng.random() < 0.2:
            yield ended(*[part] if part else [], status=ForwardMsg.FINISHED_EARLY_FOR_RERUN)
        elif part:
            yield ended(part, status=ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
        else:
            yield ended()


def events_of(messages, held):
    """What goes over the wire, as the script is told of it."""
    for message in messages:
        there = held.sent(message)
        if message.WhichOneof("type") != "script_finished":
            yield ["name", message.hash] if there else ["whole", message.hash, message.delta.fragment_id]
        elif message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            yield ["end", *message.metadata.run.fragment_ids]


def test_a_browser_finds_every_name_and_nothing_that_it_holds_comes_whole(browser):
    plays = [list(events_of(a_visit(seed), Held(AGE))) for seed in range(200)]
    names = sum(event[0] == "name" for events in plays for event in events)
    assert names > 3000, names
    answers = browser(plays)
    assert [answer for answer in answers if answer["missed"] or answer["again"]] == []


def test_the_browser_lets_go_between_a_request_and_its_answer(browser):
    """Why its own word is not enough: at both requests it holds the message, and at the second answer no more."""
    run = [["end"], ["end", "below"]]
    told = [["whole", "below-1", "below"], *run, *[["end"]], ["name", "below-1"]]
    assert browser([told, told[:-2]]) == [
        {"missed": ["below-1"], "again": [], "holds": 0},
        {"missed": [], "again": [], "holds": 1},
    ]


def test_what_no_browser_keeps_is_never_a_name():
    held = Held(AGE)
    assert [held.sent(whole("a", cacheable=False)) for _ in range(2)] == [False, False]
    assert [held.sent(whole("")) for _ in range(2)] == [False, False]


def test_only_who_says_what_it_holds_is_sent_names_and_each_socket_begins_anew(monkeypatch):
    sent, asked = [], []
    monkeypatch.setattr(
        AppSession,
        "request_rerun",
        lambda _, state: asked.append(state and list(state.cached_message_hashes)),
    )
    monkeypatch.setattr(
        Runtime, "_send_message", lambda _runtime, _info, message: sent.append(message.WhichOneof("type"))
    )
    streamlit_names.send_names.__wrapped__()

    class Socket:
        pass

    first = Socket()
    info = SimpleNamespace(client=first, session=SimpleNamespace())

    def send():
        Runtime._send_message(None, info, whole("a"))

    AppSession.request_rerun(info.session, None)
    AppSession.request_rerun(info.session, ClientState())
    send()
    send()
    assert sent == ["delta", "delta"]

    AppSession.request_rerun(info.session, ClientState(cached_message_hashes=["a", "of its own making"]))
    assert asked == [None, [], []], "Streamlit would believe it"
    send()
    assert sent == ["delta", "delta", "ref_hash"]
    Runtime._send_message(None, info, whole("of its own making"))
    assert sent[-1] == "delta"

    info.client = Socket()
    send()
    send()
    assert sent[-2:] == ["delta", "ref_hash"]
