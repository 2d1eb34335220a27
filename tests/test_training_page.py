"""The page that trains: its line of readers, what it says of a run's numbers, and that they are the command line's."""

import io
import json
import re
import sys

import numpy as np
import pytest
from boards import charts, numbers_in
from streamlit.testing.v1 import AppTest
from test_jobs import until
from visit import asked_by_links, bodies, run, unopened

from mha_core.causal import PartialResult
from mha_core.display_names import parse_head, percent
from mha_core.engine.device import use_one_thread
from mha_core.heads.table import read_roles
from mha_core.training import report, worker
from mha_core.training.train import TrainingSetup
from mha_core.training.trainer import TrainingUpdate
from mha_core.training.training_updates import start_training
from pages.parts.serve.jobs import Job
from pages.parts.training import export, parts
from pages.parts.training.training_jobs import (
    BROKEN,
    TRAININGS,
    TrainingProgress,
    Trainings,
    Worker,
    name_of,
    progress_of,
)

# A process that speaks as the real one does, and trains nothing: one line of its curve each 20 ms, or at once where it
# goes on after a pause; or it dies.
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
    if command["fresh"]:
        kept.pop(name, None)
    first, start = name not in kept, kept.pop(name, 0)
    for step in range(start, command["settings"]["n"]):
        if command["settings"].get("dies") == step:
            sys.exit(1)
        is_paused = select.select([sys.stdin], [], [], 0 if start else 0.02)[0]
        say({"id": name, "first": first, "fraction": step / 10, "rows": [{"step": step}], "state": {"at": step}})
        first = False
        if is_paused:
            sys.stdin.readline()
            kept[name], end = step + 1, "paused"
            break
    say({"id": name, "end": end})
"""


@pytest.fixture
def trainer():
    trainings = Trainings(Worker((sys.executable, "-c", FAKE)))
    yield trainings
    trainings.worker.close()


def started(trainer, reader: str, **settings):
    trainer.start("x", settings, reader)
    return trainer.begun("x", settings)


def steps(job):
    return [row["step"] for row in progress_of(job).rows]


@pytest.mark.slow
def test_one_trains_at_a_time_and_the_others_wait_in_line(trainer):
    first, second, third = (started(trainer, f"reader {n}", n=n) for n in (30, 31, 5))
    until(lambda: first.step, "the first begins")
    assert [trainer.line.ahead(job) for job in (first, second, third)] == [0, 1, 2]
    assert second.step is None
    trainer.line.stop(second, "reader 31")
    until(lambda: third.finished, "the third gets its turn")
    assert steps(first) == list(range(30))
    assert second.step is None, "who left the line is passed over"
    assert trainer.line.ahead(third) == 0


@pytest.mark.slow
def test_stop_pauses_and_go_on_goes_on_where_it_was(trainer):
    job = started(trainer, "anna", n=100)
    until(lambda: len(steps(job)) > 3, "it trains")
    trainer.line.stop(job, "anna")
    other = started(trainer, "ben", n=3)
    until(lambda: other.finished, "somebody else's goes on meanwhile")
    assert steps(other) == [0, 1, 2]
    assert len(steps(job)) < 100
    trainer.line.start(job, "anna")
    until(lambda: job.finished, "it ends")
    assert steps(job) == list(range(100)), "nothing that was said while it paused is lost"
    assert progress_of(job).state == {"at": 99}


@pytest.mark.slow
def test_a_stopped_training_starts_again_from_its_first_step_unless_another_reader_watches(trainer):
    job = started(trainer, "anna", n=30)
    until(lambda: len(steps(job)) > 3, "it trains")
    trainer.start("x", {"n": 30}, "ben")
    trainer.line.stop(job, "anna")
    trainer.restart("x", {"n": 30}, "anna")
    assert trainer.begun("x", {"n": 30}) is job, "ben's training goes on"
    for reader in ("anna", "ben"):
        trainer.line.stop(job, reader)
    trainer.restart("x", {"n": 30}, "anna")
    again = trainer.begun("x", {"n": 30})
    assert again is not job
    until(lambda: again.finished, "it ends")
    assert steps(again) == list(range(30))


def test_of_seven_paused_trainings_the_oldest_begins_anew_and_the_last_goes_on(monkeypatch):
    updates = [TrainingUpdate(step / 4, ({"step": step},), {}) for step in range(4)]
    monkeypatch.setattr(worker, "start_training", lambda *_: iter(updates))
    names = [*"abcdefg", "a", "g"]  # the input ends, so each is paused after one update
    lines = [json.dumps({"go": name, "kind": "x", "settings": {}}).encode() for name in names]
    out = io.BytesIO()
    server = worker.TrainingServer(io.BytesIO(b"\n".join(lines)), out)
    until(lambda: worker.ALL in server.to_pause, "all is read")
    server.serve()
    messages = [json.loads(line) for line in out.getvalue().splitlines()]
    firsts = [(each["id"], each["rows"][0]["step"]) for each in messages if "rows" in each]
    assert firsts == [*((name, 0) for name in "abcdefg"), ("a", 0), ("g", 1)]


def test_start_beside_a_finished_run_trains_anew_and_leaves_the_others_theirs(trainer):
    anna = started(trainer, "anna", n=5)
    until(lambda: anna.finished, "anna's ends")
    trainer.start("x", {"n": 5}, "ben")
    bens = trainer.begun("x", {"n": 5}, "ben")
    assert bens is not anna
    assert trainer.begun("x", {"n": 5}, "anna") is anna
    until(lambda: bens.finished, "ben's ends")
    assert steps(bens) == steps(anna) == list(range(5))


def test_a_process_that_dies_is_said_and_the_next_one_trains(trainer):
    broken, whole = started(trainer, "anna", n=9, dies=4), started(trainer, "ben", n=3)
    until(lambda: whole.finished, "the next one trains")
    assert (broken.problem, len(steps(broken))) == (BROKEN, 4)
    assert (whole.problem, len(steps(whole))) == ("", 3)


def test_where_no_process_can_be_started_its_reader_is_told_and_may_try_again(trainer):
    trainer.worker.command = ("/no/such/program",)
    job = started(trainer, "anna", n=2)
    until(lambda: job.finished, "it is told")
    assert job.problem == BROKEN
    trainer.worker.command = (sys.executable, "-c", FAKE)
    trainer.line.start(job, "anna")
    until(lambda: steps(job), "now there is one")
    until(lambda: job.finished, "it ends")
    assert not job.problem


@pytest.fixture(scope="module")
def short():
    """A finished training of one head and of two, on one thread as in the worker."""
    return trained(parts.choice_of("jobs", (1, 1), (1, 2), seed=3, limit=50))


def trained(choice):
    use_one_thread()
    rows = []
    for update in start_training("small", choice.settings):
        rows += update.rows
    return choice, rows, update.state


@pytest.mark.slow
def test_files_and_lines_of_python_give_the_numbers_of_the_command_line(short, capsys):
    choice, rows, state = short
    reports = [each["report"] for each in state["runs"]]
    alone = report.train_and_report(TrainingSetup("jobs", 1, 2, 3, 50))
    assert json.loads(export.as_json(reports))["runs"][1] == json.loads(json.dumps(alone))
    costs = [alone["curve"][-1]["accuracy"] - row["accuracy"] for row in alone["without"]]
    assert [row["cost"] for row in alone["without"]] == pytest.approx(costs)
    assert any(costs)
    lines = export.as_csv(choice, rows).splitlines()
    assert lines[0] == "layers,heads,seed,step,loss,accuracy,repeat,mirror,rotate"
    assert len(lines) == 1 + 4
    last = alone["curve"][-1]
    assert f"1,2,3,50,{last['loss']},{last['accuracy']},{last['jobs']['repeat']}," in lines[-1]
    exec(export.python_of(choice), {})  # noqa: S102 - our own lines
    printed = capsys.readouterr().out
    assert all(str(each["curve"][-1]) in printed for each in reports)
    assert printed.count("without 1-") == 3


def test_heads_that_can_go_for_nothing_are_counted():
    free = {"head": "1-1", "jobs": {"repeat": 0.995, "mirror": 0.91}}
    needed = {"head": "1-2", "jobs": {"repeat": 1.0, "mirror": 0.5}}
    report = {"curve": [{"jobs": {"repeat": 1.0, "mirror": 0.9}}]}
    assert parts.lost_most(report, needed) == ("mirror", pytest.approx(0.4))
    limit, above = ({"head": "1-1", "jobs": {"repeat": left, "mirror": 0.9}} for left in (0.99, 0.988))
    for without, end in (
        ([free, needed], " 1 of 2 heads: 1-1."),
        ([needed, needed | {"head": "1-3"}], "any of the 2 heads costs more than one point."),
        ([limit], "the only head costs at most one point."),
        ([above], "the only head costs more than one point."),
    ):
        assert parts.free_text(report | {"without": without}).endswith(end)


def blocks(at: AppTest) -> str:
    """All that the boards of the page were given, as text."""
    return "\n".join(str(element.proto) for element in at.get("bidi_component"))


def keep_finished(monkeypatch, choice, rows, state):
    """Keep a finished run of a choice whose limit the page offers."""
    monkeypatch.setattr(TRAININGS.worker, "warm", lambda: None)
    job = TRAININGS.line.ask(name_of("small", choice.settings), Job)
    job.step, job.finished = PartialResult(1.0, len(rows), TrainingProgress(tuple(rows), state)), True


@pytest.mark.slow
def test_the_heads_that_it_leads_to_are_induction_heads_of_the_model_in_their_link(monkeypatch):
    _, rows, state = trained(parts.choice_of("induction", (1, 4), (2, 4), 0, 2))
    keep_finished(monkeypatch, parts.choice_of("induction", (1, 4), (2, 4), 0, 1_500), rows, state)
    page = run(unopened("pages/training.py", train=parts.PARTS["induction"]))
    page.button(key="training-show").click().run()
    links = [params for params in asked_by_links("".join(bodies(page))) if "text" in params]
    assert len(links) == 2
    for params in links:
        head, answers = parse_head(params["head"][0]), read_roles(params["model"][0]).answers
        roles = {answer.kind for answer in answers if answer.word[head] == "role"}
        assert "induction" in roles


@pytest.mark.slow
def test_a_finished_training_opens_from_its_link_with_the_same_numbers(short, monkeypatch):
    choice, rows, state = short
    keep_finished(monkeypatch, parts.choice_of("jobs", (1, 1), (1, 2), seed=3, limit=200), rows, state)
    link = {"left": "1", "right": "2", "seed": "3", "limit": "200", "guess": "40%", "without": "1-2,9-9"}
    at = unopened("pages/training.py", **link)
    at.session_state["training-take"] = True
    run(at)
    assert [button.label for button in at.button] == ["Start", "Show a finished run"], (
        "what others ran spoils no guess"
    )
    assert not charts(at)
    at.button(key="training-show").click()
    again, _ = run(at).code
    assert {"guess=40%25", "without=1-2%2C9-9", "seed=3", "limit=200"} <= set(again.value.split("&"))
    shown = blocks(at)
    reports = [each["report"] for each in state["runs"]]
    assert all(percent(share) in shown for each in reports for share in each["curve"][-1]["jobs"].values())
    reached = [f"{percent(each['curve'][-1]['accuracy'])} over the three tasks" for each in reports]
    right, gone = reports[1], reports[1]["without"][1]
    assert reached[0] != reached[1]
    assert re.search(r"You guessed \S+40%\S+ for 1 head\.", shown)
    assert [sentence in shown for sentence in reached] == [True, False], "the guess is about the left model"
    assert "Without 1-2" in shown
    table = at.dataframe[0].value.set_index("share of")
    for job, before in right["curve"][-1]["jobs"].items():
        assert table.loc[job, ["all heads", "without"]].tolist() == pytest.approx([before, gone["jobs"][job]])
        assert table.loc[job, "points"] == pytest.approx(100 * (gone["jobs"][job] - before))
    scores = at.dataframe[1].value.set_index("head")
    for head, without in zip(right["heads"], right["without"], strict=True):
        line = scores.loc[head["head"]]
        assert line[["previous token", "first token"]].tolist() == pytest.approx(
            [head["previous"], head["first"]]
        )
        assert line["ablated: repeat"] == pytest.approx(without["jobs"]["repeat"])
    drawn = {trace["name"]: trace for chart in charts(at)[:2] for trace in chart["data"]}
    for job in right["curve"][-1]["jobs"]:  # the right model's chart is the last with that name
        np.testing.assert_allclose(
            numbers_in(drawn[job]["y"]), [row["jobs"][job] for row in rows if row["run"]]
        )
    (loss,) = charts(at)[2:]
    for number, trace in enumerate(loss["data"]):
        own = [row for row in rows if row["run"] == number]
        np.testing.assert_allclose(numbers_in(trace["x"]), [row["step"] for row in own])
        np.testing.assert_allclose(numbers_in(trace["y"]), [row["loss"] for row in own], rtol=1e-6)
    del at.query_params["without"]
    assert len(run(at).dataframe) == 1, "Back puts it back"
    (heads,) = (group for group in at.get("button_group") if str(group.key).startswith("training-away"))
    heads.set_value(["1-1"]).run()
    assert at.query_params["without"] == "1-1"
    assert "Without 1-1" in blocks(at)
    at.query_params["seed"] = "4"  # of another training other numbers are left
    blank = {name: 0 * values for name, values in state["runs"][1]["parameters"].items()}
    state = state | {"runs": [state["runs"][0], state["runs"][1] | {"parameters": blank}]}
    keep_finished(monkeypatch, parts.choice_of("jobs", (1, 1), (1, 2), seed=4, limit=200), rows, state)
    run(at).button(key="training-show").click()
    left = run(at).dataframe[0].value["without"].tolist()
    assert left == pytest.approx(
        [*report.ablation_report(choice.setups[1], blank, [(0, 0)])["jobs"].values()]
    )
