"""Why?, asked on Explore: which tokens are asked, what the page tells the picture, and where it cannot be asked."""

from itertools import product

import pytest
from visit import TIRED, open_page, picture, said

from mha_core import score_attribution, trace, weight_without_head
from mha_core.display_names import percent
from pages.parts.explore.walk import Step, tokens_of

DURSLEY = "Mr and Mrs Dursley lived at number four. The owner of the house, Mrs Durs"


def shown(page):
    """Return what the page tells the picture of the question."""
    return picture(page).get("why")


def test_a_word_of_several_tokens_is_asked_by_its_strongest_pair_that_is_visible(smollm2):
    record = trace(DURSLEY, smollm2)
    words = record.grid(words=True)
    split = [i for i, unit in enumerate(words.units) if len(unit.pieces) > 1]
    assert split
    for head, query, key in product(((0, 0), (18, 6), (29, 8)), split, split):
        pairs = product(words.units[query].pieces, words.units[key].pieces)
        visible = [(i, j) for i, j in pairs if j <= i]
        if visible:
            best = max(visible, key=lambda pair: record.weights[head][pair])
            assert tokens_of(Step(head, query, key), record, words) == best


@pytest.mark.slow
def test_the_picture_is_told_the_largest_parts_and_the_weight_without_a_head(model):
    page = open_page(why="4-2.10.2,mlp3.query", without="3-2")
    answer = shown(page)
    assert answer["of"] == {"head": [3, 1], "pins": [10], "to": 2}
    (side,) = answer["sides"]
    assert [part["name"] for part in side["parts"]] == ["3-4", "3-9", "3-2"]
    assert all(part["link"][:2] == [10, 13] for part in side["parts"])
    after = weight_without_head(
        TIRED, model, head="4-2", query="it", key="animal", without="3-2", means=False
    )
    cause = side["parts"][2]["without"]["said"]
    assert all(
        percent(weight) in cause for weight in [*after.before, *after.after[:2], after.after_control[0]]
    )
    assert after.control[0] in cause


@pytest.mark.parametrize("link", ["4-2.10.2", "2-10.10.13", "3-1.3.2"])
def test_query_and_key_stand_apart_each_with_its_own_shares(model, link):
    answer = shown(open_page(why=link))
    head, query, key = link.split(".")
    frame = score_attribution(TIRED, model, head=head, query=int(query), key=int(key))
    for column, side in zip(answer["sides"], ("query", "key"), strict=True):
        rows = frame[frame.side == side].head(3)
        assert [part["score"] for part in column["parts"]] == pytest.approx(rows.score.tolist(), abs=1e-4)
        shares = [part["number"].split(" · ")[1] for part in column["parts"]]
        assert shares == [percent(share) for share in rows.share]
        assert ("−" in column["note"]) == bool((rows.share < 0).any())
        assert ("100%" in column["note"]) == bool((rows.share.abs() > 1).any())
        assert "100%" in column["title"]
    assert "because" not in answer["said"]


@pytest.mark.slow
@pytest.mark.usefixtures("smollm2")
def test_where_a_head_sees_one_word_or_the_link_is_below_the_mean_nothing_is_shared_out():
    answer = shown(open_page(why="19-7.0.0", model="smollm2", text=DURSLEY))
    assert answer["sides"] == []
    assert "nothing" in answer["said"]
    answer = shown(open_page(why="6-8.8.4"))
    assert "no more than at other words" in answer["said"]
    for side in answer["sides"]:
        assert "100%" not in side["title"]
        assert not any("%" in part["number"] for part in side["parts"])


def test_five_steps_back_are_the_most():
    steps = ["6-1.10.2", "mlp5.query", "5-1.10.2", "mlp4.query", "4-2.10.2"]
    for n in (3, 5):
        answer = shown(open_page(why=",".join(steps[-n:])))
        assert [step["name"] for step in answer["way"]] == ["6-1", "MLP 5", "5-1", "MLP 4", "4-2"][-n:]
        parts = [part for side in answer["sides"] for part in side["parts"]]
        assert any("go" in part for part in parts) == (n < 5)
    page = open_page(why=",".join([*steps, "3-2.10.13"]))
    assert len(said(page, "notice")) == 1
    assert shown(page) == {"of": None}


@pytest.mark.parametrize(
    "wrong", ["x", "9-9.1.2", "4-2.10.99", "4-2.10.2,4-1.2.1", "mlp3.query", "4-2.10.2,mlp4.key", "0-1.1.1"]
)
def test_a_wrong_address_gives_one_sentence_and_loses_nothing(wrong):
    page = open_page(why=wrong, head="5-5", pin="3")
    assert len(said(page, "notice")) == 1
    assert picture(page)["selection"] == {"head": [4, 4], "pins": [3], "to": None}
    assert shown(page) == {"of": None}


@pytest.mark.parametrize("query", [{"measure": "value"}, {"specials": "renormalised"}])
def test_other_numbers_than_raw_attention_are_not_asked_why(query):
    assert shown(open_page(**query)) is None
    page = open_page(why="4-2.10.2", **query)
    assert len(said(page, "notice")) == 1
