"""Roles by stated thresholds: given when the evidence is there, and never under a baseline."""

from dataclasses import fields, replace

import numpy as np
import pytest

from mha_core.errors import InputError
from mha_core.heads.copying import CopySums, CopyTable, count_tokens
from mha_core.heads.coreference import CoreferenceSums
from mha_core.heads.jobs import KINDS
from mha_core.heads.positions import PositionSums
from mha_core.heads.relations import RelationCounts
from mha_core.heads.report import report_card
from mha_core.heads.roles import NO_ROLE, Tables, assign_roles, role_of
from mha_core.heads.similarity import SimilaritySums
from mha_core.heads.studies import Study
from mha_core.heads.survey import Done, TextItem
from tests.heads_by_hand import looking, random_attention, tokens_of
from tests.test_heads_coreference import case
from tests.test_heads_relations import cases

TEXT = TextItem(tokens_of(["one", "two", "six", "ten"]))
PLAIN = looking(6, {0: 3, 1: 5, 2: 4, 3: 1, 4: 2, 5: 2}, 0.6)


def positions(weights: np.ndarray, texts: int = 30):
    sums = PositionSums(1, 1)
    for _ in range(texts):
        sums.add(weights[None, None].astype(np.float32), TEXT)
    return sums.result()


def role(weights: np.ndarray = PLAIN, **tables):
    return role_of(Tables(positions(weights), **tables), 0, 0)


def test_without_evidence_there_is_no_role():
    found = role()
    assert found == NO_ROLE
    assert not found
    assert (found.letter, found.label, found.key) == ("", "no clear role", "none")


def test_a_role_has_the_fields_that_pages_read():
    names = [field.name for field in fields(NO_ROLE)]
    assert names[:7] == ["letter", "label", "key", "score", "baseline", "n", "evidence"]
    with pytest.raises(AttributeError):
        NO_ROLE.label = "x"  # type: ignore[misc]
    letters = [kind.letter for kind in KINDS]
    assert len(set(letters)) == len(letters)


def test_nine_tenths_of_the_maxima_at_one_distance_make_a_positional_head():
    found = role(looking(6, {i: max(i - 1, 0) for i in range(6)}, 0.3))
    assert (found.letter, found.key, found.label, found.detail) == ("P", "positional", "previous token", "-1")
    assert found.score == 1
    assert "100.0 % of its largest weights lie there, in 30 texts" in found.evidence
    eighty = looking(6, {0: 1, 1: 2, 2: 3, 3: 4, 4: 0}, 0.3)
    assert role(eighty).key != "positional"


def test_half_of_the_mass_on_a_neighbour_makes_a_positional_head():
    weights = looking(6, {0: 1, 1: 2, 2: 3, 3: 4, 4: 0, 5: 0}, 0.95)
    found = role(weights)
    assert (found.label, found.detail) == ("next token", "1")
    assert "and 63.5 % of its mass" in found.evidence
    assert role(looking(6, {0: 1, 1: 2, 2: 3, 3: 1, 4: 0, 5: 0}, 0.95)).key != "positional"


def test_a_distance_that_hardly_any_row_has_makes_no_positional_head():
    """Only the first row can look five ahead: that it always does is no habit of the head."""
    weights = PLAIN.copy()
    weights[0] = looking(6, {0: 5}, 0.9)[0]
    assert positions(weights).peak[0, 0].max() == 1
    assert role(weights) == NO_ROLE


def test_half_of_the_mass_on_a_special_token_makes_a_separator_head():
    assert role(looking(6, dict.fromkeys(range(6), 0), 0.6)).label == "looks at [CLS]"
    assert role(looking(6, dict.fromkeys(range(6), 5), 0.6)).label == "looks at [SEP]"
    assert role(looking(6, dict.fromkeys(range(6), 0), 0.45)).key != "separator"


def test_a_head_that_looks_everywhere_is_broad():
    sums = PositionSums(1, 3)
    weights = np.stack([np.full((6, 6), 1 / 6), PLAIN, PLAIN])[None].astype(np.float32)
    for _ in range(60):
        sums.add(weights, TEXT)
    found = role_of(Tables(sums.result()), 0, 0)
    assert (found.letter, found.key) == ("B", "broad")
    assert found.score > found.baseline


def relations(right: float, n: int = 120):
    """A head that finds the head word of `nsubj` in this share of n sentences; half of them lie at +1."""
    counts = RelationCounts(1, 1)
    for i in range(n):
        head = 3 if i % 2 else 2
        item = cases([f"w{i}", "b", "c", "d"], [head - 1, -1, -1, -1], ["nsubj", "root", "root", "root"])
        counts.add(looking(6, {1: head if i < right * n else 4})[None, None], item)
    return counts.result()


def test_a_syntactic_head_is_ten_points_above_the_best_offset():
    found = role(relations=relations(0.9))
    assert (found.letter, found.key, found.label) == ("S", "syntactic", "nsubj, dep->head")
    assert found.detail == "nsubj dep->head"
    assert (found.score, found.baseline, found.n) == (0.9, 0.5, 120)
    assert "right in 90.0 % of 120 cases, 50.0 % by always looking" in found.evidence


@pytest.mark.parametrize(("right", "n"), [(0.58, 2000), (0.40, 2000), (0.9, 18), (0.65, 40)])
def test_too_little_over_the_offset_or_too_few_cases_make_no_specialist(right: float, n: int):
    assert role(relations=relations(right, n)) == NO_ROLE


def choices(weights: np.ndarray, n: int, baseline: float = 0.5):
    sums = CoreferenceSums(1, 1)
    for _ in range(n):
        sums.add(weights[None, None].astype(np.float32), case(1, None, (baseline,) * 4))
    return sums.result()


def test_a_choosing_head_beats_every_rule_and_fails_its_control():
    specific = looking(9, {6: 3, 2: 1, 5: 1, 7: 1}, 1.0)
    found = role(coreference=choices(specific, 60))
    assert (found.letter, found.key, found.detail) == ("C", "coreference", "pronoun->mention")
    assert role(agreement=choices(specific, 60)).letter == "A"
    assert role(coreference=choices(specific, 60, baseline=1.0)) == NO_ROLE
    assert role(coreference=choices(specific, 8)) == NO_ROLE
    favourite = np.tile(np.eye(9)[3], (9, 1))
    assert role(coreference=choices(favourite, 60)).key != "coreference"


def copies(**changes) -> CopyTable:
    sums = CopySums(1, 1, count_tokens([TEXT.tokens], 30000))
    table = sums.result()
    shape = np.zeros((1, 1))
    values = {"n_copies": 100, "copy": shape + 0.9, "copy_mass": shape + 0.5, "copy_baseline": 0.1}
    values |= {"rare": shape, "rare_baseline": 0.1, "n_rare": 100}
    return replace(table, **(values | changes))


def test_a_copying_head_finds_copies_with_a_quarter_of_its_mass():
    found = role(copies=copies())
    assert (found.letter, found.key, found.n) == ("=", "copy", 100)
    one = np.ones((1, 1))
    for change in ({"copy": 0.45 * one}, {"copy_mass": 0.2 * one}, {"copy_baseline": 0.95}, {"n_copies": 19}):
        assert role(copies=copies(**change)) == NO_ROLE


def test_a_rare_token_head_points_there_half_of_the_time():
    one = np.ones((1, 1))
    none = {"n_copies": 0}
    found = role(copies=copies(rare=0.6 * one, **none))
    assert (found.letter, found.key, found.score) == ("R", "rare", 0.6)
    assert role(copies=copies(rare=0.4 * one, **none)) == NO_ROLE
    assert role(copies=copies(rare=0.6 * one, rare_baseline=0.7, **none)) == NO_ROLE


def test_what_a_head_does_comes_before_where_it_rests():
    rests = looking(6, dict.fromkeys(range(6), 0), 0.6)
    assert role(rests, relations=relations(0.9)).key == "syntactic"
    assert role(rests, copies=copies()).key == "copy"


def study() -> Study:
    sums, alike = PositionSums(2, 3), SimilaritySums(2, 3)
    weights = random_attention(4, 2, 3, 6)
    weights[1, 2] = looking(6, {i: max(i - 1, 0) for i in range(6)}, 0.95)
    for _ in range(30):
        sums.add(weights, TEXT)
    alike.add(weights, TEXT)
    return Study(Done(30, False), Tables(sums.result()), alike.result())


def test_the_report_card_ranks_a_head_in_every_measure():
    found = study()
    card = report_card(found, 1, 2)
    assert card.role.label == "previous token"
    line = card.line("previous")
    assert (line.rank, line.of, line.n) == (1, 6, 30)
    assert line.value == pytest.approx(float(found.tables.positions["previous"][1, 2]))
    assert line.baseline == pytest.approx(1 / 6)
    assert card.line("entropy").rank == 6
    assert len(card.relatives) == 3
    with pytest.raises(InputError, match="Head 3-1 was asked for; there are 2 x 3 heads"):
        report_card(found, 2, 0)
    with pytest.raises(InputError, match="no line 'x'"):
        card.line("x")


def test_the_card_has_intervals_baselines_and_controls():
    specific = looking(9, {6: 3, 2: 1, 5: 1, 7: 1}, 1.0)
    tables = Tables(positions(PLAIN), copies(), relations(0.9), choices(specific, 60))
    card = report_card(Study(Done(30, False), tables, None), 0, 0)
    nsubj = card.line("nsubj dep->head")
    assert (nsubj.value, nsubj.baseline, nsubj.n) == (0.9, 0.5, 120)
    assert nsubj.low is not None
    assert nsubj.low < 0.9 < nsubj.high
    assert card.line("coreference pronoun->mention").value == 1
    assert card.line("coreference control pronoun->mention").value == 0
    assert card.relatives == ()
    assert assign_roles(tables)[0][0] == card.role
