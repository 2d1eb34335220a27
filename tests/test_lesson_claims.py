"""The claim that the lesson tests: its numbers are the engine's or the table of roles', and none is typed in."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from boards import prose
from visit import TIRED, WIDE, open_page, unopened

from mha_core import load_model, trace
from mha_core.heads.table import read_roles
from mha_core.heads.verdict import WORDS
from pages.parts.frame import head_facts
from pages.parts.frame.glossary import LESSON
from pages.parts.learn import asking, claims
from pages.parts.learn.views import forms_alike

MINE, OTHER = (3, 1), (1, 3)


@pytest.fixture(scope="module")
def table():
    return read_roles("minilm")


def percents(text: str) -> list[str]:
    return re.findall(r"\d+%", text)


def test_tired_and_wide_are_read_by_the_model():
    _, got, says = claims.one_word()
    weights = [trace(text, load_model()).weights[3, 1, 10] for text in (TIRED, WIDE)]
    assert percents(got) == [f"{row[place]:.0%}" for row in weights for place in (2, 8)]
    assert says.startswith("1 of 2 right")


@pytest.mark.slow
def test_every_kind_of_role_shows_its_closest_head_with_the_numbers_of_the_table(table, monkeypatch):
    frame = table.to_frame().set_index(["question", "layer", "head"], drop=False)
    keys = {answer.question.title: answer.key for answer in table.answers}
    place = frame.verdict.map(WORDS.index).clip(upper=4)  # role, slight, weak, tracks, all others
    first = frame.assign(place=place, cases=-frame.n * frame.score).sort_values(["place", "cases"])
    best = first.groupby("role").head(1)
    monkeypatch.setattr(asking, "guessed", lambda board, field: 0)  # a head was pressed
    for step, column, verdict, word in (
        ("heads", "role in MiniLM", "Yes", "role"),
        ("truth", "looks for", "Partly", "tracks"),
    ):
        at = open_page("pages/learn.py", step=step)
        shown = at.dataframe[0].value
        shown = shown.assign(head=shown["head"].str.extract(r"head=(\d+-\d+)"))  # by their names in the links
        rows = set()
        for _, line in shown.iterrows():
            title = line[column].rpartition(": ")[2]
            row = frame.loc[keys[title], *map(int, line["head"].split("-"))]
            shares = [100 * row.score, 100 * row.baseline_score]
            assert [line["score"], line["baseline"]] == pytest.approx(shares)
            assert line["n"] == row.n
            assert (line["verdict"] == verdict) == (row.verdict == word)
            rows.add(row.name)
            if step == "truth" and row.n_all_wrong:
                hard = f"{row.right_where_all_wrong:.0%} of {row.n_all_wrong:,}"
                assert f"{title}, {hard} (chance {row.chance_there:.0%})" in prose(at)
        assert rows == set(best.index) if step == "heads" else set(shown["head"]) == {"4-2", "2-4"}


def test_the_text_of_the_lesson_says_what_the_table_says(table):
    for key in ("det", "case"):
        answer = table.by_key[key]
        assert answer.word[MINE] == "tracks"
        assert answer.right_where_all_wrong[MINE] > 5 * answer.chance
    assert table.by_key["agreement"].word[OTHER] == "role"


def test_pronouns_are_counted_in_the_table_trained_and_untrained(table):
    at = unopened("pages/learn.py", step="claim")
    at.session_state["lesson-tests"] = len(claims.TESTS)
    shown = prose(at.run())
    few = json.loads((LESSON / "gap.json").read_text())
    for key, test in (("antecedent", claims.pronouns), ("antecedent-even", claims.even)):
        answer, (asks, got, says) = table.by_key[key], test()
        assert f"{answer.n:,}" in asks
        shares = answer.score[MINE], answer.baselines[0].score, answer.right_there[MINE]
        assert percents(got) == [f"{share:.0%}" for share in shares]
        assert all(part.replace("`", "") in shown for part in (asks, got, says))
    assert percents(claims.pronouns()[2]) == [f"{few[key]:.0%}" for key in ("score", "baseline_score")]
    _, got, says = claims.random_weights()
    before, after = (one.by_key["antecedent"] for one in (table.untrained, table))
    assert percents(got) == [f"{answer.score[MINE]:.0%}" for answer in (before, after)]
    assert (says == "So training taught it this.") == (after.low[MINE] > before.high[MINE])


@pytest.mark.parametrize(
    ("word", "named"),
    [("role", "Role: coreference head"), ("weak", "Weak coreference head"), ("no", "No role")],
)
def test_the_conclusion_claims_no_more_than_the_verdict(monkeypatch, table, word, named):
    asked = table.by_key["antecedent"]
    words = asked.word.astype(object)  # or a longer word would be cut
    words[MINE] = word
    changed = tuple(replace(one, word=words) if one is asked else one for one in table.answers)
    monkeypatch.setattr(head_facts, "table", lambda *_: replace(table, answers=changed))
    assert named in claims.conclusion()
    assert "does not follow" in claims.conclusion()


def test_the_vote_is_answered_once_all_tests_have_run(table):
    at = unopened("pages/learn.py", step="claim").run()
    at.radio(key="answer-vote").set_value("Yes, the picture shows it").run()
    assert "You voted" not in prose(at)
    at.session_state["lesson-tests"] = len(claims.TESTS)
    at.run()
    answer = table.by_key[claims.PRONOUNS]
    lead = 100 * (answer.score[MINE] - answer.baselines[0].score)
    (text,) = (
        line for line in prose(at).splitlines() if line.startswith("You voted “Yes, the picture shows it”.")
    )
    assert f"{answer.n:,} pronouns 4-2 is {lead:.0f} points ahead of the best baseline" in text
    assert ("The tests say yes" in text) == (answer.word[MINE] == "role")


def test_agreement_is_shown_where_reference_is_impossible():
    row = trace(claims.IMPOSSIBLE, load_model()).weights[1, 3, 1]
    assert f"gives Anna **{row[4]:.0%}** and Peter {row[6]:.0%}" in claims.impossible()
    assert row[4] > 5 * row[6]


def test_how_alike_forms_are_is_the_cosine_of_their_matrices():
    rng = np.random.default_rng(0)
    W_q, W_k = rng.normal(size=(4, 10, 3)), rng.normal(size=(2, 10, 3))
    forms = [(W_q[i] @ W_k[i // 2].T).ravel() for i in range(4)]
    expected = np.mean([
        abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) for i, a in enumerate(forms) for b in forms[i + 1 :]
    ])  # fmt: skip
    assert forms_alike(W_q, W_k) == pytest.approx(expected)
    assert forms_alike(W_q[:1], W_k[:1]) == 0
