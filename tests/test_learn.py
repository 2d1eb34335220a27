"""The lesson: answers are judged as a teacher would, every number comes from the model, the link keeps the place."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch
from boards import assert_spectra, boards, flat, found, matrix, prose
from streamlit.testing.v1 import AppTest
from visit import unopened

from mha_core import layer_details, load_model, projections_of, trace
from mha_core.checkpoints import untrained_encoder
from mha_core.families.bert import EncoderConfig
from pages.parts.frame.glossary import LESSON, spans, terms
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection
from pages.parts.inside.route import KEYS
from pages.parts.learn import asking, lesson, memory, plan, progress, teacher, views
from pages.parts.learn.answers import head_of, numbers
from pages.parts.learn.exercises import (
    KINDS,
    asked_in,
    check,
    exercises,
    previous_mass,
    quiz,
    references,
    steps,
)
from pages.parts.learn.honest import DRAWN
from pages.parts.learn.memory import take_in
from pages.parts.learn.progress import Lesson, known_answers, read_place, step_called
from pages.parts.learn.relations import relations_in
from pages.parts.learn.summary import summary
from pages.parts.learn.sums import value_of
from pages.parts.learn.teacher import class_link
from pages.parts.learn.views import VIEWS, needed, norms, split
from pages.parts.picture.tiles import Board

ROOT = Path(__file__).parent.parent
TIRED = "The animal didn't cross the street because it was too tired."
NEAR = 2e-5


def open_learn(**query: str) -> AppTest:
    at = unopened("pages/learn.py", **query).run()
    assert not at.exception, at.exception[0].message
    return at


def said_of(at: AppTest) -> str:
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
        ("dk1024", "sixty-four", True),
        ("dk1024", "sixty-five", False),
        ("dk1024", "1024/16=64", True),
        ("dk1024", "1024 / 16 = 64", True),
        ("dk1024", "1024÷16", True),
        ("dk1024", "d_k = 64", True),
        ("dk1024", "1024 * 16 = 16384", False),
        ("dk1024", "-64", False),
        ("dkquiz", "64", True),
        ("shape", "(2, 100, 512)", True),
        ("shape", "2 x 100 x 512", True),
        ("shape", "2,100,512", True),
        ("shape", "(2, 100, 8*64)", True),
        ("shape", "the shape is [2, 100, 8 × 64].", True),
        ("shape", "2,100,8x64", True),
        ("shape", "2 x 100, 512", True),
        ("shape", "(2, 100, 8*63)", False),
        ("shape", "(2, 100, 64) * 8", False),
        ("shape", "the same", True),
        ("shape", "It is the same as the input", True),
        ("shape", "-2,100,512", False),
        ("shape", "[2, 8, 100, 64]", False),
        ("shape", "(100, 512)", False),
        ("softmax", "0.944, 0.056", True),
        ("softmax", "0,944 0,056", True),
        ("softmax", "0.944,0.056", True),
        ("softmax", "0.944;0.056", True),
        ("softmax", "0,944, 0,056", True),
        ("softmax", "94.4 5.6", True),
        ("softmax", "94,4 5,6", True),
        ("softmax", "94.4/5.6", True),
        ("softmax", "94.4, 6.6", False),
        ("softmax", "94.4 % and 5.6 %", True),
        ("softmax", "94,4% 5,6%", True),
        ("softmax", "0.95, 0.05", True),
        ("softmax", "0.9, 0.1", False),
        ("softmax", "0.056, 0.944", False),
        ("softmax", "1, 0", False),
        ("square", "4", True),
        ("square", "2", False),
        ("square", "four times", True),
        ("square", "fourfold", True),
        ("square", "4x", True),
        ("count", "1,048,576", True),
        ("count", "1048576", True),
        ("count", "786432", False),
        ("mixed", "8", True),
        ("mixed", "0.75*10 + 0.25*2 = 8", True),
        ("mixing", "3,4", True),
        ("mixing", "2 − 0.6 + 2 = 3.4", True),
        ("mixing", "4.6", False),
        ("kv", "12/4=3", True),
        ("kv", "three", True),
        ("kv", "3", True),
        ("kv", "4", False),
        ("combinequiz", "Concatenation and W_o", True),
        ("combinequiz", "Softmax", False),
        ("combinequiz", "something forged", False),
    ],
)
def test_an_answer_is_judged_by_its_meaning(key, typed, right):
    verdict = check(exercises()[key], typed)
    assert verdict.right is right
    assert verdict.say or key == "combinequiz"


ODD = {
    "dk1024": ["16 heads of 64 numbers", "64 each, 16 heads", "1/16 of 1024",
               "sixty four", "64 (1024:16)", "2^6", "2⁶", "2**6", "２^６", "1024 divided by 16 is 64", "1024 over 16",
               "1024:16=64", "d_k=1024/16=64", "not 32 but 64", "1,024 / 16"],
    "dkquiz": ["768/12 is 64", "64-dimensional", "768 / 12 → 64"],
    "softmax": ["16.9/17.9, 1/17.9", "16.9/17.9=0.944 1/17.9=0.056", "16.9/17.9 = 0.944 and 1/17.9 = 0.056",
                "94.4 % for 2.83 and 5.6 % for 0", "16.9/(16.9+1), 1/(16.9+1)", "0.944 for 2.83, 0.056 for 0",
                "w1=0.944 w2=0.056", "w1 = 0.944, w2 = 0.056", "94.4:5.6", "[.944 .056]", "0.944 | 0.056"],
    "mixed": ["75 % of 10 + 25 % of 2", "75% * 10 + 25% * 2", "3/4 of 10 plus 1/4 of 2", "7.5+0.5",
              "10*0.75+2*0.25", "0.75·10 + 0.25·2 = 8", "eight", "8,00"],
    "mixing": ["0.5*4 + 0.3*(-2) + 0.2*10", "2 - 0.6 + 2", "2 − .6 + 2 = 3.4", "17/5", "3 2/5", "3⅖", "= 3 2/5."],
    "shape": ["same", "Same!", "it doesn't change", "it does not change", "equal to the input",
              "It keeps its shape", "stays as it is", "like the input", "not changed",
              "not (2, 8, 100, 64) but (2, 100, 512)", "2×100×512",
              "torch.Size([2, 100, 512])", "batch 2, 100 tokens, 512"],
    "count": ["4 times 512 squared", "1'048'576", "1’048’576", "1 048 576", "1_048_576", "4*512^2", "4·512²",
              "1024^2", "1024²", "2^20", "4 × 512 × 512",
              "8*3*512*64+512*512", "8·3·512·64 + 512² = 1048576", "1.05 million", "1,05 Mio", "1.05M", "~1.05e6"],
    "square": ["2 squared", "two squared is 4", "2²", "quadruples", "it quadruples", "4n^2", "4n²",
               "from n² to 4n²", "×4", "a factor of four", "400 %"],
    "kv": ["4/12", "to 4/12", "one-third", "⅓", "0.33", "to 33 %", "12 -> 4, so 3", "4/12 = 1/3", "threefold",
           "12:4", "33 %", "33,3%",
           "three-fold", "by a factor of 1/3"],
}  # fmt: skip
WRONG = {
    "dk1024": ["not 64", "1024*16", "64 or 32", "two to the six"],
    "shape": ["not the same", "it is not the same", "a different shape", "2 times 100"],
    "square": ["doubles", "it doubles", "2n", "2*4", "four or eight"],
    "kv": ["two thirds", "1/4", "3 or 4", "by a third", "by 33 %", "by 1/3", "1.33 %"],
    "count": ["about a million", "1M", "512*512", "10M", "2^10^10", "9^9^9"],
    "mixed": ["75 % of 10", "25 % of 10 + 75 % of 2", "-8", "1/0", "(-8)^0.5", "10 + 2"],
    "softmax": ["94.4", "0.056 and 0.944", "1/17.9, 16.9/17.9"],
}  # fmt: skip


def test_answers_are_read_as_people_write_them():
    misread = [
        (k, typed)
        for k, all_ in ODD.items()
        for typed in all_
        if check(exercises()[k], typed).right is not True
    ]
    misread += [
        (k, typed)
        for k, all_ in WRONG.items()
        for typed in all_
        if check(exercises()[k], typed).right is not False
    ]
    assert misread == []


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("8*3*512*64 + 512^2", 1048576), ("0,5*4 + 0.3*(-2)", 1.4), ("12:4", 3), ("2 x 3", 6), ("-(2+3)", -5),
        ("1/0", None), ("9^9^9^9", None), ("0^-1", None), ("(" * 60, None), ("-" * 110 + "1", 1), ("-" * 500, None),
        ("2^40", 2**40), ("2^41", None), ("1024^2", 1048576), ("9^9^9", None), ("9" * 110 + "^40", None),
        ("(-8)^0.5", None),
        ("2 3", None), ("print(1)", None), ("__import__", None), ("", None), ("10^15*9", None), ("2(3)", None),
    ],
)  # fmt: skip
def test_a_sum_is_worked_out_and_nothing_else_is(written, value):
    assert value_of(written) == (value if value is None else pytest.approx(value))


def test_a_known_mistake_gets_its_own_answer():
    exercise = exercises()["dk1024"]
    assert "1024 × 16" in check(exercise, "16384").say
    assert "1024 × 16" in check(exercise, "16,384").say
    assert check(exercise, "7").say == exercise.hint
    assert "3 numbers are asked for, 2 given" in check(exercises()["shape"], "(7, 512)").say
    assert check(exercise, "7 8").say.startswith("One number is asked for, 2 given.")
    assert "no number" in check(exercise, "a good many").say


def test_a_free_answer_is_never_graded():
    for exercise in exercises().values():
        if exercise.kind == "free" and exercise.key != "relations":
            verdict = check(exercise, "anything")
            assert verdict.right is None
            assert verdict.say == exercise.model
            assert len(exercise.model) > 40


@pytest.mark.parametrize(
    "typed",
    [
        "4-8",
        "4–8",
        "4.8",
        "4 8",
        "4,8",
        "4/8",
        "(4, 8)",
        "L4H8",
        "l4 h8",
        "layer 4 head 8",
        "Layer 4, head 8",
        " 4 - 8.",
        "head 4-8",
        "H4-8",
        "It is 4-8",
        "head 8 of layer 4",
        "layer four head eight",
        "4‑8",
        "4x8",
        "4_8",
        "4 and 8",
        "[4][8]",
        "4th layer, 8th head",
        "4-08",
        "4-8 (2.84)",
        "8th head of the 4th layer",
        "the eighth head of layer 4",
        "Head number 8 in layer 4",
        "layer: 4, head: 8",
        "I think 4-8",
        "The answer is 4-8.",
        "4-8 because its bar is the longest",
        "Head 4-8 has the longest bar, 0.35",
    ],
)
def test_a_head_is_read_as_people_write_it(typed):
    assert head_of(typed) == (3, 7)


@pytest.mark.parametrize(
    "typed", ["", "48", "4", "4-8 and 4-7", "fourth", "head four", "4-0", "0-8", "4-8-1", "-4", "4.8 and 4.7"]
)
def test_what_is_no_head_is_none(typed):
    assert head_of(typed) is None


def test_the_model_answer_is_about_the_sentence_at_hand():
    labels, special = ["[CLS]", "She", "fed", "the", "dog", "[SEP]"], [True, *[False] * 4, True]
    said = relations_in(labels, special, 1)
    assert "(She → ?)" in said
    assert "(the → dog)" in said
    assert "animal" not in said
    wide = [
        "The",
        "animal",
        "didn",
        "'",
        "t",
        "cross",
        "the",
        "street",
        "because",
        "it",
        "was",
        "too",
        "wide",
        ".",
    ]
    assert "it → street" in relations_in(wide, [False] * 14, 9)
    at = open_learn(text="She fed the dog.", step="budget")
    at.text_area(key="answer-relations").set_value("She and fed").run()
    assert "Compare with ours: For example: a pronoun and what it stands for (She → ?)" in said_of(at)
    assert "animal" not in said_of(at)


def test_every_question_with_a_number_takes_the_number_that_is_computed_here():
    powers = np.exp([2.83, 0])
    layer = torch.nn.MultiheadAttention(512, 8, batch_first=True)
    x = torch.zeros(2, 100, 512)
    computed = {
        "dk1024": f"{1024 // 16}",
        "dkquiz": f"{768 // 12}",
        "softmax": "{:.3f} {:.3f}".format(*powers / powers.sum()),
        "shape": str(tuple(layer(x, x, x)[0].shape)),
        "square": f"{200**2 // 100**2}",
        "mixed": f"{0.75 * 10 + 0.25 * 2:g}",
        "mixing": f"{np.dot([4, -2, 10], [0.5, 0.3, 0.2]):.1f}",
        "count": str(sum(p.numel() for p in torch.nn.MultiheadAttention(512, 8, bias=False).parameters())),
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
        ("softmax", "2.83, 0", "Those are the scores"),
        ("softmax", "0.056, 0.944", "in another order"),
        ("mixed", "12", "That is their sum"),
        ("mixing", "4.6", "second head"),
        ("count", "786,432", "W_o has another"),
        ("kv", "8", "8 fewer"),
        ("shape", "2 8 100 64", "with the heads apart"),
        ("shape", "(2, 100, 64)", "That is one head"),
        ("shape", "(2, 8, 100, 100)", "Those are the attention weights"),
        ("square", "2", "so do the columns"),
        ("kv", "4", "4 are left"),
        ("dkquiz", "9,216", "That is the product"),
        ("softmax", "50 % 50 %", "from equal scores"),
        ("mixed", str((10 + 2) // 2), "That is the plain mean"),
        ("mixed", str(0.75 * 10), "the first part only"),
        ("mixed", str(75 * 10 + 25 * 2), "75 % is 0.75"),
        ("dk1024", str(1024 * 16), "That is 1024 × 16"),
        ("dk1024", "16", "how many heads there are"),
        ("mixing", str((4 - 2 + 10) // 3), "That is the mean"),
        ("mixing", str(4 - 2 + 10), "That is the sum"),
        ("shape", "(100, 512)", "That is one text of the batch"),
        ("count", "a million", "4 · 512²"),
        ("count", str(512**2), "one matrix of 512 × 512"),
        ("count", str(4 * 512 * 64), "one head's share of all four"),
        ("count", str(8 * 4 * 512**2), "as if each head were 512 wide"),
        ("square", str(2 * 2 * 2), "the number of heads stays"),
    ],
)
def test_a_mistake_that_people_make_is_told_apart(key, typed, said):
    exercise = exercises()[key]
    verdict = check(exercise, typed)
    assert (verdict.right, said in verdict.say) == (False, True)
    assert sum(said in known["say"] for known in exercise.wrong) == ("another order" not in said)


def test_a_right_answer_is_told_why():
    assert {key: exercise.right for key, exercise in exercises().items() if exercise.right} == {
        "dkquiz": "768 / 12.",
        "softmax": "16.9 / 17.9 = 94.4 % and 1 / 17.9 = 5.6 %.",
        "mixed": "0.75 × 10 + 0.25 × 2 = 8: between the two, like every mix.",
        "dk1024": "1024 / 16 = 64.",
        "mixing": "0.5 × 4 + 0.3 × (−2) + 0.2 × 10 = 2 − 0.6 + 2 = 3.4.",
        "shape": "As it came in: W_o returns to d_model, so that the input can be added back.",
        "count": "8 · 3 · 512 · 64 + 512² = 4 · 512² = 1,048,576, as for one head of width 512.",
        "square": "n × n: twice as many rows, each twice as long.",
        "kv": "4 instead of 12 heads to keep.",
    }


def test_the_products_that_the_lesson_works_out_are_those_of_its_example():
    x, w = np.array([[1, 0, 1, 0], [0, 2, 0, 2]]), np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    made = x @ w
    query, keys = made[0], made
    (text,) = (text for step in steps() if step.key == "softmax" for text in step.text if "By hand" in text)
    pairs = [tuple(map(int, pair)) for pair in re.findall(r"\((\d), (\d)\)", text)]
    assert pairs == [tuple(query), *map(tuple, keys)]
    for key in keys:
        assert f"{query[0]}·{key[0]} + {query[1]}·{key[1]} = {query @ key}" in text
    scores = keys @ query / np.sqrt(2)
    assert "divided by √2, that is " + " and ".join(f"{score:.3g}" for score in scores) in text


def test_every_choice_says_why_to_each_and_a_vote_is_not_judged():
    right = {"combinequiz": ["Concatenation and W_o"], "vote": []}
    choices = {e.key: e for e in exercises().values() if e.kind == "choice"}
    assert choices.keys() == right.keys()
    assert {e.kind for e in exercises().values()} <= set(KINDS)
    for key, exercise in choices.items():
        for option in exercise.options:
            verdict = check(exercise, option["text"])
            assert verdict.right is (option["text"] in right[key] if right[key] else None)
            assert verdict.say.endswith(".")


def test_no_question_of_the_quiz_is_a_copy_of_an_exercise():
    asked = [exercises()[key] for step in steps() for key in asked_in(step)]
    for key in quiz():
        mine = exercises()[key]
        assert mine.question not in {other.question for other in asked}
        assert mine.answer is None or all(
            mine.question.split("?")[0] != other.question.split("?")[0] for other in asked
        )


def test_the_softmax_of_the_lesson_is_the_softmax():
    powers = np.exp([2.83, 0])
    np.testing.assert_allclose(exercises()["softmax"].answer, powers / powers.sum(), atol=6e-4)
    assert "16.9" in exercises()["softmax"].right
    assert powers[0] == pytest.approx(16.9, abs=0.05)


def test_numbers_are_read_as_people_write_them():
    assert numbers("0,5 and 50 % and .5, -1e-3") == [0.5, 0.5, 0.5, -0.001]
    assert numbers("none") == []


def test_the_lesson_holds_together():
    assert len({step.key for step in steps()}) == len(steps())
    for step in steps():
        assert step.view in {**VIEWS, **DRAWN, "none": None}
        assert step.station in KEYS
        assert all(key in exercises() for key in asked_in(step))
        for text in step.text:
            assert spans(text, {"token": "it", "head": "4-2"})
    asked = [key for step in steps() for key in asked_in(step)]
    assert len(asked) == len(set(asked))
    assert set(asked) | set(quiz()) == set(exercises())
    assert len(references()) == 11


def test_older_links_still_open_the_same_content():
    known = {
        1: "One row, or one per head", 2: "Asking, offering, handing over", 3: "From fit to per cent",
        4: "Split, not multiplied", 5: "Putting the heads together", 6: "What heads learn",
        7: "Do all heads matter?", 8: "What it costs", 9: "Sharing keys and values", 10: "What attention does not tell",
    }  # fmt: skip
    for number, title in known.items():
        assert steps()[step_called(str(number)) - 1].title == title
    assert step_called("budget") == 1
    assert [step_called(name) for name in ("11", "0", "", "<b>")] == [None] * 4


def test_every_term_that_is_linked_has_a_sentence_and_every_term_is_linked_somewhere():
    rooms = [
        path
        for room in ("inside", "training", "learn")
        for path in (ROOT / "pages/parts" / room).glob("*.py")
    ]
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


@pytest.mark.parametrize("step", steps(), ids=lambda step: step.key)
def test_every_step_opens_from_its_link(step):
    at = open_learn(step=step.key)
    assert f"{steps().index(step) + 1} · {step.title}" in said_of(at)
    assert any(data.get("keys") for data, _ in boards(at))
    (route,) = [b for b, _ in found(at) if b["type"] == "route"]
    assert route["items"][route["now"]]["key"] == step.station


@pytest.mark.slow
@pytest.mark.parametrize(("show", "has_a_sentence"), [("Lesson", True), ("lesson", True), ("Quiz", False)])
def test_a_part_that_does_not_exist_opens_the_lesson_with_its_sentence(show, has_a_sentence):
    at = open_learn(show=show)
    assert at.button_group(key="show").value == ("Lesson" if has_a_sentence else "Quiz")
    assert ("· word pieces ·" in said_of(at)) == has_a_sentence  # how the sentence is read


@pytest.mark.parametrize("asked", ["0", "-3", "99", "x", "1e9"])
def test_a_wrong_step_opens_a_right_one(asked):
    open_learn(step=asked, done="kv,<script>,nothing")


def test_the_place_is_read_from_the_link_first():
    left = Lesson(7, ("kv",), {"kv": "3"})
    assert read_place({}, None) == Lesson(1)
    assert read_place({"step": "4", "done": "shape,evil,shape"}, left) == Lesson(
        6, ("kv", "shape"), {"kv": "3"}
    )
    assert read_place({"step": "costs"}, left).step == 16
    assert read_place({}, left) == left


def test_next_and_back_turn_the_steps_and_the_link():
    at = open_learn(step="4")
    assert at.button(key="lesson-next").label == "Next: Putting the heads together"
    at.button(key="lesson-next").click().run()
    assert at.query_params["step"] in ("mix", ["mix"])
    assert "Putting the heads together" in said_of(at)
    at.button(key="lesson-back").click().run()
    assert "Split, not multiplied" in said_of(at)


def test_an_answer_that_is_taken_out_of_its_box_does_not_come_back():
    at = open_learn(step="split")
    at.text_input(key="answer-dk1024").set_value("64").run()
    at.text_input(key="answer-dk1024").set_value("").run()
    at.button(key="lesson-next").click().run()
    at.button(key="lesson-back").click().run()
    assert at.text_input(key="answer-dk1024").value == ""
    assert "Right." not in said_of(at)


def ticks(at: AppTest) -> list[bool]:
    (block,) = [b for b, _ in found(at) if b["type"] == "steps"]
    return block["done"]


def test_a_mark_shows_in_the_very_run_that_judged_the_answer():
    at = open_learn(step="split")
    assert not any(ticks(at))
    at.text_input(key="answer-dk1024").set_value("16384").run()
    assert "Not yet. That is 1024 × 16" in said_of(at)
    assert not any(ticks(at))
    at.text_input(key="answer-dk1024").set_value("64").run()
    assert "Right. 1024 / 16 = 64." in said_of(at)
    assert ticks(at)[5]
    assert "done" not in at.query_params


def test_answers_survive_next_back_and_another_page():
    at = open_learn(step="split")
    at.text_input(key="answer-dk1024").set_value("1024/16=64").run()
    at.button(key="lesson-next").click().run()
    at.button(key="lesson-back").click().run()
    assert at.text_input(key="answer-dk1024").value == "1024/16=64"
    at.switch_page("app.py").run()
    at.switch_page("pages/learn.py").run()
    assert at.text_input(key="answer-dk1024").value == "1024/16=64"
    assert "Right. 1024 / 16 = 64." in said_of(at)


def test_the_browser_is_handed_every_answer_and_what_it_kept_is_taken_in(monkeypatch):
    at = open_learn(step="split")
    at.text_input(key="answer-dk1024").set_value("64").run()
    (memory,) = [e for e in at.get("bidi_component") if e.proto.component_name == "headscope_memory"]
    kept = json.loads(memory.proto.json)["save"]
    assert kept == {"answers": {"dk1024": "64"}, "done": ["dk1024"]}
    fresh: dict[str, object] = {}
    monkeypatch.setattr("pages.parts.learn.memory.st.session_state", fresh)
    monkeypatch.setattr("pages.parts.learn.progress.st.session_state", fresh)
    monkeypatch.setattr("pages.parts.learn.progress.state.params", dict)
    monkeypatch.setattr("pages.parts.learn.progress.state.change", lambda changes: None)
    take_in({**kept, "answers": {**kept["answers"], "vote": "forged", "<b>": "x", "kv": 3}, "more": 1})
    assert fresh["answer-dk1024"] == "64"
    assert "answer-vote" not in fresh, "a choice holds only what it offers"
    assert fresh["lesson"].done == ("dk1024",)
    take_in({"answers": {"dk1024": "7"}})
    assert fresh["answer-dk1024"] == "64", "what is answered now counts more"
    assert fresh["lesson"].answers["dk1024"] == "64"
    take_in("nonsense")


def test_a_browser_may_hand_over_anything():
    assert known_answers(["x"]) == {}
    assert known_answers(
        {"dk1024": "64", "where@a-3-1-2": "2", "dk1024 ": "x", "evil": "x", "kv": "9" * 2001}
    ) == {
        "dk1024": "64",
        "where@a-3-1-2": "2",
    }


def test_the_pictures_of_the_lesson_are_the_models_numbers():
    record = trace(TIRED, load_model())
    truth = layer_details(record.tokens, load_model(), 3)
    at = open_learn(step="rows", head="4-2", pin="10")
    np.testing.assert_allclose(matrix(at, "one-or-many")[1:], record.weights[3, :, 10], atol=NEAR)
    at = open_learn(step="mix", head="4-2", pin="10")
    np.testing.assert_allclose(matrix(at, "output"), truth.output, atol=NEAR)
    (beside,) = (b for b, _ in found(at) if b.get("id") == "Z")
    d_v = truth.v.shape[-1]
    assert beside["slice"] == [d_v, 2 * d_v], "head 2 of the layer"
    at = open_learn(step="matter", head="4-2", pin="10")
    heads = next(b for b, _ in found(at) if b["type"] == "heads")
    longest = max(heads["rows"][:-1], key=lambda row: row["norm"])["label"]
    at.text_input(key="answer-strongest").set_value(longest.replace("-", "–")).run()
    assert "Right. " in said_of(at)
    at = open_learn(step="tells", head="4-2", pin="10")
    bars = next(b for b, _ in found(at) if b["type"] == "bars")
    seen = np.array([row["values"] for row in bars["rows"]])
    np.testing.assert_allclose(seen[:, 0], record.weights[3, 1, 10], atol=NEAR)
    arrives = record.weights[3, 1, 10] * np.linalg.norm(truth.v[1] @ truth.projections.W_o[1], axis=-1)
    np.testing.assert_allclose(seen[:, 1], arrives / arrives.sum(), atol=NEAR)
    at = open_learn(step="budget", head="4-2", pin="10")
    block, values = next((b, n) for b, n in found(at) if b["type"] == "budget")
    size = len(block["labels"]) * block["width"]
    words = [i for i, unit in enumerate(record.tokens.pieces) if unit.text.strip("'.") and not unit.special]
    given = values[block["at"] : block["at"] + size].reshape(-1, block["width"])
    np.testing.assert_allclose(given, truth.v[1][words], atol=NEAR)
    assert [block["labels"][i] for i in block["needs"]] == ["animal", "tired"]


def test_of_a_long_text_the_tokens_are_drawn_that_are_looked_at_or_bring_most():
    """Much looked at and without length the first, hardly looked at and very long the second, the others in between."""
    looks = np.array([0.3, 0.001, *np.arange(1, 19) / 100])
    lengths = np.array([0.0, 1000.0, *np.ones(18)])
    labels = tuple(map(str, range(20)))
    drawn, rest = norms(
        None,
        SimpleNamespace(
            plain=SimpleNamespace(weights=looks[None, None], v=lengths[None, :, None]),
            sizes=SimpleNamespace(W_o=np.ones((1, 1, 1))),
            h=0,
            kv=0,
            query=0,
            labels=labels,
            there=labels,
        ),
    )
    assert drawn["values"] == [0, 1, *range(4, 20)]
    shares = [row["values"] for row in drawn["item"]["rows"]]
    arrived = looks * lengths
    np.testing.assert_allclose(shares, np.stack([looks, arrived / arrived.sum()], 1)[drawn["values"]])
    assert [row["label"] for row in drawn["item"]["rows"]] == list(map(str, drawn["values"]))
    assert "The 18 of 20 tokens with most; 2 more." in str(rest)


def test_of_a_long_text_the_words_around_the_followed_one_are_offered():
    words = " ".join(
        f"The {colour} cat of Ann slept there" for colour in ("red", "blue", "green", "white")
    ).split()
    text = " ".join([*words, "and", "the", "dog", "barked"])
    words = text.split()
    for word, first, next_to_it in (
        ("red", 0, "cat"),
        ("green", 15 - 12, "slept"),
        ("dog", 32 - 24, "barked"),
    ):
        at = open_learn(text=text, step="budget", pin=str(1 + words.index(word)))
        block = next(b for b, _ in found(at) if b["type"] == "budget")
        assert block["labels"] == words[first : first + 24]
        assert f"The 24 words nearest to {word}; 8 more are left out." in prose(at)
        assert next_to_it in [block["labels"][i] for i in block["needs"]]
    at = open_learn(text=" ".join(words[:25]), step="budget", pin="1")
    assert f"The 24 words nearest to {words[0]}; 1 more is left out." in prose(at)
    assert "left out" not in prose(open_learn(text=" ".join(words[:24]), step="budget", pin="1"))


@pytest.mark.slow
def test_what_arrives_is_seen_through_the_heads_own_part_of_the_output_where_keys_are_shared():
    model = load_model("smollm2")
    run = layer_details(trace(TIRED, model).tokens, model, 2)
    block = next(
        b
        for b, _ in found(open_learn(step="tells", model="smollm2", head="3-5", pin="8"))
        if b["type"] == "bars"
    )
    looks, values = run.weights[4, 8, :9], run.v[4 // 3, :9]  # nine heads on three
    arrived = looks * np.linalg.norm(values @ run.projections.W_o[4], axis=1)
    np.testing.assert_allclose(
        [row["values"] for row in block["rows"]], np.stack([looks, arrived / arrived.sum()], 1), atol=NEAR
    )


def test_the_ranks_of_the_lesson_are_those_of_the_head_and_layer_that_are_shown():
    model = load_model()
    for layer, head in ((0, 2), (4, 2), (4, 7)):
        used = projections_of(model, layer)
        at = open_learn(step="rank", head=f"{layer + 1}-{head + 1}")
        block, numbers = next((b, n) for b, n in found(at) if b["type"] == "curve")
        assert_spectra(block, numbers, used, head)
        narrow, wide = (line["label"].rpartition(" ")[2] for line in block["lines"])
        assert narrow != wide
        assert f"of layer {layer + 1}: rank {narrow} of 384." in prose(at).replace("*", "")
        assert f"one form of rank {wide}." in prose(at).replace("*", "")


@pytest.mark.parametrize(
    ("text", "pin", "needs"),
    [
        ("A cat went home because it was late.", "6", ["home", "late"]),
        ("It was late, for it was too late.", "6", ["late", "late"]),
        ("She saw it and it was.", "3", ["saw", "and"]),
        ("It slept.", "1", ["slept"]),
    ],
)
def test_the_words_marked_at_first_in_another_sentence_are_the_nearest_that_say_something(text, pin, needs):
    at = open_learn(text=text, step="budget", head="4-2", pin=pin)
    block = next(b for b, _ in found(at) if b["type"] == "budget")
    assert [block["labels"][i] for i in block["needs"]] == needs


def pressed(monkeypatch, at: AppTest, value: int) -> AppTest:
    """The page after the reader pressed something on a board: AppTest cannot press inside a component."""
    monkeypatch.setattr(asking, "guessed", lambda board, field: value)
    at.run()
    assert not at.exception
    return at


@pytest.mark.parametrize(("guess", "right"), [(2, True), (8, False)])
def test_a_guess_is_answered_with_the_models_weights(monkeypatch, guess, right):
    weights = trace(TIRED, load_model()).weights[3, 1, 10]
    at = pressed(monkeypatch, open_learn(step="2", head="4-2", pin="10"), guess)
    if right:
        assert f"Yes: animal, {100 * weights[2]:.1f} %." in prose(at)
    else:
        said = f"street gets {100 * weights[8]:.1f} %. Most goes to animal: {100 * weights[2]:.1f} %."
        assert said in prose(at)
    assert "follow" in [b["type"] for b, _ in found(at)]
    assert ticks(at)[2]


@pytest.mark.slow
def test_a_guess_that_a_decoder_has_not_read_yet_is_told_so(monkeypatch):
    query = {
        "step": "asking",
        "head": "3-4",
        "pin": "8",
        "model": "smollm2",
    }  # "it" looks back at "animal" and others
    weights = trace(TIRED, load_model("smollm2")).weights[2, 3, 8]
    most = f"Most goes to The: {100 * weights.max():.1f} %."
    assert f"too comes later and is not there yet. {most}" in prose(
        pressed(monkeypatch, open_learn(**query), 10)
    )
    said = f"because gets {100 * weights[7]:.1f} %. {most}"
    assert said in prose(pressed(monkeypatch, open_learn(**query), 7))
    beyond = prose(pressed(monkeypatch, open_learn(**query | {"pin": "7"}), 8))
    assert "it comes later and is not there yet." in beyond


def test_what_comes_later_is_not_shown_before(monkeypatch):
    """Scores and softmax are explained in the step after the one that shows how query and key fit."""
    at = pressed(monkeypatch, open_learn(step="asking", head="4-2", pin="10"), 2)
    (block,) = [b for b, _ in found(at) if b["type"] == "follow"]
    assert block["upto"] == "raw"
    (block,) = [b for b, _ in found(open_learn(step="handing")) if b["type"] == "follow"]
    assert "upto" not in block


@pytest.mark.parametrize(("step", "head"), [("2", "4-2"), ("6", "1-1")])
def test_a_guess_belongs_to_its_sentence(step, head):
    keys = []
    for text in (TIRED, TIRED.replace("tired", "wide")):
        at = open_learn(step=step, head=head, pin="10", text=text)
        ids = [e.proto.id for e in at.get("bidi_component") if "predict-" in e.proto.id]
        keys.append({found[0] for one in ids if (found := re.search(r"predict-\S+", one))})
    assert all(keys), "something is to be guessed on this step"
    assert not keys[0] & keys[1]


@pytest.mark.slow
@pytest.mark.parametrize("step", ["asking", "heads"])
@pytest.mark.parametrize(
    ("model", "other"),
    [
        ("minilm", {"weights": "untrained"}),
        ("classroom", {"model": "classroom@100"}),
        ("classroom", {"weights": "untrained"}),
    ],
)
def test_a_guess_belongs_to_its_model_and_weights(monkeypatch, step, model, other):
    """The tokens are the same, and so are the heads' names; what was guessed of one model says nothing of another."""
    judged = "Yes: |gets |on the token before[.]"
    at = pressed(
        monkeypatch, open_learn(step=step, head="1-1", pin="2", text="it was too wide", model=model), 2
    )
    assert re.search(judged, prose(at))
    monkeypatch.undo()
    for key, value in other.items():
        at.session_state[key] = value
    assert not re.search(judged, prose(at.run()))
    assert re.search(judged, prose(pressed(monkeypatch, at, 1)))


@pytest.mark.parametrize(("guess", "right"), [(2, True), (37, False)])
def test_a_guessed_head_is_answered_with_what_it_gives_the_token_before(monkeypatch, guess, right):
    weights = trace(TIRED, load_model()).weights
    mass = [np.mean([w[q, q - 1] for q in range(1, 16)]) for w in weights.reshape(72, 16, 16)]
    at = pressed(monkeypatch, open_learn(step="heads"), guess)
    if right:
        assert f"Yes: 1-3 puts {100 * mass[2]:.1f} % of its attention on the token before." in prose(at)
    else:
        assert f"4-2 puts {100 * mass[37]:.1f} % on the token before. 1-3 puts most there" in prose(at)
    (sheets,) = [block for block, _ in found(at) if block.get("about") == "All heads"]
    assert (len(sheets["labels"]), sheets["line"]) == (72, 12), "a line for each layer"


def test_of_a_single_token_no_head_is_guessed():
    one = SimpleNamespace(weights=np.ones((2, 3, 1, 1), np.float32))
    said = asking._guessed_head(2, one)
    assert (said.right, said.say) == (None, "A single token has none before it; choose a longer sentence.")


def test_a_sentence_of_ones_own_needs_its_own_words_however_it_ends():
    labels = ["The", "dog", "stayed", "home", "because", "it", "was", "too", "tired", "."]
    chosen = {"token": "it"}
    scene = SimpleNamespace(labels=labels, query=5, **chosen)
    assert [labels[i] for i in needed(scene, list(range(10)))] == ["home", "tired"]
    famous = ["The", "animal", "was", "too", "tired", "because", "it", "ran"]
    scene = SimpleNamespace(labels=famous, query=6, **chosen)
    assert [famous[i] for i in needed(scene, list(range(8)))] == ["animal", "tired"]


def test_where_heads_share_keys_the_shapes_say_so():
    sizes = SimpleNamespace(d_model=24, n_heads=6, n_kv_heads=3, d_k=4, d_v=4)
    scene = SimpleNamespace(sizes=sizes, plain=SimpleNamespace(n=7, q=np.zeros((6, 7, 4))), h=0, head=(0, 0))
    board = SimpleNamespace(sheets=lambda *_, **__: {})
    (words, _, table) = split(board, scene)
    assert "(7, 24) is read as (7, 6, 4) and turned to (6, 7, 4)." in str(words)
    shapes = table["rows"]
    assert shapes[:2] == [["Q", "1 × 7 × 24", "6 × 7 × 4"], ["K, V", "1 × 7 × 24", "3 × 7 × 4"]]
    notation = {sign: number for sign, _, number in summary(board, scene)[-1]["rows"]}
    assert notation["W_q, W_k, W_v, W_o"] == "24 × 24 for all heads; W_k, W_v 24 × 12"


def test_words_of_a_picture_fit_light_and_dark():
    """In the dark theme much attention is light: no text may call it dark."""
    files = [LESSON / "lesson.toml", LESSON / "exercises.toml"]
    files += [file for part in ("learn", "training") for file in (ROOT / "pages/parts" / part).glob("*.py")]
    for file in files:
        assert not re.search(r"\b(dark|darker|black)\b", file.read_text(encoding="utf-8")), file.name


def test_the_arrow_keys_turn_one_step_and_a_press_jumps(monkeypatch):
    gone = []
    monkeypatch.setattr(lesson, "go", gone.append)
    # Where the browser says it is, behind what was drawn: a key that is pressed at once brings the address before it.
    monkeypatch.setattr(lesson, "here", lambda: Lesson(3, ()))
    for given in ({"go": 1}, {"go": -1}, {"go": 5}, {"go": None}):
        monkeypatch.setattr(lesson.st, "session_state", {lesson.KEY: given})
        lesson._turn(4)
    for wanted in (7, "7", None):
        monkeypatch.setattr(lesson.st, "session_state", {lesson.KEY: {"step": wanted}})
        lesson._jump()
    assert gone == [5, 3, 7]


def test_a_step_is_ticked_when_all_its_exercises_are_done():
    asked = [asked_in(step) for step in steps()]
    several = next(keys for keys in asked if len(keys) > 1)
    for done in (several[:1], several):
        at = open_learn(step="summary", done=",".join(done))
        assert ticks(at) == [bool(keys) and set(keys) <= set(done) for keys in asked]


def test_another_head_than_the_longest_is_not_the_longest():
    at = open_learn(step="7", head="4-2", pin="10")
    heads = next(b for b, _ in found(at) if b["type"] == "heads")["rows"][:-1]
    shortest, longest = (pick(heads, key=lambda row: row["norm"])["label"] for pick in (min, max))
    for typed in (shortest, longest.replace("4-", "3-"), "the first"):
        at.text_input(key="answer-strongest").set_value(typed).run()
        assert "Not yet. " in said_of(at)
    assert not any(ticks(at))


@pytest.mark.parametrize(
    ("typed", "right", "said"),
    [
        ("4-3", True, "4-3 adds a vector of length 0.750."),
        ("4-2", False, "Look for the longest bar in the picture."),
        ("2-3", False, "The picture is of layer 4. Look for the longest bar in the picture."),
        ("the longest", False, "Write it as layer and head, such as 4-2."),
    ],
)
def test_a_named_head_is_told_its_length_or_the_layer_of_the_picture(monkeypatch, typed, right, said):
    scene = SimpleNamespace(plain="a run", query=5, head=(3, 0))
    norms = {("a run", 5): np.array([0.5, 0.25, 0.75])}
    monkeypatch.setattr(asking, "shares", lambda run, query: SimpleNamespace(norms=norms[run, query]))
    verdict = asking.check_part(exercises()["strongest"], typed, scene)
    assert (verdict.right, verdict.say) == (right, said)


def test_a_press_on_a_row_chooses_the_head_that_is_drawn_there(monkeypatch):
    weights = np.arange(3 * 4 * 4, dtype=np.float32).reshape(3, 4, 4)
    scene = SimpleNamespace(
        plain=SimpleNamespace(weights=weights), query=2, head=(1, 0), h=0, labels=tuple("abcd"), there=tuple("abc"),
        sizes=SimpleNamespace(n_heads=3),
    )  # fmt: skip
    monkeypatch.setattr(views, "one_head", lambda _: np.full((4, 4), 7.0, np.float32))
    board = Board()
    (drawn,) = (block for block in flat(views.rows(board, scene)) if block.get("id") == "one-or-many")
    numbers = np.concatenate(board._arrays)[drawn["at"] :][:12].reshape(4, 3)
    np.testing.assert_array_equal(numbers, [[7, 7, 7], *weights[:, 2, :3]])
    assert (drawn["rows"], list(drawn["cols"])) == (["one head", "2-1", "2-2", "2-3"], ["a", "b", "c"])
    assert drawn["press"] == {
        "rows": {"tells": "head", "values": [None, "2-1", "2-2", "2-3"]},
        "cols": {"tells": "token", "values": [0, 1, 2]},
    }


def test_a_press_is_followed_until_the_link_has_another_pin_or_another_sentence(monkeypatch):
    record, other = (trace(text, load_model()) for text in ("Unmistakably Ann ran.", "Ann ran."))
    request, session, linked = Request("Unmistakably Ann ran.", unit="words"), {}, []
    monkeypatch.setattr(lesson.st, "session_state", session)
    monkeypatch.setattr(lesson.cache, "grid", lambda _, record: record.grid(words=True))
    monkeypatch.setattr(lesson.shell, "selection", lambda *_: asked)
    monkeypatch.setattr(lesson.state, "keep", linked.append)

    def followed(record):
        query = lesson._picked(request, record).query
        return record.tokens.pieces[query].text.lower(), record.grid(words=True).labels[linked[-1].pins[0]]

    asked = Selection((3, 1), (2,))
    assert followed(record) == ("ann", "Ann")
    pressed = next(i for i, piece in enumerate(record.tokens.pieces) if piece.text.lower() == "ran")
    (place, _) = session[lesson.FOLLOWED]
    session[lesson.FOLLOWED] = (place, pressed)
    assert followed(record) == ("ran", "ran"), "as it was pressed; the link follows"
    asked = linked[-1]
    assert followed(record) == ("ran", "ran")
    asked = Selection((3, 1), (2,))
    assert followed(record) == ("ann", "Ann"), "Back, or another link"
    asked = Selection((3, 1), (1,))
    assert followed(other) == ("ann", "Ann")


def test_a_token_is_followed_in_the_sentence_that_was_pressed_and_in_no_other(monkeypatch):
    session = {lesson.FOLLOWED: (("abc-9", (3,)), 3)}
    monkeypatch.setattr(lesson.st, "session_state", session)
    for query, key in ((5, "lesson-xyz-9-3-1"), (-1, "lesson-abc-9-3-1"), (None, "lesson-abc-9-3-1")):
        lesson.follow_token(query, key)
        assert session == {lesson.FOLLOWED: (("abc-9", (3,)), 3)}
    lesson.follow_token(5, "lesson-abc-9-3-1")
    assert session == {lesson.FOLLOWED: (("abc-9", (3,)), 5)}


def test_to_forget_takes_away_answers_guesses_marks_and_the_tests_of_the_claim(monkeypatch):
    session = {
        "answer-kv": "3", "predict-where@a": {"query": 2}, "lesson-tests": 4, "lesson": Lesson(9, ("kv",), {"kv": "3"}),
        "text": "Ann ran.", "lesson-forgot": 1,
    }  # fmt: skip
    for part in (memory, progress):
        monkeypatch.setattr(part.st, "session_state", session)
    monkeypatch.setattr(progress.state, "params", dict)
    monkeypatch.setattr(progress.state, "change", lambda _: None)
    memory.forget_all()
    assert session == {"lesson": Lesson(9), "text": "Ann ran.", "lesson-forgot": 2}


def test_the_notation_has_the_numbers_of_the_model_at_hand():
    at = open_learn(step="summary", text=TIRED)
    (table,) = [block for block, _ in found(at) if block.get("id") == "notation"]
    here = {sign: number for sign, _, number in table["rows"]}
    assert list(here.values()) == [
        *("16", "384", "12", "32"),
        *("16 × 32", "16 × 16", "16 × 32", "384 × 384 for all heads"),
    ]


def test_the_notation_counts_query_heads_where_keys_are_shared_and_values_have_a_width_of_their_own():
    sizes = SimpleNamespace(d_model=24, n_heads=6, n_kv_heads=3, d_k=4, d_v=5)
    table = summary(None, SimpleNamespace(sizes=sizes, plain=SimpleNamespace(n=7)))[-1]
    here = {sign: number for sign, _, number in table["rows"]}
    assert (here["h"], here["Z"], here["Q, K, V"]) == ("6", "7 × 5", "7 × 4")


def test_the_quiz_counts_what_is_done():
    at = open_learn(show="Quiz", done="dkquiz,combinequiz,kv")
    assert "2 of 5 done." in said_of(at)
    at.text_area(key="answer-advantage").set_value("More than one row.").run()
    assert "Compare with ours: Each head has a row of weights of its own" in said_of(at)
    assert "3 of 5 done." in said_of(at)


def test_the_picture_of_sharing_gives_each_head_its_group():
    at = open_learn(step="9", head="4-2")
    groups = {b["keys"]: b["owner"] for b, _ in found(at) if b["type"] == "groups"}
    assert groups == {
        12: list(range(12)),
        4: [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
        1: [0] * 12,
    }


def test_only_models_that_write_have_a_cache_and_none_beyond_what_it_reads():
    (block,) = [b for b, _ in found(open_learn(step="sharing")) if b.get("id") == "caches"]
    rows = {row[0]: row[1:] for row in block["rows"]}
    assert not {"BERT-base", "BERT-large", "GPT-2"} & rows.keys(), "2,048 tokens are more than they read"
    # 2 x 2,048 tokens x 8 key heads x 128 numbers x 80 layers x 2 bytes, and with all 64 heads.
    assert rows["LLaMA-2-70B"] == [
        "64 on 8",
        "128",
        f"{2 * 2048 * 8 * 128 * 80 * 2 / 2**20:.1f} MiB",
        "5.0 GiB",
    ]
    assert rows["Llama 3 8B"] == ["32 on 8", "128", "256.0 MiB", "1.0 GiB"]


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
    at.selectbox(key="class-page").set_value("Learn").run()
    at.selectbox(key="class-place-Learn").set_value("What it costs")
    at.text_input(key="class-token").set_value("ran")
    at.selectbox(key="class-unit").set_value("words").run()
    query = parse_qs(urlsplit(at.code[0].value).query)
    assert (query["step"], query["pin"], query["unit"]) == (["costs"], ["2"], ["words"])
    at.selectbox(key="class-unit").set_value("pieces")
    at.selectbox(key="class-specials").set_value("hidden").run()
    assert parse_qs(urlsplit(at.code[0].value).query)["pin"] == ["1"], (
        "[CLS] is not counted where it is hidden"
    )
    at.text_input(key="class-text").set_value("Unmistakably Ann ran.")
    at.selectbox(key="class-specials").set_value("shown")
    for unit in ("pieces", "words"):  # its first word is several pieces
        at.selectbox(key="class-unit").set_value(unit).run()
        labels = trace("Unmistakably Ann ran.", load_model()).grid(words=unit == "words").labels
        assert parse_qs(urlsplit(at.code[0].value).query)["pin"] == [str(labels.index("ran"))]
    at.text_input(key="class-token").set_value("walked").run()
    assert "There is no token “walked” in this sentence." in said_of(at)
    assert not at.code
    at.text_input(key="class-token").set_value("")
    at.text_input(key="class-head").set_value("9-99").run()
    assert "There is no head 9-99 in 6 layers of 12." in said_of(at)
    at.text_input(key="class-head").set_value("4-2")
    at.selectbox(key="class-model").set_value("bert-large-uncased").run()
    assert "BERT large is not on this machine" in said_of(at)
    at.text_input(key="class-text").set_value(" ").run()
    assert "Write the sentence" in said_of(at)


def test_a_long_sentence_is_in_the_teachers_link_to_its_end_or_there_is_no_link():
    for text in ("The incomprehensibilities sat. " * 35 + "So be it.", "w" * 4000):
        at = open_learn(show="For teachers", text=text)
        assert parse_qs(urlsplit(at.code[0].value).query)["text"] == [text]
    at.text_input(key="class-text").set_value(f"{text}s.").run()
    assert not at.code
    assert "A link can hold 4,000 characters; this text has 4,002." in said_of(at)


def test_every_row_of_the_plan_has_a_button_and_the_printed_plan_its_link():
    at = open_learn(show="For teachers")
    at.text_input(key="class-text").set_value("Ann ran.").run()
    buttons = [e.proto for e in at.get("link_button")]
    assert [b.label for b in buttons] == [f"{row.time} min" for row in plan.rows()]
    for row, button in zip(plan.rows(), buttons, strict=True):
        query = parse_qs(urlsplit(button.url).query)
        assert (query["step"], query["text"]) == ([row.step], ["Ann ran."])
        assert step_called(row.step)
    at.selectbox(key="class-page").set_value("Learn").run()
    at.selectbox(key="class-place-Learn").set_value("Quiz").run()
    assert parse_qs(urlsplit(at.code[0].value).query)["show"] == ["Quiz"]
    links = [parse_qs(urlsplit(e.proto.url).query) for e in at.get("link_button")]
    assert all("show" not in query for query in links), "a row opens its step, whatever the class opens first"
    printed = plan.as_page(
        "One hour", {row: f"https://h/learn?step={row.step}" for row in plan.rows()}, "# x"
    )
    addresses = [f"https://h/learn?step={row.step}" for row in plan.rows()]
    assert re.findall(r'<a href="([^"]+)">([^<]+)</a>', printed) == [(one, one) for one in addresses]
    assert printed.count("<h1>") == 1


def test_the_plan_of_the_repository_is_the_plan_of_the_page():
    assert plan.as_markdown() in (ROOT / "assets/lesson-plan.md").read_text(encoding="utf-8")
    rows = plan.rows()
    assert (rows[0].minutes[0], rows[-1].minutes[1]) == (0, 60)
    assert all(a.minutes[1] == b.minutes[0] for a, b in itertools.pairwise(rows))


def test_a_place_in_the_lesson_is_kept_while_other_pages_are_open():
    at = open_learn(step="4", done="kv")
    at.button(key="lesson-next").click().run()
    at.switch_page("app.py").run()
    for key in ("step", "done"):
        if key in at.query_params:
            del at.query_params[key]
    at.switch_page("pages/learn.py").run()
    assert "7 · Putting the heads together" in said_of(at)
    assert ticks(at)[16]


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
    text = said_of(at) + prose(at)
    expected = {
        "Quiz": "two kinds of relation that heads",
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
    assert "written as layer and head" in said_of(at)


@pytest.mark.parametrize("page", ["app.py", "pages/compare.py", "pages/inside.py", "pages/learn.py"])
def test_a_link_hides_only_what_may_be_hidden_on_every_page(page):
    at = unopened(page, hide="menu,body{},sentence").run()
    assert not at.exception
    styles = [e.proto.body for e in at.get("html") if e.proto.body.startswith("<style>.st-key")]
    assert styles == ["<style>.st-key-top, .st-key-controls { display: none; }</style>"]


def test_who_listens_hears_the_token_that_a_question_is_about():
    at = open_learn(step="matter", pin="2", head="1-1")
    (box,) = [box for box in at.text_input if box.key == "answer-strongest"]
    assert box.label.startswith("Your answer: Which head has the longest part in the output of animal?")


def test_a_text_without_words_is_told_that_there_is_nothing_to_spread_over():
    at = open_learn(step="budget", text="...")
    assert not [block for block, _ in found(at) if block["type"] == "budget"]
    assert "There is no word here that a head could mix" in prose(at)


def test_the_map_of_the_lesson_leads_on_in_presenter_mode_and_hides_what_the_class_shall_not_see():
    def links(**query):
        block = next(
            block for block, _ in found(open_learn(step="asking", **query)) if block["type"] == "route"
        )
        return [item["link"] for item in block["items"]]

    assert all(
        "present=1" in link and "hide=menu%2Ctitle" in link for link in links(present="1", hide="menu,title")
    )
    assert not any("present" in link or "hide" in link for link in links())


def test_it_is_said_how_much_of_a_long_text_the_heads_to_guess_from_are_drawn_of():
    at = open_learn(step="heads", text=" ".join(["word"] * 38))
    assert "Drawn are the first 32 of 40 tokens" in prose(at)
    drawn, numbers = next((b, n) for b, n in found(at) if b.get("about") == "All heads")
    weights = trace(" ".join(["word"] * 38), load_model()).weights[:, :, :32, :32]
    shown = numbers[drawn["at"] : drawn["at"] + weights.size].reshape(weights.shape)
    np.testing.assert_allclose(shown, weights, atol=NEAR)
    assert "Drawn are" not in prose(open_learn(step="heads"))


def test_an_answer_without_a_number_gets_the_hint_too():
    verdict = check(exercises()["kv"], "by a third")
    assert verdict.right is False
    assert "How many key and value heads are kept, instead of 12?" in verdict.say


def test_one_head_has_nothing_to_split_and_the_lesson_says_so(monkeypatch):
    config = EncoderConfig(load_model().config.vocab_size, d_model=12, n_layers=1, n_heads=1, d_ff=13)
    model = replace(
        load_model(), encoder=untrained_encoder(config, seed=3).eval(), config=config, digest="a single head"
    )
    monkeypatch.setattr("pages.parts.serve.cache.load_model", lambda name, trained=True, **_options: model)
    assert "This layer has a single head: there is nothing to split." in prose(
        open_learn(step="rank", head="1-1")
    )
    (table,) = [
        block for block, _ in found(open_learn(step="split", head="1-1")) if block.get("id") == "shapes"
    ]
    assert table["head"][-1] == "1 head"


def test_a_special_token_is_no_word_of_the_model_answer():
    labels, special = ["[CLS]", "She", "fed", "the", "dog", "[SEP]"], [True, *[False] * 4, True]
    for query in (0, 5):
        said = relations_in(labels, special, query)
        assert "[" not in said
        assert "(the → dog)" in said
    told = relations_in(["[CLS]", "Ann", "saw", "the", "[SEP]"], [True, *[False] * 3, True], 1)
    assert told == f"For example: a word and the one after it (Ann → saw); {OTHERS}"


OTHERS = "a verb and its subject, if the sentence has both. Yours may be others: any two that a reader needs will do."


@pytest.mark.parametrize(
    ("words", "query", "told"),
    [
        ("Ann ran home . Ben sat .", 2, "a word and the one before it (home → ran); "),
        ("Ann ran home . Ben sat .", 3, ""),
        ("Ann ran home . Ben sat .", 4, "a word and the one after it (Ben → sat); "),
        ("Ann ran , Ben ran , too .", 4,
         "a word and its earlier copy (ran → ran); a word and the one before it (ran → Ben); "),
    ],
)  # fmt: skip
def test_a_full_stop_is_no_word_of_the_model_answer(words, query, told):
    labels = words.split()
    assert relations_in(labels, [False] * len(labels), query) == f"For example: {told}{OTHERS}"


def test_of_many_answers_the_newest_are_kept_and_forgetting_stays_at_the_step(monkeypatch):
    many = {f"kv@{i}": "3" for i in range(200)}
    kept = []
    monkeypatch.setattr(progress, "here", lambda: Lesson(4, ("kv",), many))
    monkeypatch.setattr(progress, "_keep", kept.append)
    progress.take({"kv": "12"})
    progress.forget()
    assert list(kept[0].answers) == [*list(many)[1:], "kv"]
    assert kept[1] == Lesson(4)


@pytest.mark.parametrize(("head", "there"), [("6-12", True), ("7-1", False), ("1-13", False)])
def test_a_class_is_sent_to_no_head_behind_the_last(head, there):
    problem, _ = teacher.checked("Ann ran.", "", head, {"model": "minilm"})
    assert problem == ("" if there else f"There is no head {head} in 6 layers of 12.")
