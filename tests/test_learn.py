"""The lesson: answers are judged as a teacher would, every number comes from the model, the link keeps the place."""

import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch
from boards import boards, flat, found, matrix, prose
from streamlit.testing.v1 import AppTest

from mha_core import layer_details, load_model, trace
from pages.parts.frame.glossary import LESSON, spans, terms
from pages.parts.learn import lesson
from pages.parts.learn.exercises import (
    KINDS,
    check,
    exercises,
    numbers,
    previous_mass,
    quiz,
    references,
    steps,
)
from pages.parts.learn.lesson import class_link
from pages.parts.learn.progress import Lesson, read_place
from pages.parts.learn.views import VIEWS
from pages.parts.picture import tiles

ROOT = Path(__file__).parent.parent
TIRED = "The animal didn't cross the street because it was too tired."
NEAR = 2e-5


def open_learn(**query: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.switch_page("pages/learn.py")
    for key, value in query.items():
        at.query_params[key] = value
    at.run()
    assert not at.exception, at.exception[0].message
    return at


def said(at: AppTest) -> str:
    bodies = [e.proto.body for e in at.get("html") if not e.proto.body.startswith("<style")]
    return "\n".join(re.sub(r"<[^>]+>", "", body) for body in bodies)


@pytest.mark.parametrize(
    ("key", "typed", "right"),
    [
        ("dk1024", "64", True),
        ("dk1024", " 64,0 ", True),
        ("dk1024", "It is 64.", True),
        ("dk1024", "16384", False),
        ("dk1024", "16,384", False),
        ("dk1024", "sixty-four", False),
        ("dk768", "64", True),
        ("shape", "(2, 100, 512)", True),
        ("shape", "2 x 100 x 512", True),
        ("shape", "2,100,512", True),
        ("shape", "[2, 8, 100, 64]", False),
        ("shape", "(100, 512)", False),
        ("softmax", "0.944, 0.056", True),
        ("softmax", "0,944 0,056", True),
        ("softmax", "94.4 % and 5.6 %", True),
        ("softmax", "94,4% 5,6%", True),
        ("softmax", "0.95, 0.05", True),
        ("softmax", "0.9, 0.1", False),
        ("softmax", "0.056, 0.944", False),
        ("softmax", "1, 0", False),
        ("square", "4", True),
        ("square", "2", False),
        ("kv", "3", True),
        ("kv", "4", False),
        ("combine", "Concatenation, then W_o", True),
        ("combine", "The softmax", False),
        ("combine", "something forged", False),
    ],
)
def test_an_answer_is_judged_by_its_meaning(key, typed, right):
    verdict = check(exercises()[key], typed)
    assert verdict.right is right
    assert verdict.say or key == "combine"


def test_a_known_mistake_gets_its_own_answer():
    exercise = exercises()["dk1024"]
    assert "1024 × 16" in check(exercise, "16384").say
    assert "1024 × 16" in check(exercise, "16,384").say
    assert check(exercise, "7").say == exercise.hint
    assert "3 numbers are asked for, 2 given" in check(exercises()["shape"], "(100, 512)").say
    assert "no number" in check(exercise, "sixty-four").say


def test_a_free_answer_is_never_graded():
    for exercise in exercises().values():
        if exercise.kind == "free":
            verdict = check(exercise, "anything")
            assert verdict.right is None
            assert verdict.say == exercise.model
            assert len(exercise.model) > 40


def test_every_question_with_a_number_takes_the_number_that_is_computed_here():
    powers = np.exp([2.83, 0])
    layer = torch.nn.MultiheadAttention(512, 8, batch_first=True)
    x = torch.zeros(2, 100, 512)
    computed = {
        "dk1024": f"{1024 // 16}",
        "dk768": f"{768 // 12}",
        "dkquiz": f"{768 // 12}",
        "softmax": "{:.3f} {:.3f}".format(*powers / powers.sum()),
        "shape": str(tuple(layer(x, x, x)[0].shape)),
        "square": f"{200**2 // 100**2}",
        "kv": f"{12 // 4}",
    }
    numeric = {e.key for e in exercises().values() if e.kind in ("number", "numbers", "shape")}
    assert computed.keys() == numeric
    for key, typed in computed.items():
        assert check(exercises()[key], typed).right, key
        assert not check(exercises()[key], re.sub(r"\d+(?!.*\d)", "7", typed)).right, key


@pytest.mark.parametrize(
    ("key", "typed", "said"),
    [
        ("softmax", "1; 0", "hard choice"),
        ("softmax", "16.9 and 1", "Those are the powers"),
        ("dk1024", "1024", "as wide as the model"),
        ("dk768", "9216", "768 × 12"),
        ("shape", "2 8 100 64", "with the heads apart"),
        ("shape", "(2, 100, 64)", "That is one head"),
        ("shape", "(2, 8, 100, 100)", "Those are the weights"),
        ("square", "2", "so do the columns"),
        ("kv", "4", "12 / 4"),
        ("dkquiz", "9,216", "That is the product"),
    ],
)
def test_a_mistake_that_people_make_is_told_apart(key, typed, said):
    verdict = check(exercises()[key], typed)
    assert (verdict.right, said in verdict.say) == (False, True)


def test_every_choice_has_one_right_answer_and_says_why_to_each():
    right = {"combine": "Concatenation, then W_o", "combinequiz": "Concatenation and W_o"}
    right["nocost"] = "Each is narrower by as much as there are more"
    choices = {e.key: e for e in exercises().values() if e.kind == "choice"}
    assert choices.keys() == right.keys()
    assert {e.kind for e in exercises().values()} <= set(KINDS)
    for key, exercise in choices.items():
        for option in exercise.options:
            verdict = check(exercise, option["text"])
            assert verdict.right is (option["text"] == right[key])
            assert verdict.say.endswith(".")


def test_the_softmax_of_the_lesson_is_the_softmax():
    powers = np.exp([2.83, 0])
    np.testing.assert_allclose(exercises()["softmax"].answer, powers / powers.sum(), atol=6e-4)
    assert "16.9" in exercises()["softmax"].right
    assert powers[0] == pytest.approx(16.9, abs=0.05)


def test_numbers_are_read_as_people_write_them():
    assert numbers("0,5 and 50 % and .5, -1e-3") == [0.5, 0.5, 0.5, -0.001]
    assert numbers("none") == []


def test_the_lesson_holds_together():
    assert len(steps()) == 10
    for step in steps():
        assert step.view in VIEWS
        assert all(key in exercises() for key in (*step.exercises, *filter(None, [step.predict])))
        for text in step.text:
            assert spans(text, {"token": "it", "head": "4-2"})
    asked = [key for step in steps() for key in (*step.exercises, step.predict) if key]
    assert len(asked) == len(set(asked))
    assert set(asked) | set(quiz()) == set(exercises())
    assert len(references()) == 9


def test_every_term_that_is_linked_has_a_sentence_and_every_term_is_linked_somewhere():
    rooms = [*(ROOT / "pages/parts/inside").glob("*.py"), *(ROOT / "pages/parts/training").glob("*.py")]
    pages = [LESSON / "lesson.toml", LESSON / "exercises.toml", *rooms]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    linked = set(re.findall(r"\[\[([\w-]+)(?:\|[^\]]+)?\]\](?!\n)", text))
    assert linked == set(terms())
    assert all(entry.short.endswith(".") for entry in terms().values())


def test_a_readers_token_is_never_read_as_a_mark():
    made = spans("Look at {token} now", {"token": "**[[key]]** `x` {head}"})
    assert made == ["Look at ", ["token", "**[[key]]** `x` {head}"], " now"]


def test_the_head_that_looks_back_is_found():
    mass = previous_mass(trace(TIRED, load_model()).weights)
    assert np.unravel_index(mass.argmax(), mass.shape) == (0, 2)
    weights = np.zeros((1, 2, 4, 4), np.float32)
    weights[0, 0] = np.eye(4, k=-1)
    weights[0, 1] = np.eye(4, k=1)
    np.testing.assert_allclose(previous_mass(weights), [[1, 0]])


@pytest.mark.parametrize("step", range(1, 11))
def test_every_step_opens_from_its_link(step):
    at = open_learn(step=str(step))
    assert f"{step} · {steps()[step - 1].title}" in said(at)
    assert any(data.get("keys") for data, _ in boards(at))


@pytest.mark.parametrize("asked", ["0", "-3", "99", "x", "1e9"])
def test_a_wrong_step_opens_a_right_one(asked):
    open_learn(step=asked, done="dk768,<script>,nothing")


def test_the_place_is_read_from_the_link_first():
    assert read_place({}, None) == Lesson(1, ())
    assert read_place({"step": "4", "done": "dk768,evil,dk768"}, Lesson(7, ("kv",))) == Lesson(4, ("dk768",))
    assert read_place({}, Lesson(7, ("kv",))) == Lesson(7, ("kv",))
    assert read_place({"step": "11"}, None).step == 10


def test_next_and_back_turn_the_steps_and_the_link():
    at = open_learn(step="4")
    at.button(key="lesson-next").click().run()
    assert at.query_params["step"] in ("5", ["5"])
    assert "5 · Putting the heads together" in said(at)
    at.button(key="lesson-back").click().run()
    assert "4 · Split, not multiplied" in said(at)


def test_a_right_answer_is_kept_in_the_link_and_a_wrong_one_is_not():
    at = open_learn(step="4")
    at.text_input(key="answer-dk1024").set_value("16384").run()
    assert "Not yet. That is 1024 × 16" in said(at)
    assert "done" not in at.query_params
    at.text_input(key="answer-dk1024").set_value("64").run()
    assert "Right. 1024 / 16 = 64." in said(at)
    assert at.query_params["done"] in ("dk1024", ["dk1024"])


def test_the_pictures_of_the_lesson_are_the_models_numbers():
    record = trace(TIRED, load_model())
    truth = layer_details(record.tokens, load_model(), 3)
    at = open_learn(step="1", head="4-2", pin="10")
    np.testing.assert_allclose(matrix(at, "one-or-many")[1:], record.weights[3, :, 10], atol=NEAR)
    at = open_learn(step="5", head="4-2", pin="10")
    np.testing.assert_allclose(matrix(at, "output"), truth.output, atol=NEAR)
    at = open_learn(step="7", head="4-2", pin="10")
    heads = next(b for b, _ in found(at) if b["type"] == "heads")
    longest = max(heads["rows"][:-1], key=lambda row: row["norm"])["label"]
    at.text_input(key="answer-strongest").set_value(longest).run()
    assert "Right. " in said(at)
    at = open_learn(step="10", head="4-2", pin="10")
    bars = next(b for b, _ in found(at) if b["type"] == "bars")
    seen = np.array([row["values"] for row in bars["rows"]])
    np.testing.assert_allclose(seen[:, 0], record.weights[3, 1, 10], atol=NEAR)
    arrives = record.weights[3, 1, 10] * np.linalg.norm(truth.v[1] @ truth.projections.W_o[1], axis=-1)
    np.testing.assert_allclose(seen[:, 1], arrives / arrives.sum(), atol=NEAR)


def pressed(monkeypatch, at: AppTest, field: str, value: int) -> AppTest:
    """The page after the reader pressed something on a board: AppTest cannot press inside a component."""
    show = tiles.Board.show

    def with_press(board, key, *args, **data):
        answer = show(board, key, *args, **data)
        return (
            SimpleNamespace(**{"query": None, "picked": None, field: value}) if "predict" in key else answer
        )

    monkeypatch.setattr(tiles.Board, "show", with_press)
    at.run()
    assert not at.exception
    return at


@pytest.mark.parametrize(("guess", "right"), [(2, True), (8, False)])
def test_a_guess_is_answered_with_the_models_weights(monkeypatch, guess, right):
    weights = trace(TIRED, load_model()).weights[3, 1, 10]
    at = pressed(monkeypatch, open_learn(step="2", head="4-2", pin="10"), "query", guess)
    if right:
        assert f"Yes: animal, {100 * weights[2]:.1f} %." in prose(at)
    else:
        assert (
            f"street gets {100 * weights[8]:.1f} %. Most goes to animal: {100 * weights[2]:.1f} %."
            in prose(at)
        )
    assert "follow" in [b["type"] for b, _ in found(at)]
    assert at.query_params["done"] in ("where", ["where"])


@pytest.mark.parametrize(("step", "head"), [("2", "4-2"), ("6", "1-1")])
def test_a_guess_belongs_to_its_sentence(monkeypatch, step, head):
    show, asked = tiles.Board.show, []

    def remembered(board, key, *args, **data):
        asked.append(key)
        return show(board, key, *args, **data)

    monkeypatch.setattr(tiles.Board, "show", remembered)
    keys = []
    for text in (TIRED, TIRED.replace("tired", "wide")):
        open_learn(step=step, head=head, pin="10", text=text)
        keys.append({key for key in asked if key.startswith("predict")})
        asked.clear()
    assert all(keys), "something is to be guessed on this step"
    assert not keys[0] & keys[1]


@pytest.mark.parametrize(("guess", "right"), [(2, True), (37, False)])
def test_a_guessed_head_is_answered_with_what_it_gives_the_token_before(monkeypatch, guess, right):
    weights = trace(TIRED, load_model()).weights
    mass = [np.mean([w[q, q - 1] for q in range(1, 16)]) for w in weights.reshape(72, 16, 16)]
    step = next(i for i, step in enumerate(steps(), 1) if step.predict == "previous")
    at = pressed(monkeypatch, open_learn(step=str(step)), "picked", guess)
    text = said(at)
    if right:
        assert f"Yes: 1-3 puts {100 * mass[2]:.1f} % of its weight on the token before." in text
    else:
        assert f"4-2 puts {100 * mass[37]:.1f} % on the token before. 1-3 puts most there" in text


def test_the_arrow_keys_turn_one_step_and_a_press_jumps(monkeypatch):
    gone = []
    monkeypatch.setattr(lesson, "go", gone.append)
    monkeypatch.setattr(lesson, "here", lambda: Lesson(4, ()))
    for given in ({"go": 1}, {"go": -1}, {"go": 5}, {"go": None}):
        monkeypatch.setattr(lesson.st, "session_state", {lesson.KEY: SimpleNamespace(**given)})
        lesson._turn()
    for wanted in (7, "7", None):
        monkeypatch.setattr(lesson.st, "session_state", {lesson.KEY: SimpleNamespace(step=wanted)})
        lesson._jump()
    assert gone == [5, 3, 7]


def test_a_step_is_ticked_when_all_its_exercises_are_done():
    asked = [[key for key in (*step.exercises, step.predict) if key] for step in steps()]
    several = next(keys for keys in asked if len(keys) > 1)
    for done in (several[:1], several):
        at = open_learn(step="1", done=",".join(done))
        (block,) = [b for b, _ in found(at) if b["type"] == "steps"]
        assert block["now"] == 0
        assert block["done"] == [bool(keys) and set(keys) <= set(done) for keys in asked]


def test_another_head_than_the_longest_is_not_the_longest():
    at = open_learn(step="7", head="4-2", pin="10")
    heads = next(b for b, _ in found(at) if b["type"] == "heads")["rows"][:-1]
    shortest, longest = (pick(heads, key=lambda row: row["norm"])["label"] for pick in (min, max))
    for typed in (shortest, longest.replace("4-", "3-"), "the first"):
        at.text_input(key="answer-strongest").set_value(typed).run()
        assert "Not yet. " in said(at)
    assert "done" not in at.query_params


def test_the_quiz_counts_what_is_done():
    at = open_learn(show="Quiz", done="dkquiz,combinequiz,dk768")
    assert "2 of 5 done." in said(at)
    at.text_area(key="answer-advantage").set_value("More than one row.").run()
    assert "Compare with ours: Each head has a row of weights of its own" in said(at)
    assert "advantage" in str(at.query_params["done"])


def test_the_picture_of_sharing_gives_each_head_its_group():
    at = open_learn(step="9", head="4-2")
    groups = {b["keys"]: b["owner"] for b, _ in found(at) if b["type"] == "groups"}
    if not groups:
        at = next(
            page
            for page in (open_learn(step=str(i), head="4-2") for i in (8, 10))
            if any(b["type"] == "groups" for b, _ in found(page))
        )
        groups = {b["keys"]: b["owner"] for b, _ in found(at) if b["type"] == "groups"}
    assert groups == {
        12: list(range(12)),
        4: [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
        1: [0] * 12,
    }
    assert "12 key and value heads; 24.0 KiB for 16 tokens in 16 bits." in prose(at)
    assert "1 key and value heads; 2.0 KiB for 16 tokens in 16 bits." in prose(at)


def test_the_teachers_link_is_the_one_that_is_typed():
    at = open_learn(show="For teachers")
    at.text_input(key="class-text").set_value("Ann ran.")
    at.selectbox(key="class-page").set_value("Compare")
    at.text_input(key="class-head").set_value("2-3")
    at.multiselect(key="class-hide").set_value(["menu", "title"])
    at.toggle(key="class-present").set_value(True).run()
    parts = urlsplit(at.code[0].value)
    assert parts.path.endswith("/compare")
    assert parse_qs(parts.query) == {
        "text": ["Ann ran."], "model": ["minilm"], "head": ["2-3"], "hide": ["menu,title"], "present": ["1"],
    }  # fmt: skip


def test_a_place_in_the_lesson_is_kept_while_other_pages_are_open():
    at = open_learn(step="4", done="dk768")
    at.button(key="lesson-next").click().run()
    at.switch_page("app.py").run()
    for key in ("step", "done"):
        if key in at.query_params:
            del at.query_params[key]
    at.switch_page("pages/learn.py").run()
    assert "5 · Putting the heads together" in said(at)


def test_what_is_to_be_predicted_is_not_shown_before():
    for step in (2, 3):
        at = open_learn(step=str(step))
        kinds = [b["type"] for data, _ in boards(at) for b in flat(data["blocks"])]
        assert "follow" not in kinds
        assert "tiles" not in kinds
    at = open_learn(step="3")
    at.text_input(key="answer-softmax").set_value("0.5 0.5").run()
    assert "tiles" in [b["type"] for data, _ in boards(at) for b in flat(data["blocks"])]


@pytest.mark.parametrize("shown", ["Quiz", "Glossary", "References", "For teachers"])
def test_the_other_parts_open(shown):
    at = open_learn(show=shown)
    text = said(at) + prose(at)
    expected = {
        "Quiz": "Two kinds of relation",
        "Glossary": "The output matrix",
        "References": "Wiegreffe",
        "For teachers": "A link for your class",
    }
    assert expected[shown] in text


def test_the_link_for_a_class_sets_what_it_says():
    link = class_link("https://host/a/learn", "inside", {"text": "a & b?", "head": "4-2", "hide": "menu"})
    parts = urlsplit(link)
    assert (parts.netloc, parts.path) == ("host", "/a/inside")
    assert parse_qs(parts.query) == {"text": ["a & b?"], "head": ["4-2"], "hide": ["menu"]}
    assert class_link("http://h:8501/learn", "", {"text": "x"}) == "http://h:8501/?text=x"
    at = open_learn(show="For teachers")
    at.text_input(key="class-head").set_value("nonsense").run()
    assert "written as layer and head" in said(at)


@pytest.mark.parametrize("page", ["app.py", "pages/compare.py", "pages/inside.py", "pages/learn.py"])
def test_a_link_hides_only_what_may_be_hidden_on_every_page(page):
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    if page != "app.py":
        at.switch_page(page)
    at.query_params["hide"] = "menu,body{},sentence"
    at.run()
    assert not at.exception
    styles = [e.proto.body for e in at.get("html") if e.proto.body.startswith("<style>.st-key")]
    assert styles == ["<style>.st-key-top, .st-key-controls { display: none; }</style>"]
