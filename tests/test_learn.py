"""The lesson: answers are judged as a teacher would, every number comes from the model, the link keeps the place."""

import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import visit
from boards import boards, charts, found, matrix, numbers_in, one, prose
from streamlit.testing.v1 import AppTest
from visit import TIRED, open_page

from mha_core import Unavailable, layer_details, load_model, score_attribution, trace
from pages.parts.frame import loading
from pages.parts.frame.glossary import spans
from pages.parts.inside.route import KEYS
from pages.parts.learn import asking
from pages.parts.learn.exercises import GUESSES, check, exercises, questions_of, quiz, steps
from pages.parts.learn.lesson import VIEWS
from pages.parts.learn.plan import rows
from pages.parts.learn.progress import known_answers
from pages.parts.learn.teacher import TITLES, class_address

NEAR = 2e-5
POWERS = np.exp([2.83, 0])
# What is right and what is wrong, however it is typed; of numbers the first is computed here.
ANSWERS = {
    "dk1024": ([str(1024 // 16), " 64,0 "], ["-64", "1024/16", "1024/16 = 62", "1024/16 = 64", "6 4"]),
    "dkquiz": ([str(768 // 12)], ["67"]),
    "shape": (
        ["(2, 100, 512)", "2 x 100 x 512", "2×100×512", "[2;100;512]", "2 100 512"],
        ["-2,100,512", "the same"],
    ),
    "softmax": (
        ["{:.3f}; {:.3f}".format(*POWERS / POWERS.sum()), "0,944;0,056", "94.4; 5.6", "94,4 %; 5,6%",
         "94.4 %; 0.056", "0.95; 0.05"],
        ["94.4; 6.6", "0.9; 0.1", "0.944; "],
    ),
    "square": ([str(200**2 // 100**2), "400 %"], ["7"]),
    "mixed": ([f"{0.75 * 10 + 0.25 * 2:g}"], ["7"]),
    "mixing": ([f"{np.dot([4, -2, 10], [0.5, 0.3, 0.2]):.1f}", "3,4"], ["−3.4"]),
    "kv": ([str(12 // 4)], ["7"]),
    "combinequiz": (["Concatenation, then the output matrix"], ["Softmax", "something forged"]),
}  # fmt: skip
# What people answer by mistake, in the order in which the lesson explains it.
MISTAKES = {
    "softmax": ["1; 0", "16.9; 1", "2.83; 0", "50 %; 50 %"],
    "mixed": [10 + 2, (10 + 2) // 2, 0.75 * 10, 75 * 10 + 25 * 2],
    "dk1024": ["16,384", 1024, 16],
    "mixing": [4.6, (4 - 2 + 10) // 3, 4 - 2 + 10],
    "shape": ["2 8 100 64", "(2, 100, 64)", "[2, 8, 100, 100]", "(100, 512)"],
    "square": [2, 2 * 2 * 2],
    "kv": [4, 12 - 4],
    "dkquiz": ["9,216"],
}


def open_learn(**query: str) -> AppTest:
    return open_page("pages/learn.py", **query)


def said_of(at: AppTest) -> str:
    return "\n".join(map(visit.plain, visit.bodies(at)))


def test_an_answer_is_judged_by_its_meaning():
    assert ANSWERS.keys() >= {e.key for e in exercises().values() if e.kind in ("number", "numbers", "shape")}
    for key, (right, wrong) in ANSWERS.items():
        for typed in (*right, *wrong):
            verdict = check(exercises()[key], typed)
            assert verdict.right is (typed in right), (key, typed)
            assert verdict.say or key == "combinequiz"


def test_a_mistake_that_people_make_is_told_apart():
    explained = {key: exercise.wrong for key, exercise in exercises().items() if exercise.wrong}
    assert explained.keys() == MISTAKES.keys()
    for key, wrong in explained.items():
        for typed, known in zip(MISTAKES[key], wrong, strict=True):
            verdict = check(exercises()[key], str(typed))
            assert (verdict.right, verdict.say) == (False, known["say"]), (key, typed)
    verdict = check(exercises()["softmax"], "0.056; 0.944")
    assert (verdict.right, "in another order" in verdict.say) == (False, True)
    assert check(exercises()["mixing"], "−3.4").say == exercises()["mixing"].hint, "any minus is read"


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
    assert "Divided by √2, that is " + " and ".join(f"{score:.3g}" for score in scores) in text


def test_the_lesson_holds_together():
    keys = [key for step in steps() for key in (step.key, *step.former_keys)]
    assert len(set(keys)) == len(keys)
    assert {view for step in steps() for view in step.views} == {*VIEWS}
    for step in steps():
        assert step.station in (*KEYS, "")
        assert all(key in exercises() for key in questions_of(step))
        texts = [*step.text, *(exercises()[key].question for key in questions_of(step))]
        shown = [spans(text, {"token": "it", "head": "4-2"}) for text in texts]
        words = "".join(part if isinstance(part, str) else part[1] for text in shown for part in [*text, " "])
        assert len(words.split()) <= 120, step.key
    questions = [key for step in steps() for key in questions_of(step)]
    assert len(questions) == len(set(questions))
    assert set(questions) | set(quiz()) == set(exercises())
    assert [(row.step, row.title) for row in rows()] == [(step.key, step.title) for step in steps()]
    assert [row.start for row in rows()] + [60] == [0] + [row.end for row in rows()], "in one hour"
    for exercise in exercises().values():
        assert exercise.kind in ("number", "numbers", "shape", "choice", *GUESSES)
        right = [option for option in exercise.options if option.get("right")]
        assert exercise.kind != "choice" or len(right) == (exercise.key != "vote")


def test_a_readers_token_is_never_read_as_a_mark():
    made = spans("Look at {token} now", {"token": "**[[key]]** `x` {head}"})
    assert made == ["Look at ", ["token", "**[[key]]** `x` {head}"], " now"]


def kinds_of(at: AppTest) -> set[str]:
    return {block["type"] for block, _ in found(at)}


@pytest.mark.parametrize("step", steps(), ids=lambda step: step.key)
def test_every_step_opens_from_its_link(step):
    at = open_learn(step=step.key, head="4-2", pin="10")
    assert step.title in said_of(at)
    assert any(data.get("keys") for data, _ in boards(at))
    assert one(at, "pager")[0]["now"] == steps().index(step)
    if steps().index(step) <= [step.predict for step in steps()].index("where"):
        assert not kinds_of(at) & {"follow", "matrix", "bars"}, "no picture before it is asked where it looks"
    routes = [b for b, _ in found(at) if b["type"] == "route"]
    assert [route["items"][route["now"]]["key"] for route in routes] == [step.station] * bool(step.station)


def test_a_link_to_a_step_that_was_merged_opens_the_step_with_its_matter_and_a_wrong_one_a_right_one():
    former = {old: step.key for step in steps() for old in step.former_keys}
    assert former.items() >= {"rows": "split", "kinds": "heads", "tests": "claim", "code": "summary"}.items()
    assert steps()[one(open_learn(step="code"), "pager")[0]["now"]].key == "summary"
    for step in ("-3", "99", "x"):
        assert one(open_learn(step=step, done="kv,<script>,nothing"), "pager")[0]["now"] == 0


def test_rows_of_links_lead_to_every_part_of_learn_and_every_page_for_teachers():
    markup = "".join(e.proto.body for e in open_learn(show="Quiz").get("html"))
    parts, pages = (re.search(rf'<nav class="hs-{name}".*?</nav>', markup)[0] for name in ("tabs", "top"))
    names = re.findall(r">([^<]+)</a>", parts)
    assert names == ["Lesson", "Quiz", "Glossary", "For teachers", "Training"]
    assert re.findall(r'aria-current="page">([^<]+)', parts) == ["Quiz"]
    assert [name for name in re.findall(r">([^<]+)</a>", pages) if name != "Present"] == list(TITLES)


def ticks(at: AppTest) -> list[bool]:
    return ["✓" in item["title"] for item in one(at, "pager")[0]["items"]]


def test_answers_survive_another_step_and_another_page():
    at = open_learn(step="split")
    at.text_input(key="answer-dk1024").set_value("64,0").run()
    for key in ("mix", "split"):
        at.query_params["step"] = key
        at.run()
    assert ticks(at)[4]
    assert at.text_input(key="answer-dk1024").value == "64,0"
    at.switch_page("../explore.py").run()
    at.switch_page("../learn.py").run()
    assert at.text_input(key="answer-dk1024").value == "64,0"
    assert "Right. 1024 / 16 = 64." in said_of(at)


def test_a_browser_may_hand_over_anything():
    good = {"dk1024": "64", "where@a-3-1-2": "2"}
    assert known_answers(["x"]) == {}
    assert known_answers(good | {"dk1024 ": "x", "evil": "x", "kv": "9" * 2001}) == good


def test_the_pictures_of_the_lesson_are_the_models_numbers():
    record = trace(TIRED, load_model())
    truth = layer_details(record.tokens, load_model(), 3)
    at = open_learn(step="split", head="4-2", pin="10")
    np.testing.assert_allclose(matrix(at, "one-or-many")[1:], record.weights[3, :, 10], atol=NEAR)
    at = open_learn(step="mix", head="4-2", pin="10")
    np.testing.assert_allclose(matrix(at, "output"), truth.output, atol=NEAR)
    (beside,) = (b for b, _ in found(at) if b.get("id") == "Z")
    d_v = truth.v.shape[-1]
    assert beside["slice"] == [d_v, 2 * d_v], "head 2 of the layer"
    before, added, after = matrix(at, "stream")
    np.testing.assert_allclose(added, truth.output[10], atol=NEAR)
    np.testing.assert_allclose(before + added, after, atol=NEAR)
    given = layer_details(record.tokens, load_model(), 2).hidden
    np.testing.assert_allclose(before, given[10], atol=NEAR)
    at = open_learn(step="tells", head="4-2", pin="10")
    (chart,) = charts(at)
    shown = [numbers_in(trace_["x"]) for trace_ in chart["data"]]
    looks = record.weights[3, 1, 10]
    arrives = looks * np.linalg.norm(truth.v[1] @ truth.projections.W_o[1], axis=-1)
    expected = np.stack([looks, arrives / arrives.sum()])
    most = np.sort(expected.sum(axis=0).argsort()[-len(shown[0]) :])
    np.testing.assert_allclose(shown, expected[:, most], atol=NEAR)
    at = open_learn(step="budget", head="4-2", pin="10")
    block, values = next((b, n) for b, n in found(at) if b["type"] == "budget")
    size = len(block["labels"]) * block["width"]
    words = [unit.pieces for unit in record.grid(words=True).units if unit.label != "." and not unit.special]
    given = values[block["at"] : block["at"] + size].reshape(-1, block["width"])
    np.testing.assert_allclose(given, [truth.v[1][list(word)].mean(axis=0) for word in words], atol=NEAR)
    assert "didn't" in block["labels"]
    assert [block["labels"][i] for i in block["needs"]] == ["animal", "tired"]
    at = open_learn(step="budget", text="The mother said she would visit her, too.", pin="4")
    assert one(at, "budget")[0]["needs"] == [], "only its author marks words in it"


@pytest.mark.slow
def test_the_circuit_of_the_lesson_is_what_the_library_finds(smollm2):
    text = "Mr and Mrs Dursley lived at number four. The owner of the house, Mrs Durs"
    parts = score_attribution(text, smollm2, head="19-7", query="urs#2", key="ley")
    weights = trace(text, smollm2).weights
    wrote = parts[(parts.side == "key") & (parts.part == "head")].iloc[0]
    assert (wrote.layer, wrote["head"]) == (17, 1)
    at = open_learn(step="circuit")
    assert not charts(at), "asked first"
    at.radio(key="answer-continues").set_value("At `ley`, which came after `urs`").run()
    said = prose(at).replace("*", "").replace("`", "")
    assert f"Head 19-7: the last urs looks at ley, {weights[18, 6, 19, 5]:.1%}." in said
    assert f"{parts.attrs['score']:.1f} above the mean. Head 17-1 wrote {wrote.score:.1f} of that" in said
    assert f"At ley head 17-1 looks at urs, {weights[16, 0, 5, 4]:.0%}: a previous-token head." in said
    for chart, row in zip(charts(at), (weights[18, 6, 19], weights[16, 0, 5]), strict=True):
        links = {
            line["meta"][3]: line["meta"][4] for line in chart["data"] if len(line.get("meta") or ()) == 5
        }
        assert links == pytest.approx(
            {key: weight for key, weight in enumerate(row) if weight >= 0.01}, abs=NEAR
        )
    (asked,) = visit.asked_by_links(re.search(r"<a [^>]*>Ask why there", "".join(visit.bodies(at)))[0])
    assert asked == {"model": ["smollm2"], "text": [text], "head": ["19-7"], "pin": ["19"], "to": ["5"]}


def test_the_circuit_says_why_it_is_not_there(monkeypatch):
    loaded = loading.loaded

    def missing(name, *rest):
        if name == "smollm2":
            raise Unavailable("SmolLM2 cannot be fetched now.")
        return loaded(name, *rest)

    monkeypatch.setattr(loading, "loaded", missing)
    at = open_learn(step="circuit").button(key="lesson-show-circuit").click().run()
    assert not at.exception
    assert visit.said(at, "problem") == ["SmolLM2 cannot be fetched now."]
    assert not charts(at)


def test_a_guess_is_answered_with_the_models_weights(monkeypatch):
    weights = trace(TIRED, load_model()).weights
    to_animal, to_street = (f"{weights[3, 1, 10, place]:.0%}" for place in (2, 8))
    back = [f"{np.diagonal(weights[0, head], -1).mean():.0%}" for head in (2, 5)]
    for step, guess, words in (
        ("asking", 2, f"Yes: animal, {to_animal}."),
        ("asking", 8, f"street gets {to_street}. Most goes to animal: {to_animal}."),
        ("heads", 2, f"Yes: 1-3 puts {back[0]} of its attention on the token before."),
        ("heads", 5, f"1-6 puts {back[1]} on the token before, 1-3 most: {back[0]}."),
    ):
        at = open_learn(step=step, head="4-2", pin="10")
        monkeypatch.setattr(asking, "guessed", lambda *_, guess=guess: guess)  # pressed inside a component
        assert words in prose(visit.run(at))
        monkeypatch.undo()
        assert step == "heads" or "follow" in kinds_of(at)
        assert ticks(at)[[each.key for each in steps()].index(step)]


def test_the_teachers_link_is_the_one_that_is_typed():
    at = open_learn(show="For teachers")
    at.text_input(key="class-text").set_value("Ann ran.")
    at.selectbox(key="class-page").set_value("Compare")
    at.text_input(key="class-head").set_value("2-3")
    at.toggle(key="class-present").set_value(True).run()

    def query():
        return {key: value for key, (value,) in parse_qs(urlsplit(at.code[0].value).query).items()}

    assert urlsplit(at.code[0].value).path.endswith("/compare")
    assert query() == {"text": "Ann ran.", "model": "minilm", "head": "2-3", "present": "1"}
    at.selectbox(key="class-page").set_value("Learn").run()
    at.selectbox(key="class-place-Learn").set_value("What it costs")
    at.text_input(key="class-token").set_value("ran")
    at.selectbox(key="class-unit").set_value("words").run()
    assert query().items() >= {"step": "costs", "pin": "2", "unit": "words"}.items()
    at.selectbox(key="class-unit").set_value("pieces")
    at.selectbox(key="class-specials").set_value("hidden").run()
    assert query()["pin"] == "1", "[CLS] is not counted where it is hidden"
    at.text_input(key="class-text").set_value("Unmistakably Ann ran.")
    at.selectbox(key="class-specials").set_value("shown")
    for unit in ("pieces", "words"):  # its first word is several pieces
        at.selectbox(key="class-unit").set_value(unit).run()
        labels = trace("Unmistakably Ann ran.", load_model()).grid(words=unit == "words").labels
        assert query()["pin"] == str(labels.index("ran"))
    at.text_input(key="class-token").set_value("walked").run()
    assert "“walked” is not in this sentence" in said_of(at)
    assert "pin" not in query()
    assert len(at.get("link_button")) == len(rows())
    at.text_input(key="class-token").set_value("")
    at.text_input(key="class-head").set_value("9-99").run()
    assert "This model has no head 9-99 (6 layers × 12 heads)." in said_of(at)
    at.text_input(key="class-head").set_value("4-2")
    at.selectbox(key="class-model").set_value("bert-large-uncased").run()
    assert "BERT large is a 1,340 MB download" in said_of(at)
    at.text_input(key="class-text").set_value(" ").run()
    assert "Enter a sentence" in said_of(at)
    assert not at.code


@pytest.mark.parametrize(
    ("here", "listens_at", "expected"),
    [
        ("http://localhost:8501/learn", "::", "http://10.1.2.3:8501/learn"),
        ("http://127.0.0.1:8501/x/learn", None, "http://10.1.2.3:8501/x/learn"),
        ("http://[::1]/learn", "192.168.1.7", "http://192.168.1.7/learn"),
        ("http://localhost:8501/learn", "localhost", None),
        ("http://localhost:8501/learn", "127.0.0.1", None),
        ("https://school.example/learn", "localhost", "https://school.example/learn"),
        ("http://10.0.0.9:8501/learn", "", "http://10.0.0.9:8501/learn"),
    ],
)
def test_the_class_gets_an_address_under_which_it_reaches_the_server(here, listens_at, expected):
    assert class_address(here, listens_at, lambda: "10.1.2.3") == expected
    assert class_address("http://localhost/", "", lambda: "") is None, "without a network"


@pytest.mark.parametrize(
    ("first", "second", "shown"), [("0.944", "0.056", True), ("0.9", "0.1", False), ("0.9", "", False)]
)
def test_the_worked_softmax_opens_for_the_right_answer_or_on_request(first, second, shown):
    at = open_learn(step="softmax")
    assert "tiles" not in kinds_of(at)
    at.text_input(key="answer-softmax").set_value(first)
    at.text_input(key="answer-softmax1").set_value(second).run()
    assert ("tiles" in kinds_of(at)) == shown
    if not shown:
        assert "tiles" in kinds_of(at.button(key="lesson-show-softmax").click().run())
