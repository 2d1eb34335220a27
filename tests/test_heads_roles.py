"""Roles by stated thresholds: given when the evidence is there, and never under a baseline."""

from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest

from mha_core.errors import InputError
from mha_core.heads.copying import CopySums, CopyTable, count_tokens
from mha_core.heads.coreference import CoreferenceSums
from mha_core.heads.jobs import JOBS, KINDS
from mha_core.heads.positions import PositionSums
from mha_core.heads.relation_table import DIRECTIONS, OFFSETS, RelationTable
from mha_core.heads.relations import RelationCounts
from mha_core.heads.repeated import RepeatedTable
from mha_core.heads.report import report_card
from mha_core.heads.roles import NO_ROLE, Tables, assign_roles, claims, role_of
from mha_core.heads.similarity import SimilaritySums
from mha_core.heads.studies import Study
from mha_core.heads.survey import Done, TextItem
from mha_core.heads.verdict import Claim, Evidence
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


def test_a_role_says_on_what_it_was_seen():
    for key, detail, where in (
        ("copy", "copy", "the built-in sentences"),
        ("copy", "duplicate", "random tokens said twice"),
        ("induction", "induction", "random tokens said twice"),
    ):
        found = replace(NO_ROLE, key=key, detail=detail)
        assert (found.where, replace(found, corpus="a treebank").where) == (where, "a treebank")


def test_of_a_kind_that_real_text_tells_of_only_random_tokens_are_heard_beside_it():
    real = SimpleNamespace(entries=[SimpleNamespace(kind="copy")], by_head=lambda _: [])
    asked = {job.name: job for job in JOBS if job.name in ("determiner", "copy", "duplicate", "induction")}

    def table(job):
        claim = Claim(Evidence(job.kind, 0.5, 40, 0.4, "a rule", 7), job.name, "")
        return SimpleNamespace(job=job, tried=7, claim=lambda _: claim)

    jobs = {name: table(job) for name, job in asked.items()}
    found = Tables(positions(PLAIN), copies(), relations(0.9), jobs=jobs, real=real)
    told, measured = ["determiner", "duplicate", "induction"], ["separator", "broad", "rare"]
    every = list(claims(found, (0, 0)))
    assert [claim.label for claim in every[:3]] == told
    assert {claim.found.kind for claim in every[3:]} == {"positional", *measured}
    assert {claim.found.tried for claim in every} == {7}


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


def test_a_head_that_rests_on_punctuation_is_held_against_all_marks_that_there_are():
    sums = PositionSums(1, 1)
    marks = TextItem(tokens_of(["red", ",", "new", "."]))
    weights = looking(6, dict.fromkeys(range(6), 4), 0.7)
    for _ in range(30):
        sums.add(weights[None, None], marks)
    found = role_of(Tables(sums.result()), 0, 0)
    assert found.label == "looks at punctuation"
    assert found.baseline == pytest.approx(2 / 6)
    assert found.evidence == "76.0 % of its mass, 33.3 % if it looked everywhere, in 30 texts."


def test_a_head_that_looks_everywhere_is_broad():
    sums = PositionSums(1, 3)
    weights = np.stack([np.full((6, 6), 1 / 6), PLAIN, PLAIN])[None].astype(np.float32)
    for _ in range(60):
        sums.add(weights, TEXT)
    found = role_of(Tables(sums.result()), 0, 0)
    assert (found.letter, found.key) == ("B", "broad")
    assert found.score == pytest.approx(1)
    # Of one weight of 0.6 and five of 0.08: 1.317 nats of 1.792; the mean of the three heads would be 0.823.
    assert found.baseline == pytest.approx(0.735, abs=2e-3)


def test_a_broad_head_is_held_against_the_middle_one():
    sums = PositionSums(1, 3)
    weights = np.stack([np.full((6, 6), 1 / 6), PLAIN, looking(6, dict.fromkeys(range(6), 2), 0.9)])
    for _ in range(60):
        sums.add(weights[None].astype(np.float32), TEXT)
    assert role_of(Tables(sums.result()), 0, 0).baseline == pytest.approx(0.735, abs=2e-3)


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
    assert "correct in 90.0 % of 120 cases (baseline, always " in found.evidence


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


def test_a_choosing_head_says_what_the_rule_and_the_other_rows_reach():
    found = role(coreference=choices(looking(9, {6: 3, 2: 1, 5: 1, 7: 3}, 1.0), 60, baseline=0.25))
    assert found.evidence == (
        "Pronoun → mention: right in 100.0 % of 60 choices, 25.0 % by the best simple rule, 33.3 % from the other "
        "words' rows."
    )


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


def test_a_copying_head_is_above_its_baseline_beyond_luck():
    """24 of 40, where one has 0.36: 0.17 % by chance, and 0.23 % is allowed for eleven attempts; 0.39 % for 0.38."""
    sixty = {"copy": np.full((1, 1), 0.6), "n_copies": 40}
    assert role(copies=copies(**sixty, copy_baseline=0.36)).key == "copy"
    assert role(copies=copies(**sixty, copy_baseline=0.38)) == NO_ROLE


def test_who_has_special_tokens_looks_at_them_and_who_has_none_rests_on_the_first_token():
    first = looking(4, dict.fromkeys(range(4), 0), 0.9)
    words = tokens_of(["one", "two", "six", "ten"])
    plain = replace(words, pieces=tuple(replace(p, word=i) for i, p in enumerate(words.pieces[1:-1])))
    sums = PositionSums(1, 1)
    for _ in range(30):
        sums.add(first[None, None].astype(np.float32), TextItem(plain))
    kinds = {claim.found.kind for claim in claims(Tables(sums.result()), (0, 0))}
    assert "sink" in kinds
    assert "separator" not in kinds
    encoder = looking(6, dict.fromkeys(range(6), 0), 0.9)
    kinds = {claim.found.kind for claim in claims(Tables(positions(encoder)), (0, 0))}
    assert "separator" in kinds
    assert "sink" not in kinds


def test_what_a_head_does_comes_before_where_it_rests():
    rests = looking(6, dict.fromkeys(range(6), 0), 0.6)
    assert role(rests, relations=relations(0.9)).key == "syntactic"
    assert role(rests, copies=copies()).key == "copy"
    assert role(rests, copies=copies(n_copies=0, rare=np.full((1, 1), 0.6))).key == "rare"


def test_agreement_is_the_surer_reading_of_a_head_that_chooses():
    specific = choices(looking(9, {6: 3, 2: 1, 5: 1, 7: 1}, 1.0), 60)
    assert role(agreement=specific, coreference=specific).key == "agreement"


def test_periods_and_commas_count_together():
    sums = PositionSums(1, 1)
    row = np.array([0.1, 0.1, 0.3, 0.1, 0.3, 0.1], dtype=np.float32)
    for _ in range(30):
        sums.add(np.tile(row, (6, 1))[None, None], TextItem(tokens_of(["one", ",", "two", "."])))
    found = role_of(Tables(sums.result()), 0, 0)
    assert (found.key, found.label) == ("separator", "looks at punctuation")
    assert found.score == pytest.approx(0.6)


def counted(*relations: tuple[str, int, int, int]) -> RelationTable:
    """Of one head: name, cases, how many it gets right from the dependent, how many the offset +1."""
    hits = np.zeros((len(relations), 1, 2, 1), dtype=np.int64)
    offsets = np.zeros((len(relations), len(OFFSETS)), dtype=np.int64)
    for i, (_, _, right, at_offset) in enumerate(relations):
        hits[i, 0, 0, 0], offsets[i, OFFSETS.tolist().index(1)] = right, at_offset
    n = np.array([[n] for _, n, _, _ in relations])
    return RelationTable((1, 1), tuple(name for name, *_ in relations), hits, n, offsets, 1)


def test_the_relation_that_is_found_most_often_gives_the_role():
    found = role(relations=counted(("det", 1000, 950, 800), ("obj", 1000, 800, 300)))
    assert (found.detail, found.score, found.baseline) == ("det dep->head", 0.95, 0.8)
    assert role(relations=counted(("det", 700, 665, 560), ("obj", 1000, 800, 300))).detail == "obj dep->head"
    assert role(relations=counted(("det", 1000, 950, 900), ("obj", 1000, 800, 300))).detail == "obj dep->head"


def test_no_role_comes_from_all_relations_together_from_the_root_or_from_punctuation():
    sure = [(name, 1000, 950, 200) for name in ("all", "root", "punct")]
    assert role(relations=counted(*sure)) == NO_ROLE


def test_the_interval_of_a_relation_allows_for_all_that_was_tried():
    """53 of 70 against 41: 0.207 % by chance; 0.227 % are allowed for eleven attempts, 0.192 % for thirteen."""
    assert role(relations=counted(("nsubj", 70, 53, 41))).key == "syntactic"
    assert role(relations=counted(("nsubj", 70, 53, 41), ("obj", 70, 0, 39))) == NO_ROLE


def test_every_head_in_both_directions_at_every_relation_with_cases_was_tried():
    one, none, everything = ("nsubj", 70, 53, 41), ("obj", 0, 0, 0), ("all", 140, 53, 80)
    assert counted(one).tried == 2
    assert counted(one, ("obj", 70, 0, 39)).tried == 4
    assert counted(one, none, everything).tried == 2
    assert replace(counted(one), shape=(6, 12)).tried == 2 * 72
    assert replace(counted(one), directions=DIRECTIONS[:1]).tried == 1


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
    assert line.baseline == pytest.approx(5 / 6 / 6)  # the first of six tokens has none before it
    assert card.line("entropy").rank == 6
    assert len(card.relatives) == 3
    with pytest.raises(InputError, match="Head 3-1 was asked for; there are 2 x 3 heads"):
        report_card(found, 2, 0)
    with pytest.raises(InputError, match="no line 'x'"):
        card.line("x")


def test_heads_with_the_same_value_share_a_rank():
    found = study()
    found.tables.positions.values["previous"] = np.array([[0.5, 0.2, 0.5], [0.1, 0.1, 0.0]])
    ranks = [report_card(found, *head).line("previous").rank for head in np.ndindex(2, 3)]
    assert ranks == [1, 3, 1, 4, 4, 6]


def test_every_line_of_the_card_has_a_baseline_and_a_number_of_cases_of_its_own():
    twins = CoreferenceSums(1, 1)
    for pair in ("p", "p", "q", "q", None):
        twins.add(looking(9, {6: 3})[None, None], case(1, pair, (0.25,) * 4))
    tables = Tables(
        positions(PLAIN),
        copies(n_texts=7, n_copies=80, copy_baseline=0.3, n_rare=50, rare_baseline=0.07),
        coreference=choices(looking(9, {6: 3}), 60, baseline=0.75),
        agreement=twins.result(),
    )
    card = report_card(Study(Done(30, False), tables, None), 0, 0)
    expected = {
        "previous": (5 / 6 / 6, 30),
        "self": (1 / 6, 30),
        "confidence": (1 / 6, 30),
        "entropy": (np.log(6), 30),
        "period": (None, 30),
        "comma": (None, 30),
        "rare": (0.07, 50),
        "lift": (0.0, 7),
        "copy": (0.3, 80),
        "copy_mass": (None, 80),
        "after_copy": (None, 80),
        "coreference pronoun->mention": (0.75, 60),
        "coreference control pronoun->mention": (0.5, 60),
        "coreference control mention->pronoun": (0.5, 60),
        "agreement mention->pronoun": (0.25, 5),
        "agreement flip pronoun->mention": (None, 2),
        "agreement flip mention->pronoun": (None, 2),
    }
    for key, (baseline, n) in expected.items():
        line = card.line(key)
        assert line.n == n, key
        assert line.baseline is None if baseline is None else line.baseline == pytest.approx(baseline), key


def test_the_card_names_what_is_measured_on_random_tokens_said_twice():
    masses = (np.full((2, 3), share) for share in (0.1, 0.2, 0.3, 0.4))
    card = report_card(replace(study(), repeated=RepeatedTable(8, *masses)), 0, 1)
    said = {line.label: (line.value, line.n) for line in card.lines if line.key.startswith("repeated")}
    assert said == {
        "random tokens said twice: mass on the previous token": (0.1, 8),
        "random tokens said twice: mass on the first token": (0.2, 8),
        "random tokens said twice: mass on the earlier copy": (0.3, 8),
        "random tokens said twice: mass on what came after it": (0.4, 8),
    }


def test_heads_without_a_number_are_not_ranked_among():
    alone = study()
    lift = np.array([[0.5, np.nan, 0.1], [np.nan, 0.2, 0.4]])
    blank = CopySums(2, 3, count_tokens([TEXT.tokens], 30000)).result()
    tables = replace(alone.tables, copies=replace(blank, lift=lift))
    line = report_card(replace(alone, tables=tables), 1, 2).line("lift")
    assert (line.value, line.rank, line.of) == (0.4, 2, 4)


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
