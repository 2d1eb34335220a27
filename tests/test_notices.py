"""Why does it look like this? Each notice, on a matrix made so that its number is known beforehand."""

import dataclasses

import numpy as np
import pytest

from mha_core import ModelInfo, Piece, Record, Tokens, grid_of
from mha_core.heads.notices import against_raw, at_offset, differing_rows, evenness, notices, to_specials
from mha_core.heads.roles import NO_ROLE, Role

PLACES = 7


def record_of(
    matrix: np.ndarray, *, trained: bool | None = True, n_cut: int = 0, texts: str = "a b c d e"
) -> Record:
    """One layer of one head over [CLS], five letters, [SEP]."""
    pieces = [Piece("[CLS]", 101, 0, 0, 0, None, special=True)]
    pieces += [
        Piece(t, 5 + i, i, i + 1, 0, i, special=False, role="unknown" if t == "[UNK]" else None)
        for i, t in enumerate(texts.split())
    ]
    pieces.append(Piece("[SEP]", 102, 0, 0, 0, None, special=True))
    tokens = Tokens("abcde", None, tuple(pieces), (), n_cut)
    info = ModelInfo("m", "M", trained, 1, 1, 3, 3, 1234567, 64, "digest")
    return Record(info, tokens, np.asarray(matrix, dtype=np.float32)[None, None])


def even(n: int = PLACES) -> np.ndarray:
    return np.full((n, n), 1 / n)


def to_column(column: int, share: float) -> np.ndarray:
    """Every row sends `share` to one column and spreads the rest over the others."""
    matrix = np.full((PLACES, PLACES), (1 - share) / (PLACES - 1))
    matrix[:, column] = share
    return matrix


def shifted(offset: int, share: float) -> np.ndarray:
    matrix = np.full((PLACES, PLACES), (1 - share) / (PLACES - 1))
    for query in range(PLACES):
        matrix[query, (query + offset) % PLACES] = share
    return matrix


def found(record: Record) -> dict[str, tuple[float, str]]:
    return {notice.kind: (notice.value, notice.text) for notice in notices(record, (0, 0))}


@pytest.mark.parametrize(("column", "token"), [(0, "[CLS]"), (PLACES - 1, "[SEP]")])
def test_a_sink_is_named_with_the_share_it_gets(column: int, token: str):
    value, text = found(record_of(to_column(column, 0.75)))["sink"]
    assert value == pytest.approx(0.75, abs=1e-6)
    assert f"75.0 % of their attention to `{token}`" in text
    assert "head 1-1" in text


def test_the_two_separators_of_a_pair_are_one_sink():
    record = record_of(even())
    pieces = list(record.tokens.pieces)
    pieces[3] = dataclasses.replace(pieces[-1])
    weights = np.full((PLACES, PLACES), 0.4 / (PLACES - 2), dtype=np.float32)
    weights[:, [3, -1]] = 0.3
    tokens = dataclasses.replace(record.tokens, pieces=tuple(pieces))
    pair = dataclasses.replace(record, tokens=tokens, weights=weights[None, None])
    value, text = found(pair)["sink"]
    assert value == pytest.approx(0.6, abs=1e-6)
    assert "`[SEP]`" in text


def test_a_word_that_gets_everything_is_no_sink():
    assert "sink" not in found(record_of(to_column(3, 0.75)))


def test_what_the_specials_look_at_themselves_makes_no_sink():
    matrix = to_column(0, 0.45)
    matrix[0] = matrix[-1] = np.eye(PLACES)[0]  # the mean over all rows is 60.7 %
    assert "sink" not in found(record_of(matrix))


def test_half_and_less_is_no_sink():
    assert "sink" not in found(record_of(to_column(0, 0.49)))


@pytest.mark.parametrize(
    ("offset", "kind", "where"),
    [(-1, "previous", "before it"), (1, "next", "after it"), (0, "itself", "itself")],
)
def test_a_head_that_goes_by_place_is_told_with_its_share(offset: int, kind: str, where: str):
    seen = found(record_of(shifted(offset, 0.8)))
    assert seen[kind][0] == pytest.approx(0.8, abs=1e-6)
    assert where in seen[kind][1]
    assert "80.0 %" in seen[kind][1]
    assert {"previous", "next", "itself"} & set(seen) == {kind}


def test_the_place_before_the_first_word_does_not_count():
    weights = shifted(-1, 1.0)
    weights[1] = np.eye(PLACES)[3]  # the first word, whose neighbour is [CLS], looks elsewhere
    special = np.array([True, *[False] * 5, True])
    assert at_offset(weights, -1, special) == 1.0


def test_an_even_head_is_called_even_and_a_sharp_one_is_not():
    assert found(record_of(even()))["uniform"][0] == pytest.approx(1, abs=1e-6)
    assert "uniform" not in found(record_of(shifted(2, 0.9)))


def test_evenness_runs_from_one_link_to_all_alike():
    assert evenness(np.eye(5)) == 0
    assert evenness(even(5)) == pytest.approx(1)
    half = np.zeros((1, 4))
    half[0, :2] = 0.5
    assert evenness(half) == pytest.approx(0.5)


def test_random_weights_are_said_to_be_random_with_their_number():
    value, text = found(record_of(even(), trained=False))["untrained"]
    assert value == 1234567
    assert "1,234,567 weights are random" in text
    assert "untrained" not in found(record_of(even()))


def test_weights_of_which_nobody_says_whether_they_are_trained_are_not_called_random():
    assert "untrained" not in found(record_of(even(), trained=None))


def test_a_cut_text_says_how_much_is_missing_and_how_much_fits():
    assert found(record_of(even(), n_cut=1))["cut"][1].startswith("The text was cut: 1 piece was left out")
    text = found(record_of(even(), n_cut=1200))["cut"][1]
    assert "1,200 pieces were" in text
    assert "takes 64 at most" in text


def test_unknown_pieces_are_counted():
    value, text = found(record_of(even(), texts="a [UNK] c [UNK] e"))["unknown"]
    assert value == 2
    assert text.startswith("2 pieces were not in the model's vocabulary")


def test_one_piece_alone_is_said_to_be_alone():
    assert "short" in found(record_of(even(3), texts="a"))
    assert "short" not in found(record_of(even()))


def test_the_share_that_rests_on_the_specials_is_a_mean_over_words():
    weights = np.eye(PLACES)
    weights[1] = weights[2] = np.eye(PLACES)[0]
    assert to_specials(record_of(weights))[0, 0] == pytest.approx(2 / 5)
    both = np.full((7, 7), 0.5 / 5)
    both[:, 0], both[:, -1] = 0.2, 0.3
    assert to_specials(record_of(both))[0, 0] == pytest.approx(0.5), "all special tokens together"


def test_resting_heads_are_counted():
    value, text = found(record_of(to_column(0, 0.75)))["resting"]
    assert value == 1
    assert "In 1 of 1 heads" in text


@pytest.mark.parametrize(("resting", "told"), [(1, False), (2, True)])
def test_up_to_a_quarter_of_the_heads_may_rest_untold(resting: int, told: bool):
    record = record_of(even())
    heads = [to_column(0, 0.75)] * resting + [even()] * (4 - resting)
    weights = np.array(heads, dtype=np.float32)[:, None]
    four = dataclasses.replace(record, model=dataclasses.replace(record.model, n_layers=4), weights=weights)
    assert ("resting" in found(four)) == told


def test_head_1_3_of_the_embedded_model_looks_at_the_token_before(model):
    from mha_core import trace

    record = trace("The animal didn't cross the street because it was too tired.", model)
    seen = {notice.kind: notice for notice in notices(record, (0, 2))}
    diagonal = np.diagonal(record.weights[0, 2], -1)[1:-1]
    assert seen["previous"].value == pytest.approx(float(diagonal.mean()), abs=1e-6)
    assert seen["previous"].value > 0.9


def test_the_role_found_on_other_sentences_comes_first_with_its_evidence():
    record = record_of(even())
    role = Role("S", "determiner and its noun", "syntactic", 0.976, 0.357, 42, "Right in 97.6 % of 42 cases.")
    first = notices(record, (0, 0), role)[0]
    assert first.kind == "role"
    said = "Head 1-1 is called “determiner and its noun”. Right in 97.6 % of 42 cases."
    assert first.text == f"{said} Whether it finds the right word here, the sentence itself does not say."
    assert all(notice.kind != "role" for notice in notices(record, (0, 0), NO_ROLE))
    assert notices(record, (0, 0)) == notices(record, (0, 0), NO_ROLE)


def test_what_is_not_the_raw_weight_says_so_and_where_it_disagrees():
    record = record_of(even())
    other = np.zeros((1, 1, PLACES, PLACES), dtype=np.float32)
    other[..., 0] = 1  # an even row peaks at its first place
    other[0, 0, 2], other[0, 0, 4] = np.eye(PLACES)[3], np.eye(PLACES)[5]
    (notice,) = against_raw(record, grid_of(record.tokens, other), "value", (0, 0))
    assert notice.text.endswith("In 2 of 7 rows the top word differs from the raw weights.")
    assert notice.value == pytest.approx(2 / 7)
    assert against_raw(record, record.grid(), "raw", (0, 0)) == ()
    drawn = grid_of(record.tokens, other)
    said, numbers = differing_rows(record, drawn, "value")
    assert said.replace("{}", "2") in notice.text
    assert numbers == [2]
    assert differing_rows(record, record.grid(), "raw") == ("", [])


def test_what_is_drawn_of_a_head_is_compared_with_that_head():
    record = record_of(even())
    two = dataclasses.replace(
        record,
        model=dataclasses.replace(record.model, n_heads=2),
        weights=np.array([[to_column(0, 0.5), to_column(1, 0.5)]], dtype=np.float32),
    )
    drawn = grid_of(two.tokens, np.array([[to_column(0, 0.9)] * 2], dtype=np.float32))
    shares = [against_raw(two, drawn, "value", (0, head))[0].value for head in (0, 1)]
    assert shares == [0, 1]
    assert differing_rows(two, drawn, "value")[1] == [0, PLACES]


def test_what_mixes_all_layers_is_compared_with_the_last_ones_mean():
    record = record_of(even())
    two = dataclasses.replace(
        record,
        model=dataclasses.replace(record.model, n_layers=2, n_heads=2),
        weights=np.array([[to_column(0, 0.9)] * 2, [to_column(1, 0.9), to_column(2, 0.5)]], dtype=np.float32),
    )
    drawn = grid_of(two.tokens, to_column(1, 0.5)[None, None].astype(np.float32))
    (notice,) = against_raw(two, drawn, "gradient", (0, 0))
    assert notice.value == 0, "the mean of the last layer's two heads looks most at the second token"
    assert notice.text.endswith(
        "In 0 of 7 rows the top word differs from the mean of the last layer's raw weights."
    )


def test_what_is_of_the_head_stands_before_what_is_of_all_and_its_role_before_both():
    role = Role("S", "determiner and its noun", "syntactic", 0.976, 0.357, 42, "Right in 97.6 % of 42 cases.")
    record = record_of(to_column(0, 0.8), trained=False, n_cut=3)
    kinds = [notice.kind for notice in notices(record, (0, 0), role)]
    assert kinds == ["role", "sink", "untrained", "cut", "resting"]
