"""The claim that the lesson tests: its numbers are the models', the shipped files', or GAP's, and none is typed in."""

import json
import os
import re
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import once
import pytest
from boards import flat, found, matrix, prose, words_of
from visit import asked_by_links, open_page

from mha_core import load_model, trace
from mha_core.heads.verdict import Evidence, judge
from mha_core.wording import percent
from pages.parts.learn import claims, honest
from pages.parts.learn.outcome import Share, Trial, fallen, learnt, pronouns_said
from pages.parts.learn.ranks import forms_alike

ROOT = Path(__file__).parent.parent
TIRED = "The animal didn't cross the street because it was too tired."
WIDE = TIRED.replace("tired", "wide")


@pytest.fixture(scope="module")
def findings():
    return once.findings(), once.findings(trained=False)


@pytest.fixture
def at_hand(monkeypatch, findings):
    monkeypatch.setattr(claims.cache, "findings", lambda name, trained=True: findings[0 if trained else 1])
    return findings


def test_tired_and_wide_are_read_by_the_model():
    test = claims.one_word()
    for text in (TIRED, WIDE):
        row = trace(text, load_model()).weights[3, 1, 10]
        assert f"animal {percent(float(row[2]))}, street {percent(float(row[8]))}" in test.got
    assert test.says == "1 of 2 right: it stays with `animal`."


@pytest.mark.slow
def test_the_claim_falls_by_the_numbers_of_the_findings(at_hand):
    trained, untrained = (one.jobs["coreference"] for one in at_hand)
    test = claims.built_in()
    right = round(float(trained.right[:, 3, 1].sum()))
    assert trained.n >= 72
    assert test.got.startswith(f"{percent(right / trained.n)} (95 %:")
    assert test.says == "No better than a coin."
    assert percent(float(untrained.score[3, 1])) in claims.untrained().got
    assert (
        "On the sentences of meaning alone, training made no difference that shows" in claims.untrained().says
    )
    assert (trained.low[3, 1], untrained.low[3, 1]) < (untrained.high[3, 1], trained.high[3, 1])
    rows = claims.instead(at_hand[0])
    nouns = at_hand[0].jobs["determiner"]
    assert [nouns.job.title, "4-2", percent(float(nouns.score[3, 1]))] in [row[:3] for row in rows]
    agrees = at_hand[0].jobs["agreement"].score
    assert rows[-1][1:3] == ["2-4", percent(float(agrees[1, 3]))]
    assert agrees[1, 3] > agrees[3, 1] > 0.5, "as the text beside it says"
    assert {row[-1] for row in rows[:-2]} == {"yes"}


HIGH, LOW, COIN = Share(0.9, 0.8, 0.95), Share(0.45, 0.4, 0.48), Share(0.5, 0.42, 0.58)


@pytest.mark.parametrize(
    ("meaning", "names", "says", "held"),
    [
        ((COIN, COIN), (HIGH, COIN), "What 4-2 can do on GAP it learnt. On the sentences of meaning alone, "
         "training made no difference that shows: the 95 % intervals overlap.", False),
        ((HIGH, COIN), (HIGH, COIN), "What 4-2 can do on GAP it learnt. On the sentences of meaning alone, "
         "training made a difference.", True),
        ((LOW, Share(0.2, 0.1, 0.3)), (COIN, LOW), "On GAP, training made no difference that shows. On the sentences "
         "of meaning alone, training made a difference, yet not enough to beat a coin.", False),
        ((Share(0.55, 0.45, 0.6), Share(0.2, 0.1, 0.3)), (HIGH, COIN), "What 4-2 can do on GAP it learnt. On the "
         "sentences of meaning alone, training made a difference, yet not enough to beat a coin.", True),
    ],
)  # fmt: skip
def test_what_a_head_learnt_follows_from_the_intervals(meaning, names, says, held):
    assert learnt("4-2", meaning, names) == (says, held)


@pytest.mark.parametrize(
    ("held", "says"),
    [
        ((False, False, False, False), "The claim has fallen: it failed tests 1, 2, 3 and 4 of 4."),
        ((True, False, True, True), "The claim has fallen: it failed test 2 of 4."),
        ((True, True, True, True), "The claim has passed all 4 tests. It holds as far as these go."),
    ],
)
def test_what_is_left_of_the_claim_follows_from_its_tests(held, says):
    assert fallen([Trial("", "", "", "", one) for one in held]) == says


def test_pronouns_and_other_words_are_told_apart():
    row = {"accuracy": 0.71, "ci_low": 0.66, "control": 0.51}
    assert pronouns_said(row) == "Above a coin, and specific to pronouns (51.0 % from other words)"
    assert pronouns_said(row | {"control": 0.7}).startswith(
        "Above a coin, but from other words as well (70.0 %"
    )
    assert pronouns_said(row | {"ci_low": 0.5}).startswith("Not above a coin")


def test_a_model_that_passes_is_told_so(monkeypatch):
    """Another model, with a head that does what is claimed: none of the sentences is of MiniLM's."""
    good = {
        "accuracy": 0.8,
        "ci_low": 0.75,
        "ci_high": 0.95,
        "control": 0.5,
        "verdict": "specialist",
        "because": "beats",
    }
    card = {"n": 9, "baselines": {"first": 0.6}, "head": good}
    twin = card | {"n": 8, "head": good | {"accuracy": 0.4, "ci_low": 0.3, "ci_high": 0.6}}
    monkeypatch.setattr(claims, "gap", lambda: {"trained": card, "untrained": twin})
    monkeypatch.setattr(
        claims.cache, "findings", lambda name, trained=True: table_of(0.9 if trained else 0.5)
    )
    monkeypatch.setattr(
        claims, "looks", lambda text, *_: {"animal": "tired" in text, "street": "wide" in text}
    )
    tests = [test() for _, test in claims.TESTS]
    assert [test.held for test in tests] == [True] * 4
    assert tests[3].got == "50.0 % of the 130, 40.0 % of GAP's 8"
    assert tests[3].beat == "Trained: 90.0 % and 80.0 %."
    assert fallen(tests).startswith("The claim has passed")
    monkeypatch.setattr(claims.cache, "findings", lambda name, trained=True: table_of(0.5))
    assert [test().held for _, test in claims.TESTS] == [True, False, True, False]


def table_of(score: float) -> SimpleNamespace:
    """Findings in which 4-2 is right in this share of 130 sentences."""
    at = {claims.HEAD: score}
    verdict = judge(Evidence("coreference", score, 130, 0.5, "a coin", 144))
    table = SimpleNamespace(
        n=130, baseline=0.5, baseline_name="a coin", score=at, low={claims.HEAD: score - 0.08},
        high={claims.HEAD: score + 0.08}, verdicts={claims.HEAD: verdict},
    )  # fmt: skip
    return SimpleNamespace(jobs={"coreference": table})


def test_gap_is_what_the_readme_and_the_shipped_file_say():
    card = claims.gap()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for number in (card["trained"]["head"]["accuracy"], card["trained"]["baselines"]["most frequent"]):
        assert percent(number) in readme
        assert percent(number) in claims.published().got + claims.published().beat
    low, high = (percent(card["trained"]["head"][end]) for end in ("ci_low", "ci_high"))
    assert f"(95 %: {low} to {high}; n = {card['trained']['n']})" in claims.published().got
    assert f"n = {card['trained']['n']}" in readme
    assert "no better than the rule just named" in claims.published().says
    assert card["trained"]["digest"] == load_model().digest


def test_gap_counted_anew_is_what_is_shipped(tmp_path):
    file = os.environ.get("GAP_VALIDATION", "")
    if not file:
        pytest.skip("GAP_VALIDATION names no copy of gap-validation.tsv")
    from mha_core.cli import main

    for name, flags in (("trained", []), ("untrained", ["--untrained"])):
        out = tmp_path / f"{name}.json"
        main(["heads", "coreference", file, "--out", str(out), *flags])
        rows = json.loads(out.read_text())["heads"]
        mine = next(r for r in rows if (r["direction"], r["layer"], r["head"]) == ("pronoun->mention", 4, 2))
        assert mine["accuracy"] == pytest.approx(claims.gap()[name]["head"]["accuracy"], abs=1e-6)


def test_agreement_is_shown_where_reference_is_impossible():
    row = trace(claims.IMPOSSIBLE, load_model()).weights[1, 3, 1]
    assert (
        f"gives Anna **{percent(float(row[4]))}** and Peter {percent(float(row[6]))}" in claims.impossible()
    )
    assert row[4] > 5 * row[6]


def test_the_classrooms_rows_are_its_models_and_its_card_is_the_shipped_one():
    card = json.loads((ROOT / "assets/classroom/report.json").read_text(encoding="utf-8"))
    head = tuple(int(part) - 1 for part in card["models"]["seed-1"]["head"].split("-"))
    rows = {(line[0], line[1]): line[2:] for line in claims.moving()}
    for word, text in (("tired", TIRED), ("wide", WIDE)):
        record = trace(text, load_model("classroom"))
        words = [piece.text.lower() for piece in record.tokens.pieces]
        row = record.weights[head][words.index("it")]
        shown = rows[f"Classroom {card['models']['seed-1']['head']}", word]
        assert shown == [percent(float(row[words.index(name)])) for name in ("animal", "street")]
    said = " ".join(claims.card_said())
    assert percent(card["over_seeds"]["pass"]) in said
    one = card["models"]["seed-1"]
    without, answers = (percent(one[part]["better"]) for part in ("without_head", "answers"))
    assert f"the model still prefers the right noun in {without} instead of {answers}" in said
    assert without != answers
    assert f"; untrained in {percent(card['untrained']['pass'])}." in said


def test_the_claims_picture_is_the_row_of_it_and_the_impossible_sentence_opens_at_her():
    at = open_page("pages/learn.py", step="claim")
    np.testing.assert_allclose(
        matrix(at, "claim")[0], trace(TIRED, load_model()).weights[3, 1, 10], atol=2e-5
    )
    labels = trace(claims.IMPOSSIBLE, load_model()).grid().labels
    shown = []
    board = SimpleNamespace(add=lambda *_: None, show=lambda _: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(honest, "Board", lambda: board)
        patch.setattr(honest, "found", lambda: None)
        patch.setattr(honest.claims, "instead", lambda _: [])
        patch.setattr(honest, "markup", shown.append)
        honest.truth(None)
    link = next(one for one in re.findall(r'href="([^"]+)"', shown[0]) if "2-4" in one).replace("&amp;", "&")
    query = {key: value[0] for key, value in parse_qs(urlsplit(link).query).items()}
    assert (query["text"], query["head"]) == (claims.IMPOSSIBLE, "2-4")
    assert labels[int(query["pin"])] == "She"


def test_what_is_to_beat_is_the_rule_and_not_the_head(monkeypatch):
    table = SimpleNamespace(
        n=80, baseline=0.5, baseline_name="a coin", job=SimpleNamespace(title="antecedent"),
        score=np.full((6, 12), 0.25), low=np.full((6, 12), 0.125), high=np.full((6, 12), 0.375),
        verdicts={claims.HEAD: judge(Evidence("coreference", 0.25, 80, 0.5, "a coin", 72))},
        verdict=lambda *_: "none",
    )  # fmt: skip
    found_here = SimpleNamespace(
        jobs=dict.fromkeys((claims.MEANING, claims.AGREEMENT), table), best_jobs=lambda _: ()
    )
    monkeypatch.setattr(claims.cache, "findings", lambda *_, **__: found_here)
    assert claims.built_in().beat == "To beat: a coin 50.0 %."
    assert claims.instead(found_here)[0] == ["antecedent", "4-2", "25.0 %", "50.0 %", "80", "no"]


def test_the_failing_example_of_a_kind_is_one_that_fails(monkeypatch):
    monkeypatch.setattr(honest, "example_link", lambda look, head, words: f"{look} {head} {words}")
    table = SimpleNamespace(
        n=80, baseline=0.5, job=SimpleNamespace(title="object", group="syntactic"), score=np.full((6, 12), 0.25),
        order=lambda: [(1, 3)], verdict=lambda *_: "none",
        examples=lambda layer, head, count, right=True: [f"{layer}-{head} {'right' if right else 'wrong'}"] * count,
    )  # fmt: skip
    row = honest._kind(table)
    assert re.findall(r'href="([^"]+)" target="_self">(\w+)<', row) == [
        ("1-3 right (1, 3) True", "works"),
        ("1-3 wrong (1, 3) True", "fails"),
    ]


def test_no_share_is_typed_into_the_steps_about_claims():
    """Numbers with a per cent sign in the text of the lesson are 100 % or stand with whom they are from."""
    text = (ROOT / "assets/lesson/lesson.toml").read_text(encoding="utf-8")
    steps = re.split(r"\[\[step\]\]", text)
    for step in steps:
        if re.search(r'key = "(claim|tests|truth|classroom)"', step):
            assert not re.search(r"\d+(\.\d+)? %", step)


@pytest.mark.parametrize(
    ("seen", "button", "told"),
    [
        (0, "Run test 1: change one word", ["The claim stands: 4-2 finds what a pronoun stands for."]),
        (1, "Run test 2: sentences of meaning", ["1 · Asks 1. 4-2: got 1. beats 1", "says 1"]),
        (2, None, [
            "1 · Asks 1. 4-2: got 1. beats 1", "says 1", "2 · Asks 2. 4-2: got 2. beats 2", "says 2",
            "The claim has fallen: it failed test 2 of 2.",
        ]),
    ],
)  # fmt: skip
def test_the_button_names_the_test_that_it_runs(monkeypatch, seen, button, told):
    made = [Trial(f"Asks {i}", f"got {i}", f"beats {i}", f"says {i}", i == 1) for i in (1, 2)]
    tests = [("change one word", lambda: made[0]), ("sentences of meaning", lambda: made[1])]
    monkeypatch.setattr(honest.claims, "TESTS", tests)
    session, pressed, shown, links = {honest.TESTS_SEEN: seen}, [], [], []
    monkeypatch.setattr(honest, "st", SimpleNamespace(
        session_state=session, spinner=lambda _: nullcontext(), container=lambda **_: nullcontext(),
        button=lambda label, on_click, args, **_: pressed.append((label, on_click, args)),
    ))  # fmt: skip
    monkeypatch.setattr(honest.Board, "show", lambda board, _: shown.extend(flat(board.blocks)))
    monkeypatch.setattr(honest, "markup", lambda text, **_: links.append(text))
    honest.tests(None)
    assert [words_of(block) for block in shown if block["type"] == "paragraph"] == told
    assert [label for label, *_ in pressed] == ([button] if button else [])
    for _, see, args in pressed:
        see(*args)
        assert session[honest.TESTS_SEEN] == seen + 1
    (asked,) = asked_by_links(links[0])
    assert (asked["text"], asked["text2"], asked["head"], asked["against"]) == (
        [TIRED], [WIDE], ["4-2"], ["sentence"]
    )  # fmt: skip


@pytest.mark.slow
def test_the_tests_come_one_by_one_and_every_kind_opens_the_real_head(at_hand):
    at = open_page("pages/learn.py", step="tests")
    assert "The claim stands" in prose(at)
    for number in range(1, len(claims.TESTS) + 1):
        assert at.button(key="claim-next").label.startswith(f"Run test {number}: ")
        at.button(key="claim-next").click().run()
        assert (f"{number} · " in prose(at), f"{number + 1} · " in prose(at)) == (True, False)
    assert "The claim has fallen: it failed tests 1, 2, 3 and 4 of 4." in prose(at)
    at = open_page("pages/learn.py", step="kinds")
    (table,) = [e.proto.body for e in at.get("html") if 'class="hs-scroll hs-kinds"' in e.proto.body]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th><td>(.*?)</td>.*?</tr>", table)
    assert ("determiner → its noun", "4-2") in rows
    assert len(rows) == 13, "the kinds of head that the field names, the semantic among them"
    link = re.findall(r'href="([^"]+)"[^>]*>works', table)[2].replace("&amp;", "&")
    query = {key: value[0] for key, value in parse_qs(urlsplit(link).query).items()}
    assert (query["head"], query["unit"]) == ("4-2", "words")
    grid = trace(query["text"], load_model()).grid(words=True, specials="shown")
    assert int(grid.weights[3, 1, int(query["pin"])].argmax()) == int(query["to"]), (
        "the picture shows what is said"
    )
    at = open_page("pages/learn.py", step="truth")
    assert any(block.get("id") == "instead" for block, _ in found(at))


def test_how_alike_forms_are_is_the_cosine_of_their_matrices():
    rng = np.random.default_rng(0)
    W_q, W_k = rng.normal(size=(4, 10, 3)), rng.normal(size=(2, 10, 3))
    forms = [(W_q[i] @ W_k[i // 2].T).ravel() for i in range(4)]
    expected = np.mean([
        abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) for i, a in enumerate(forms) for b in forms[i + 1 :]
    ])  # fmt: skip
    assert forms_alike(W_q, W_k) == pytest.approx(expected)
    assert forms_alike(W_q[:1], W_k[:1]) == 0


def test_a_row_of_the_jobs_has_what_the_best_head_reaches_and_what_it_has_to_beat(monkeypatch):
    monkeypatch.setattr(honest, "example_link", lambda look, head, words: f"{look}-{head[0]}-{words}")
    table = SimpleNamespace(
        job=SimpleNamespace(title="determiner → its noun", group="syntactic"),
        score=np.arange(8.0).reshape(2, 4) / 10,
        baseline=0.45,
        n=120,
        order=lambda: [(1, 2), (0, 1)],
        verdict=lambda *_: "rule",
        examples=lambda layer, head, n, right=True: [f"{'right' if right else 'wrong'}{n}"],
    )
    row = honest._kind(table)
    assert re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)[:6] == [
        "determiner → its noun", "2-3", "60.0 %", "45.0 %", "120", "a rule does it",
    ]  # fmt: skip
    assert re.findall(r'href="(.*?)"[^>]*>(\w+)<', row) == [
        ("right1-1-True", "works"),
        ("wrong1-1-True", "fails"),
    ]
