"""What a decoder's word cannot see is known to the core, and leaves it as something that is not there."""

import json
from dataclasses import replace

import numpy as np
import pytest
from causal_runs import HEADS, LAYERS, WORDS, record_of, tokens_of

from mha_core import HeadScopeError, InputError, Record, grid_of
from mha_core import record_of as given
from mha_core.export import weights_csv, weights_json
from mha_core.first_change import first_change
from mha_core.heads.notices import evenness, notices, to_first
from mha_core.listing import HeadFilter, strongest_heads
from mha_core.output import render
from mha_core.picture.payload import record_payload
from mha_core.thumbnails import strongest_link
from mha_core.wording import percent
from pages.parts.explore.causal_finding import found_in, in_words
from pages.parts.picture.attention_view import sentence_in_words
from pages.parts.picture.figures import heatmap


@pytest.fixture(scope="module")
def record() -> Record:
    return record_of()


def encoder_of(record: Record) -> Record:
    """The very same weights, of a model that could have looked ahead and did not."""
    return Record(
        replace(record.model, is_causal=False, n_kv_heads=None), record.tokens, record.weights.copy()
    )


def test_a_piece_sees_itself_and_what_stands_before_it(record):
    visible = record.grid().visible
    assert visible.tolist() == [[k <= q for k in range(8)] for q in range(8)]


def test_a_word_sees_every_word_that_begins_no_later_than_it_ends(record):
    grid = record.grid(words=True)
    assert grid.labels == tuple(WORDS)
    assert grid.visible.tolist() == [[k <= q for k in range(7)] for q in range(7)]
    # the first piece of "unlocked" cannot see the second, and yet the word sees itself
    assert grid.weights[0, 0, 1, 1] == pytest.approx(
        (record.weights[0, 0, 1, 1] + record.weights[0, 0, 2, 1:3].sum()) / 2, abs=1e-6
    )
    assert grid.weights.sum(-1) == pytest.approx(1, abs=1e-5)
    assert not grid.weights[..., ~grid.visible].any()


def test_an_encoder_s_zero_is_a_zero(record):
    grid = encoder_of(record).grid()
    assert grid.visible is None
    assert record_payload(grid, record.tokens, "m")["causal"] is False
    assert weights_csv(grid, [(0, 0)]).count("\n") == 1 + 64


def test_a_decoder_that_looks_ahead_is_refused(record):
    weights = record.weights.copy()
    weights[1, 3, 2, 2:4] = [0, weights[1, 3, 2, 2]]
    with pytest.raises(HeadScopeError, match="tokens that come later"):
        Record(record.model, record.tokens, weights)


def test_other_measures_of_the_same_text_keep_the_mask(record):
    mixed = record.weights.mean(axis=1, keepdims=True)
    grid = grid_of(record.tokens, mixed, True, model=record.model)
    assert grid.visible.sum() == 28
    assert grid.sharing == 1, "heads mixed have no keys of their own"
    assert record.grid().sharing == 3


def test_the_csv_has_a_row_for_every_weight_that_exists(record):
    rows = [line.split(",") for line in weights_csv(record.grid(), [(1, 4)]).splitlines()[1:]]
    assert [(int(row[2]), int(row[3])) for row in rows] == [(q, k) for q in range(8) for k in range(q + 1)]
    assert [float(row[6]) for row in rows] == pytest.approx(record.weights[1, 4][np.tril_indices(8)].tolist())


def test_the_json_says_that_the_mask_is_causal_and_stays_one_array(record):
    content = json.loads(weights_json(record, record.grid()))
    assert content["causal"] is True
    assert np.array(content["weights"], dtype=np.float32) == pytest.approx(record.weights)
    assert json.loads(weights_json(record, encoder_of(record).grid()))["causal"] is False


def test_the_command_line_s_matrix_ends_where_the_word_stands(record):
    lines = render(record, record.grid(), HeadFilter(layer=1, head=2), "table").splitlines()[3:]
    assert [len(line[9:].split()) for line in lines] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_command_line_s_strongest_link_is_no_first_token_s(record):
    lines = render(record, record.grid(), HeadFilter(), "table").splitlines()[2:]
    assert len(lines) == LAYERS * HEADS
    assert not [line for line in lines if "Zoe → " in line]


def test_the_command_line_says_of_an_only_token_that_it_looks_at_itself():
    alone = given([[[[1.0]], [[1.0]]]], ["Rain"], causal=True)
    lines = render(alone, alone.grid(), HeadFilter(), "table").splitlines()[2:]
    assert [line.split() for line in lines] == [
        [name, "100.0", "%", "Rain", "→", "Rain"] for name in ("1-1", "1-2")
    ]


def test_asking_for_a_later_word_is_answered_in_a_sentence(record):
    with pytest.raises(InputError, match=r"'it' cannot see 'late': in a decoder a word sees only itself and"):
        strongest_heads(record.grid(), 3, 7)
    assert strongest_heads(record.grid(), 7, 3)[0].weight > 0
    assert strongest_heads(encoder_of(record).grid(), 3, 7)[0].weight == 0


def test_the_first_word_s_row_is_no_link_worth_naming(record):
    grid = record.grid()
    links = strongest_link(grid.weights, np.zeros(8, bool), visible=grid.visible)
    assert (links[..., 0] > 0).all()
    assert links[0, 2, 2] == round(float(grid.weights[0, 2, 1:].max()) * 65535)
    small = record_payload(grid, record.tokens, "m", full_bytes=0)
    assert small["loudest"] == links.ravel().tolist(), "nor where a long text comes in small pictures"
    assert "“Zoe” looks at “Zoe”" not in sentence_in_words(grid, (0, 2), ())
    assert "“Zoe” looks at “Zoe” (100.0 %)" in sentence_in_words(encoder_of(record).grid(), (0, 2), ())


def test_the_heatmap_holds_nothing_where_nothing_is(record):
    z = heatmap(record.grid(), (0, 1), dark=False)["data"][0]["z"]
    assert [[w is None for w in row] for row in z] == [[k > q for k in range(8)] for q in range(8)]
    assert z[6][2] == pytest.approx(float(record.weights[0, 1, 6, 2]))
    assert not any(
        w is None
        for row in heatmap(encoder_of(record).grid(), (0, 1), dark=False)["data"][0]["z"]
        for w in row
    )


# ---- where two texts part

LATE, EARLY = WORDS, [*WORDS[:6], "well", "again"]


def pair(same_up_to: int = 7):
    a, b = record_of(LATE, seed=1, same_up_to=same_up_to), record_of(EARLY, seed=2, same_up_to=same_up_to)
    return a.grid(), a.tokens, b.grid(), b.tokens


def test_two_texts_part_at_the_first_piece_that_is_another():
    a, a_tokens, b, b_tokens = pair()
    found = first_change(a, a_tokens, b, b_tokens)
    assert (found.place, found.largest) == (7, 0)
    assert found.first is None, "one word became two"
    assert in_words(found, a, b).endswith("The texts part after `slept`.")


def test_a_difference_before_that_is_measured_not_assumed():
    a, a_tokens, b, b_tokens = pair(same_up_to=5)
    found = first_change(a, a_tokens, b, b_tokens)
    assert found.place == 7
    assert found.largest == pytest.approx(np.abs(a.weights[:, :, 5:7, :7] - b.weights[:, :, 5:7, :7]).max())
    assert found.largest > 0.1


def test_later_words_are_ranked_by_how_much_their_rows_moved():
    words = ["a", "b", "c", "d", "e", "f"]
    a = record_of([*words[:2], "x", *words[3:]], seed=1, split=None, same_up_to=2)
    b = record_of([*words[:2], "y", *words[3:]], seed=2, split=None, same_up_to=2)
    found = first_change(a.grid(), a.tokens, b.grid(), b.tokens)
    moved = np.abs(a.weights - b.weights).sum(-1) / 2
    assert sorted(mover.places[0] for mover in found.movers) == [2, 3, 4, 5]
    assert [m.moved for m in found.movers] == sorted((m.moved for m in found.movers), reverse=True)
    for mover in found.movers:
        rows = moved[:, :, mover.places[0]]
        assert mover.moved == pytest.approx(rows.mean(), abs=1e-6)
        assert [share for _, share in mover.heads] == pytest.approx(sorted(rows.ravel())[:-5:-1], abs=1e-6)
        assert all(rows[head] == pytest.approx(share, abs=1e-6) for head, share in mover.heads)
    said = in_words(found, a.grid(), b.grid())
    assert "Up to `b` every row is the same in A and B, number for number" in said
    assert "The first word that can differ is `x` in A and `y` in B." in said
    layer, head = found.first.heads[0][0]
    assert (
        f"Its rows differ most in {layer + 1}-{head + 1} ({100 * moved[layer, head, 2]:.1f} % moved)" in said
    )


def test_layers_are_named_as_layers_where_two_texts_part():
    words = ["a", "b", "c", "d"]
    texts = ([*words[:2], "x", *words[3:]], [*words[:2], "y", *words[3:]])
    a, b = (record_of(text, seed=seed, split=None, same_up_to=2) for seed, text in enumerate(texts))
    mixed = [replace(run.grid(), weights=run.weights.mean(axis=1, keepdims=True)) for run in (a, b)]
    found = first_change(mixed[0], a.tokens, mixed[1], b.tokens)
    moved = np.abs(mixed[0].weights - mixed[1].weights).sum(-1)[:, 0, 2] / 2
    most = int(moved.argmax())
    wanted = f"Its rows differ most in layer {most + 1} ({percent(moved[most])} moved), layer "
    assert wanted in in_words(found, *mixed, "layer")


def test_what_the_texts_begin_with_together_is_no_counterpart_of_later_words():
    a = record_of(["the", "cat", "sat", "while", "the", "cat", "slept"], seed=1, split=None, same_up_to=2)
    b = record_of(["the", "cat", "slept"], seed=2, split=None, same_up_to=2)
    found = first_change(a.grid(), a.tokens, b.grid(), b.tokens)
    assert [mover.places for mover in found.movers] == [(6, 2)], "as if only the tails were there"
    row_a, row_b = a.weights[:, :, 6], b.weights[:, :, 2]
    moved = np.abs(row_a[..., [0, 1, 6]] - row_b).sum(-1) + row_a[..., 2:6].sum(-1)
    assert found.movers[0].moved == pytest.approx(moved.mean() / 2, abs=1e-6)


def test_a_text_that_goes_on_differs_nowhere():
    a, b = record_of(WORDS[:4], seed=7), record_of(WORDS, seed=7)
    found = first_change(a.grid(), a.tokens, b.grid(), b.tokens)
    assert (found.place, found.movers) == (5, ())
    assert "B only goes on where A ends" in in_words(found, a.grid(), b.grid())


def test_there_is_no_such_finding_for_encoders_the_same_text_or_another_beginning(record):
    encoder = encoder_of(record)
    assert first_change(encoder.grid(), encoder.tokens, encoder.grid(), encoder.tokens) is None
    assert first_change(record.grid(), record.tokens, record.grid(), record.tokens) is None
    other = record_of(["Max", *WORDS[1:]])
    assert first_change(record.grid(), record.tokens, other.grid(), other.tokens) is None


# ---- notices


def sinking(share: float, heads: int = HEADS) -> Record:
    """In the first heads of a layer every token gives `share` to the first and the rest to itself, as others do all."""
    base = record_of()
    weights = np.zeros_like(base.weights)
    for q in range(8):
        weights[:, :, q, q] = 1
        if q:
            weights[:, :heads, q, q] = 1 - share
            weights[:, :heads, q, 0] = share
    return Record(base.model, base.tokens, weights)


def kinds(record: Record, head=(1, 4)) -> dict:
    return {notice.kind: notice for notice in notices(record, head)}


def test_a_head_that_rests_on_the_first_token_is_told_with_how_many_do():
    found = kinds(sinking(0.62, heads=5))
    assert found["first"].value == pytest.approx(0.62)
    assert "62.0 % of the attention of head 2-5 rests on the first token, `Zoe`" in found["first"].text
    assert "In this sentence that is so in 10 of 12 heads." in found["first"].text
    assert "resting" not in found, "said once"
    assert "first" not in kinds(sinking(0.49))


def test_where_the_chosen_head_does_not_rest_the_count_stands_alone():
    found = kinds(sinking(0.62, heads=4), (1, 5))
    assert "first" not in found
    assert found["resting"].text.startswith(
        "In 8 of 12 heads more than half of the attention rests on the first"
    )
    assert "resting" not in kinds(sinking(0.62, heads=1), (1, 5))


def test_the_first_token_s_own_row_counts_for_nothing():
    record = sinking(0.4)
    assert to_first(record)[0, 0] == pytest.approx(0.4)
    uneven = record.weights.copy()
    uneven[..., 1:, :] = np.tril(np.ones((7, 8)), 1) / np.arange(2, 9)[:, None]
    even = Record(record.model, record.tokens, uneven)
    assert evenness(even.weights[0, 0], is_causal=True) == pytest.approx(1)
    assert kinds(even)["uniform"].value == pytest.approx(1)
    assert evenness(sinking(1.0).weights[0, 0], is_causal=True) == 0


def test_a_decoder_hears_nothing_of_what_only_encoders_do_and_the_other_way_round():
    decoder, encoder = sinking(0.62), encoder_of(sinking(0.62))
    assert not {"sink", "next"} & kinds(decoder).keys()
    assert not {"first", "shared"} & kinds(encoder).keys()
    assert "resting" not in kinds(encoder)


def test_a_head_says_with_whom_it_shares_its_keys(record):
    assert kinds(record)["shared"].text.startswith("Head 2-5 shares its keys and values with 2-4 and 2-6;")
    assert kinds(record, (0, 2))["shared"].text.startswith(
        "Head 1-3 shares its keys and values with 1-1 and 1-2;"
    )
    alone = Record(replace(record.model, n_kv_heads=None), record.tokens, record.weights.copy())
    assert "shared" not in kinds(alone)


def test_tokens_of_a_split_word_are_two():
    assert [piece.text for piece in tokens_of(WORDS).pieces][1:3] == [" un", "locked"]


def test_two_decoders_of_one_size_are_not_one():
    a, b = record_of(LATE, seed=1, same_up_to=7), record_of(EARLY, seed=2, same_up_to=7)
    other = replace(b, model=replace(b.model, digest="another"))
    assert found_in([a, b], a.grid(), b.grid()) is not None
    assert found_in([a, other], a.grid(), other.grid()) is None
