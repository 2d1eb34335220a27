"""Heads: jobs, part by part: what is summed up, told of a head and offered, from sheets made up."""

import json
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from visit import asked_by_links

from mha_core import InputError
from mha_core.heads.jobs import jobs_of
from mha_core.heads.verdict import Verdict
from pages.parts.frame.request import Request
from pages.parts.specialization import (
    builtin,
    card,
    colouring,
    corpus_view,
    corpus_work,
    examples,
    sheets,
    tables,
    view,
)


class Sheet(SimpleNamespace):
    """A job as the page knows it; each is another than all others."""

    __hash__ = object.__hash__


def job(key, score=0.9, rule=0.5, does=True, rank=1, n_heads=12):
    return Sheet(
        key=key, title=key, heads=np.full((1, n_heads), score), rule=rule, does=lambda _: does, rank=lambda _: rank,
        table=None, words=np.array([["specialist" if does else "none"] * n_heads]),
    )  # fmt: skip


# ---- the built-in sentences


def test_a_job_counts_as_done_if_any_head_does_it():
    model = SimpleNamespace(title="M", trained=True)
    study = SimpleNamespace(repeated=None)
    found = SimpleNamespace(model=model, study=study, jobs={}, n_sentences=800, heads=[(0, 0), (0, 1)])
    some = [Sheet(does=lambda head: head == (0, 1)), Sheet(does=lambda _: False), Sheet(does=lambda _: False)]
    said = builtin._summary(found, tuple(some))
    assert said.endswith("In 1 of 3 jobs a head beats the best simple rule by more than luck explains.")
    assert "random" not in said
    study.repeated = SimpleNamespace(n_texts=50)
    assert " and 50 texts of random tokens said twice." in builtin._summary(found, tuple(some))


def test_induction_is_said_to_be_absent_of_an_encoder_in_which_no_head_does_it():
    table = SimpleNamespace(
        order=lambda: [(1, 0), (0, 0)], mean_mass=np.array([[0.08], [0.02]]), n=1600,
        score=np.array([[0.07], [0.1]]), baseline=0.05, baseline_name="a blind choice",
    )  # fmt: skip

    def said(is_causal, word, trained=True):
        table.verdicts = {(0, 0): Verdict(word, ""), (0, 1): Verdict("none", "")}
        model = SimpleNamespace(is_causal=is_causal, trained=trained)
        found = SimpleNamespace(model=model, jobs={"induction": table})
        return builtin.unneeded_said(found)

    assert said(False, "none") == (
        "Measured and absent: induction. Of 1,600 random tokens said again the best head, 2-1, looks most at what came "
        "after the earlier copy in 10.0 % (a blind choice: 5.0 %), and no head puts more than 8.0 % of its mass there. "
        "A decoder looks there to tell what comes next; an encoder reads it in the text itself."
    )
    assert [said(False, "specialist"), said(True, "none"), said(True, "specialist")] == ["", "", ""]
    assert said(False, "none", trained=False) == "", "that is no finding about encoders"


def test_each_absent_job_has_its_own_reason():
    jobs = [SimpleNamespace(title=f"job {i}", absent=f"reason {i}") for i in (1, 2)]
    assert builtin.absent_said(SimpleNamespace(absent=jobs)).endswith("job 1: reason 1; job 2: reason 2.")
    assert builtin.absent_said(SimpleNamespace(absent=[])) == ""


@pytest.mark.parametrize(
    ("trained", "stem"), [(True, "headscope-heads-small"), (False, "headscope-heads-small-untrained")]
)
def test_the_files_of_random_weights_say_so_in_their_names(monkeypatch, trained, stem):
    names = []
    closed = SimpleNamespace(open=False)
    monkeypatch.setattr(builtin.st, "container", lambda **_: nullcontext())
    monkeypatch.setattr(builtin.st, "expander", lambda *_, **__: closed)
    monkeypatch.setattr(
        builtin.st, "download_button", lambda _title, _data, name, *_, **__: names.append(name)
    )
    monkeypatch.setattr(builtin, "say", lambda *_: None)
    for kind in ("as_csv", "as_json"):
        monkeypatch.setattr(builtin.findings, kind, lambda _: "")
    builtin._take_away(SimpleNamespace(model=SimpleNamespace(trained=trained, name="of/small")))
    assert names == [f"{stem}.csv", f"{stem}.json"]


def test_the_table_to_sort_shows_the_roles_that_are_wanted_and_says_what_each_job_rests_on(monkeypatch):
    tables = {
        key: SimpleNamespace(
            job=SimpleNamespace(title=key),
            score=np.array([[0.1, 0.2]]),
            n=n,
            baseline=n / 100,
            baseline_name="a rule",
        )
        for key, n in (("one", 30), ("two", 40))
    }
    found = SimpleNamespace(
        jobs=tables, heads=[(0, 0), (0, 1)], roles={(0, 1): SimpleNamespace(label="next token")}
    )
    shown = {}
    monkeypatch.setattr(builtin.st, "dataframe", lambda rows, **given: shown.update(rows=rows, **given))
    for wanted, heads in (([], ["1-1", "1-2"]), (["next token"], ["1-2"]), (["no clear role"], ["1-1"])):
        monkeypatch.setattr(builtin.st, "multiselect", lambda *_, wanted=wanted, **__: wanted)
        builtin._sortable(found)
        assert [row["Head"] for row in shown["rows"]] == heads
    helps = {title: column["help"] for title, column in shown["column_config"].items()}
    assert helps == {"one": "n = 30; baseline 30.0 %, a rule", "two": "n = 40; baseline 40.0 %, a rule"}


# ---- the card of a head


@pytest.fixture
def said(monkeypatch):
    told = []
    monkeypatch.setattr(card, "heading", lambda text, *_: told.append(text))
    monkeypatch.setattr(card, "say", lambda text, *_: told.append(text))
    monkeypatch.setattr(card, "markup", told.append)
    return told


def test_a_head_with_a_role_has_its_evidence_and_one_without_says_so(monkeypatch, said):
    for part in ("_sentences", "_upstream", "_elsewhere", "_relatives"):
        monkeypatch.setattr(card, part, lambda *_: None)
    role = SimpleNamespace(label="next token", evidence="In 90 of 100.")
    known = SimpleNamespace(called={(0, 1): role}, found=None)
    for head in ((0, 0), (0, 1)):
        card.card(known, head, None, Request("x"), {})
    assert said == [
        "Head 1-1: no clear role", "No job puts it clearly above the best simple rule.",
        "Head 1-2: next token", "In 90 of 100.",
    ]  # fmt: skip


def test_what_another_word_in_its_place_gives_is_said_of_the_best_head(monkeypatch, said):
    monkeypatch.setattr(card.evidence, "strip_data", lambda *_: {})
    monkeypatch.setattr(card.evidence, "draw", lambda *_, **__: None)
    one = Sheet(
        key="a", title="a", rule=0.5, controls=None, n=9, where="real text", heads=np.zeros((2, 2)),
        others=(("a boy", 0.75, 40),), best=(1, 0),
    )  # fmt: skip
    card.where_it_stands(SimpleNamespace(twins=()), (0, 1), one, SimpleNamespace(trained=True))
    assert said == ["With another word in the same place head 2-1 reaches: a boy 75.0\u00a0% (n = 40)."]


@pytest.mark.parametrize("is_open", [False, True])
def test_the_telling_jobs_of_either_text_stand_first_and_all_of_them_on_request(monkeypatch, said, is_open):
    drawn = []

    class Box(nullcontext):
        open = is_open

    monkeypatch.setattr(card.tables, "of_head", lambda head, groups, *_: drawn.append(groups))
    monkeypatch.setattr(card.evidence, "draw", lambda *_, **__: None)
    monkeypatch.setattr(card.st, "expander", lambda *_, **__: Box())
    real = tuple(job(f"real {i}", rank=12) for i in range(9))
    own = tuple(job(f"built-in {i}", rank=12) for i in range(9))
    card.every_job(SimpleNamespace(real=real, builtin=own, found=None), (0, 0), real[4])
    titles = ["On real text", "On the built-in sentences"]
    assert [[title for title, _ in groups] for groups in drawn] == [titles] * (1 + is_open)
    telling = dict(drawn[0])
    assert telling[titles[0]][0] is real[4]
    assert [len(sheets) for sheets in telling.values()] == [3, 2]
    if is_open:
        assert dict(drawn[1]) == {titles[0]: real, titles[1]: own}


def test_telling_are_jobs_in_which_a_head_is_among_the_best_sixth_and_others_only_if_these_are_few():
    """Of twelve heads two are a sixth: the third in a job is not told by it."""
    second, third = job("second", 0.9, 0.5, rank=2), job("third", 0.95, 0.1, rank=3)
    first, near = job("first", 0.8, 0.6), job("near", 0.4, 0.35, does=False, rank=6)
    assert card._telling([third, second, first, near], (0, 0), None) == [second, first]
    assert card._telling([third, second, near], (0, 0), None) == [second, third]
    assert card._telling([near, third], (0, 0), None) == [third, near]


def test_what_a_head_depends_on_is_said_of_trained_weights_alone(monkeypatch, said):
    monkeypatch.setattr(card.cache, "ATLAS_DIGESTS", {"m": "the digest"})
    monkeypatch.setattr(card.upstream, "lines", lambda digest, _: [digest] if digest else [])
    card._upstream((0, 0), Request("x", model="m", trained=False))
    assert said == []
    card._upstream((0, 0), Request("x", model="m"))
    assert said == ["What it depends on", "the digest"]


@pytest.mark.parametrize(("model", "named"), [("minilm", {}), ("smollm2", {"model": ["smollm2"]})])
def test_beside_the_job_that_was_asked_stands_what_was_not_and_the_way_to_it(monkeypatch, said, model, named):
    entry = SimpleNamespace(description=SimpleNamespace(findings=()), measures={"rests": 0.5})
    atlas = SimpleNamespace(entry=lambda _: entry)
    monkeypatch.setattr(card.cache, "shipped_atlas", lambda *_: SimpleNamespace(atlas=atlas))
    monkeypatch.setattr(card, "described", lambda _: "the whole")
    known = SimpleNamespace(called={(0, 0): SimpleNamespace(label="the narrow job")})
    card._elsewhere(known, (0, 0), Request("x", model=model))
    assert asked_by_links(said[0]) == [{"head": ["1-1"], **named}]
    assert said[0].startswith(
        '<p class="hs-note"><b>Asked here:</b> the narrow job. <b>Not asked</b> (<a href="'
    )
    assert "</a>): the whole. Its strongest moments over ordinary text share no feature" in said[0]


def test_the_measures_of_a_head_are_no_jobs_and_each_has_its_own_baseline(monkeypatch, said):
    line = {"n": 40, "rank": 3}
    lines = [
        SimpleNamespace(key="entropy", label="Entropy", value=1.5, baseline=2.25, **line),
        SimpleNamespace(key="first", label="First", value=0.5, baseline=0.125, **line),
        SimpleNamespace(key="last", label="Last", value=0.25, baseline=None, **line),
        SimpleNamespace(key="det->noun", label="Determiner", value=0.5, baseline=0.1, **line),
        SimpleNamespace(key="rare", label="Rare", value=float("nan"), baseline=0.1, **line),
    ]
    monkeypatch.setattr(card, "report_card", lambda *_: SimpleNamespace(lines=lines))
    card._measures(SimpleNamespace(study=None, heads=[0] * 72), (0, 0))
    rows = said[0].split("<tbody>")[1].split("</tr>")[:-1]
    assert [row.replace("<tr>", "") for row in rows[:3]] == [
        '<th scope="row">Entropy</th><td>1.50 nats</td><td>2.25 nats</td><td>40</td><td>3</td>',
        '<th scope="row">First</th><td>50.0 %</td><td>12.5 %</td><td>40</td><td>3</td>',
        '<th scope="row">Last</th><td>25.0 %</td><td></td><td>40</td><td>3</td>',
    ]
    assert len(rows) == 3


# ---- which head, which job


@pytest.mark.parametrize(
    ("given", "head", "told"),
    [
        ("2-3", (1, 2), False),
        ("3-1", (1, 1), True),
        ("2-4", (1, 1), True),
        ("x", (1, 1), True),
        ("", (1, 1), False),
    ],
)
def test_a_head_that_there_is_not_is_said_and_the_best_one_shown(monkeypatch, given, head, told):
    said = []
    monkeypatch.setattr(colouring.state, "params", lambda: {"head": given})
    monkeypatch.setattr(colouring, "say", lambda text, _: said.append(text))
    assert colouring.chosen_head((2, 3), Sheet(best=(1, 1)), {}) == head
    assert said == ([f"There is no head “{given}” in 2 layers of 3."] if told else [])
    assert colouring.chosen_head((2, 3), None, {(0, 2): "a role"}) == (head if not told and given else (0, 2))


def test_of_many_jobs_those_are_offered_that_a_head_does_or_that_are_always_asked(monkeypatch):
    drawn = []
    monkeypatch.setattr(colouring.evidence, "draw", lambda data, **_: drawn.append(data))
    group = colouring.GROUPS[0].key
    kind = lambda key: SimpleNamespace(key=key, group=group, letter="x", colour="#000")  # noqa: E731
    always = min(colouring.ALWAYS)
    jobs = [Sheet(key=f"job {i}", title="t", word="none", kind=kind("syntactic")) for i in range(40)]
    jobs[3].word, jobs[7].word, jobs[9].kind = "specialist", "rule", kind(always)
    for some, offered in ((jobs, [3, 5, 7, 9]), (jobs[:30], range(30))):
        colouring.jobs_to_press(some, "job 5")
        assert [chip["key"] for chip in drawn.pop()["groups"][0]["chips"]] == [f"job {i}" for i in offered]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("", "real"),
        ("job:a", "built-in"),
        ("place:first", "built-in"),
        ("place:x", "real"),
        ("real:a", "real"),
    ],
)
def test_a_measure_or_a_job_of_the_built_in_sentences_shows_them(monkeypatch, asked, text):
    monkeypatch.setattr(view.state, "params", lambda: {"by": asked})
    found = SimpleNamespace(
        measures=lambda: {"place:first": ("First", np.zeros(1)), "other": ("O", np.zeros(1))}
    )
    known = SimpleNamespace(real=("real",), builtin=("built-in",), found=found)
    assert view._shown(known) == (text,)
    known.real = ()
    assert view._shown(known) == ("built-in",)


# ---- what the picture of all heads is given


def test_a_share_is_shaded_from_nothing_to_all_and_nats_from_nothing_to_the_highest():
    values = np.array([[0.2, 0.4]])
    assert colouring._measured("Mass on [SEP]", values, (0, 1)).fill == pytest.approx(0.4)
    assert colouring._measured(colouring.NATS, 5 * values, (0, 0)).fill == pytest.approx(0.5)


def test_heads_by_what_they_are_called_have_name_letter_and_evidence_and_the_legend_their_kinds():
    kind, other = colouring.KINDS[0], colouring.KINDS[2]
    role = colouring.Called(kind.key, "next token", "In 90 of 100.")
    mark = colouring._called((0, 1), role)
    assert (mark.label, mark.letter, mark.colour) == (
        "Head 1-2: next token. In 90 of 100.", kind.letter, kind.colour
    )  # fmt: skip
    assert (colouring._called((0, 0), None).label, colouring._called((0, 0), None).letter) == (
        "Head 1-1: no clear role.", ""
    )  # fmt: skip
    called = {(0, 1): role, (0, 2): colouring.Called(other.key, "x", "y"), (1, 2): role}
    assert colouring._legend(called) == [(one.letter, one.name, one.colour) for one in (kind, other)]


def test_on_the_map_each_head_stands_at_its_own_place_in_its_own_cluster():
    points = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
    found = SimpleNamespace(
        heads=[(0, 0), (0, 1), (1, 0), (1, 1)], points=points, cluster=np.array([5, 7, 6, 5])
    )
    places = {(0, 0): (0.1, 0.2, 5), (0, 1): (0.3, 0.4, 7), (1, 0): (0.5, 0.6, 6), (1, 1): (0.7, 0.8, 5)}
    for head, place in places.items():
        mark = colouring._placed(colouring.Mark(head, "label", "A", "#123456", 0.5, "50"), found)
        assert (mark.x, mark.y, mark.cluster) == place
        assert (mark.head, mark.label, mark.letter, mark.colour, mark.fill, mark.text) == (
            head, "label", "A", "#123456", 0.5, "50"
        )  # fmt: skip


@pytest.mark.parametrize(
    ("head", "outline"),
    [
        ((1, 2), "The outline is drawn around the cluster of the chosen head, 3 of 6, joined by the distances "
                 "themselves; a plane may put other heads inside it."),
        ((0, 1), "The chosen head's cluster has 2 heads of 6, too few for an outline."),
        ((1, 1), "The chosen head's cluster has 1 head of 6, too few for an outline."),
    ],
)  # fmt: skip
def test_an_outline_is_promised_to_three_heads_and_to_no_fewer(head, outline):
    every = [(layer, h) for layer in range(2) for h in range(3)]
    cluster = np.array([4, 2, 2, 4, 7, 4])
    found = SimpleNamespace(heads=every, cluster=cluster, n_sentences=1800, stress=0.125)
    assert colouring._note(None, "role", "map", found, {}, 6, head) == (
        "Heads that behave alike lie close together. Distance: Jensen-Shannon divergence of the heads' rows over 1,800 "
        "sentences, laid out on a plane (stress 0.12: what a plane cannot show), pulled towards the middle and pushed "
        f"apart so that the names can be read. {outline}"
    )


# ---- sentences to go and see


class Shown(SimpleNamespace):
    """A picture of Explore's: one unit a token."""

    def __len__(self):
        return len(self.labels)


def shown(weights, visible=None):
    labels = ["[CLS]", "Ann", "saw", "Bea", "she", "[SEP]"]
    units = [SimpleNamespace(pieces=[i], special=word.startswith("[")) for i, word in enumerate(labels)]
    return Shown(labels=labels, units=units, weights=np.array(weights)[None, None], visible=visible)


def look_at(query, target, right, choice=([1], [3])):
    sample = SimpleNamespace(
        choice=choice and SimpleNamespace(candidates=choice), sentence=SimpleNamespace(text="Ann saw Bea she")
    )
    return SimpleNamespace(sample=sample, query=query, target=target, right=right)


def seen(look, kind, weights, direction="row", **options):
    units = []

    def grid_of(_text, unit):
        units.append(unit)
        return shown(weights, **options)

    job = SimpleNamespace(kind=kind, direction=direction)
    found = examples.seen(look, job, (0, 0), grid_of)
    assert units == [found.unit]
    return found


ROWS = np.array([[0.1] * 6, [0.3, 0.1, 0.1, 0.1, 0.2, 0.2], [0.1, 0.2, 0.3, 0.2, 0.1, 0.1],
                 [0.2, 0.1, 0.1, 0.2, 0.4, 0.0], [0.3, 0.25, 0.2, 0.15, 0.06, 0.04], [0.1] * 6])  # fmt: skip


def test_of_two_candidates_both_weights_are_said():
    right = seen(look_at([4], [1], True), "coreference", ROWS)
    assert right.said == "`she` looks at `Ann` 25.0 %; `Bea` gets 15.0 %"
    assert (right.unit, right.params((0, 0))["pin"], right.params((0, 0))["to"]) == ("words", "4", "1")
    wrong = seen(look_at([4], [3], False), "coreference", ROWS)
    assert wrong.said == "`she` looks at `Ann` 25.0 % instead; `Bea` gets 15.0 %"
    assert (wrong.to, wrong.target, wrong.there) == (1, 3, 0.15)
    back = seen(look_at([3], [4], True), "coreference", ROWS, direction="column")
    assert back.said == "`Bea` looks at `she` 40.0 %, `Ann` 20.0 %"
    assert (back.pin, back.to) == (3, 4)
    missed = seen(look_at([1], [4], False), "coreference", ROWS, direction="column")
    assert missed.said == "`Bea` looks at `she` 40.0 %, more than `Ann` does: 20.0 %"


def test_of_a_relation_every_word_could_be_looked_at_but_the_word_itself_and_what_is_inserted():
    one = seen(look_at([2], [3], False, None), "syntactic", ROWS)
    assert (one.unit, one.said) == ("words", "`saw` looks at `Ann` 20.0 % instead; `Bea` gets 20.0 %")
    wrong = seen(look_at([4], [2], False, None), "syntactic", ROWS)
    assert wrong.said == "`she` looks at `Ann` 25.0 % instead; `saw` gets 20.0 %", "not at [CLS]"
    hidden = np.ones((6, 6), dtype=bool)
    hidden[4, 1] = False
    seen_only = seen(look_at([4], [2], False, None), "syntactic", ROWS, visible=hidden)
    assert seen_only.said.startswith("`she` looks at `Bea` 15.0 % instead")
    rests = seen(look_at([4], [5], False, None), "separator", ROWS)
    assert (rests.unit, rests.said) == ("pieces", "`she` looks at `[CLS]` 30.0 % instead; `[SEP]` gets 4.0 %")


def test_of_several_that_would_be_right_the_one_that_gets_most_is_said():
    right = seen(look_at([3], [5, 1, 4], True, None), "syntactic", ROWS)
    assert (right.said, right.to) == ("`Bea` looks at `she` 40.0 %", 4)
    wrong = seen(look_at([4], [5, 3], False, None), "separator", ROWS)
    assert wrong.said == "`she` looks at `[CLS]` 30.0 % instead; `Bea` gets 15.0 %"
    assert (wrong.target, wrong.there) == (3, 0.15)


@pytest.mark.parametrize(("right", "mark"), [(True, "works"), (False, "elsewhere")])
def test_an_example_is_marked_by_whether_the_head_looks_there(monkeypatch, right, mark):
    found = SimpleNamespace(params=lambda _: {"pin": "1"}, said="what it does")
    monkeypatch.setattr(examples, "seen", lambda *_: found)
    monkeypatch.setattr(examples, "marked", lambda _: "the sentence")
    look = SimpleNamespace(right=right, sample=SimpleNamespace(said_twice=False), share=0.25)
    item = examples._item(look, None, (0, 0), {"model": "m"}, None)
    assert item.startswith(f'<li class="{mark}"><a href="./?')
    assert asked_by_links(item) == [{"pin": ["1"], "model": ["m"]}]
    look.sample.said_twice = True
    item = examples._item(look, None, (0, 0), {}, None)
    assert item == f'<li class="{mark}">the sentence <small>25.0 % of the mass there</small></li>'


@pytest.mark.parametrize(
    ("n", "repeated", "said"),
    [
        (0, False, "In no sentence does this head look there."), (0, True, "In no text does this head look there."),
        (2, False, "No other sentence works."), (1, True, "No other text works."),
    ],
)  # fmt: skip
def test_where_three_sentences_are_not_to_be_had_it_is_said(n, repeated, said):
    assert examples._no_more(n, repeated) == said


def test_who_looks_is_underlined_and_who_is_looked_at_set_off(model):
    tokens = model.tokenizer.encode("The dog saw the cat and the cat ran.")
    text = SimpleNamespace(text="The dog saw the cat and the cat ran.")
    look = SimpleNamespace(
        sample=SimpleNamespace(tokens=tokens, sentence=text, said_twice=False), query=[2], target=[5]
    )
    assert examples.marked(look) == "The <u>dog</u> saw the <b>cat</b> and the cat ran."
    look.sample.said_twice, look.query, look.target = True, [8], [5]
    assert examples.marked(look) == "… saw · the · <b>cat</b> · and … the · <u>cat</u>"


# ---- conclusions and tables


def real(key="real:det", **changed):
    made = sheets.Sheet(
        key=key, kind=colouring.KIND_OF["syntactic"], title="det → noun", name="any → noun", question="?", where="UD",
        n=1200, heads=np.array([[0.2, 0.9]]), words=np.array([["none", "specialist"]]), best=(0, 1), score=0.9,
        low=0.85, high=0.95, held_out=0.88, chosen_on=0.92, rule=0.4, rule_name="the next noun", control=0.0,
        control_name="others", word="specialist", because="beats it",
    )  # fmt: skip
    return replace(made, **changed)


@pytest.mark.parametrize(
    ("kind", "title"),
    [("separator", "looks at [CLS]"), ("sink", "looks at [CLS]"), ("agreement", "its object")],
)
def test_every_value_of_a_sheet_of_real_text_is_that_of_its_entry(kind, title):
    values = {
        "n": 1200, "heads": np.array([[0.2, 0.9]]), "words": np.array([["none", "rule"]]), "score": 0.9,
        "held_out": 0.88, "control": 0.1, "control_name": "others", "equals": ((0, 1),),
        "controls": np.array([[0.3, 0.1]]), "question": "Does it?", "name": "looks at [CLS]",
    }  # fmt: skip
    entry = SimpleNamespace(
        **values, key="a:back", kind=kind, title="its object", corpus="gap", head=(0, 1), interval=(0.85, 0.95),
        chosen=0.92, baseline=0.4, baseline_name="the next noun", verdict=Verdict("rule", "no better than it"),
        substitutes=[SimpleNamespace(name="a boy", score=0.75, n=40)],
    )  # fmt: skip
    corpora = {key: SimpleNamespace(title=f"The text {key}") for key in ("gap", "builtin")}
    rest = {
        "key": "real:a:back", "kind": colouring.KIND_OF[kind], "title": title, "where": "The text gap", "best": (0, 1),
        "low": 0.85, "high": 0.95, "chosen_on": 0.92, "rule": 0.4, "rule_name": "the next noun", "word": "rule",
        "because": "no better than it", "others": (("a boy", 0.75, 40),), "table": None,
    }  # fmt: skip
    for corpus, again in (("gap", False), ("builtin", True)):
        entry.corpus = corpus
        made = vars(sheets.of_entry(entry, SimpleNamespace(corpora=corpora)))
        assert made == {**values, **rest, "where": f"The text {corpus}", "again": again}


RELATIONS = {
    "determiner": "det", "subject-verb": "nsubj", "object": "obj", "possessive": "nmod:poss", "adjective": "amod",
    "preposition": "case",
}  # fmt: skip


@pytest.mark.parametrize("is_causal", [False, True])
def test_every_job_has_its_counterpart_on_real_text_and_that_one_has_it(is_causal):
    same = {name: name for name in ("previous", "self", "semantic", "agreement", "copy", "broad", *RELATIONS)}
    same |= RELATIONS | {"coreference": "antecedent"}
    if is_causal:
        wanted = same | {"first": "first"}
        wanted |= {f"{name}, from the head": f"{key}:back" for name, key in RELATIONS.items()}
    else:
        turned = [*RELATIONS, "coreference", "agreement"]
        wanted = same | {"next": "next", "separator": "rest-begin"}
        wanted |= {f"{name}, back": f"{same[name]}:back" for name in turned}
    keys = {
        *wanted.values(),
        "semantic-apart",
        "antecedent-even",
        "rest-separator",
        "rest-punctuation",
        "cop",
    }
    text = [real(f"real:{key}") for key in sorted(keys)]
    own = [real(f"job:{one.name}", table=SimpleNamespace(job=one)) for one in jobs_of(is_causal)]
    there = {one.key: sheets.counterpart(one, text) for one in own}
    assert {key: one.key for key, one in there.items() if one} == {
        f"job:{name}": f"real:{key}" for name, key in wanted.items()
    }
    back = {one.key: sheets.counterpart(one, own) for one in text}
    assert {one.key: key for key, one in back.items() if one} == {
        f"job:{name}": f"real:{key}" for name, key in wanted.items()
    }


def test_a_conclusion_has_every_number_in_its_own_place():
    assert sheets.conclusion(real()) == (
        "Best is head 1-2: 88.0 % where it was not chosen (95 % interval 85.0 % to 95.0 %) and 92.0 % where it was, in "
        "two halves of 1,200 cases of UD. The strongest simple rule, the next noun, reaches 40.0 %; control: others "
        "0.0 %. Verdict: specialist (beats it)."
    )
    whole = real(held_out=None, chosen_on=None, control=None, word="none")
    assert sheets.conclusion(whole) == (
        "Best is head 1-2: 90.0 % of 1,200 cases in UD (95 % interval 85.0 % to 95.0 %). The strongest simple rule, "
        "the next noun, reaches 40.0 %. Verdict: no (beats it)."
    )
    broad = replace(whole, kind=colouring.KIND_OF["broad"])
    assert "90.0 % of the possible entropy in 1,200 cases in UD" in sheets.conclusion(broad)
    assert sheets.word_said(replace(whole, table=object()), "none") == "not on these sentences"


@pytest.mark.parametrize("trained", [True, False])
def test_a_row_of_the_table_of_jobs_has_every_number_under_its_own_title(trained):
    twin = real(best=(0, 0), held_out=0.25, score=0.3, word="unsure")
    others = [
        real(f"real:{i}", where="UD", control_name="others", word="unsure", equals=((0, 1), (0, 0)))
        for i in (1, 2)
    ]
    many = real("real:x", where="GAP", equals=((0, 0), (1, 0), (1, 1), (2, 0)), control=None)
    made = tables.of_jobs([real(), *others, many], [twin], "real:det", "caption", trained)
    titles = [column["title"] for column in made["columns"]]
    assert titles == ["Job", "Best head", "Held out", "On a line", "Strongest simple rule", "Control", "n",
                      "Random weights" if trained else "Trained", "Verdict"]  # fmt: skip
    first, second, _, last = made["groups"][0]["rows"]
    said = lambda row: [(cell.get("head") or cell["text"], cell["note"]) for cell in row["cells"]]  # noqa: E731
    assert said(first) == [
        ("1-2", ""), ("88.0 %", "85.0 % to 95.0 %"), ("", "92.0 % where it was chosen"), ("40.0 %", "the next noun"),
        ("0.0 %", ""), ("1,200", ""), ("1-1: 25.0 %", "not sure"), ("specialist", "beats it"),
    ]  # fmt: skip
    assert first["cells"][2]["bar"] == {"dot": 0.88, "low": 0.85, "high": 0.95, "base": 0.4}
    assert (first["name"], first["marked"], second["name"], second["marked"]) == (
        "any → noun",
        True,
        "det → noun",
        False,
    )
    assert said(second)[0] == ("1-2", "not told apart from 1-1")
    assert said(last)[0] == ("1-2", "not told apart from 1-1, 2-1, 2-2 …")
    assert (said(last)[4], said(last)[5]) == (("none", ""), ("1,200", "GAP"))
    rule = tables.of_jobs([real(word="rule")], [], "", "c")["groups"][0]["rows"][0]
    assert (rule["name"], rule["marked"]) == ("any → noun", False)


def test_above_its_column_stands_what_most_jobs_share_and_beside_a_number_what_is_its_own():
    odd = real("real:a", where="GAP", control_name="a shuffled copy", equals=((0, 1), (0, 0), (1, 0), (1, 1)))
    usual = [real(f"real:{key}", where="UD", control_name="other rows") for key in "bc"]
    whole = real("real:d", where="UD", held_out=None, chosen_on=None, control=None, control_name="nothing")
    unasked = real("real:e", where="GAP", control=None, control_name="nothing")
    made = tables.of_jobs([odd, *usual, whole, unasked], [], "", "c")
    assert [(column["title"], column["note"]) for column in made["columns"]] == [
        ("Job", ""), ("Best head", ""), ("Held out", "on the half where it was not chosen"),
        ("On a line", "dot, interval; line: simple rule"),
        ("Strongest simple rule", "what one gets without looking at the model"), ("Control", "other rows"),
        ("n", "UD"), ("Verdict", ""),
    ]  # fmt: skip
    score, control = {"text": "88.0 %", "note": "85.0 % to 95.0 %"}, {"text": "0.0 %", "note": ""}
    rows = {row["key"]: row["cells"] for row in made["groups"][0]["rows"]}
    assert [[cells[i] for i in (0, 1, 4, 5)] for cells in rows.values()] == [
        [
            {"head": "1-2", "note": "not told apart from 1-1, 2-1, 2-2"}, score,
            {"text": "0.0 %", "note": "a shuffled copy"}, {"text": "1,200", "note": "GAP"},
        ],
        *[[{"head": "1-2", "note": ""}, score, control, {"text": "1,200", "note": ""}]] * 2,
        [
            {"head": "1-2", "note": ""}, {"text": "90.0 %", "note": "85.0 % to 95.0 %"},
            {"text": "none", "note": ""}, {"text": "1,200", "note": ""},
        ],
        [{"head": "1-2", "note": ""}, score, {"text": "none", "note": ""}, {"text": "1,200", "note": "GAP"}],
    ]  # fmt: skip
    no_halves = tables.of_jobs([whole], [], "", "c")["columns"][2]
    assert no_halves == {"title": "Score", "note": "best of all heads"}


def test_a_row_of_a_head_s_table_has_its_own_numbers():
    one = real(controls=np.array([[0.125, 0.5]]))
    made = tables.of_head((0, 0), [("On real text", [one]), ("Elsewhere", [])], "", "c", lambda _: "no")
    (group,) = made["groups"]
    cells = [cell["text"] for cell in group["rows"][0]["cells"]]
    assert cells == ["20.0 %", "40.0 %", "12.5 %", "1,200", "2", "no"]
    assert not group["rows"][0]["marked"]


# ---- a corpus of the reader's own


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_text_in_two_bytes_a_letter_is_refused_though_none_of_them_is_nothing(encoding):
    data = "\ufeff猫坐在垫子上".encode(encoding)
    assert b"\0" not in data
    with pytest.raises(InputError, match="The file is not UTF-8 text"):
        corpus_work.kind_of("a.txt", data)


def relation_row(**changed):
    row = {
        "relation": "det", "direction": "dependent->head", "layer": 3, "head": 9, "accuracy": 0.9, "ci_low": 0.8,
        "ci_high": 0.95, "n": 1234, "offset_accuracy": 0.4, "offset": 1, "held_out": 0.85, "equals": ["3-9", "2-1"],
        "beats_offset": True, "tried": 100,
    }  # fmt: skip
    return row | changed


def test_a_relation_of_a_corpus_has_every_number_under_its_own_title():
    assert corpus_work.shown(relation_row()) == {
        "Relation": "det", "Direction": "dependent → head", "Best head": "3-9", "Right": "90.0 %",
        "95 % interval": "80.0 % to 95.0 %", "n": "1,234", "Best fixed offset": "40.0 % (+1)", "Held out": "85.0 %",
        "As good": "2-1", "": "beats its offset",
    }  # fmt: skip
    assert corpus_work.shown(relation_row(offset=-2))["Best fixed offset"] == "40.0 % (-2)"


def test_the_file_of_a_corpus_has_every_count_under_its_own_name(model):
    reading = SimpleNamespace(n_skipped=3, n_unused=4)
    result = SimpleNamespace(
        kind=corpus_view.KIND_OF["tsv"], model=model, reading=reading, n=1200, n_cut=5, n_dependents_cut=6, n_later=7,
        is_part=False,
    )  # fmt: skip
    told = json.loads(corpus_work.as_json(result, [{"layer": 3, "head": 9}], finished=True))
    assert told.pop("model")["name"] == "minilm"
    assert told == {
        "kind": "tsv", "n": 1200, "finished": True, "n_cut": 5, "n_dependents_cut": 6, "left_out": 3, "unused": 4,
        "answer_comes_later": 7, "rows": [{"layer": 3, "head": 9}],
    }  # fmt: skip


@pytest.mark.parametrize(("n", "told"), [(60, False), (61, True)])
@pytest.mark.parametrize(("finished", "problem"), [(True, ""), (True, "It broke."), (False, "")])
def test_of_many_rows_some_are_shown_and_the_file_says_whether_it_is_whole(
    monkeypatch, n, told, finished, problem
):
    said, files = [], []
    result = SimpleNamespace(sums={})
    rows = [relation_row(relation=f"r{i}") for i in range(n)]
    job = SimpleNamespace(
        problem=problem, finished=finished, step=SimpleNamespace(result=result), read=lambda _: rows
    )
    monkeypatch.setattr(corpus_view, "say", lambda text, *_: said.append(text))
    monkeypatch.setattr(corpus_view, "markup", lambda text: said.append(f"{text.count('<tr>') - 1} rows"))
    monkeypatch.setattr(corpus_view, "_left_out", lambda _: None)
    monkeypatch.setattr(corpus_view.st, "container", lambda **_: nullcontext())
    monkeypatch.setattr(corpus_view.st, "download_button", lambda *_, **__: None)
    monkeypatch.setattr(corpus_work, "as_csv", lambda _: "")
    monkeypatch.setattr(corpus_work, "as_json", lambda _result, _rows, whole: files.append(whole))
    corpus_view._result(job)
    assert "60 rows" in said
    assert ("60 of 61 rows are shown; the files have all." in said) == told
    assert files == [finished and not problem]


# ---- the page's own sentences and links


def test_the_same_job_is_opened_on_the_other_text_and_the_first_where_it_is_not_asked(monkeypatch):
    changes = []
    there = real("real:other"), real("real:det")
    monkeypatch.setattr(view.state, "change", changes.append)
    monkeypatch.setattr(view.st, "session_state", {view.ON: view.REAL})
    monkeypatch.setattr(view, "counterpart", lambda one, others: others[1] if one.key == "job:det" else None)
    known = SimpleNamespace(real=there, builtin=())
    for one in (real("job:det"), real("job:x"), None):
        view._other_text(known, one)
    assert changes == [{"by": "real:det"}, {"by": "real:other"}, {"by": "real:other"}]


@pytest.mark.parametrize(("trained", "query"), [(True, {}), (False, {"weights": "untrained"})])
def test_every_link_keeps_the_weights_that_are_not_the_standard(trained, query):
    asked = Request("x", model="smollm2", trained=trained)
    assert view.kept(asked) == {"model": "smollm2", **query}


def test_of_real_text_the_jobs_are_counted_that_it_was_asked():
    def entry(corpus, word):
        return SimpleNamespace(
            corpus=corpus, words=np.array([[word, "none"]]), verdict=SimpleNamespace(word=word)
        )

    words = ["specialist"] * 3 + ["rule"] * 2 + ["unsure", "none"]
    corpora = {key: SimpleNamespace(title=key, n_texts=2000) for key in ("treebank", "builtin")}
    found = SimpleNamespace(
        corpora=corpora, entries=[*(entry("treebank", word) for word in words), entry("builtin", "specialist")],
        trained=True, model="minilm",
    )  # fmt: skip
    assert view._summary(found) == (
        "MiniLM on real text: treebank (2,000 texts). Of 7 jobs, 3 have a head that beats every simple rule and its "
        "control by more than luck explains; in 2 more a head does what a simple rule does as well."
    )
