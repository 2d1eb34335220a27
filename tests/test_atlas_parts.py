"""The Atlas page, part by part: what is asked, named, listed and said, from heads and moments made up."""

import re
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from visit import asked_by_links

from mha_core import trace
from mha_core.heads.atlas.habits import HABITS
from mha_core.heads.atlas.losses import HeadLoss, Loss
from mha_core.heads.atlas.making import TAKEN_AWAY_ON
from mha_core.heads.atlas.moments import Moment
from mha_core.heads.atlas.table import Line, line_of
from pages.parts.atlas import ask, component, lines, lost, points, view
from pages.parts.atlas import head as head_page
from pages.parts.frame.request import Request

TEXT = "You can either stay or walk."


def described(*names):
    return SimpleNamespace(
        findings=[SimpleNamespace(feature=SimpleNamespace(key=one, name=one)) for one in names], two=False
    )


# ---- ask by example


@pytest.fixture
def asked(monkeypatch, model):
    """`asked(looks, seen)`: what the section says of two words of the sentence, and what it asked for."""

    def ask_for(looks="or", seen="either", request=Request("x"), is_causal=False):  # noqa: B008
        told = {"runs": [], "offered": {}}
        record = trace(TEXT, model)
        given = {"looks": looks, "seen": seen}

        def choose(_label, named, *, key, **_):
            told["offered"][key] = named
            return next(one for one in named if one.endswith(f": {given[key]}"))

        record = SimpleNamespace(
            tokens=record.tokens, weights=record.weights, model=SimpleNamespace(is_causal=is_causal)
        )
        monkeypatch.setattr(ask.st, "text_input", lambda *_, **__: TEXT)
        monkeypatch.setattr(ask.st, "container", lambda **_: nullcontext())
        monkeypatch.setattr(ask.st, "selectbox", choose)
        monkeypatch.setattr(ask.cache, "model", lambda _: model)
        monkeypatch.setattr(ask.cache, "record_of", lambda run, _: told["runs"].append(run) or record)
        monkeypatch.setattr(ask, "say", lambda text, kind="": told.update({kind: text}))
        monkeypatch.setattr(ask, "_table", lambda _found, _record, query, key: f"{query} {key}")
        monkeypatch.setattr(ask, "markup", lambda text: told.update(table=text))
        ask.ask(SimpleNamespace(), request)
        return told

    return ask_for


def test_only_words_of_the_sentence_can_be_chosen_and_the_weights_are_those_of_the_page(asked):
    for trained in (True, False):
        told = asked(request=Request("x", trained=trained))
        assert [run.trained for run in told["runs"]] == [trained]
        for named in told["offered"].values():
            assert [one.split(": ")[1] for one in named] == [
                "You",
                "can",
                "either",
                "stay",
                "or",
                "walk",
                ".",
            ]


def test_an_encoder_s_word_may_look_ahead_and_a_decoder_s_may_not(asked):
    assert asked("either", "or")["table"] == "3 5"
    assert asked("or", "either")["table"] == "5 3"
    told = asked("either", "or", is_causal=True)
    assert "table" not in told
    assert told["notice"].startswith("A decoder's word cannot look at a later one")
    assert asked("or", "either", is_causal=True)["table"] == "5 3"


def test_of_a_head_without_a_description_nothing_is_said_to_be_unlike_it(monkeypatch, model):
    record = trace("the dog saw the dog", model)
    every = {(0, 0): described(), (0, 1): described("a later word"), (0, 2): described("a copy")}
    atlas = SimpleNamespace(entry=lambda head: SimpleNamespace(description=every[head]))
    monkeypatch.setattr(
        ask, "features", lambda _: [SimpleNamespace(key=one) for one in ("a later word", "a copy")]
    )
    monkeypatch.setattr(
        ask, "pair_features", lambda *_: SimpleNamespace(of=np.broadcast_to([[[False]], [[True]]], (2, 7, 7)))
    )
    shown = SimpleNamespace(
        tokens=record.tokens,
        weights=np.broadcast_to(np.array([0.5, 0.4, 0.3])[:, None, None], (1, 3, 7, 7)),
        model=SimpleNamespace(is_causal=False),
    )
    table = ask._table(SimpleNamespace(atlas=atlas, query={}), shown, 5, 2)
    rows = [re.findall("<t[hd].*?>(.*?)</t[hd]>", row) for row in table.split("<tr>")[2:]]
    assert [(re.sub("<[^>]+>", "", name), weight, said) for name, weight, _, said in rows] == [
        ("1-1", "50.0 %", ""),
        ("1-2", "40.0 %", "not what it is described by"),
        ("1-3", "30.0 %", "as elsewhere: a copy"),
    ]


def test_only_what_is_a_head_can_be_pressed(monkeypatch):
    chosen = []
    monkeypatch.setattr(component.state, "choose_head", chosen.append)
    for pressed in ("2-3", "x", "0-1", None, 5):
        monkeypatch.setattr(component, "heard_from", lambda *_, pressed=pressed: pressed)
        component._choose("points")
    assert chosen == ["2-3"]


# ---- pictures and lines


def test_a_long_line_is_cut_at_words_and_keeps_what_stands_nearest():
    assert lines._end("one two three four", 10) == "… four"
    assert lines._end("one two", 10) == "one two"
    assert lines._start("one two three four", 10) == "one two …"
    text = " ".join(f"w{i}" for i in range(40))
    middle = lines._middle(text)
    assert (middle.startswith("w0 w1 "), middle.endswith(" w38 w39"), " … … " in middle) == (True, True, True)


def test_an_inserted_token_is_said_by_its_name_and_a_bare_space_by_a_sign(model):
    shown = line_of(trace("the dog", model).tokens)
    assert [lines.word(shown, place) for place in range(4)] == ["[CLS]", "the", "dog", lines.BLANK]
    spaced = Line("a b", ("a", " ", "b"), (0, 1, 2), (1, 2, 3))
    assert lines.word(spaced, 1) == lines.BLANK


# ---- a head's page


def entry_of(head=(0, 0), **more):
    moments = tuple(Moment(i, 1, 0, 0.5, 1.0) for i in range(more.pop("n", 12)))
    return SimpleNamespace(head=head, strongest=moments, random=moments[:2], description=described(), **more)


def test_typical_moments_come_from_the_strongest_tenth_to_the_weakest(monkeypatch):
    monkeypatch.setattr(head_page, "_listed", lambda _found, _entry, moments: list(moments))
    tenths = tuple((f"moment of tenth {number}",) for number in range(1, 11))
    groups = head_page._groups(SimpleNamespace(), entry_of(tenths=(*tenths[:4], (), *tenths[5:])), "Typical")
    assert [group["title"] for group in groups] == [
        "Tenth 10 of 10, the strongest",
        *(f"Tenth {number} of 10" for number in (9, 8, 7, 6, 4, 3, 2)),
        "Tenth 1 of 10, the weakest",
    ]
    assert groups[0]["moments"] == ["moment of tenth 10"]
    assert groups[-1]["moments"] == ["moment of tenth 1"]


def test_a_head_s_job_is_that_of_all_texts_and_before_they_were_read_that_of_real_text(monkeypatch):
    told = []
    role = lambda label: SimpleNamespace(label=label, evidence="So it is.")  # noqa: E731
    monkeypatch.setattr(head_page, "markup", told.append)
    monkeypatch.setattr(head_page.cache, "evidence", lambda *_: "evidence")
    monkeypatch.setattr(head_page, "real_roles", lambda _: {(0, 0): role("of real text")})
    found = SimpleNamespace(query={"model": "smollm2"})
    for known in ({(0, 0): role("of all texts")}, {}):
        monkeypatch.setattr(head_page.cache, "known_roles", lambda *_, known=known: known)
        head_page._narrow(found, entry_of(), Request("x"))
    assert ["of all texts" in told[0], "of real text" in told[1]] == [True, True]
    for text in told:
        (link,) = asked_by_links(text)
        assert (link["model"], link["head"]) == (["smollm2"], ["1-1"])


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("Strongest", "The moments at which it moves most: weight times the length of what it writes for that key."),
        ("Typical", "Two moments from every tenth of a random sample of its rows, the strongest tenth first."),
        ("Random", "Rows drawn without looking. The key marked is the strongest apart from where the head rests."),
    ],
)  # fmt: skip
def test_over_a_head_s_moments_stands_which_they_are(monkeypatch, which, said):
    told, drawn = [], []
    monkeypatch.setattr(head_page, "heading", told.append)
    monkeypatch.setattr(head_page, "say", lambda text, *_: told.append(text))
    monkeypatch.setattr(head_page, "sentence", lambda _, rests_on: f"It rests on {rests_on}.")
    monkeypatch.setattr(head_page.st, "segmented_control", lambda *_, **__: which)
    monkeypatch.setattr(head_page, "_groups", lambda _found, _entry, which: [which])
    monkeypatch.setattr(head_page, "draw", lambda data, key: drawn.append((key, data)))
    for name in ("_narrow", "_direct_only", "lost", "_like"):
        monkeypatch.setattr(head_page, name, lambda *_: None)
    head_page.card(SimpleNamespace(rests_on="it"), entry_of(head=(1, 3), tenths=()), Request("x"))
    assert told[:2] == ["Head 2-4: no description", "It rests on it."]
    assert told[2].startswith(said)
    assert drawn == [("moments", {"kind": "moments", "groups": [which]})]


def test_relatives_share_of_this_heads_moments_and_only_those_of_this_atlas_are_followed_here(monkeypatch):
    told = []
    sizes = {"mine": 9, "other": 5}
    atlases = {
        name: SimpleNamespace(entry=lambda _, n=n: SimpleNamespace(strongest=(0,) * n))
        for name, n in sizes.items()
    }
    monkeypatch.setattr(head_page, "markup", told.append)
    monkeypatch.setattr(head_page, "relatives", lambda *_: [((1, 2), 4)])
    monkeypatch.setattr(head_page.cache, "ATLAS_DIGESTS", {"minilm": "", "smollm2": ""})
    monkeypatch.setattr(
        head_page.cache, "shipped_atlas", lambda name: SimpleNamespace(atlas=atlases["other"])
    )
    found = SimpleNamespace(model="minilm", atlas=atlases["mine"], query={"model": "minilm"}, more=object())
    head_page._like(found, (0, 0))
    assert ["(4 of 9)" in line for line in told] == [True, True]
    assert ['data-head="2-3"' in line for line in told] == [True, False]
    assert "model=smollm2" in told[1]


@pytest.mark.parametrize(
    ("more", "which", "said"),
    [
        ({}, "Strongest", 0),
        ({(0, 0): ()}, "Typical", 0),
        ({(0, 0): ()}, "Strongest", 1),
    ],
)
def test_what_likelier_means_is_said_where_it_is_shown(monkeypatch, more, which, said):
    told = []
    monkeypatch.setattr(head_page, "say", told.append)
    found = SimpleNamespace(more=SimpleNamespace(raises=more))
    head_page._direct_only(found, which)
    assert len(told) == said


# ---- what is lost


def test_what_a_head_costs_on_the_shipped_passages_is_said_with_its_tokens(monkeypatch):
    said = []
    monkeypatch.setattr(lost, "heading", lambda *given: said.append(given))
    monkeypatch.setattr(lost, "say", said.append)
    monkeypatch.setattr(lost, "markup", said.append)
    passages = {3: Line("the red fox", ("the", " red", " fox"), (0, 3, 7), (3, 7, 11))}
    known = {(0, 1): HeadLoss(1200, 0.0625, [Loss(3, 2, 0.5, 0.125)])}
    found = SimpleNamespace(
        model="m", more=SimpleNamespace(losses=known), atlas=SimpleNamespace(passages=passages)
    )
    for head in ((0, 1), (0, 0)):
        lost.lost(found, SimpleNamespace(head=head))
    title, costs, table = said
    assert title == ("What is lost without it", 3)
    assert costs == (
        "Taken away alone, it costs +0.0625 nats per token over 1,200 tokens of seven passages of the reader, each of "
        "another register. Other heads may do its work then, so little lost is not little done. The tokens that lose "
        "most:"
    )
    assert TAKEN_AWAY_ON == 7
    assert re.findall("<td>(.*?)</td>", table) == ["…the red<b> fox</b>", "50.0 %", "12.5 %"]


# ---- all heads as points


def atlas_of(*names, **measures):
    """Head after head of layer 1 with a description and its measures."""
    return SimpleNamespace(
        heads=[
            SimpleNamespace(
                head=(0, i),
                description=described(*([name] if name else [])),
                measures={key: values[i] for key, values in measures.items()},
                strongest=(),
            )
            for i, name in enumerate(names)
        ]
    )


def test_descriptions_are_listed_from_the_commonest_and_heads_without_one_come_last_and_once():
    found = atlas_of("b", "a", None, "c", "c", None, "a", "c", None, None)
    assert points.counts(found) == [("c", 3), ("a", 2), ("b", 1), (points.NO_DESCRIPTION, 4)]


@pytest.mark.parametrize("n", [points.COLOURED, points.COLOURED + 1, points.COLOURED + 3])
def test_the_commonest_descriptions_have_a_letter_each_and_the_others_share_a_dot(n):
    names = [name for i in range(n) for name in [f"description {i}"] * (n - i)]
    colours = points._colours(atlas_of(*names))
    letters = [letter for letter, _ in colours.values()]
    lettered = min(n, points.COLOURED)
    assert letters == [*"ABCDEFG"[:lettered], *["·"] * (n - lettered)]
    assert len({colour for _, colour in colours.values()}) == min(n, points.COLOURED + 1)
    legend = points._legend(colours, "description", 3)
    assert [one["letter"] for one in legend] == [
        *"ABCDEFG"[:lettered],
        *(["·"] if n > points.COLOURED else []),
        "",
    ]
    assert [one["name"] for one in legend][-1] == points.NO_DESCRIPTION


def test_a_share_goes_from_nothing_to_all_and_another_measure_to_its_highest():
    share = next(key for key, (_, one) in HABITS.items() if one)
    other = next(key for key, (_, one) in HABITS.items() if not one)
    found = atlas_of("a", "b", **{share: (0.1, 0.5), other: (2.0, 8.0)})
    data = points.points_data(found, share, other, "description", "", (0, 0))
    assert [data["x"][end] for end in ("label", "low", "high")] == [HABITS[share][0], "0 %", "100 %"]
    assert [data["y"][end] for end in ("label", "low", "high")] == [HABITS[other][0], "0.0", "8.0"]
    assert [(head["x"], head["y"]) for head in data["heads"]] == [(0.1, 0.25), (0.5, 1.0)]


def test_a_description_that_there_is_not_shows_all_heads_and_each_link_keeps_the_head(monkeypatch):
    drawn = {}
    found = SimpleNamespace(
        atlas=atlas_of("a", "a", "b"), query={"model": "smollm2"}, model="smollm2", trained=True
    )
    monkeypatch.setattr(view, "heading", lambda *_: None)
    monkeypatch.setattr(view.st, "columns", lambda *_, **__: (nullcontext(), nullcontext()))
    monkeypatch.setattr(view.st, "container", lambda **_: nullcontext())
    monkeypatch.setattr(view.st, "segmented_control", lambda *_, **__: "description")
    monkeypatch.setattr(view, "_measure", lambda _title, _key, first, _names: first)
    monkeypatch.setattr(view, "draw", lambda *_, **__: None)
    monkeypatch.setattr(view, "markup", lambda text: drawn.update(text=text))
    monkeypatch.setattr(view, "points_data", lambda *given: drawn.update(given=given) or {})
    for asked, only in (("a", "a"), ("x", ""), ("", "")):
        monkeypatch.setattr(view.state, "params", lambda asked=asked: {"does": asked})
        view._overview(found, found.atlas.heads[2])
        assert drawn["given"][1:] == ("rests", "brings", "description", only, (0, 2))
        links = asked_by_links(drawn["text"])
        assert {(one["model"][0], one["head"][0]) for one in links} == {("smollm2", "1-3")}
        does = [one.get("does", [""])[0] for one in links]
        assert does[:3] == ["" if name == only else name for name in ("a", "b", points.NO_DESCRIPTION)]
        assert len(does) == (4 if only else 3)


@pytest.mark.parametrize(
    ("asked", "told"), [("1-2", []), ("", []), ("1-4", ["1-4"]), ("2-1", ["2-1"]), ("x" * 30, ["x" * 20])]
)
def test_a_head_that_there_is_not_is_said(monkeypatch, asked, told):
    said = []
    found = SimpleNamespace(atlas=atlas_of("a", "a", "b"))
    monkeypatch.setattr(view, "source", lambda _: found)
    monkeypatch.setattr(view.state, "params", lambda: {"head": asked})
    monkeypatch.setattr(view.state, "write", lambda: None)
    monkeypatch.setattr(view.st, "container", lambda **_: nullcontext())
    monkeypatch.setattr(view, "_overview", lambda *_: None)
    monkeypatch.setattr(view.head, "card", lambda *_: None)
    monkeypatch.setattr(view, "_chosen", lambda atlas: atlas.heads[1 if asked == "1-2" else 0])
    monkeypatch.setattr(view, "say", lambda text, _: said.append(text))
    view._heads.__wrapped__(Request("x"))
    assert said == [f"There is no head “{name}” here." for name in told]
