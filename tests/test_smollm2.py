"""The embedded decoder: known by its digest, read from its 4-bit file, and doing what others measured in it.

Its weights and guesses are in acceptance/test_golden.py."""

import sys
from types import SimpleNamespace

import pytest

from mha_core import ModelError, load_model
from mha_core.causal import LogitDifference, PatchHeads, Prompt, measure, read_sweep, with_other_names
from mha_core.causal.prompt_sweep import resample_sources
from mha_core.models import load
from mha_core.models.model_list import DECODER_FILE

MARY = "When Mary and John went to the store, John gave a drink to"


def test_an_exchanged_file_is_refused_by_its_digest(monkeypatch, tmp_path):
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(sys.modules["mha_core.models.model_list"], "find_spec", lambda name: spec)
    monkeypatch.setattr(load, "_LOADED", {})
    with pytest.raises(ModelError, match="missing"):
        load_model("smollm2")
    (tmp_path / DECODER_FILE).write_bytes(b"GGUF")
    with pytest.raises(ModelError, match="SHA-256"):
        load_model("smollm2")
    assert load._LOADED == {}


def test_it_has_the_sizes_that_its_makers_name(smollm2):
    assert (smollm2.n_layers, smollm2.n_heads, smollm2.n_kv_heads) == (30, 9, 3)
    assert (smollm2.d_model, smollm2.d_k, smollm2.max_tokens) == (576, 64, 1024)
    assert smollm2.n_parameters == 134_515_008
    assert smollm2.n_bytes == 4 * smollm2.n_parameters
    assert smollm2.title == "SmolLM2 135M, 4-bit"
    assert smollm2.is_causal
    assert smollm2.tokenizer.begin == ()


def test_over_prompts_24_4_lowers_the_repeated_name_and_heads_of_zero_ablation_do_not_matter(smollm2):
    """2-6 is second by zero ablation of the single prompt. Two of the twelve prompts are patched anew."""
    prompts = with_other_names(Prompt(MARY, " Mary", " John"), smollm2)
    shipped, sources = read_sweep(smollm2, prompts, "resample"), resample_sources(prompts)
    assert read_sweep(smollm2, prompts, "zero") is read_sweep(smollm2, prompts[1:], "resample") is None
    for number, answer, head in ((5, 0, (1, 5)), (11, 1, (23, 3))):
        tokens, source = smollm2.tokenizer.encode(prompts[number].text), prompts[sources[number]].text
        outcome, before = LogitDifference(prompts[number].answers[answer]), shipped.before[number, answer]
        assert before == pytest.approx(measure(tokens, smollm2, outcome)[0], abs=1e-3)
        patched = measure(tokens, smollm2, outcome, (PatchHeads((head,), source),))[0]
        assert shipped.after[(number, *head, answer)] == pytest.approx(patched, abs=1e-3)
    assert (23, 3) in shipped.named
    assert (1, 5) not in shipped.named
    assert shipped.mean[23, 3] == pytest.approx(-2.55, abs=1.0)
    assert shipped.mean[1, 5] == pytest.approx(0, abs=0.1)
    mary, john = shipped.changes[:, 23, 3].mean(0)
    assert abs(mary) < 0.5
    assert john > 2
