"""Name movers and copy suppression: heads planted in a decoder, the shipped table of SmolLM2, and who is not asked."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import visit
from decoder_folders import random_decoder, word_tokenizer, write_decoder
from tokenizers import Tokenizer

from mha_core import InputError, copying_scores, load_model, trace_many
from mha_core.causal.prompts import prompts
from mha_core.heads.build_role_table import NAMES
from mha_core.heads.conclude import score_question, with_verdicts
from mha_core.heads.questions.copying import by_distance, copying_cases, names_of, namings
from mha_core.heads.roles import heads_with
from mha_core.heads.table import read_roles
from mha_core.heads.verdict import HALF

KNOWN = 35  # names that are one token of the decoder made here
MOVER, SUPPRESSION, LOOKS_AWAY, SILENT = (1, 0), (1, 1), (1, 2), (1, 3)


def small_decoder(fast: Tokenizer):
    """Random weights, four heads of 16 in each of two layers."""
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 2}
    return random_decoder(
        "llama", vocab_size=fast.get_vocab_size(), max_position_embeddings=300, head_dim=16, **sizes
    )


def plant(theirs, fast: Tokenizer) -> None:
    """Give the second layer a head that looks at names and copies, one that suppresses, one that copies and looks
    elsewhere, and one that looks at names and writes nothing. The first layer does next to nothing."""
    u, w, *rest = torch.linalg.qr(torch.randn(64, 64, generator=torch.Generator().manual_seed(0))).Q.T
    with torch.no_grad():
        first, second = theirs.model.layers
        for matrix in (first.self_attn.o_proj, first.mlp.down_proj):
            matrix.weight.mul_(1e-3)
        E = theirs.model.embed_tokens.weight
        E.normal_(std=1.0, generator=torch.Generator().manual_seed(1))
        theirs.lm_head.weight.copy_(E)
        E.add_(3 * w)
        E[[fast.token_to_id(f"Ġ{name}") for name in prompts().names[:KNOWN]]] += 3 * u
        for norm in (first.input_layernorm, second.input_layernorm, theirs.model.norm):
            norm.weight.fill_(1.0)
        attention = second.self_attn
        for head, (sign, looks) in enumerate([(1, True), (-1, True), (1, False), (0, True)]):
            rows = slice(16 * head, 16 * head + 16)
            copied = torch.stack(rest[rows]) if head < 3 else torch.stack(rest[:16])
            attention.v_proj.weight[rows] = copied
            attention.o_proj.weight[:, rows] = sign * copied.T
            attention.q_proj.weight[rows] = attention.k_proj.weight[rows] = 0.0
            attention.q_proj.weight[16 * head + 7] = (
                6 * w * looks
            )  # of the pair that turns least with the position
            attention.k_proj.weight[16 * head + 7] = 6 * u


def answers_of(model, tried=1000):
    return {
        one.question.key: score_question(one, (model.n_layers, model.n_heads), tried)
        for one in copying_cases(model, NAMES)
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The same decoder with random weights and with planted heads, and one whose tokenizer knows no names."""
    fast, found = word_tokenizer(prompts().names[:KNOWN]), {}
    for kind in ("random", "planted", "bytes"):
        theirs = (
            random_decoder("llama", 0, max_position_embeddings=300)
            if kind == "bytes"
            else small_decoder(fast)
        )
        if kind == "planted":
            plant(theirs, fast)
        found[kind] = tmp_path_factory.mktemp(kind)
        write_decoder(found[kind], theirs, None if kind == "bytes" else fast)
    return found


@pytest.fixture(scope="module")
def planted(folders):
    return load_model(str(folders["planted"]), device="cpu")


@pytest.fixture(scope="module")
def results(planted):
    return answers_of(planted)


def test_a_head_has_the_role_if_it_copies_and_looks_at_names(results):
    heads = {key: np.argwhere(result.word == "role").tolist() for key, result in results.items()}
    assert heads == {"mover": [list(MOVER)], "suppression": [list(SUPPRESSION)]}
    mover = results["mover"]
    assert (mover.n, mover.score[LOOKS_AWAY] > 0.8, mover.mass[LOOKS_AWAY] < HALF) == (KNOWN, True, True)
    assert mover.mass[SILENT] > HALF
    assert max(result.score[SILENT] for result in results.values()) == 0, "it writes nothing"
    for result in results.values():
        names = {rule.name.rpartition("with ")[2] for rule in result.baselines}
        assert names == {"random weights", "shuffled output matrices"}


def test_less_attention_or_a_better_baseline_takes_the_role(results):
    mover = results["mover"]
    rule = replace(mover.baselines[0], score=float(mover.score[MOVER]) - 0.05)
    for change, is_no in (
        ({"mass": np.full_like(mover.mass, 0.49)}, True),
        ({"baselines": (rule,)}, False),
        ({"control": mover.score, "over_control": None}, True),
    ):
        word = with_verdicts(replace(mover, **change)).word[MOVER]
        assert word == "no" if is_no else word != "role"


def test_random_weights_give_no_role(folders):
    found = answers_of(load_model(str(folders["random"]), device="cpu"))
    assert len(found) == 2
    assert not any("role" in answer.word for answer in found.values())


def test_no_place_in_the_prompts_has_a_name_in_half_of_them(planted, smollm2):
    for model in (planted, smollm2):
        names = names_of(model)
        texts = namings(names, model)
        assert by_distance(texts) < HALF
        for i, text in enumerate(texts):
            spelled = "".join(text.tokens.pieces[place].text for place in text.places).replace(" ", "")
            pair = names[i], names[(i + 1) % len(names)]
            assert spelled in {pair[0] + 2 * pair[1], pair[1] + 2 * pair[0]}


def test_a_model_whose_copying_cannot_be_measured_is_refused_in_a_sentence(folders, model):
    with pytest.raises(InputError, match=r"0 of 60 names are one token"):
        names_of(load_model(str(folders["bytes"]), device="cpu"))
    with pytest.raises(InputError, match="predicts no next word"):
        names_of(model)


def test_roles_says_why_a_decoder_is_not_asked_about_names(folders, monkeypatch, few_sentences):
    monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", "1")
    at = visit.open_page("pages/roles.py", model=str(folders["bytes"]))
    (reason,) = visit.said(at, "notice")
    assert "0 of 60 names are one token" in reason


# The table that comes with the program


def test_smollm2_has_three_name_movers_and_two_heads_of_copy_suppression():
    table = read_roles("smollm2")
    assert set(heads_with(table, "mover")) == {(23, 0), (23, 1), (23, 7)}
    assert set(heads_with(table, "suppression")) == {(23, 3), (24, 4)}
    mover, suppression = table.by_key["mover"], table.by_key["suppression"]
    assert [mover.score[23, at] for at in (0, 2, 5)] == pytest.approx([1, 1, 0.8], abs=0.06)
    assert np.sort(suppression.score.ravel())[-3:] == pytest.approx([0, 1, 1], abs=0.03)
    assert max(rule.score for answer in (mover, suppression) for rule in answer.baselines) < 0.1
    assert not any(heads_with(table.untrained, kind) for kind in ("mover", "suppression"))


@pytest.mark.slow
def test_the_shipped_numbers_are_those_of_plain_loops_over_the_prompts(smollm2):
    table, names = read_roles("smollm2"), prompts().names[:40]
    some, n = names[::8], len(names)
    own = copying_scores([f" {name}" for name in some], smollm2)
    for key, column in (("mover", "copying"), ("suppression", "negative_copying")):
        every, few = n * table.by_key[key].score.ravel(), len(some) * own[column]
        assert (few < every + 1.1).all()  # one name may tip over by rounding
        assert (every - few < n - len(some) + 1.1).all()
        assert few.max() == len(some)
    pairs = list(zip(names, (*names[1:], names[0]), strict=True))
    naming = (prompts().naming[i % 20].replace("{A}", a).replace("{B}", b) for i, (a, b) in enumerate(pairs))
    tokens, mass = [smollm2.tokenizer.encode(text) for text in naming], np.zeros(table.shape)
    for pair, each, weights in zip(pairs, tokens, trace_many(tokens, smollm2), strict=True):
        mass += weights[:, :, -1, [piece.text.strip(" Ġ") in pair for piece in each.pieces]].sum(-1)
    np.testing.assert_allclose(table.by_key["mover"].mass, mass / n, atol=1e-4)
