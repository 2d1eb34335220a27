"""The page that trains: its line of readers, what it says of a run's numbers, and that they are the command line's."""

import html
import json
import re
import sys
import time
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch
from boards import courses_of, flat, found, words_of
from streamlit.testing.v1 import AppTest
from visit import asked_by_links, link, open_page, settled, unopened

from mha_core.device import use_one_thread
from mha_core.heads.atlas.shipped import read_shipped
from mha_core.learning import report
from mha_core.learning.classroom import shipped
from mha_core.learning.live import begin
from mha_core.learning.tasks import TASKS
from mha_core.learning.train import Setup
from pages.parts.picture.course import course
from pages.parts.picture.tiles import Board, paragraph
from pages.parts.serve.store import Store
from pages.parts.serve.training import BROKEN, TRAINER, LiveTraining, Trainer
from pages.parts.training import after, boards, export, parts, view

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


@pytest.mark.long
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


def test_how_far_it_is_is_said_with_the_length_of_the_line():
    training = LiveTraining("a", "x", {}, state="waiting")
    assert view.how_far(training, 2, True) == "Waiting: 2 trainings are before yours."
    assert view.how_far(training, 1, True) == "Waiting: 1 training is before yours."
    assert view.how_far(training, 0, True) == "Starting …"
    training.state = "running"
    assert view.how_far(training, 0, False) == "Stopped; what was reached is shown."


@pytest.fixture(scope="module")
def short():
    """A finished training of the page, in this process: 50 steps of one head and of two, on the worker's one thread."""
    use_one_thread()
    choice = parts.jobs_choice(1, 2, seed=3, limit=50)
    rows = []
    for update in begin("small", choice.settings):
        rows += update.rows
    return choice, rows, update.state


@pytest.mark.long
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


@pytest.mark.long
def test_the_lines_of_python_give_the_same_numbers(short, capsys):
    choice, _, state = short
    exec(export.python_of(choice), {})  # noqa: S102 - our own lines
    printed = capsys.readouterr().out
    for run in state["runs"]:
        assert str(run["report"]["curve"][-1]) in printed
    assert printed.count("without 1-") == 3


def test_the_link_says_everything_also_what_is_the_default():
    jobs = export.link_of(
        "http://x/training?a=b", parts.jobs_choice(1, 4, 0, 8_000), {"guess": "", "without": "1-2"}
    )
    assert jobs == (
        "http://x/training?train=One+head+or+four%3F&left=1&right=4&limit=8000&seed=0&without=1-2"
    )
    induction = export.link_of("/training", parts.induction_choice(1, 2, 8, 7, 600), {})
    assert "shallow=1&deep=2&each=8&upto=600&seed=7" in induction


@pytest.mark.slow
def test_the_answer_is_made_of_the_runs_numbers(short):
    _, _, state = short
    found = state["runs"][0]["report"]
    share = found["curve"][-1]["jobs"]["mirror"]
    assert f"{100 * share:.1f} % (mirror)" in parts.jobs_said("1 head", found)
    assert "n = 1,536 answers a job, blind 3.4 %" in parts.jobs_said("1 head", found)
    made = {"curve": [{"accuracy": 0.4}]}
    assert "You were right: 40.0 %" in parts.jobs_guess_said("about 40 %", "1 head", made)
    assert "otherwise: 40.0 %" in parts.jobs_guess_said("nearly all", "1 head", made)
    assert parts.jobs_guess_said(None, "1 head", made) == ""
    between = {"curve": [{"accuracy": 0.55}]}
    assert "It came out otherwise: 55.0 %" in parts.jobs_guess_said("about 40 %", "1 head", between)
    assert "You were right: 55.0 %" in parts.jobs_guess_said("about 70 %", "1 head", between)


def test_a_head_with_a_name_has_the_mass_that_names_it():
    heads = [
        {"head": "1-2", "role": "previous token", "previous": 0.75, "induction": 0.125},
        {"head": "2-1", "role": "induction", "previous": 0.0625, "induction": 0.875},
        {"head": "2-2", "role": None, "previous": 0.5, "induction": 0.5},
    ]
    assert parts.roles_said("2 layers", {"heads": heads}) == (
        "**2 layers**: 1-2 is called previous token (75.0 % of its mass); 2-1 is called induction (87.5 % of its mass)."
    )


def test_models_are_called_by_what_tells_them_apart_and_by_their_side_where_nothing_does():
    assert parts.jobs_choice(1, 4, 0, 200).names() == ("1 head", "4 heads")
    assert parts.jobs_choice(2, 2, 0, 200).names() == ("2 heads (left)", "2 heads (right)")
    assert parts.induction_choice(1, 2, 4, 0, 600).names() == ("1 layer", "2 layers")
    assert parts.induction_choice(1, 1, 4, 0, 600).names() == ("1 layer (left)", "1 layer (right)")


def test_every_share_has_one_guess_and_each_says_what_is_in_it():
    ranges = list(parts.GUESSES.values())
    assert [high for _, high in ranges[:-1]] == [low for low, _ in ranges[1:]]
    assert ranges[0][0] == 0 < 1 < ranges[-1][1]
    for words, (low, high) in parts.GUESSES.items():
        for number in re.findall(r"\d+", words):
            assert (low + high) / 2 == pytest.approx(int(number) / 100), words


def test_the_cliff_and_who_learnt_are_read_from_the_curves():
    low = {"curve": [{"step": 50, "accuracy": 0.1}], "answers": 9}
    high = {
        "curve": [{"step": 0, "accuracy": 0.1}, {"step": 50, "accuracy": 0.6}, {"step": 99, "accuracy": 0.95}]
    }
    names = ("1 layer", "2 layers")
    assert "It passed half at step 50" in parts.induction_said("2 layers", high | {"answers": 9})
    assert "never passed half" in parts.induction_said("1 layer", low)
    assert "You were right: only 2 layers" in parts.induction_guess_said("second", names, [low, high])
    assert "otherwise: only 2 layers" in parts.induction_guess_said("both", names, [low, high])
    assert "neither" in parts.induction_guess_said("both", names, [low, low])
    choice = parts.induction_choice(1, 2, 4, 0, 600)
    assert "second layer" in parts.induction_why(choice, [low, high])
    assert "did not reach" in parts.induction_why(choice, [low, low])
    turned = parts.induction_choice(2, 1, 4, 0, 600)  # no number of steps makes one layer learn it
    assert parts.induction_why(turned, [high, low]) == parts.induction_why(choice, [low, high])
    assert "heads' names" in parts.induction_why(parts.induction_choice(2, 3, 4, 0, 600), [high, high])


def test_a_blind_answer_is_one_of_the_tokens_that_there_are():
    for name, task in TASKS.items():
        batch = task.batch(512, torch.Generator().manual_seed(0))
        answers = set(batch.ids[:, batch.asked_from + 1 :].flatten().tolist())
        assert parts.BLIND[name] == pytest.approx(1 / len(answers)), name


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


def test_what_is_left_without_heads_is_set_beside_what_all_of_them_do(monkeypatch):
    report = {
        "curve": [{"accuracy": 0.9}],
        "heads": [
            {"head": "1-1", "role": "previous", "induction": 0.1},
            {"head": "2-1", "role": "induction", "induction": 0.8},
        ],
    }
    left = {"accuracy": 0.4, "induction": {"1-1": 0.0, "2-1": 0.3}}
    monkeypatch.setattr(after, "_left", lambda choice, gone: left)
    said, table = after._gone(parts.induction_choice(1, 2, 4, 0, 600), report, [(0, 0)])
    assert said["spans"] == ["Without 1-1, 40.0 % of the answers are right instead of 90.0 %."]
    assert table["rows"] == [
        ["right answers", "90.0 %", "40.0 %", "−50.0"],
        ["induction mass of 2-1", "80.0 %", "30.0 %", "−50.0"],
    ]


def test_of_a_head_that_is_gone_no_mass_is_told(monkeypatch):
    heads = [{"head": f"2-{i}", "role": "induction", "induction": 0.8} for i in (1, 2)]
    left = {"accuracy": 0.4, "induction": {"2-1": 0.0, "2-2": 0.5}}
    monkeypatch.setattr(after, "_left", lambda choice, gone: left)
    _, table = after._gone(
        parts.induction_choice(1, 2, 4, 0, 600), {"curve": [{"accuracy": 0.9}], "heads": heads}, [(1, 0)]
    )
    assert [row[0] for row in table["rows"]] == ["right answers", "induction mass of 2-2"]


def test_the_heads_of_a_real_model_that_are_shown_are_those_that_copy(monkeypatch):
    told = []
    monkeypatch.setattr(after, "heading", told.append)
    monkeypatch.setattr(after, "markup", told.append)
    after.in_a_real_model()
    asked = asked_by_links(told[-1])
    assert [(one["model"], one["head"]) for one in asked] == [
        (["smollm2"], ["19-7"]),
        (["smollm2"], ["18-4"]),
    ]
    for one in asked:
        words = one["text"][0].split()
        assert words[:8] == words[8:], "said twice"
    atlas = read_shipped("smollm2").atlas
    for head in ((18, 6), (17, 3)):
        assert atlas.entry(head).description.findings[0].feature.key == "after a copy"


def test_where_no_job_loses_by_it_none_suffers(monkeypatch):
    whole = {"repeat": 1.0, "mirror": 0.9, "rotate": 0.8}
    report = {"curve": [{"accuracy": 0.9, "jobs": whole}], "heads": [{"head": "1-1", "role": None}]}
    for left, sentence in (
        (whole | {"mirror": 0.91}, "Without 1-1 no job suffers."),
        (whole | {"mirror": 0.8996}, "Without 1-1 no job suffers."),
        (whole | {"mirror": 0.899}, "Without 1-1 `mirror` suffers most: it loses 0.1 points."),
    ):
        monkeypatch.setattr(after, "_left", lambda *_, left=left: {"jobs": left})
        said, _ = after._gone(parts.jobs_choice(1, 4, 0, 200), report, [(0, 0)])
        assert said["spans"] == paragraph(sentence, "verdict")["spans"]


def test_a_model_that_has_no_curve_yet_is_not_said_to_be_at_nought():
    ways = [("1 layer", [(0, 4.25)]), ("2 layers", [])]
    loss, share = (course(Board(), "k", "Loss", ways, high)["describe"] for high in (None, 1.0))
    assert loss == "Loss: now 1 layer 4.25, 2 layers not known yet"
    assert share == "Loss: now 1 layer 425.0 %, 2 layers not known yet"


def test_a_training_goes_on_for_those_who_look_at_it_alone():
    for state, goes_on in (("waiting", True), ("running", True), ("stopped", False), ("finished", False)):
        training = SimpleNamespace(looks={"ann"}, state=state, rows=[])
        assert [view.is_working(training, name) for name in ("ann", "bo")] == [goes_on, False]


@pytest.mark.parametrize(
    ("link", "typed", "said"),
    [
        ({}, 1, []),  # a browser's first message
        ({}, 5, [{"seed": "5"}]),
        ({"seed": "5"}, 5, []),
        ({"seed": "5"}, 1, [{"seed": "1"}]),
    ],
)
def test_the_link_says_a_seed_that_the_reader_changed_and_no_other(monkeypatch, link, typed, said):
    changes = []
    monkeypatch.setattr(view.state, "params", lambda: link)
    monkeypatch.setattr(view.state, "change", changes.append)
    monkeypatch.setattr(view.st, "session_state", {"seed": typed})
    view._keep_seed(1)
    assert changes == said


def test_every_part_has_the_seed_of_the_link_and_without_one_its_own(monkeypatch):
    monkeypatch.setattr(TRAINER, "warm", lambda: None)
    at = open_page("pages/training.py")

    def seed_in(part):
        (row,) = (one for one in at.get("button_group") if one.key == "train")
        row.set_value(part)
        return settled(at.run()).number_input(key="seed").value

    assert [seed_in(parts.PARTS[part]) for part in ("jobs", "picture", "induction")] == [0, 1, 0]
    assert "seed" not in link(at)
    at.number_input(key="seed").set_value(1)
    assert link(settled(at.run()))["seed"] == "1"
    assert [seed_in(parts.PARTS[part]) for part in ("picture", "jobs")] == [1, 1]
    assert link(at)["seed"] == "1"
    at.query_params["seed"] = "2147483648"
    assert settled(at.run()).number_input(key="seed").value == 0


def blocks(at: AppTest) -> str:
    """All that the boards of the page were given, as text."""
    return "\n".join(str(element.proto) for element in at.get("bidi_component"))


def test_what_is_left_is_that_of_the_training_that_is_shown_and_of_these_heads(monkeypatch):
    monkeypatch.setattr(after.cache, "STORE", Store(1_000_000))
    monkeypatch.setattr(after, "taken_away", lambda setup, parameters, gone: (setup.seed, parameters, *gone))

    def ask(_, settings):
        seed = settings["runs"][1]["seed"]
        return SimpleNamespace(
            name=f"seed {seed}", now={"runs": [{"parameters": "left"}, {"parameters": seed}]}
        )

    monkeypatch.setattr(after, "TRAINER", SimpleNamespace(ask=ask))
    for seed in (1, 2):
        for gone in ([(0, 1)], [(0, 2)], [(0, 1), (0, 2)]):
            assert after._left(parts.jobs_choice(1, 4, seed, 200), gone) == (seed, seed, *gone)


def test_every_curve_has_its_own_numbers_and_every_picture_its_own_head_and_job():
    rows = [
        {"run": run, "step": step, "loss": 4.0 - run - step / 100, "accuracy": 0.1 + run / 2 + step / 1000}
        for run in (0, 1)
        for step in (0, 50)
    ]
    told = SimpleNamespace(rows=rows, now={"runs": [{}, {}]})
    board = boards.live_board(parts.induction_choice(1, 2, 4, 0, 600), told)
    numbers = np.concatenate(board._arrays)
    lines = {
        (block["id"], line["label"]): numbers[line["at"] : line["at"] + 4].tolist()
        for block in flat(board.blocks)
        if block["type"] == "course"
        for line in block["lines"]
    }
    assert lines == {
        ("loss", "1 layer"): pytest.approx([0, 50, 4.0, 3.5]),
        ("loss", "2 layers"): pytest.approx([0, 50, 3.0, 2.5]),
        ("accuracy", "1 layer"): pytest.approx([0, 50, 0.1, 0.15]),
        ("accuracy", "2 layers"): pytest.approx([0, 50, 0.6, 0.65]),
    }
    weights = np.zeros((3, 1, 2, 48, 48), np.float32)
    weights[...] = np.arange(6).reshape(3, 1, 2, 1, 1)  # repeat in both heads, mirror in both, rotate in both
    drawn = Board()
    state = {"step": 50, "weights": weights}
    said, sheets = boards.pictures(drawn, parts.jobs_choice(1, 2, 0, 50), 1, state)["items"]
    assert words_of(said) == "2 heads, step 50 of at most 50"
    told = drawn._arrays[0].reshape(sheets["shape"])[:, 0, 0].tolist()
    assert dict(zip(sheets["labels"], told, strict=True)) == {
        "1-1 repeat": 0, "1-2 repeat": 1, "1-1 mirror": 2, "1-2 mirror": 3, "1-1 rotate": 4, "1-2 rotate": 5,
    }  # fmt: skip


def test_a_job_s_picture_has_the_rows_that_ask_and_the_columns_of_its_name_and_text():
    weights = 100.0 * np.arange(48)[:, None] + np.arange(48)  # row and column of each place, from 0
    drawn = Board()
    state = {"step": 50, "weights": np.broadcast_to(weights, (3, 1, 1, 48, 48))}
    _, sheets = boards.pictures(drawn, parts.jobs_choice(1, 1, 0, 50), 0, state)["items"]
    assert sheets["shape"] == [3, 24, 25]
    first = drawn._arrays[0].reshape(sheets["shape"])[0]
    assert (first[0, 0], first[0, -1], first[-1, 0], first[-1, -1]) == (2400, 2424, 4700, 4724)


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


def test_what_was_stopped_shows_what_it_reached_and_offers_to_go_on(short, monkeypatch):
    _, rows, state = short
    monkeypatch.setattr(TRAINER, "warm", lambda: None)
    training = TRAINER.ask("small", parts.jobs_choice(1, 2, seed=4, limit=200).settings)
    training.rows, training.now, training.state, training.fraction = rows, state, "stopped", 0.5
    at = unopened("pages/training.py", left="1", right="2", seed="4", limit="200").run()
    assert not at.exception, at.exception[0].message
    assert [button.label for button in at.button if button.key == "training-start"] == ["Go on"]
    assert not [button for button in at.button if button.key == "training-stop"]
    assert "What came out" not in "".join(e.proto.body for e in at.get("html"))
    assert [block for block, _ in found(at) if block.get("id") == "loss"]


@pytest.mark.parametrize(("window", "twin"), [("three words", False), ("the whole sentence", True)])
def test_the_third_part_trains_the_window_that_is_chosen_and_says_what_was_trained_before(
    monkeypatch, window, twin
):
    asked, ask = [], TRAINER.ask
    monkeypatch.setattr(TRAINER, "warm", lambda: None)
    monkeypatch.setattr(TRAINER, "ask", lambda *what: asked.append(what) or ask(*what))
    at = unopened("pages/training.py", train=parts.PARTS["picture"], window=window, seed="3").run()
    assert not at.exception, at.exception[0].message
    assert asked[-1] == ("classroom", {"seed": 3, "twin": twin})
    said = re.sub(r"</?span[^>]*>", "", "\n".join(e.proto.body for e in at.get("html")))
    seeds = shipped.report()["over_seeds"]
    low, high = (f"{100 * end:.1f} %" for end in seeds["interval"])
    assert (
        f"passes {100 * seeds['pass']:.1f} % of the pairs (mean over the seeds, 95 %: {low} to {high})"
        in said
    )
    assert f"the worst seed {100 * seeds['least']:.1f} %" in said
    links = dict(re.findall(r'<a href="([^"]*)"[^>]*>(the model in which it moves|the twin)</a>', said))
    models = {words: parse_qs(urlsplit(html.unescape(link)).query)["model"] for link, words in links.items()}
    assert models == {"the model in which it moves": ["classroom"], "the twin": ["classroom-twin"]}


@pytest.mark.slow
def test_both_parts_open_with_their_questions(monkeypatch):
    monkeypatch.setattr(TRAINER, "warm", lambda: None)
    at = unopened("pages/training.py", train="Two heads that need each other").run()
    assert not at.exception, at.exception[0].message
    assert [button.label for button in at.button if button.key == "training-start"] == ["Start"]
    assert "Olsson" in blocks(at)
    at = unopened("pages/training.py").run()
    assert "mirror" in blocks(at)


def test_each_models_curves_are_its_own(monkeypatch):
    drawn = courses_of(monkeypatch, boards)
    rows = [
        {
            "run": run,
            "step": 50,
            "loss": 1.0 + run,
            "accuracy": 0.25 * run,
            "jobs": dict.fromkeys(boards.JOBS, run / 4),
        }
        for run in (0, 1)
    ]
    choice = parts.jobs_choice(1, 4, 0, 200)
    boards.live_board(choice, SimpleNamespace(rows=rows, now={"runs": [{}, {}]}))
    for run in (0, 1):
        assert drawn[f"jobs-{run}"][0] == [(job, [(50, run / 4)]) for job in boards.JOBS]
    assert drawn["loss"][0] == [("1 head", [(50, 1.0)]), ("4 heads", [(50, 2.0)])]
