"""The Atlas page without a browser: points, lines of text, links, heads that act alike, the reader's own text."""

import csv
import gc
import html
import io
import json
import re
import weakref
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import parse_qs
from xml.etree import ElementTree

import numpy as np
import pytest
from visit import mounted, unbroken, unopened

import mha_core
from mha_core import InputError
from mha_core.figures.colours import page
from mha_core.heads.atlas.features import features
from mha_core.heads.atlas.habits import HABITS
from mha_core.heads.atlas.losses import HeadLoss, Loss
from mha_core.heads.atlas.moments import Moment
from mha_core.heads.atlas.said import NO_DESCRIPTION, label
from mha_core.heads.atlas.shipped import Control, read_shipped
from mha_core.heads.atlas.table import Line
from mha_core.reader import REGISTERS, read_reader
from mha_core.wording import head_name, percent
from pages.parts.atlas import ask, component, figure, lost, own_text, points, view
from pages.parts.atlas import head as head_page
from pages.parts.atlas import relatives as relatives_page
from pages.parts.atlas.lines import BLANK, marked, moment_data, moment_link, word
from pages.parts.atlas.points import counts, points_data
from pages.parts.atlas.relatives import relatives
from pages.parts.atlas.source import OWN, Source, rests_on
from pages.parts.serve import progress
from pages.parts.serve.tasks import BackgroundTask, ReaderControl, Step

TEXT = "We saw the fox and the owl."
STARTS, ENDS = (0, 3, 7, 11, 15, 19, 23, 26), (2, 6, 10, 14, 18, 22, 26, 27)
PASSAGE = Line(TEXT, tuple(TEXT[a:b] for a, b in zip(STARTS, ENDS, strict=True)), STARTS, ENDS)


@pytest.fixture(scope="module")
def minilm():
    return read_shipped("minilm").atlas


def test_a_line_has_its_two_words_in_the_order_of_the_text():
    assert marked(PASSAGE, 4, 3) == {"line": ["We saw the ", "fox", " ", "and", " the owl."], "first": "key"}
    assert marked(PASSAGE, 1, 5) == {
        "line": ["We ", "saw", " the fox and ", "the", " owl."],
        "first": "query",
    }
    assert marked(PASSAGE, 3, 3)["line"] == ["We saw the ", "fox", "", "", " and the owl."]


def test_a_long_line_is_cut_between_words():
    words = [f"word{i}" for i in range(60)]
    text = " ".join(words)
    starts = tuple(text.index(w + " ") if i < 59 else text.index(w) for i, w in enumerate(words))
    line = Line(text, tuple(words), starts, tuple(s + len(w) for s, w in zip(starts, words, strict=True)))
    shown = marked(line, 50, 5)["line"]
    assert (shown[1], shown[3]) == ("word5", "word50")
    assert all(len(part) < 90 for part in shown)
    assert "…" in shown[2]


def test_a_bare_space_is_shown_as_a_sign():
    assert word(Line("a 1", ("a", " ", "1"), (0, 2, 2), (1, 2, 3)), 1) == BLANK


def test_a_character_in_several_tokens_stands_in_its_line_once():
    line = Line("犬が鳴く", ("犬", "…犬", "が", "鳴", "く"), (0, 0, 1, 2, 3), (1, 1, 2, 3, 4))
    assert marked(line, 1, 0)["line"] == ["", "犬", "", "", "が鳴く"]
    assert marked(line, 2, 1)["line"] == ["", "犬", "", "が", "鳴く"]


def test_a_moment_opens_in_explore_with_head_and_words_chosen():
    link = moment_link(PASSAGE, Moment(0, 4, 3, 0.5, 2.0), {"model": "smollm2"}, (23, 3))
    query = parse_qs(link.partition("?")[2])
    assert query == {"text": [TEXT], "model": ["smollm2"], "head": ["24-4"], "pin": ["4"], "to": ["3"]}
    shown = moment_data(PASSAGE, Moment(0, 4, 3, 0.5, 2.0), {"model": ""}, (0, 0))
    assert "“and” looks at “fox”, weight 0.50" in shown["label"]
    assert "model" not in parse_qs(shown["href"].partition("?")[2])


def test_all_heads_are_points_inside_the_plane(minilm):
    for x in HABITS:
        data = points_data(minilm, x, "rests", "layer", "", (0, 0))
        assert len(data["heads"]) == 72
        assert all(0 <= head["x"] <= 1 and 0 <= head["y"] <= 1 for head in data["heads"])
    by_hand = next(e for e in minilm.heads if e.head == (2, 8)).measures["previous"]
    data = points_data(minilm, "previous", "rests", "layer", "", (0, 0))
    assert next(head["x"] for head in data["heads"] if head["id"] == "3-9") == pytest.approx(
        by_hand, abs=1e-4
    )
    mixed = [re.search(r"\) (\d+)%", head["colour"])[1] for head in data["heads"]]
    assert mixed == [share for share in ("0", "20", "40", "60", "80", "100") for _ in range(12)]


def test_the_list_counts_every_head_once_and_chooses_the_points(minilm):
    counted = counts(minilm)
    assert sum(n for _, n in counted) == 72
    assert counted[-1][0] == NO_DESCRIPTION
    name, n = counted[0]
    data = points_data(minilm, "rests", "brings", "description", name, (0, 0))
    assert len(data["heads"]) == n
    assert {head["letter"] for head in data["heads"]} == {"A"}


def test_a_point_tells_of_the_moment_at_which_its_head_moves_most(minilm):
    data = points_data(minilm, "rests", "brings", "description", "", (0, 0))
    for entry, point in zip(minilm.heads, data["heads"], strict=True):
        one = max(entry.strongest, key=lambda moment: moment.brings)
        passage, ends = minilm.passages[one.passage], sorted((one.query, one.key))
        named = [point["line"][1]] if one.query == one.key else [point["line"][1], point["line"][3]]
        assert point["id"] == head_name(entry.head)
        assert named == [word(passage, place) for place in dict.fromkeys(ends)]


def test_with_one_description_shown_the_outermost_of_its_heads_are_named(minilm):
    name, _ = counts(minilm)[0]
    mine = [entry for entry in minilm.heads if label(entry.description) == name]
    data = points_data(minilm, "rests", "previous", "description", name, (0, 0))
    wanted = set()
    for key in ("rests", "previous"):
        along = sorted(mine, key=lambda entry: entry.measures[key])
        wanted |= {head_name(entry.head) for entry in (*along[:2], *along[-2:])}
    assert {point["id"] for point in data["heads"] if point["extreme"]} == wanted


def test_the_file_of_all_moments_has_both_tokens_of_each_in_its_own_column(minilm):
    rows = list(csv.DictReader(io.StringIO(view._csv(minilm))))
    every = [(entry, one) for entry in minilm.heads for one in entry.strongest]
    assert len(rows) == len(every)
    for row, (entry, one) in zip(rows, every, strict=True):
        labels = minilm.passages[one.passage].labels
        texts = [
            row[name].removeprefix("'") for name in ("query_text", "key_text")
        ]  # a sign begins no formula
        assert texts == [labels[place].removeprefix("'") for place in (one.query, one.key)]
        assert f"{row['layer']}-{row['head']}" == head_name(entry.head)
        assert (int(row["query"]), int(row["key"])) == (one.query, one.key)
        assert (float(row["weight"]), float(row["brings"])) == (one.weight, one.brings)


def test_heads_are_alike_by_the_moments_in_which_both_words_are_the_same(minilm):
    moments = {e.head: {(m.passage, m.query, m.key) for m in e.strongest} for e in minilm.heads}
    for mine in moments:
        both = [(-len(moments[mine] & theirs), head) for head, theirs in moments.items() if head != mine]
        most = [(head, -n) for n, head in sorted(both) if n <= -3]
        assert relatives(minilm, mine, minilm) == most[:6]


def test_the_head_that_shares_most_moments_comes_first(monkeypatch):
    shared = {(0, 0): 9, (0, 1): 4, (0, 2): 7, (1, 0): 2, (1, 1): 7, (1, 2): 3}
    all_places = {head: frozenset((0, 1, i) for i in range(n)) for head, n in shared.items()}
    monkeypatch.setattr(relatives_page, "places", lambda _: all_places)
    found = object()
    alike = [((0, 2), 7), ((1, 1), 7), ((0, 1), 4), ((1, 2), 3)]
    assert relatives(found, (0, 0), found) == alike
    assert relatives(found, (0, 0), object()) == [((0, 0), 9), *alike]


def test_a_text_of_ones_own_is_kept_for_the_model_and_weights_that_read_it(monkeypatch):
    session = {}
    monkeypatch.setattr(own_text.st, "session_state", session)
    monkeypatch.setattr(own_text, "atlas", lambda sums: ("atlas of", sums))
    job = SimpleNamespace(read=lambda take: take(SimpleNamespace(result="sums")))
    own_text._show(job, SimpleNamespace(model="smollm2", trained=False))
    assert session == {OWN: (("smollm2", False), ("atlas of", "sums"))}
    own_text._forget()
    assert session == {}


def test_the_heads_asked_for_link_the_word_that_looks_to_the_one_looked_at(minilm, model):
    record = mha_core.trace("You can either stay or go.", model)
    table = ask._table(Source(minilm, "", "minilm", ""), record, 5, 3)
    rows = re.findall(r">(\d+-\d+)</a></th><td>([\d.]+ %)</td>", table)
    there = sorted(
        ((record.weights[at][5, 3], head_name(at)) for at in np.ndindex(6, 12)), key=lambda pair: -pair[0]
    )
    assert rows == [(name, percent(float(weight))) for weight, name in there[:10]]


def test_whether_a_head_does_here_what_it_does_elsewhere_goes_by_who_looks_at_whom(minilm, model):
    record = mha_core.trace("You can either stay or go.", model)
    described = {
        head_name(entry.head): [one.feature.key for one in entry.description.findings]
        for entry in minilm.heads
    }
    names = {one.key: one.name for one in features(is_causal=False)}
    for query, key, here, there in ((5, 4, "one back", "one on"), (4, 5, "one on", "one back")):
        table = ask._table(Source(minilm, "", "minilm", ""), record, query, key)
        verdicts = dict(re.findall(r">(\d+-\d+)</a></th><td>[^<]*</td><td>[^<]*</td><td>([^<]*)</td>", table))
        assert len(verdicts) == 10
        assert any(here in described[name] for name in verdicts)
        for name, verdict in verdicts.items():
            same = verdict.removeprefix("as elsewhere: ").split("; ")
            assert (names[here] in same) == (here in described[name]), name
            assert names[there] not in same


@pytest.mark.slow
def test_what_a_head_does_as_elsewhere_is_said_in_words(minilm):
    at = unopened("pages/atlas.py", looks="8: or").run()
    row = re.search(r"3-5 89\.2 % (.*?) \d+-\d+ ", said(at))[1]
    assert row == "from and, or, but or a comma as elsewhere: from and, or, but or a comma"


@pytest.mark.slow
@pytest.mark.parametrize("link", [{"looks": "9: walk"}, {"seen": "2: can"}, {"ask": "Dogs bark."}])
def test_an_example_opens_with_its_link_and_stays_open_while_it_is_changed(link):
    def words(at):
        return [one.value for one in at.selectbox if one.key in ("looks", "seen")]

    at = unopened("pages/atlas.py", **link).run()
    assert len(words(at)) == 2
    at.text_input(key="ask").set_value("Cats sleep.").run()
    assert words(at) == ["3: .", "1: Cats"]
    at.session_state["ask-box"] = False
    assert words(at.run()) == [], "who closes it has it closed"
    assert words(unopened("pages/atlas.py").run()) == []


def test_heads_that_act_alike_open_in_their_own_model(minilm, monkeypatch):
    lines = []
    monkeypatch.setattr(head_page, "markup", lines.append)
    monkeypatch.setattr(head_page, "relatives", lambda *_: [((1, 2), 5)])
    head_page._like(Source(minilm, "the reader", "minilm", "", read_shipped("minilm")), (2, 8))
    links = [html.unescape(one) for line in lines for one in re.findall(r'href="([^"]*)"', line)]
    asked = [parse_qs(one.partition("?")[2]) for one in links]
    assert asked == [{"head": ["2-3"]}, {"model": ["smollm2"], "head": ["2-3"]}]


def test_of_another_model_the_head_of_the_same_number_is_a_head_like_any(minilm):
    assert relatives(minilm, (2, 8), replace(minilm))[0] == ((2, 8), 40)


def test_no_atlas_is_kept_for_its_relatives(minilm):
    own = replace(minilm)
    assert relatives(own, (2, 8), minilm)
    left = weakref.ref(own)
    del own
    gc.collect()
    assert left() is None


@pytest.mark.slow
def test_a_head_is_most_like_itself_and_not_listed(minilm):
    alike = relatives(minilm, (2, 8), minilm)
    assert all(head != (2, 8) for head, _ in alike)
    assert [n for _, n in alike] == sorted((n for _, n in alike), reverse=True)
    other = read_shipped("smollm2").atlas
    assert any(relatives(minilm, entry.head, other) for entry in minilm.heads)


def test_how_far_the_reading_is_is_said_while_it_goes_on_when_it_stops_and_when_it_is_done():
    def said(finished, running, remaining, n=1200, seconds=12.4):
        job = SimpleNamespace(finished=finished, seconds=seconds, remaining=remaining)
        return own_text._how_far(job, SimpleNamespace(running=running), n)

    assert said(True, False, None) == "Done: 1,200 passages in 12 seconds."
    assert said(False, False, 8.0) == "Stopped after 1,200 passages."
    assert said(False, True, 8.0) == "1,200 passages, about 8 seconds left"
    assert said(False, True, None) == "1,200 passages"
    assert said(True, False, None, 1, 1.2) == "Done: 1 passage in 1 second."
    assert said(False, False, None, 1) == "Stopped after 1 passage."
    assert said(False, True, 0.8, 1) == "1 passage, about 1 second left"


def test_of_one_passage_and_one_head_the_page_speaks_in_the_singular(minilm):
    def said(heads, **more):
        return view._summary(Source(replace(minilm, heads=heads, **more), "your text", "minilm", ""))

    none = [entry for entry in minilm.heads if not entry.description.findings]
    some = [entry for entry in minilm.heads if entry.description.findings]
    assert "read your text: 1 passage, 9 tokens. 0 of 1 head has a description" in said(
        (none[0],), n_passages=1, n_tokens=9
    )
    assert " 1 of 2 heads has a description" in said((none[0], some[0]))
    assert " 2 of 3 heads have a description" in said((none[0], *some[:2]))


def test_each_control_is_said_with_its_own_numbers(minilm):
    controls = {"untrained": Control(5, 2, 72), "shuffled": Control(30, 1, 72)}
    found = Source(minilm, "the reader", "minilm", "", SimpleNamespace(controls=controls))
    assert view._summary(found).endswith(
        "With random weights it is 5, 2 by more than a distance. With the tokens of every passage shuffled under the "
        "same moments it is 30, 1 by more than a distance."
    )


def test_the_head_with_the_most_telling_description_opens_where_none_is_asked_for(minilm, monkeypatch):
    asked = {}
    monkeypatch.setattr(view.state, "params", lambda: asked)
    telling = {
        entry.head: max(
            (f.share * np.log2(f.share / f.baseline) for f in entry.description.findings), default=0
        )
        for entry in minilm.heads
    }
    best = max(telling, key=telling.get)
    assert best != minilm.heads[0].head
    assert view._chosen(minilm).head == best
    asked["head"] = "2-3"
    assert view._chosen(minilm).head == (1, 2)
    asked["head"] = "9-99"
    assert view._chosen(minilm).head == best


@pytest.mark.parametrize(
    ("more", "of"), [(None, "of your text"), (SimpleNamespace(losses={}), "of the reader")]
)
def test_what_is_lost_is_said_of_the_text_that_was_read(minilm, monkeypatch, more, of):
    asked, drawn = [], []
    monkeypatch.setattr(lost, "_predicts", lambda *_: True)
    monkeypatch.setattr(lost, "heading", lambda *_: None)
    monkeypatch.setattr(lost, "say", lambda text, *_: drawn.append(text))
    monkeypatch.setattr(lost, "markup", lambda *_: None)
    monkeypatch.setattr(lost, "work", lambda *what, **_: asked.append(what))
    found = Source(minilm, "a text", "minilm", "", more)
    lost.lost(found, minilm.heads[0], SimpleNamespace(trained=True))
    ((_, _, draw),) = asked
    draw((HeadLoss(7, 0.25, []), {}))
    assert f"over 7 tokens {of}." in drawn[0]


def test_only_numbers_that_come_with_the_program_name_the_command_that_makes_them(minilm):
    assert view._made_by(Source(minilm, "your text", "minilm", "")) == "HeadScope."
    shipped = Source(minilm, "the reader", "minilm", "", SimpleNamespace())
    assert view._made_by(shipped) == "HeadScope, python -m mha_core heads atlas --model minilm --ship."


def test_a_decoder_is_not_asked_for_heads_that_look_at_a_later_word(minilm, monkeypatch, model):
    read = mha_core.trace(ask.FIRST, model)
    weights = np.tril(read.weights)
    weights /= weights.sum(-1, keepdims=True)
    record = replace(read, model=replace(model.info, is_causal=True), weights=weights)
    chosen, said, tables = [], [], []
    monkeypatch.setattr(ask, "_record", lambda *_: record)
    monkeypatch.setattr(ask.st, "text_input", lambda *_, **__: ask.FIRST)
    monkeypatch.setattr(ask.st, "container", lambda **_: nullcontext())
    monkeypatch.setattr(ask.st, "selectbox", lambda *_, **__: chosen.pop(0))
    monkeypatch.setattr(ask, "say", lambda text, *_: said.append(text))
    monkeypatch.setattr(ask, "markup", tables.append)
    found = Source(minilm, "the reader", "minilm", "")
    for looks, seen, shown in ((3, 5, 0), (5, 5, 1), (5, 3, 2)):
        chosen += [f"{looks}: a", f"{seen}: b"]
        ask.ask(found, SimpleNamespace())
        assert len(tables) == shown
    assert [text for text in said if text.startswith("A decoder's word")] == [
        "A decoder's word cannot look at a later one; choose an earlier word to look at."
    ]


def test_of_work_in_parts_one_part_is_said_in_the_singular():
    def said(n, running=True, left=None):
        job = SimpleNamespace(step=Step(0.5, n, None), remaining=left)
        return progress._how_far(job, ReaderControl(running), ("passage", "passages"))

    assert (said(1), said(2)) == ("1 passage", "2 passages")
    assert said(1, left=1.4) == "1 passage, about 1 second left"
    assert said(1, running=False) == "Stopped after 1 passage; what is shown is what was tried."


@pytest.mark.slow
def test_the_same_text_is_read_anew_for_other_weights_and_for_all_readers_once(monkeypatch):
    asked = []
    job = SimpleNamespace(finished=True, step=None)
    monkeypatch.setattr(own_text.cache, "task", lambda key, _: asked.append(key) or job)
    monkeypatch.setattr(own_text, "_progress", lambda *_: None)
    for weights, text in (
        ("trained", "My old dog."),
        ("untrained", "My old dog."),
        ("trained", "My new dog."),
    ):
        at = unopened("pages/atlas.py", weights=weights).run()
        at.text_area(key="atlas-text").set_value(text).run()
        assert not at.exception
    at.text_area(key="atlas-text").set_value(" My old dog.\n").run()
    assert [asked.index(key) for key in asked] == [0, 1, 2, 0]


@pytest.mark.slow
def test_own_text_is_read_in_steps_and_a_file_is_checked(model):
    text = "The old dog slept beside the stove. Nobody had seen it run.\nA second line of words stands here."
    job = BackgroundTask(own_text.work(text, model))
    while not job.finished:
        job.advance()
    assert job.problem is None
    assert job.step.fraction == 1.0
    assert job.step.n == 2
    with pytest.raises(InputError, match="UTF-8"):
        own_text._text("", b"\xff\xfe\x00")
    with pytest.raises(InputError, match="taken at most"):
        own_text._text("", b"a" * (own_text.MAX_BYTES + 1))
    for empty in (b"", b" \n\n", b"\xef\xbb\xbf"):
        with pytest.raises(InputError, match="The file is empty"):
            own_text._text("", empty)
    assert own_text._text("  pasted ", None) == "pasted"
    empty = BackgroundTask(own_text.work("a\n", model))
    empty.advance()
    assert "no passage" in empty.problem


@pytest.mark.slow
def test_while_a_text_is_read_the_head_that_is_chosen_now_says_what_it_found(model, monkeypatch):
    text = "My old dog slept beside that stove."
    job = BackgroundTask(own_text.work(text, model))
    while not job.finished:
        job.advance()
    lines, link = [], {}
    monkeypatch.setattr(own_text, "say", lines.append)
    monkeypatch.setattr(own_text, "bar", lambda *_, **__: None)
    monkeypatch.setattr(own_text, "slice_of", lambda *given: nullcontext(given[-1]))
    monkeypatch.setattr(own_text.state, "params", lambda: link)

    def said(**now):
        lines.clear()
        link.clear()
        link.update(now)
        own_text._progress(job, ReaderControl(), working, (1, 9))
        return [*lines]

    record = mha_core.trace(text, model)
    words = [piece.text for piece in record.tokens.pieces]
    working = True
    for name, place in (("4-2", (3, 1)), ("2-10", (1, 9))):
        weights = record.weights[place]
        shown = said(head=name) if name == "4-2" else said()
        assert 0 < len(shown) <= own_text.SO_FAR
        for line in shown:
            found = re.fullmatch(
                rf"{name} so far: `(\S+)` looks at `(\S+)`, weight ([\d.]+), brings [\d.]+", line
            )
            query, key = (words.index(word) for word in found.groups()[:2])
            assert float(found[3]) == pytest.approx(float(weights[query, key]), abs=0.006)
    assert said(head="99-1") == said(head="1-99") == []
    working = False
    assert said(head="4-2") == [], "who chooses another head afterwards would read this of the one before"


@pytest.mark.slow
def test_one_head_is_taken_away_over_passages_of_all_registers_in_turn(model):
    passages = lost._reader(model)
    registers = [read_reader()[number].register for number, _ in passages]
    assert len(passages) == len(read_reader())
    assert registers[:20] == [*REGISTERS, *REGISTERS]
    assert all(read_reader()[n].text.startswith(tokens.text) for n, tokens in passages)


def test_what_a_head_costs_stands_in_a_table_of_its_tokens(monkeypatch):
    drawn = []
    monkeypatch.setattr(lost, "say", lambda text, *_: drawn.append(text))
    monkeypatch.setattr(lost, "markup", drawn.append)
    loss = HeadLoss(7, 0.25, [Loss(0, 3, 0.5, 0.125), Loss(9, 1, 0.4, 0.3)])
    lost._drawn((loss, {0: PASSAGE}), "of your text")
    assert "+0.2500 nats per token over 7 tokens of your text" in drawn[0]
    assert "…We saw the <b>fox</b></td><td>50.0 %</td><td>12.5 %</td>" in drawn[1]
    assert drawn[1].count("<tr>") == 2  # the heading, and the one passage that is at hand
    assert drawn[0].endswith("The tokens that lose most:")
    text = f"First {'x' * 60} and then the fox"
    at = text.index("fox")
    lost._drawn(
        (HeadLoss(7, 0.25, [Loss(0, 0, 0.5, 0.125)]), {0: Line(text, ("fox",), (at,), (at + 3,))}), "of it"
    )
    assert f"<td>…{text[at - lost.BEFORE : at]}<b>fox</b></td>" in drawn[-1]
    drawn.clear()
    lost._drawn((HeadLoss(1, -0.5, []), {0: PASSAGE}), "of it")
    assert drawn == [
        "Taken away alone, it costs -0.5000 nats per token over 1 token of it. Other heads may do its work then, so "
        "little lost is not little done. No token becomes less likely."
    ]


def test_the_picture_as_a_file_has_every_head_where_it_stands(minilm):
    data = points_data(minilm, "rests", "brings", "description", "", (2, 8))
    drawn = ElementTree.fromstring(figure.svg(data, "what it is of").encode())  # noqa: S314 - our own drawing
    svg = "{http://www.w3.org/2000/svg}"
    circles = drawn.findall(f"{svg}circle")
    assert len(circles) == 72 + len(data["legend"])
    frame = drawn.find(f"{svg}path").get("d")
    left, top, bottom, right = map(float, re.fullmatch(r"M(.+) (.+)V(.+)H(.+)", frame).groups())
    at = {
        ((float(c.get("cx")) - left) / (right - left), (bottom - float(c.get("cy"))) / (bottom - top))
        for c in circles[:72]
    }
    for head in data["heads"]:
        assert any(abs(x - head["x"]) < 2e-3 and abs(y - head["y"]) < 2e-3 for x, y in at), head["id"]
    texts = [text.text for text in drawn.findall(f"{svg}text")]
    named = [head["id"] for head in data["heads"] if head["extreme"]]
    assert set(named) <= set(texts)
    assert {one["name"] for one in data["legend"]} <= set(texts)
    assert {data["x"]["label"], data["y"]["label"], "what it is of"} <= set(texts)
    layers = figure.svg(points_data(minilm, "rests", "brings", "layer", "", (2, 8)), "x")
    assert "color-mix" not in layers
    assert figure.plain("transparent") == ""


@pytest.mark.parametrize(
    ("only", "of"),
    [
        ("", "All heads"),
        ("one token back", "Heads described by “one token back”"),
        ("no description", "Heads without a description"),
    ],
)
def test_the_picture_is_named_by_the_heads_that_are_in_it(minilm, only, of):
    data = points_data(minilm, "rests", "brings", "description", only, (2, 8))
    drawn = ElementTree.fromstring(figure.svg(data, "").encode())  # noqa: S314 - our own drawing
    title = drawn.find("{http://www.w3.org/2000/svg}title").text
    assert title.startswith(f"{of}: {HABITS['rests'][0]} across")


@pytest.mark.parametrize(
    ("layers", "named"), [(1, ["1"]), (2, ["1", "2"]), (3, ["1", "2", "3"]), (6, ["1", "3", "6"])]
)
def test_the_legend_has_each_layer_once_in_the_colour_of_its_heads(minilm, layers, named):
    some = replace(minilm, heads=tuple(entry for entry in minilm.heads if entry.head[0] < layers))
    data = points_data(some, "rests", "brings", "layer", "", (0, 0))
    drawn = {head["id"].partition("-")[0]: head["colour"] for head in data["heads"]}
    legend = [(one["name"], one["colour"]) for one in data["legend"]]
    assert legend == [(f"layer {layer}", drawn[layer]) for layer in named]


def test_in_the_file_the_last_layer_has_the_accent_and_the_first_the_paper(minilm):
    heads = points_data(minilm, "rests", "brings", "layer", "", (2, 8))["heads"]
    shown = {head["id"].partition("-")[0]: figure.plain(head["colour"]) for head in heads}
    assert (shown["1"], shown["6"]) == (page()["paper"], page()["accent"])
    assert len(set(shown.values())) == 6


def said(at):
    return re.sub(
        r"\s+",
        " ",
        html.unescape(
            " ".join(re.sub(r"<[^>]+>", " ", unbroken(block.proto.body)) for block in at.get("html"))
        ),
    )


@pytest.mark.slow
def test_the_page_says_how_sure_it_is_and_refuses_a_head_that_is_not_there(minilm):
    at = unopened("pages/atlas.py", head="3-9").run()
    assert not at.exception
    entry = next(e for e in minilm.heads if e.head == (2, 8))
    text = said(at)
    assert f"Head 3-9: {label(entry.description)}" in text
    assert f"{minilm.n_described} of 72 heads have a description" in text
    assert "With random weights it is" in text
    assert "of its 40 strongest moments" in text
    assert "Attention is not explanation" in text
    other = read_shipped("smollm2").atlas
    for where, among in (("Heads that act at the same moments", minilm), ("In SmolLM2 135M, 4-bit", other)):
        alike = ", ".join(f"{head_name(head)} ({n} of 40)" for head, n in relatives(minilm, (2, 8), among))
        assert f"{where}: {alike or 'none'}." in text
    assert "Asked ( Jobs ): determiner → the next noun or name. 80.8 % of 1,817 cases" in text
    assert "Not asked, over ordinary text : " in text
    at.segmented_control(key="which").set_value("Typical").run()
    (moments,) = [data for data in mounted(at, "atlas") if data["kind"] == "moments"]
    titles = [group["title"] for group in moments["groups"]]
    assert (titles[0], titles[-1]) == ("Tenth 10 of 10, the strongest", "Tenth 1 of 10, the weakest")
    shown = [[moment["numbers"] for moment in group["moments"]] for group in moments["groups"]]
    assert shown == [
        [f"{one.weight:.2f}, brings {one.brings:.1f}" for one in tenth] for tenth in reversed(entry.tenths)
    ]
    at.query_params["head"] = "9-99"
    at.run()
    assert "There is no head “9-99” here." in said(at)


@pytest.mark.slow
def test_a_text_read_with_random_weights_is_said_and_linked_as_such(minilm):
    at = unopened("pages/atlas.py", weights="untrained", head="3-9")
    at.session_state[OWN] = (("minilm", False), minilm)
    at.run()
    assert not at.exception
    assert "MiniLM with random weights read your text: " in said(at)
    bodies = " ".join(block.proto.body for block in at.get("html"))
    (moments,) = [data for data in mounted(at, "atlas") if data["kind"] == "moments"]
    links = [html.unescape(one) for one in re.findall(r'href="(\./[^"]*)"', bodies)]
    links += [one["href"] for group in moments["groups"] for one in group["moments"]]
    assert len(links) > 20
    assert [one for one in links if parse_qs(one.partition("?")[2])["weights"] != ["untrained"]] == []
    at.session_state[OWN] = (("minilm", True), minilm)
    at.run()
    assert "No numbers come with MiniLM with random weights" in said(at)


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True])
def test_links_to_heads_stay_on_the_page_and_others_leave_a_text_of_ones_own_where_it_is(minilm, own):
    at = unopened("pages/atlas.py", head="3-9", does="one token back", looks="8: or")
    if own:
        at.session_state[OWN] = (("minilm", True), minilm)
    at.run()
    assert not at.exception
    links = re.findall(r"<a [^>]*>", " ".join(block.proto.body for block in at.get("html")))
    heads = [(name, link) for link in links for name in re.findall(r'data-head="([^"]*)"', link)]
    described = [(name, link) for link in links for name in re.findall(r'data-does="([^"]*)"', link)]
    assert [name for name, link in heads if f'head={name}"' not in link] == []
    like = [head_name(head) for head, _ in relatives(minilm, (2, 8), minilm)]
    assert [name for name, _ in heads[: len(like)]] == like
    assert len(heads) == len(like) + 10
    assert [name for name, _ in described].count("") == 2, "the description that is shown, and all heads"
    assert {html.unescape(name) for name, _ in described if name} == dict(counts(minilm)).keys() - {
        "one token back"
    }
    jobs = [link for link in links if "Jobs" in link or "specialization" in link]
    (moments,) = [data for data in mounted(at, "atlas") if data["kind"] == "moments"]
    where = "_blank" if own else "_self"
    assert moments["target"] == where
    assert [f'target="{where}"' in link for link in jobs] == [True]


def test_a_pressed_description_is_the_one_that_is_shown(monkeypatch):
    told = []
    monkeypatch.setattr(component.state, "change", told.append)
    for pressed in ("the previous token", "", 7, None):
        monkeypatch.setattr(component, "heard_from", lambda *_, pressed=pressed: pressed)
        component._choose_description("points")
    assert told == [{"does": "the previous token"}, {"does": None}]


def test_where_heads_rest_is_what_the_model_frames_a_text_by():
    names = {name: used for name in ("minilm", "classroom") if (used := mha_core.load_model(name))}
    assert {name: rests_on(name, used) for name, used in names.items()} == {
        "minilm": "[CLS] or [SEP]",
        "classroom": "",
    }
    assert rests_on("all-MiniLM-L12", names["minilm"]) == "[CLS] or [SEP]"
    assert (rests_on("minilm"), rests_on("smollm2")) == ("[CLS] or [SEP]", "the first token")


@pytest.mark.slow
def test_the_file_of_the_page_says_of_which_model_and_text_it_is(minilm, model, monkeypatch):
    offered = {}
    monkeypatch.setattr(view.st, "download_button", lambda name, data, *_, **__: offered.update({name: data}))
    there = read_shipped("minilm")
    view._files(Source(there.atlas, "the project's own reader", "minilm", "", there))
    data = json.loads(offered["JSON"]())
    assert data["model"] == {"name": "minilm", "trained": True, "digest": model.digest}
    assert data["text"] == "the project's own reader"
    assert len(data["heads"]) == 72
    view._files(Source(minilm, "your text", "minilm", "", trained=False))
    data = json.loads(offered["JSON"]())
    untrained = mha_core.load_model(trained=False).info
    assert (data["model"], data["text"]) == (mha_core.export.model_of(untrained), "your text")


def test_what_a_head_raises_stands_beside_its_own_moment(minilm):
    entry = minilm.heads[0]
    listed = head_page._listed(
        Source(minilm, "", "minilm", ""), entry, entry.strongest[:3], ["first", "second"]
    )
    assert [one["note"] for one in listed] == ["first", "second", ""]
    assert [one["numbers"] for one in listed] == [
        f"{one.weight:.2f}, brings {one.brings:.1f}" for one in entry.strongest[:3]
    ]


def test_only_of_the_strongest_moments_it_is_known_what_the_head_raises():
    shipped = read_shipped("smollm2")
    found = Source(shipped.atlas, "the reader", "smollm2", "", shipped)
    entry = shipped.atlas.entry((13, 8))
    raised = shipped.raises[entry.head]
    (strongest,) = head_page._groups(found, entry, "Strongest")
    notes = [one["note"] for one in strongest["moments"]]
    assert [bool(note) for note in notes] == [i < len(raised) for i in range(head_page.MOMENTS)]
    for note, tokens in zip(notes, raised, strict=False):
        assert note.startswith("What it writes here makes likelier: “")
        assert note.count("“") >= len(tokens) > 1
    for which in ("Typical", "Random"):
        groups = head_page._groups(found, entry, which)
        assert {one["note"] for group in groups for one in group["moments"]} == {""}


@pytest.mark.parametrize(("value", "place"), [(-1.0, 0.0), (1.0, 0.5), (3.0, 1.0)])
def test_a_place_on_an_axis_is_told_from_its_lowest_value(value, place):
    assert points._place(SimpleNamespace(measures={"lost": value}), "lost", (-1.0, 3.0)) == place
