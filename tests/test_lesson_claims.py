"""The claim that the lesson tests: its numbers are the models', the shipped files', or GAP's, and none is typed in."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from mha_core import load_model, trace
from mha_core.wording import percent
from pages.parts.learn import claims
from pages.parts.learn.outcome import Share
from pages.parts.learn.ranks import forms_alike

ROOT = Path(__file__).parent.parent
TIRED = "The animal didn't cross the street because it was too tired."
WIDE = TIRED.replace("tired", "wide")


def test_tired_and_wide_are_read_by_the_model():
    test = claims.one_word()
    for text in (TIRED, WIDE):
        row = trace(text, load_model()).weights[3, 1, 10]
        assert f"animal {percent(float(row[2]))}, street {percent(float(row[8]))}" in test.got
    assert test.says == "1 of 2 right: it stays with `animal`."


HIGH, LOW, COIN = Share(0.9, 0.8, 0.95), Share(0.45, 0.4, 0.48), Share(0.5, 0.42, 0.58)


def test_gap_is_what_the_readme_and_the_shipped_file_say():
    card = claims.gap()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for number in (card["trained"]["head"]["accuracy"], card["trained"]["baselines"]["most frequent"]):
        assert percent(number) in readme
        assert percent(number) in claims.published().got + claims.published().beat
    low, high = (percent(card["trained"]["head"][end]) for end in ("ci_low", "ci_high"))
    assert f"(95 %: {low} to {high}; n = {card['trained']['n']})" in claims.published().got
    assert f"n = {card['trained']['n']}" in readme
    assert "no better than the rule just named" in claims.published().says
    assert card["trained"]["digest"] == load_model().digest


def test_gap_counted_anew_is_what_is_shipped(tmp_path):
    file = os.environ.get("GAP_VALIDATION", "")
    if not file:
        pytest.skip("GAP_VALIDATION names no copy of gap-validation.tsv")
    from mha_core.cli import main

    for name, flags in (("trained", []), ("untrained", ["--untrained"])):
        out = tmp_path / f"{name}.json"
        main(["heads", "coreference", file, "--out", str(out), *flags])
        rows = json.loads(out.read_text())["heads"]
        mine = next(r for r in rows if (r["direction"], r["layer"], r["head"]) == ("pronoun->mention", 4, 2))
        assert mine["accuracy"] == pytest.approx(claims.gap()[name]["head"]["accuracy"], abs=1e-6)


def test_agreement_is_shown_where_reference_is_impossible():
    row = trace(claims.IMPOSSIBLE, load_model()).weights[1, 3, 1]
    assert (
        f"gives Anna **{percent(float(row[4]))}** and Peter {percent(float(row[6]))}" in claims.impossible()
    )
    assert row[4] > 5 * row[6]


def test_how_alike_forms_are_is_the_cosine_of_their_matrices():
    rng = np.random.default_rng(0)
    W_q, W_k = rng.normal(size=(4, 10, 3)), rng.normal(size=(2, 10, 3))
    forms = [(W_q[i] @ W_k[i // 2].T).ravel() for i in range(4)]
    expected = np.mean([
        abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) for i, a in enumerate(forms) for b in forms[i + 1 :]
    ])  # fmt: skip
    assert forms_alike(W_q, W_k) == pytest.approx(expected)
    assert forms_alike(W_q[:1], W_k[:1]) == 0
