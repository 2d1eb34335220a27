"""Training, part by part: its sentences and tables from numbers made up, its pictures, its files and its choices."""

from contextlib import nullcontext
from types import SimpleNamespace
from urllib.parse import parse_qsl

import numpy as np
import pytest
from boards import courses_of, flat, found, words_of
from visit import asked_by_links, plain, unopened

from mha_core.learning.classroom.pairs import FAMOUS
from mha_core.learning.tasks import TEXT
from pages.parts.picture.tiles import Board, paragraph
from pages.parts.serve.training import TRAINER, LiveTraining
from pages.parts.training import after, boards, export, held_out, parts, picture, picture_board, twins, view


def ended(*accuracies):
    return {"curve": [{"step": 50 * i, "accuracy": one} for i, one in enumerate(accuracies)], "answers": 9}


# ---- sentences


def test_why_it_came_out_is_said_of_the_models_that_learnt_it():
    one, two = parts.jobs_choice(1, 4, 0, 200), parts.jobs_choice(2, 4, 0, 200)

    def why(choice, left, right):
        return parts.jobs_why(choice, [ended(left), ended(right)]).split(":")[0]

    missed = "4 heads did not reach 90.0 %"
    explained, compared = "One head has one row of weights per token", "Compare the pictures"
    assert [why(one, *ends) for ends in ((0.5, 0.89), (0.5, 0.9), (0.9, 0.9), (0.89, 0.95))] == [
        missed, explained, compared, explained
    ]  # fmt: skip
    assert why(two, 0.5, 0.95) == compared
    turned = parts.jobs_choice(4, 1, 0, 200)  # no number of steps makes one head learn all three
    assert [why(turned, *ends) for ends in ((0.95, 0.4), (0.95, 0.95), (0.89, 0.95))] == [
        explained,
        compared,
        missed,
    ]
    assert why(parts.jobs_choice(1, 1, 0, 200), 0.4, 0.4) == "1 head (right) did not reach 90.0 %"
    explained, compared = (
        "cannot stand in for a second layer.",
        "who notes the previous token, and who looks for it?",
    )
    missed = "2 layers did not reach 90.0 %: give it more steps or another seed."
    for shallow, deep, said in (
        *((0.1, 0.95, explained), (0.95, 0.95, compared)),
        *((0.1, 0.89, missed), (0.95, 0.89, missed)),
    ):
        right = parts.induction_choice(1, 2, 4, 0, 600)
        assert parts.induction_why(right, [ended(shallow), ended(deep)]).endswith(said)
        left = parts.induction_choice(2, 1, 4, 0, 600)
        assert parts.induction_why(left, [ended(deep), ended(shallow)]).endswith(said)
    both = parts.induction_choice(2, 3, 4, 0, 600)
    assert parts.induction_why(both, [ended(0.1), ended(0.95)]).endswith(compared)
    assert parts.induction_why(parts.induction_choice(1, 1, 4, 0, 600), [ended(0.1)] * 2).endswith(explained)


def test_a_model_that_did_not_learn_it_is_given_only_what_can_be_had():
    low = [ended(0.3), ended(0.3)]
    assert [
        parts.jobs_why(parts.jobs_choice(1, heads, 0, steps), low).partition(": ")[2]
        for heads, steps in ((4, 4_000), (8, 4_000), (4, 8_000), (8, 8_000))
    ] == [
        "give it more steps, more heads or another seed.",
        "give it more steps or another seed.",
        "give it more heads or another seed.",
        "give it another seed.",
    ]
    said = [parts.induction_why(parts.induction_choice(1, 3, 4, 0, upto), low) for upto in (3_000, 6_000)]
    assert said == [
        f"3 layers did not reach 90.0 %: give it {way}."
        for way in ("more steps or another seed", "another seed")
    ]


def test_a_guess_is_said_beside_what_came():
    names = ("1 layer", "2 layers")
    assert parts.induction_guess_said("both", names, [ended(0.8), ended(0.1, 0.9)]) == (
        "You expected “both” to learn it (to reach 90.0 %). It came out otherwise: only 2 layers."
    )
    assert parts.jobs_guess_said("about 40 %", "1 head", ended(0.1, 0.4)) == (
        "You expected “about 40 %” with 1 head. You were right: 40.0 % over the three jobs."
    )


# ---- boards


def test_a_line_of_the_scores_has_every_number_under_its_own_title():
    masses = {"previous": 0.1, "first": 0.2, "repeat": 0.3, "mirror": 0.4, "rotate": 0.5}
    report = {
        "heads": [{"head": "1-1", "role": "", "previous": 0.1, "first": 0.2, "jobs": masses}],
        "without": [{"head": "1-1", "jobs": {"repeat": 0.6, "mirror": 0.7, "rotate": 0.8}}],
    }
    table = boards.scores_block(parts.jobs_choice(2, 1, 0, 50), 1, report)
    assert table["label"] == "Heads of the model with 1 head"
    assert dict(zip(table["head"], table["rows"][0], strict=True)) == {
        "head": "1-1", "previous token": "10.0 %", "first token": "20.0 %", "repeat": "30.0 %", "mirror": "40.0 %",
        "rotate": "50.0 %", "called": "no clear role", "without: repeat": "60.0 %", "without: mirror": "70.0 %",
        "without: rotate": "80.0 %",
    }  # fmt: skip
    head = {
        "head": "2-1",
        "role": "induction",
        "previous": 0.1,
        "first": 0.2,
        "duplicate": 0.3,
        "induction": 0.4,
    }
    report = {"heads": [head], "without": [{"accuracy": 0.5}]}
    table = boards.scores_block(parts.induction_choice(1, 2, 4, 0, 600), 0, report)
    assert dict(zip(table["head"], table["rows"][0], strict=True)) == {
        "head": "2-1", "previous token": "10.0 %", "first token": "20.0 %", "earlier copy": "30.0 %",
        "induction": "40.0 %", "called": "induction", "without: right": "50.0 %",
    }  # fmt: skip


@pytest.mark.parametrize(("heads", "line"), [(1, 3), (4, 4)])
def test_pictures_have_one_scale_and_a_line_a_layer_from_the_first_step(heads, line):
    board = Board()
    state = {"step": 0, "weights": np.full((3, 1, heads, 48, 48), 0.02, np.float32)}
    said, sheets = boards.pictures(board, parts.jobs_choice(heads, 1, 0, 50), 0, state)["items"]
    assert (sheets["top"], sheets["line"]) == (1, line)
    assert words_of(said).endswith(", step 0 of at most 50")
    assert "waits" in words_of(boards.pictures(board, parts.jobs_choice(1, 2, 0, 50), 0, {}))


def test_right_answers_are_drawn_up_to_all_of_them(monkeypatch):
    drawn = courses_of(monkeypatch, boards)
    for choice in (parts.jobs_choice(1, 2, 0, 50), parts.induction_choice(1, 2, 1, 0, 50)):
        boards.live_board(choice, SimpleNamespace(rows=[], now={"runs": [{}, {}]}))
    tops = {key: top for key, (_, top) in drawn.items()}
    assert tops == {"loss": None, "jobs-0": 1.0, "jobs-1": 1.0, "accuracy": 1.0}


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (parts.jobs_choice(1, 4, 0, 50), [
            "1 head: waits for its first step.", "1 head: right answers by job",
            "4 heads: waits for its first step.", "4 heads: right answers by job", "Loss, in nats",
        ]),
        (parts.induction_choice(1, 2, 1, 0, 50), [
            "1 layer: waits for its first step.", "2 layers: waits for its first step.", "Loss, in nats",
            "Right answers in the second half",
        ]),
    ],
)  # fmt: skip
def test_each_models_pictures_and_curves_stand_under_its_own_name(choice, names):
    board = boards.live_board(choice, SimpleNamespace(rows=[], now={"runs": [{}, {}]}))
    said = [
        block.get("name") or words_of(block)
        for block in flat(board.blocks)
        if block["type"] in ("course", "paragraph")
    ]
    assert said[:-1] == names


def test_the_text_of_the_jobs_is_said_without_the_jobs_name():
    text = boards._examples("jobs")["text"].split()
    assert len(text) == TEXT
    assert not set(text) & {"repeat", "mirror", "rotate"}
    assert len(boards._examples("induction")["text"].split()) > TEXT


# ---- files


def test_the_files_of_a_training_name_both_models():
    choice = parts.induction_choice(1, 2, 4, 7, 600)
    rows = [{"run": run, "step": 50, "loss": 2.5, "accuracy": 0.25} for run in (0, 1)]
    assert export.as_csv(choice, rows).splitlines() == [
        "layers,heads,seed,step,loss,accuracy", "1,4,7,50,2.5,0.25", "2,4,7,50,2.5,0.25"
    ]  # fmt: skip
    printed = export.python_of(choice)
    for layers in (1, 2):
        assert f'Setup("induction", layers={layers}, heads=4, seed=7, steps=600),' in printed


def test_the_lines_of_python_train_both_models_on_one_thread_and_print_where_they_end(monkeypatch, capsys):
    done = []

    def trained(setup):
        done.append(setup)
        without = [{"head": f"1-{head}", "accuracy": head / 8} for head in range(1, setup.heads + 1)]
        return {"curve": [{"step": 0}, {"step": setup.heads}], "without": without}

    monkeypatch.setattr("mha_core.device.use_one_thread", lambda: done.append("one thread"))
    monkeypatch.setattr("mha_core.learning.report.trained", trained)
    choice = parts.jobs_choice(1, 2, 7, 50)
    exec(export.python_of(choice), {})  # noqa: S102 - our own lines
    assert done == ["one thread", *choice.setups]
    left, right = choice.setups
    assert capsys.readouterr().out.splitlines() == [
        f"{left} {{'step': 1}}", "without 1-1 0.125",
        f"{right} {{'step': 2}}", "without 1-1 0.125", "without 1-2 0.25",
    ]  # fmt: skip


# ---- the classroom's part


def test_a_pair_of_the_table_opens_as_two_sentences():
    pair = FAMOUS["street"]
    line = SimpleNamespace(pair=pair, masses=((0.8, 0.1), (0.2, 0.7)), passes=False)
    (asked,) = asked_by_links(held_out.table_of((1, 1), [line]))
    assert (asked["text"], asked["text2"], asked["against"]) == (
        [pair.texts[0]],
        [pair.texts[1]],
        ["sentence"],
    )


def test_beside_its_twin_each_model_is_without_its_own_head(monkeypatch):
    shown = []
    monkeypatch.setattr(twins, "heading", lambda *_: None)
    monkeypatch.setattr(twins.Board, "show", lambda board, _: shown.append(board))
    task = dict.fromkeys(twins.TASKS, 0.5)
    answers = {"exact": 0.5, "better": 0.5}
    card = {
        "pass": 1.0,
        "right": 0.9,
        "answers": answers,
        "tasks": task,
        "without_head": answers | {"tasks": task},
    }
    jobs = {"1-1": {"because": 0.4, "other": 0.3, "said": 0.1}}
    twins.beside(card | {"head": "2-2"}, card | {"head": "1-3", "jobs": jobs})
    grid = next(block for block in shown[0].blocks if block["type"] == "grid")
    assert grid["head"] == ["", "with the window", "without 2-2", "the twin", "without 1-3"]


CARD = {
    "head": "2-1", "pass": 0.25, "pairs": 400, "interval": [0.2, 0.3], "animate": 0.5, "inanimate": 0.0,
    "answers": {"exact": 0.5, "better": 0.75}, "without_head": {"exact": 0.25, "better": 0.125},
    "pointing": ["2-1"],
}  # fmt: skip


def test_what_the_model_answers_is_said_number_by_number():
    assert picture_board.said(CARD) == (
        "Where `it` is hidden the model names the very noun in 50.0 % and prefers the right one of the two in 75.0 %. "
        "Without 2-1: 25.0 % and 12.5 %. What a head shows is not all that the answer rests on.",
    )


def test_the_live_board_tells_of_its_last_row_and_draws_both_texts():
    weights = np.random.default_rng(0).dirichlet(np.ones(12), (2, 2, 4, 12)).astype(np.float32)
    row = {"step": 16, "loss": 3.5, "head": "1-1", "pass": 0.9, "right": 0.95, "wrong": 0.01}
    last = row | {"step": 40, "head": "2-3", "pass": 0.5, "right": 0.7, "wrong": 0.05}
    board = picture_board.live_board([row, last], {"step": 40, "weights": weights})
    assert words_of(board.blocks[0]) == (
        "Step 40. The head that passes most of other pairs, 2-3, has 70.0 % of its attention from it on the right "
        "noun and 5.0 % on the other, and passes 50.0 % of 40 pairs of words that no text has together."
    )
    flat = [item for line in board.blocks if line["type"] == "row" for block in line["items"]
            for item in block.get("items", ())]  # fmt: skip
    numbers = np.concatenate(board._arrays)
    whole = [block for block in flat if block["type"] == "sheets"]
    for text, block in enumerate(whole):
        drawn = numbers[block["at"] : block["at"] + weights[text].size]
        np.testing.assert_array_equal(drawn.reshape(weights[text].shape), weights[text])
    assert len(whole) == 2


def test_what_came_out_stands_beside_the_same_head_of_the_same_model_before_its_first_step():
    tasks = {name: (i + 1) * 0.08 for i, name in enumerate(picture_board.TASKS)}
    less = {name: share / 2 for name, share in tasks.items()}
    none = {name: share / 4 for name, share in tasks.items()}
    card = CARD | {"tasks": tasks, "without_head": CARD["without_head"] | {"tasks": less}}
    weights = np.random.default_rng(0).dirichlet(np.ones(12), (2, 2, 4, 12)).astype(np.float32)
    before = {"report": CARD | {"head": "1-4", "pass": 0.0, "tasks": none}, "weights": weights}
    board = picture_board.verdict_board({"report": card, "untrained": before})
    table = next(block for block in board.blocks if block["type"] == "grid")
    assert table["head"] == ["hidden word", "all heads", "without 2-1", "untrained"]
    shares = [[f"{100 * way[name]:.1f} %" for way in (tasks, less, none)] for name in tasks]
    assert [row[1:] for row in table["rows"]] == shares
    said = [words_of(block) for block in board.blocks if block["type"] == "paragraph"]
    assert said[-1] == "The same seed before its first step, the same head 2-1:"
    numbers = np.concatenate(board._arrays)
    arcs = [block for block in board.blocks if block["type"] == "arcs"]
    for text, (block, noun, trait) in enumerate(
        zip(arcs, ("animal", "street"), ("tired", "wide"), strict=True)
    ):
        np.testing.assert_array_equal(numbers[block["at"] : block["at"] + 12], weights[text, 1, 0, 7])
        assert block["name"] == f"Untrained: where “it” looks when the {noun} is too {trait}"
        assert (block["words"][block["from"]], block["words"][block["meant"]]) == ("it", noun)


def third_part(monkeypatch, training, card=None):
    """The page's third part with this training."""
    monkeypatch.setattr(TRAINER, "warm", lambda: None)
    monkeypatch.setattr(TRAINER, "ask", lambda *_: training)
    if card is not None:
        monkeypatch.setattr(picture, "shipped", lambda: card)
    at = unopened("pages/training.py", train=parts.PARTS["picture"]).run()
    assert not at.exception, at.exception[0].message
    return at, "\n".join(element.proto.body for element in at.get("html"))


def test_what_came_out_is_shown_of_a_training_that_is_finished(monkeypatch):
    card = CARD | {"tasks": dict.fromkeys(twins.TASKS, 0.5)}
    card["without_head"] = card["without_head"] | {"tasks": card["tasks"]}
    weights = np.full((2, 2, 4, 12, 12), 1 / 12, np.float32)
    now = {"report": card, "untrained": {"report": card | {"head": "1-4", "pass": 0.0}, "weights": weights}}
    training = TRAINER.ask("classroom", {"seed": 5, "twin": False})
    training.now, training.state = now, "finished"
    at, said = third_part(monkeypatch, training)
    assert "What came out" in said
    told = "".join(str(block) for block, _ in found(at))
    assert "Untrained the best head, 1-4, passes 0.0 %." in told
    training.state = "running"
    _, said = third_part(monkeypatch, training)
    assert "What came out" not in said


def test_a_twin_is_shown_where_there_is_one(monkeypatch):
    training, card = TRAINER.ask("classroom", {"seed": 5, "twin": False}), picture.shipped()
    training.state = "stopped"
    answers = picture_board.said(card["models"]["seed-1"])[0].replace("`", "")
    for models, twin in ((card["models"], True), ({"seed-1": card["models"]["seed-1"]}, False)):
        _, said = third_part(monkeypatch, training, card | {"models": models})
        assert ("The picture and its twin" in said) == twin
        assert answers in plain(said)


# ---- how far it is


@pytest.mark.parametrize(
    ("state", "rows", "looks", "shown"),
    [
        ("new", [], False, ["Start", "It takes"]),
        ("waiting", [], True, ["Stop", "Waiting: 2 trainings are before yours."]),
        ("waiting", [1], True, ["Stop", "Waiting: 2 trainings are before yours.", "pictures"]),
        ("running", [], True, ["Stop", "Starting …"]),
        ("running", [1], True, ["Stop", "Training …", "pictures"]),
        ("running", [1], False, ["Go on", "Stopped; what was reached is shown.", "pictures"]),
        ("stopped", [1], True, ["Go on", "Stopped; what was reached is shown.", "pictures"]),
        ("problem", [], True, ["Start", "It takes", "It broke."]),
        ("finished", [1], True, ["Done.", "pictures"]),
    ],
)
def test_who_watches_is_shown_how_far_it_is_and_the_button_that_there_is(
    monkeypatch, state, rows, looks, shown
):
    seen = []
    drawn = SimpleNamespace(show=lambda _: seen.append("pictures"))
    for part in (view, picture):
        monkeypatch.setattr(part, "st", SimpleNamespace(
            container=lambda **_: nullcontext(), button=lambda label, **_: seen.append(label),
            progress=lambda fraction, text: seen.append(text) or fractions.append(fraction),
        ))  # fmt: skip
        monkeypatch.setattr(
            part, "say", lambda text, *_: seen.append(text.split(" some ")[0].split(" seconds ")[0])
        )
    monkeypatch.setattr(boards, "live_board", lambda *_: drawn)
    monkeypatch.setattr(picture, "live_board", lambda *_: drawn)
    monkeypatch.setattr(picture, "reader", lambda: "ann")
    monkeypatch.setattr(TRAINER, "ahead", lambda _: 2 if state == "waiting" else 0)
    training = LiveTraining("a", "x", {}, state, rows, {}, 0.375, "It broke." if state == "problem" else "")
    training.looks = {"ann": 0.0} if looks else {"bo": 0.0}
    phase, fractions = view._phase(training, "ann"), []
    view._watch(parts.jobs_choice(1, 4, 0, 200), training, "ann", phase)
    picture._watch(training, phase != "still")
    assert seen == shown * 2
    assert fractions in ([], [0.375, 0.375])


# ---- choices


def test_a_seed_or_a_limit_that_there_is_not_is_the_first(monkeypatch):
    kept = {}
    monkeypatch.setattr(view, "st", SimpleNamespace(
        session_state=kept, number_input=lambda *_, **__: kept["seed"], selectbox=lambda *_, **__: 77))  # fmt: skip
    for said, seed in (("2147483647", 2147483647), ("2147483648", 1), ("-1", 1), ("x", 1), ("", 1)):
        monkeypatch.setattr(view.state, "params", lambda said=said: {"seed": said})
        assert view.seed_of(1) == seed
    assert view._limit((200, 400), 400, "limit") == 400


def test_a_training_is_looked_at_more_often_before_its_first_picture(monkeypatch):
    every = []
    fragment = lambda _, run_every: every.append(run_every) or (lambda *_: None)  # noqa: E731
    monkeypatch.setattr(view, "st", SimpleNamespace(fragment=fragment))
    monkeypatch.setattr(view, "reader", lambda: "ann")
    monkeypatch.setattr(TRAINER, "warm", lambda: None)
    for state, rows, ahead in (
        ("stopped", [], 0),
        ("running", [], 0),
        ("running", [1], 0),
        ("waiting", [], 2),
    ):
        training = SimpleNamespace(looks={"ann"}, state=state, rows=rows)
        monkeypatch.setattr(TRAINER, "ask", lambda *_, training=training: training)
        monkeypatch.setattr(TRAINER, "ahead", lambda _, ahead=ahead: ahead)
        assert view._trained(parts.jobs_choice(1, 2, 0, 200)) == []
    still, beginning, going, waiting = every
    assert (still, going, waiting) == (None, 1.0, 1.0)
    assert 0 < beginning < going


@pytest.mark.parametrize(
    ("part", "sizes", "steps"),
    [("jobs", [(1, 1), (1, 4)], 8_000), ("induction", [(1, 4), (2, 4)], 1_500)],
)
def test_a_part_opens_with_the_models_that_show_what_it_asks(monkeypatch, part, sizes, steps):
    asked, ask = [], TRAINER.ask
    monkeypatch.setattr(TRAINER, "warm", lambda: None)
    monkeypatch.setattr(TRAINER, "ask", lambda *what: asked.append(what) or ask(*what))
    at = unopened("pages/training.py", train=parts.PARTS[part]).run()
    assert not at.exception, at.exception[0].message
    (_, settings), *_ = asked
    assert [(run["layers"], run["heads"]) for run in settings["runs"]] == sizes
    assert {(run["seed"], run["steps"], run["task"]) for run in settings["runs"]} == {(0, steps, part)}


# ---- heads taken away


def test_heads_of_the_link_are_taken_away_from_the_right_model_and_none_that_it_has_not(monkeypatch):
    asked, gone, changes = {}, [], []
    kept = {}

    def pills(label, heads, **options):
        asked.update(label=label, heads=heads, **options)
        return kept[options["key"]]

    monkeypatch.setattr(after, "st", SimpleNamespace(session_state=kept, pills=pills))
    monkeypatch.setattr(after, "heading", lambda *_: None)
    monkeypatch.setattr(after.state, "params", lambda: {"without": "1-2,9-9"})
    monkeypatch.setattr(after.state, "change", changes.append)
    monkeypatch.setattr(after, "_gone", lambda _choice, _report, heads: gone.append(heads) or [])
    shown = []
    monkeypatch.setattr(after.Board, "show", lambda board, _: shown.append(board))
    monkeypatch.setattr(after.boards, "scores_block", lambda _, run, report: paragraph(f"model {run}"))
    report = {"heads": [{"head": "1-1"}, {"head": "1-2"}], "without": [], "answers": 1536}
    after.take_away(parts.jobs_choice(1, 2, 0, 200), [{"heads": []}, report | {
        "without": [{"head": one, "jobs": {"repeat": 0.9}} for one in ("1-1", "1-2")],
        "curve": [{"jobs": {"repeat": 0.9}}],
    }])  # fmt: skip
    assert asked["label"] == "Heads of the model with 2 heads to take away"
    assert (asked["heads"], gone) == (["1-1", "1-2"], [[(0, 1)]])
    assert "model 1" in [words_of(block) for block in shown[0].blocks]
    kept[asked["key"]] = ["1-1", "1-2"]
    asked["on_change"]()
    kept[asked["key"]] = []
    asked["on_change"]()
    assert changes == [{"without": "1-1,1-2"}, {"without": None}]


def test_what_is_left_stands_under_its_own_title_and_only_induction_heads_have_an_induction_mass(monkeypatch):
    heads = [
        {"head": "1-1", "role": "previous token", "induction": 0.1},
        {"head": "2-1", "role": "induction", "induction": 0.9},
        {"head": "2-2", "role": "induction", "induction": 0.8},
    ]
    left = {"accuracy": 0.25, "induction": {"1-1": 0.1, "2-1": 0.5, "2-2": 0.3}}
    monkeypatch.setattr(after, "_left", lambda *_: left)
    _, table = after._gone(
        parts.induction_choice(1, 2, 4, 0, 600), {"curve": [{"accuracy": 0.75}], "heads": heads}, [(1, 1)]
    )
    assert table["head"] == ["", "all heads", "without", "change, in points"]
    assert table["rows"] == [
        ["right answers", "75.0 %", "25.0 %", "−50.0"],
        ["induction mass of 2-1", "90.0 %", "50.0 %", "−40.0"],
    ]


def test_the_files_are_named_by_task_and_seed_and_the_link_says_all_that_was_chosen(monkeypatch):
    files, printed = [], []

    class Opened(nullcontext):
        open = True

    monkeypatch.setattr(after.st, "expander", lambda *_, **__: Opened())
    monkeypatch.setattr(after.st, "container", lambda **_: nullcontext())
    monkeypatch.setattr(after.st, "download_button", lambda _title, _data, name, *_, **__: files.append(name))
    monkeypatch.setattr(after.st, "code", lambda text, **_: printed.append(text))
    monkeypatch.setattr(after, "say", lambda *_: None)
    chosen = {"guess": "about 40 %", "expect": "both", "without": "1-2"}
    monkeypatch.setattr(after.state, "params", lambda: chosen)
    monkeypatch.setattr(TRAINER, "ask", lambda *_: SimpleNamespace(rows=[]))
    after.downloads(parts.jobs_choice(1, 4, 7, 200), [{}, {}])
    assert files == ["headscope-jobs-seed-7.csv", "headscope-jobs-seed-7.json"]
    assert dict(parse_qsl(printed[0].split("?")[1])).items() >= chosen.items()
