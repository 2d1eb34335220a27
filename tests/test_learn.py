"""The lesson: answers are judged as a teacher would, every number comes from the model, the link keeps the place."""

import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch
import visit
from boards import assert_spectra, boards, charts, found, matrix, numbers_in, one, prose
from streamlit.testing.v1 import AppTest
from visit import unopened

from mha_core import Unavailable, layer_details, load_model, projections_of, score_attribution, trace
from pages.parts.frame import loading
from pages.parts.frame.glossary import spans
from pages.parts.inside.route import KEYS
from pages.parts.learn import asking
from pages.parts.learn.exercises import GUESSES, check, exercises, previous_mass, questions_of, quiz, steps
from pages.parts.learn.lesson import VIEWS
from pages.parts.learn.plan import rows
from pages.parts.learn.progress import known_answers
from pages.parts.learn.teacher import TITLES, class_address

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
        ("dk1024", "16384", False),
        ("dk1024", "16,384", False),
        ("dk1024", "-64", False),
        ("dk1024", "1024/16", False),
        ("dk1024", "1024/16 = 62", False),
        ("dk1024", "1024/16 = 64", False),
        ("dk1024", "6 4", False),
        ("dkquiz", "64", True),
        ("shape", "(2, 100, 512)", True),
        ("shape", "2 x 100 x 512", True),
        ("shape", "2×100×512", True),
        ("shape", "[2;100;512]", True),
        ("shape", "2 100 512", True),
        ("shape", "-2,100,512", False),
        ("shape", "[2, 8, 100, 64]", False),
        ("shape", "(100, 512)", False),
        ("shape", "the same", False),
        ("softmax", "0.944; 0.056", True),
        ("softmax", "0,944;0,056", True),
        ("softmax", "94.4; 5.6", True),
        ("softmax", "94,4 %; 5,6%", True),
        ("softmax", "94.4 %; 0.056", True),
        ("softmax", "94.4; 6.6", False),
        ("softmax", "0.95; 0.05", True),
        ("softmax", "0.9; 0.1", False),
        ("softmax", "0.056; 0.944", False),
        ("softmax", "0.944; ", False),
        ("softmax", "1; 0", False),
        ("square", "4", True),
        ("square", "400 %", True),
        ("square", "2", False),
        ("mixed", "8", True),
        ("mixing", "3,4", True),
        ("mixing", "4.6", False),
        ("mixing", "−3.4", False),
        ("kv", "3", True),
        ("kv", "4", False),
        ("combinequiz", "Concatenation, then the output matrix", True),
        ("combinequiz", "Softmax", False),
        ("combinequiz", "something forged", False),
    ],
)
def test_an_answer_is_judged_by_its_meaning(key, typed, right):
    verdict = check(exercises()[key], typed)
    assert verdict.right is right
    assert verdict.say or key == "combinequiz"


def test_every_question_with_a_number_takes_the_number_that_is_computed_here():
    powers = np.exp([2.83, 0])
    layer = torch.nn.MultiheadAttention(512, 8, batch_first=True)
    x = torch.zeros(2, 100, 512)
    computed = {
        "dk1024": f"{1024 // 16}",
        "dkquiz": f"{768 // 12}",
        "softmax": "{:.3f}; {:.3f}".format(*powers / powers.sum()),
        "shape": str(tuple(layer(x, x, x)[0].shape)),
        "square": f"{200**2 // 100**2}",
        "mixed": f"{0.75 * 10 + 0.25 * 2:g}",
        "mixing": f"{np.dot([4, -2, 10], [0.5, 0.3, 0.2]):.1f}",
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
        ("softmax", "16.9; 1", "Those are the powers"),
        ("dk1024", "1024", "as wide as the model"),
        ("softmax", "2.83; 0", "Those are the scores"),
        ("softmax", "0.056; 0.944", "in another order"),
        ("mixed", "12", "That is their sum"),
        ("mixing", "4.6", "second head"),
        ("kv", "8", "8 fewer"),
        ("shape", "2 8 100 64", "with the heads apart"),
        ("shape", "(2, 100, 64)", "That is one head"),
        ("shape", "(2, 8, 100, 100)", "Those are the attention weights"),
        ("square", "2", "so do the columns"),
        ("kv", "4", "4 are left"),
        ("dkquiz", "9,216", "That is the product"),
        ("softmax", "50 %; 50 %", "from equal scores"),
        ("mixed", str((10 + 2) // 2), "That is the plain mean"),
        ("mixed", str(0.75 * 10), "the first part only"),
        ("mixed", str(75 * 10 + 25 * 2), "75% is 0.75"),
        ("dk1024", str(1024 * 16), "That is 1024 × 16"),
        ("dk1024", "16", "how many heads there are"),
        ("mixing", str((4 - 2 + 10) // 3), "That is the mean"),
        ("mixing", str(4 - 2 + 10), "That is the sum"),
        ("shape", "(100, 512)", "That is one text of the batch"),
        ("square", str(2 * 2 * 2), "the number of heads stays"),
    ],
)
def test_a_mistake_that_people_make_is_told_apart(key, typed, said):
    exercise = exercises()[key]
    verdict = check(exercise, typed)
    assert (verdict.right, said in verdict.say) == (False, True)
    assert sum(said in known["say"] for known in exercise.wrong) == ("another order" not in said)


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
        for text in step.text:
            assert spans(text, {"token": "it", "head": "4-2"})
    asked = [key for step in steps() for key in questions_of(step)]
    assert len(asked) == len(set(asked))
    assert set(asked) | set(quiz()) == set(exercises())


def test_the_lesson_has_thirteen_steps_of_120_words_at_most():
    assert len(steps()) == 13
    for step in steps():
        asked = [exercises()[key].question for key in questions_of(step)]
        shown = re.sub(
            r"\[\[(?:[^\]|]+\|)?([^\]]+)\]\]|\[([^\]]+)\]\([^)]+\)", r"\1\2", " ".join([*step.text, *asked])
        )
        assert len(shown.split()) <= 120, step.key


def test_every_question_is_answered_by_a_choice_a_number_or_a_shape():
    for exercise in exercises().values():
        assert exercise.kind in ("number", "numbers", "shape", "choice", *GUESSES)
        right = [option for option in exercise.options if option.get("right")]
        assert exercise.kind != "choice" or len(right) == (exercise.key != "vote")


def test_the_plan_walks_through_all_steps_in_one_hour():
    assert [(row.step, row.title) for row in rows()] == [(step.key, step.title) for step in steps()]
    assert [row.start for row in rows()] + [60] == [0] + [row.end for row in rows()]


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


def test_a_link_to_a_step_that_was_merged_opens_the_step_with_its_matter():
    former = {old: step.key for step in steps() for old in step.former_keys}
    assert former.items() >= {"rows": "split", "kinds": "heads", "tests": "claim", "code": "summary"}.items()
    assert steps()[one(open_learn(step="code"), "pager")[0]["now"]].key == "summary"


def test_one_row_of_links_leads_to_every_part_of_learn():
    at = open_learn(show="Quiz")
    (row,) = re.findall(r'<nav class="hs-tabs".*?</nav>', "".join(e.proto.body for e in at.get("html")))
    names = re.findall(r">([^<]+)</a>", row)
    assert names == ["Lesson", "Quiz", "Glossary", "For teachers", "Training"]
    assert re.findall(r'aria-current="page">([^<]+)', row) == ["Quiz"]


@pytest.mark.parametrize("asked", ["-3", "99", "x"])
def test_a_wrong_step_opens_a_right_one(asked):
    open_learn(step=asked, done="kv,<script>,nothing")


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
    assert known_answers(["x"]) == {}
    assert known_answers(
        {"dk1024": "64", "where@a-3-1-2": "2", "dk1024 ": "x", "evil": "x", "kv": "9" * 2001}
    ) == {"dk1024": "64", "where@a-3-1-2": "2"}


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
    assert one(at, "budget")[0]["needs"] == [], (
        "in a sentence of one's own nothing is marked but by its author"
    )


@pytest.mark.slow
def test_the_circuit_of_the_lesson_is_what_the_library_finds(smollm2):
    text = "Mr and Mrs Dursley lived at number four. The owner of the house, Mrs Durs"
    parts, weights = (
        score_attribution(text, smollm2, head="19-7", query="urs#2", key="ley"),
        trace(text, smollm2).weights,
    )
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


@pytest.mark.slow
def test_the_ranks_of_the_lesson_are_those_of_the_head_and_layer_that_are_shown():
    model = load_model()
    for layer, head in ((0, 2), (4, 7)):
        used = projections_of(model, layer)
        at = open_learn(step="split", head=f"{layer + 1}-{head + 1}")
        assert_spectra(at, used, head)
        narrow, wide = (line["name"].rpartition(" ")[2] for line in charts(at)[0]["data"])
        assert narrow != wide
        assert f"{layer + 1}-{head + 1}: rank {narrow} of 384." in prose(at).replace("*", "")
        assert f"unsplit: rank {wide}." in prose(at).replace("*", "")


def pressed(monkeypatch, at: AppTest, value: int) -> AppTest:
    """The page after the reader pressed something on a board: AppTest cannot press inside a component."""
    monkeypatch.setattr(asking, "guessed", lambda board, field: value)
    at.run()
    assert not at.exception
    return at


@pytest.mark.parametrize(("guess", "right"), [(2, True), (8, False)])
def test_a_guess_is_answered_with_the_models_weights(monkeypatch, guess, right):
    weights = trace(TIRED, load_model()).weights[3, 1, 10]
    at = pressed(monkeypatch, open_learn(step="asking", head="4-2", pin="10"), guess)
    if right:
        assert f"Yes: animal, {weights[2]:.0%}." in prose(at)
    else:
        said = f"street gets {weights[8]:.0%}. Most goes to animal: {weights[2]:.0%}."
        assert said in prose(at)
    assert "follow" in [b["type"] for b, _ in found(at)]
    assert ticks(at)[1]


def test_the_teachers_link_is_the_one_that_is_typed():
    at = open_learn(show="For teachers")
    at.text_input(key="class-text").set_value("Ann ran.")
    at.selectbox(key="class-page").set_value("Compare")
    at.text_input(key="class-head").set_value("2-3")
    at.toggle(key="class-present").set_value(True).run()
    parts = urlsplit(at.code[0].value)
    assert parts.path.endswith("/compare")
    assert parse_qs(parts.query) == {
        "text": ["Ann ran."], "model": ["minilm"], "head": ["2-3"], "present": ["1"],
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
    assert "“walked” is not in this sentence" in said_of(at)
    assert "pin" not in parse_qs(urlsplit(at.code[0].value).query)
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


def test_a_teacher_finds_the_pages_of_the_menu():
    menu = "".join(e.proto.body for e in open_learn().get("html"))
    (row,) = re.findall(r'<nav class="hs-top".*?</nav>', menu)
    assert [name for name in re.findall(r">([^<]+)</a>", row) if name != "Present"] == list(TITLES)


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
