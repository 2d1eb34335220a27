"""The Atlas page without a browser: points, lines of text, links, heads that act alike."""

import csv
import html
import io
import re
from urllib.parse import parse_qs

import numpy as np
import pytest
from visit import mounted, unbroken, unopened

from mha_core.heads.atlas.habits import HABITS
from mha_core.heads.atlas.moments import Moment
from mha_core.heads.atlas.said import NO_DESCRIPTION, label
from mha_core.heads.atlas.shipped import read_shipped
from mha_core.heads.atlas.table import Line
from mha_core.wording import head_name
from pages.parts.atlas import view
from pages.parts.atlas.lines import moment_data, moment_link
from pages.parts.atlas.points import counts, points_data
from pages.parts.atlas.relatives import relatives

TEXT = "We saw the fox and the owl."
STARTS, ENDS = (0, 3, 7, 11, 15, 19, 23, 26), (2, 6, 10, 14, 18, 22, 26, 27)
PASSAGE = Line(TEXT, tuple(TEXT[a:b] for a, b in zip(STARTS, ENDS, strict=True)), STARTS, ENDS)


@pytest.fixture(scope="module")
def minilm():
    return read_shipped("minilm").atlas


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
    assert "Asked ( Roles ): determiner → the next noun or name. 80.8 % of 1,817 cases" in text
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
