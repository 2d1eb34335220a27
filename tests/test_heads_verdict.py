"""One verdict: a head's name, its jobs and the luck that was allowed for can never disagree."""

from dataclasses import replace

import pytest

from mha_core import load_model
from mha_core.heads.findings import find
from mha_core.heads.intervals import wilson, z_for_best_of
from mha_core.heads.jobs import GROUPS, JOBS, KINDS
from mha_core.heads.verdict import NAMED_BY, RULES, Claim, Evidence, called, judge, tries

GOOD = Evidence("syntactic", 0.9, 60, 0.5, "a rule", tried=576)


@pytest.fixture(scope="module", params=[True, False], ids=["trained", "untrained"])
def found(request):
    return find(load_model("minilm", trained=request.param))


def test_a_head_has_no_clear_role_exactly_if_it_is_a_specialist_in_nothing(found):
    """On 785ace6 18 of 72 heads had no clear role and were specialists."""
    specialists = {h for h in found.heads if any(t.verdict(*h) == "specialist" for t in found.jobs.values())}
    assert set(found.roles) == specialists


def test_a_head_is_called_by_a_kind_of_job_that_it_is_a_specialist_in(found):
    for head, role in found.roles.items():
        kinds = {t.job.kind for t in found.jobs.values() if t.verdict(*head) == "specialist"}
        assert role.key in kinds
        assert role.key == min(kinds, key=NAMED_BY.index)


def test_luck_is_counted_once_for_every_head_direction_and_relation(found):
    tried = {name: table.tried for name, table in found.jobs.items()}
    assert tried["determiner"] == tried["object, back"] == 72 * 2 * 6
    assert tried["agreement"] == tried["coreference, back"] == 72 * 2
    assert tried["previous"] == 72 * 3
    assert tried["rare"] == tried["copy"] == tried["separator"] == tried["broad"] == 72
    assert found.study.tables.relations.tried == tried["determiner"]


def test_what_is_said_of_luck_is_what_was_used():
    lucky = replace(GOOD, score=0.66)
    assert judge(lucky).because == "could be luck, as the best of 576"
    low, _ = wilson(0.66 * 60, 60, z_for_best_of(lucky.tried))
    assert low <= lucky.baseline < wilson(0.66 * 60, 60)[0]
    assert judge(replace(lucky, tried=1))


def test_a_specialist_needs_cases_a_baseline_beaten_a_failing_control_and_enough():
    assert judge(GOOD).word == "specialist"
    assert judge(replace(GOOD, n=29)).because == "only 29 cases: thin evidence"
    assert judge(replace(GOOD, n=30)).word == "specialist"
    assert judge(replace(GOOD, n=0)).word == "none"
    assert judge(replace(GOOD, score=0.0, baseline=0.0)).because == "no better than a rule"
    assert judge(replace(GOOD, baseline=0.9)).because == "no better than a rule"
    assert judge(replace(GOOD, control=0.8)).because == "the control does too: 80.0 %"
    assert judge(replace(GOOD, control=0.69)).word == "specialist"
    assert judge(replace(GOOD, n=9000, score=0.59)).because == "above the baseline, but weak"
    assert judge(replace(GOOD, n=9000, score=0.49, baseline=0.2)).because == "above the baseline, but weak"


def test_half_of_the_mass_makes_a_place_and_a_resting_head():
    place = replace(GOOD, kind="positional", score=0.75, mass=0.5, baseline=0.3)
    assert judge(place)
    assert not judge(replace(place, mass=0.49))
    assert judge(replace(place, mass=0.2, score=0.95))
    rest = replace(GOOD, kind="separator", score=1.0, mass=0.49)
    assert not judge(rest)
    assert judge(replace(rest, mass=0.5))
    assert not judge(replace(GOOD, kind="copy", mass=0.24))
    assert judge(replace(GOOD, kind="copy", mass=0.25))


def test_a_broad_head_has_four_fifths_of_the_possible_entropy():
    broad = replace(GOOD, kind="broad", n=9000, score=0.8)
    assert judge(broad)
    assert judge(replace(broad, score=0.79)).because == "above the baseline, but weak"


def test_what_a_head_does_comes_before_where_it_rests():
    rest = Claim(replace(GOOD, kind="separator", score=1.0, mass=0.9), "rests", "")
    syntax, better = Claim(GOOD, "syntax", ""), Claim(replace(GOOD, score=0.95), "better", "")
    assert called([rest, syntax, better]).label == "better"
    assert called([Claim(replace(GOOD, n=3), "thin", "")]) is None


def test_every_kind_of_the_catalogue_has_a_rule_a_rank_a_letter_and_a_heading():
    keys = [kind.key for kind in KINDS]
    assert set(keys) == set(RULES) == set(NAMED_BY) == {job.kind for job in JOBS}
    assert {kind.group for kind in KINDS} == {group.key for group in GROUPS}
    for values in ([k.letter for k in KINDS], [k.colour for k in KINDS], [k.word for k in KINDS], keys):
        assert len(set(values)) == len(values)


def test_one_kind_has_as_many_tries_as_heads_times_jobs():
    assert tries(72, 8) == 576
    assert tries(72, 0) == 72
