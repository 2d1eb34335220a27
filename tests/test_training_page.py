"""The page that trains: its line of readers, what it says of a run's numbers, and that they are the command line's."""

import json
import re
import sys
import time

import numpy as np
import pytest
from boards import found
from pages.parts.serve.training import BROKEN, TRAINER, Trainer
from streamlit.testing.v1 import AppTest
from visit import unopened

from mha_core.device import use_one_thread
from mha_core.learning import report
from mha_core.learning.live import begin
from mha_core.learning.train import Setup
from pages.parts.training import export, parts

# A process that speaks as the real one does, and trains nothing: one line of its curve each 20 ms, or it dies.
FAKE = """
import json, select, sys
say = lambda message: print(json.dumps(message), flush=True)
say({"ready": True})
kept = {}
while line := sys.stdin.readline():
    command = json.loads(line)
    if "pause" in command:
        continue
    name, end = command["go"], "finished"
    first, start = name not in kept, kept.pop(name, 0)
    for step in range(start, command["settings"]["n"]):
        if command["settings"].get("dies") == step:
            sys.exit(1)
        say({"id": name, "first": first, "fraction": step / 10, "rows": [{"step": step}], "state": {"at": step}})
        first = False
        if select.select([sys.stdin], [], [], 0.02)[0]:
            sys.stdin.readline()
            kept[name], end = step + 1, "paused"
            break
    say({"id": name, "end": end})
"""


@pytest.fixture
def trainer():
    made = Trainer((sys.executable, "-c", FAKE))
    yield made
    made.close()


def until(done, what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.01)


@pytest.mark.slow
def test_one_trains_at_a_time_and_the_others_wait_in_line(trainer):
    first, second, third = (trainer.ask("x", {"n": n}) for n in (30, 31, 5))
    for number, training in enumerate((first, second, third)):
        trainer.start(training, f"reader {number}")
    until(lambda: first.rows, "the first begins")
    assert [trainer.ahead(one) for one in (first, second, third)] == [0, 1, 2]
    assert (first.state, second.state, third.state) == ("running", "waiting", "waiting")
    assert second.rows == []
    trainer.stop(second, "reader 1")
    until(lambda: third.state == "finished", "the third gets its turn")
    assert [row["step"] for row in first.rows] == list(range(30))
    assert (second.state, second.rows) == ("stopped", []), "who left the line is passed over"
    assert trainer.ahead(third) == 0


@pytest.mark.slow
def test_who_asks_for_the_same_shares_one_training(trainer):
    one = trainer.ask("x", {"n": 40, "a": 1})
    assert trainer.ask("x", {"a": 1, "n": 40}) is one
    assert trainer.ask("x", {"a": 2, "n": 40}) is not one
    trainer.start(one, "anna")
    trainer.start(one, "ben")
    trainer.stop(one, "anna")
    until(lambda: one.state == "finished", "it goes on for ben")
    assert len(one.rows) == 40


@pytest.mark.slow
def test_stop_pauses_and_go_on_goes_on_where_it_was(trainer):
    training = trainer.ask("x", {"n": 100})
    trainer.start(training, "anna")
    until(lambda: len(training.rows) > 3, "it trains")
    trainer.stop(training, "anna")
    until(lambda: training.state == "stopped", "it stops")
    stopped_at = len(training.rows)
    assert stopped_at < 100
    trainer.start(training, "anna")
    until(lambda: training.state == "finished", "it ends")
    assert [row["step"] for row in training.rows] == list(range(100))
    assert training.now == {"at": 99}


def test_a_reader_has_one_training_at_a_time(trainer):
    before, now = trainer.ask("x", {"n": 1000}), trainer.ask("x", {"n": 4})
    trainer.start(before, "anna")
    until(lambda: before.rows, "it begins")
    trainer.start(now, "anna")
    assert not before.wanted(), "at once, and not only when its reader is taken to be gone"
    until(lambda: now.state == "finished", "the next one gets its turn")
    assert before.state == "stopped"
    assert len(before.rows) < 1000


@pytest.mark.slow
def test_what_nobody_looks_at_is_paused(trainer, monkeypatch):
    training = trainer.ask("x", {"n": 1000})
    trainer.start(training, "anna")
    until(lambda: training.rows, "it begins")
    trainer.look(training, "anna")
    monkeypatch.setattr("pages.parts.serve.training.LOOKED_AWAY", 0.6)
    for _ in range(10):
        trainer.look(training, "anna")
        time.sleep(0.08)
    assert training.state == "running"
    until(lambda: training.state == "stopped", "nobody looks")
    trainer.look(training, "ben")
    assert "ben" not in training.looks, "to look is not to ask"


def test_who_comes_back_before_the_pause_is_heard_waits_behind_the_others(trainer, monkeypatch):
    trained = []

    def train(_process, training):
        trained.append(training)
        return ("stopped" if len(trained) == 1 else "finished"), ""

    monkeypatch.setattr(trainer, "_train", train)
    first, second = (trainer.ask("x", {"n": n}) for n in (1, 2))
    with trainer._lock:
        trainer.start(first, "anna")
        trainer.start(second, "ben")
    until(lambda: second.state == first.state == "finished", "both have their turn")
    assert trained == [first, second, first]


def test_a_process_that_dies_is_said_and_the_next_one_trains(trainer):
    broken, whole = trainer.ask("x", {"n": 9, "dies": 4}), trainer.ask("x", {"n": 3})
    trainer.start(broken, "anna")
    trainer.start(whole, "ben")
    until(lambda: whole.state == "finished", "the next one trains")
    assert (broken.state, broken.problem) == ("problem", BROKEN)
    assert len(whole.rows) == 3
    with trainer._lock:
        trainer.start(broken, "anna")
        assert (broken.state, broken.problem) == ("waiting", ""), (
            "of what begins again nothing is said to be broken"
        )


def test_where_no_process_can_be_started_all_who_wait_are_told_and_may_try_again(trainer):
    trainer._command = ("/no/such/program",)
    one, other = trainer.ask("x", {"n": 2}), trainer.ask("x", {"n": 3})
    trainer.start(one, "anna")
    until(lambda: one.state == "problem", "it is told")
    trainer.start(other, "ben")
    until(lambda: other.state == "problem", "so is the next")
    assert one.problem == other.problem == BROKEN
    trainer._command = (sys.executable, "-c", FAKE)
    trainer.start(one, "anna")
    until(lambda: one.state == "finished", "now there is one")


def test_old_trainings_are_forgotten_but_none_in_line(trainer, monkeypatch):
    monkeypatch.setattr("pages.parts.serve.training.KEPT_AT_MOST", 3)
    waiting = trainer.ask("x", {"n": 500})
    trainer.start(waiting, "anna")
    for n in range(5):
        trainer.ask("x", {"n": n})
    assert trainer.ask("x", {"n": 500}) is waiting


def test_who_asks_while_all_that_are_kept_stand_in_line_is_given_a_training_too(trainer, monkeypatch):
    monkeypatch.setattr("pages.parts.serve.training.KEPT_AT_MOST", 2)
    with trainer._lock:  # none of them begins
        for n in range(2):
            trainer.start(trainer.ask("x", {"n": n}), f"reader {n}")
        third = trainer.ask("x", {"n": 2})
        assert trainer.ask("x", {"n": 2}) is third


def test_what_is_asked_for_again_is_forgotten_last(trainer, monkeypatch):
    monkeypatch.setattr("pages.parts.serve.training.KEPT_AT_MOST", 3)
    first, second, _ = (trainer.ask("x", {"n": n}) for n in range(3))
    assert trainer.ask("x", {"n": 0}) is first
    trainer.ask("x", {"n": 3})
    assert trainer.ask("x", {"n": 0}) is first
    assert trainer.ask("x", {"n": 1}) is not second


@pytest.fixture(scope="module")
def short():
    """A finished training of the page, in this process: 50 steps of one head and of two, on the worker's one thread."""
    use_one_thread()
    choice = parts.jobs_choice(1, 2, seed=3, limit=50)
    rows = []
    for update in begin("small", choice.settings):
        rows += update.rows
    return choice, rows, update.state


@pytest.mark.slow
def test_what_is_taken_away_says_the_numbers_of_the_command_line(short):
    choice, rows, state = short
    reports = [run["report"] for run in state["runs"]]
    alone = report.trained(Setup("jobs", 1, 2, 3, 50))
    assert json.loads(export.as_json(reports))["runs"][1] == json.loads(json.dumps(alone))
    lines = export.as_csv(choice, rows).splitlines()
    assert lines[0] == "layers,heads,seed,step,loss,accuracy,repeat,mirror,rotate"
    assert len(lines) == 1 + 4
    last = alone["curve"][-1]
    assert f"1,2,3,50,{last['loss']},{last['accuracy']},{last['jobs']['repeat']}," in lines[-1]


@pytest.mark.slow
def test_the_lines_of_python_give_the_same_numbers(short, capsys):
    choice, _, state = short
    exec(export.python_of(choice), {})  # noqa: S102 - our own lines
    printed = capsys.readouterr().out
    for run in state["runs"]:
        assert str(run["report"]["curve"][-1]) in printed
    assert printed.count("without 1-") == 3


def test_heads_that_can_go_for_nothing_are_counted():
    found = {
        "curve": [{"jobs": {"repeat": 1.0, "mirror": 0.9}}],
        "without": [
            {"head": "1-1", "jobs": {"repeat": 0.995, "mirror": 0.91}},
            {"head": "1-2", "jobs": {"repeat": 1.0, "mirror": 0.5}},
        ],
    }
    assert "Of 2 heads one can go for nothing" in parts.free_said(found)
    assert parts.free_said(found).endswith(": 1-1.")
    assert parts.lost_most(found, found["without"][1]) == ("mirror", pytest.approx(0.4))
    first, second = found["without"]
    found["without"] = [second, second | {"head": "1-3"}]
    assert parts.free_said(found) == "None of these 2 heads can go without a loss of more than one point."
    found["without"] = [second]
    assert parts.free_said(found) == "The only head cannot go without a loss of more than one point."
    found["without"] = [first]
    assert parts.free_said(found) == "The only head can go for nothing, which is to lose at most one point."
    for left, free in ((0.99, "can go"), (0.988, "cannot go")):  # one point, and a little more
        found["without"] = [{"head": "1-1", "jobs": {"repeat": left, "mirror": 0.9}}]
        assert f"The only head {free}" in parts.free_said(found)


def blocks(at: AppTest) -> str:
    """All that the boards of the page were given, as text."""
    return "\n".join(str(element.proto) for element in at.get("bidi_component"))


@pytest.mark.slow
def test_a_finished_training_opens_from_its_link_with_the_same_numbers(short, monkeypatch):
    choice, rows, state = short
    monkeypatch.setattr(TRAINER, "warm", lambda: None)
    wider = parts.jobs_choice(1, 2, seed=3, limit=200)  # a limit that the page offers
    training = TRAINER.ask("small", wider.settings)
    training.rows, training.now, training.state, training.fraction = rows, state, "finished", 1.0
    link = {
        "left": "1",
        "right": "2",
        "seed": "3",
        "limit": "200",
        "guess": "about 40 %",
        "without": "1-2,9-9",
    }
    at = unopened("pages/training.py", **link)
    at.session_state["training-take"] = True
    at.run()
    assert not at.exception, at.exception[0].message
    again, _ = at.code
    assert {"guess=about+40+%25", "without=1-2%2C9-9", "seed=3", "limit=200"} <= set(again.value.split("&"))
    shown = blocks(at)
    left, right = (run["report"] for run in state["runs"])
    for run in (left, right):
        for share in run["curve"][-1]["jobs"].values():
            assert f"{100 * share:.1f} %" in shown
    reached = [f"{100 * run['curve'][-1]['accuracy']:.1f} % over the three jobs" for run in (left, right)]
    assert reached[0] != reached[1]
    assert re.search(r"You expected \S+about 40 %\S+ with 1 head\.", shown)
    assert [said in shown for said in reached] == [True, False], "the guess is about the left model"
    gone = report.taken_away(choice.setups[1], state["runs"][1]["parameters"], [(0, 1)])
    assert gone["jobs"] == right["without"][1]["jobs"], "taken away by hand or one by one, it is the same"
    assert "Without 1-2 `" in shown or "Without 1-2" in shown
    assert np.isclose(gone["accuracy"], right["without"][1]["accuracy"])
    (table,) = [block for block, _ in found(at) if block.get("id") == "taken-away"]
    for job, before, later, change in table["rows"]:
        shares = right["curve"][-1]["jobs"][job], gone["jobs"][job]
        assert [before, later] == [f"{100 * share:.1f} %" for share in shares]
        assert float(change.replace("−", "-")) == pytest.approx(100 * (shares[1] - shares[0]), abs=0.06)
    del at.query_params["without"]
    at.run()
    assert not [block for block, _ in found(at) if block.get("id") == "taken-away"], "Back puts it back"
    (heads,) = (one for one in at.get("button_group") if str(one.key).startswith("training-away"))
    heads.set_value(["1-1"]).run()
    assert at.query_params["without"] == "1-1"
    assert "Without 1-1" in blocks(at)
