"""What Explore says of roles: which question a link is a case of, what came out of it, and what a head usually does."""

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from urllib.parse import parse_qs

import numpy as np
import pytest
from contexts import context_of

from mha_core import AttentionRecord, HeadScopeError, load_model, trace
from mha_core.display_names import head_name, percent
from mha_core.draw.payload import record_payload
from mha_core.heads.link_kind import link_kind
from mha_core.heads.questions.base import KIND_OF
from mha_core.heads.roles import description_of, heads_with, roles, roles_held
from mha_core.heads.table import RoleTable, read_roles
from mha_core.record.grid import Unit
from pages.parts.explore import evidence
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection

KNOWN = (
    "det", "det:back", "case", "nmod:poss", "antecedent", "copy", "previous", "next", "self", "sink-begin",
)  # fmt: skip
TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    "Maria gave the book to her sister, and the sister read the book.",
)


def units(text: str) -> list[Unit]:
    """[CLS], the words, each a unit."""
    words = ["[CLS]", *text.split()]
    return [Unit(word, 0, 0, 0, i == 0, (i,)) for i, word in enumerate(words)]


@pytest.mark.parametrize(
    ("text", "query", "key", "kind"),
    [
        ("They saw a dog", 2, 3, "next"),
        ("The dog saw it was near", 4, 2, "antecedent"),
        ("They sat in the old house", 3, 6, "case"),
        ("They sold their house", 3, 4, "nmod:poss"),
        ("A dog met a dog", 5, 2, "copy"),
        ("A dog met a dog", 2, 5, None),
        ("Dogs saw them run", 3, 2, "previous"),
        ("Dogs run fast", 2, 2, "self"),
        ("Dogs run very fast", 1, 4, None),
        ("The very old red dog", 1, 5, "det"),
        ("The very old red dog", 5, 1, "det:back"),
        ("The a b c d dog", 1, 6, None),
        ("The end of the day", 3, 4, "next"),
        ("The end of the day", 4, 3, "previous"),
        ("Their own her old dog", 1, 3, None),
        ("The dog saw the one it had", 6, 1, None),
        ("The dog saw the one it had", 6, 4, None),
    ],
)
def test_a_link_is_a_case_of_the_question_that_its_words_ask(text, query, key, kind):
    assert link_kind(units(text), query, key, KNOWN) == kind


def test_words_of_two_texts_stand_at_no_distance_from_each_other():
    words = units("Maria hid the book . She knew")[1:]
    both = [replace(unit, segment=int(i > 3)) for i, unit in enumerate(words)]
    across = [link_kind(both, *link, KNOWN) for link in ((3, 4), (4, 3), (2, 6))]
    assert across == [None, None, None]
    assert [link_kind(both, *link, KNOWN) for link in ((3, 2), (2, 3))] == ["det:back", "det"]
    assert link_kind(both, 5, 0, KNOWN) == "antecedent", "which is no matter of place"


def test_a_special_token_is_a_sink_and_a_question_that_was_not_asked_is_none():
    assert link_kind(units("Dogs run"), 1, 0, KNOWN, "begin") == "sink-begin"
    assert link_kind(units("Dogs run"), 1, 0, KNOWN, "separator") is None
    assert link_kind(units("Dogs run"), 0, 1, KNOWN) is None
    assert link_kind(units("The dog ran"), 1, 2, ("next",)) == "next"


@cache
def shipped(name: str) -> tuple[RoleTable, tuple[AttentionRecord, ...]]:
    table = read_roles(name)
    if table is None:
        pytest.skip(f"no table of {name} is shipped")
    try:
        model = load_model(name, device="cpu")
    except HeadScopeError:
        pytest.skip(f"{name} is not installed")
    return table, tuple(trace(text, model) for text in TEXTS)


each_model = pytest.mark.parametrize("name", ["minilm", "smollm2"])


def n_words(text: str) -> int:
    """Return the number of words of the longest sentence."""
    return max(len(sentence.split()) for sentence in re.split(r"(?<=[.?]) ", text))


@each_model
def test_what_a_head_usually_does_names_every_role_that_it_has_and_else_what_comes_closest(name):
    table, records = shipped(name)
    named, grids = roles(table), [record.grid() for record in records]
    for head in table.heads:
        for record, grid in zip(records, grids, strict=True):
            context = context_of(record, Selection(head, (len(grid) // 2,)), grid=grid)
            assert n_words(evidence.usual_text(context, table)) <= 20, head
        text = evidence.usual_text(context_of(records[0], Selection(head), grid=grids[0]), table)
        held, described = named.get(head), description_of(table, head)
        assert text.startswith("Role") == (held is not None)
        assert text.startswith("No role.") == (
            held is None and (described is None or not described.name.startswith(("weak", "slight")))
        )
        for kind in held.kinds if held else ():
            assert KIND_OF[kind].name in text


@each_model
def test_what_is_said_of_a_link_is_the_verdict_and_the_numbers_of_the_table(name):
    table, _ = shipped(name)
    for answer in table.answers:
        for head in table.heads:
            text = evidence.test_text(answer, head)
            question, outcome = text.split("? ", 1)
            assert n_words(text) <= 20, (answer.key, head)
            assert question.casefold() == answer.question.title.casefold()
            assert outcome.startswith("Yes") == (answer.word[head] == "role")
            assert outcome.startswith("Cannot tell") == (answer.word[head] == "unclear")
            share = answer.mass[head] if answer.kind == "sink" else answer.score[head]
            reason = "are needed" in outcome or "follows a baseline" in outcome
            assert reason or (percent(share) in outcome and f"{answer.n:,}" in outcome), (answer.key, head)


@each_model
def test_no_head_is_shown_with_a_role_that_no_verdict_gives_it(name):
    table, (record, _) = shipped(name)
    described = {head: role for head in table.heads if (role := description_of(table, head))}
    sent = record_payload(record.grid(), record.tokens, "M", described | roles(table))["roles"]
    shown = {head: (title, kind) for title, kind, _, heads, _ in sent for head in heads.split()}
    counts = Counter(kind for _, kind, _, heads, others in sent for _ in f"{heads} {others}".split())
    assert counts == Counter({kind.word: len(heads_with(table, kind.key)) for kind in KIND_OF.values()})
    assert [kind.word for kind in KIND_OF.values() if kind.word in {kind for _, kind, *_ in sent}] == list(
        dict.fromkeys(kind for _, kind, *_ in sent)
    )
    for head in table.heads:
        earned = {(role.name, KIND_OF[role.kind].word) for role in roles_held(table, head)}
        assert (head_name(head) in shown) == bool(earned), head
        assert not earned or shown[head_name(head)] in earned


@pytest.mark.parametrize("options", [{"model": "smollm2"}, {"trained": False}, {}])
def test_the_test_of_a_link_is_on_roles_under_its_own_model_and_weights(options):
    request = Request(TEXTS[0], **options)
    table, (record, _) = shipped(request.model)
    context = context_of(record, Selection((1, 4), (2,), 1), request)
    answer = evidence.test_of_link(context, table if request.trained else table.untrained)
    shown = evidence.of_choice(context)["evidence"]
    page, _, query = shown["href"].partition("?")
    expected = {"head": ["2-5"], "question": [answer.key]}
    expected |= {} if request.model == "minilm" else {"model": [request.model]}
    expected |= {} if request.trained else {"weights": ["untrained"]}
    assert (page, parse_qs(query)) == ("./roles", expected)
    assert shown["said"] == evidence.test_text(answer, (1, 4))


def test_a_sink_is_asked_by_the_special_token_that_is_looked_at():
    table, (record, _) = shipped("minilm")
    last = len(record.tokens.pieces) - 1
    links = [context_of(record, Selection((0, 0), (1,), to)) for to in (0, last)]
    tests = [evidence.test_of_link(context, table) for context in links]
    assert [test.key for test in tests] == ["sink-begin", "sink-separator"]
    assert evidence.test_of_link(context_of(record, Selection((0, 0))), table) is None


def test_without_a_target_the_strongest_other_word_is_the_link():
    table, (record, _) = shipped("minilm")
    grid, it = record.grid(), 10
    head = next(h for h in table.heads if grid.labels[int(np.argmax(grid.weights[h][it]))] == "animal")
    assert evidence.test_of_link(context_of(record, Selection(head, (it,))), table).key == "antecedent"
    itself = next(h for h in table.heads if grid.weights[h][it].argmax() == it)
    link = evidence.test_of_link(context_of(record, Selection(itself, (it,))), table)
    assert link is None or link.key != "self"
