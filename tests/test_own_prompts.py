"""Retrieval, successors and dormant heads: planted heads get the role, imitators and random weights none."""

import re

import numpy as np
import pytest
import torch
from bert_folders import random_bert, write
from decoder_folders import random_decoder, word_tokenizer, write_decoder

from mha_core import InputError, load_model
from mha_core.causal.prompts import prompts
from mha_core.heads.conclude import score_question
from mha_core.heads.questions.dormant import dormant_cases
from mha_core.heads.questions.retrieval import (
    CHANCE,
    FORMS,
    PLACES,
    VALUES,
    RetrievalCollector,
    needle_pairs,
    retrieval_cases,
)
from mha_core.heads.questions.successor import SERIES, series_of, successor_cases
from mha_core.heads.roles import heads_with
from mha_core.heads.table import read_roles

TRIED, WIDTH = 10_000, 128
NEXT, BOTH, SAME, NOTHING = range(4)


def folder_of(theirs, tmp_path_factory, fast=None):
    folder = tmp_path_factory.mktemp("model")
    write(folder, theirs) if fast is None else write_decoder(folder, theirs, fast)
    return str(folder)


def plant_successors(theirs, fast) -> None:
    """Give the second layer heads that write, of a member of a series, the next one; both neighbours; itself; and
    nothing. The first layer does next to nothing."""
    ids = [[fast.token_to_id(f"Ġ{word}") for word in line.split()] for line in SERIES]
    with torch.no_grad():
        first, second = theirs.model.layers
        for matrix in (first.self_attn.o_proj, first.mlp.down_proj):
            matrix.weight.mul_(1e-3)
        for norm in (first.input_layernorm, second.input_layernorm, theirs.model.norm):
            norm.weight.fill_(1.0)
        E = theirs.model.embed_tokens.weight.normal_(std=1.0, generator=torch.Generator().manual_seed(1))
        theirs.lm_head.weight.copy_(E)
        inverse = torch.linalg.pinv(torch.cat([E[members] for members in ids]))
        after, before = (torch.cat([E[members].roll(-step, 0) for members in ids]) for step in (1, -1))
        writes = {
            NEXT: inverse @ after,
            BOTH: inverse @ (after + before),
            SAME: torch.eye(WIDTH),
            NOTHING: torch.zeros(WIDTH, WIDTH),
        }
        for head, matrix in writes.items():
            rows = slice(WIDTH * head, WIDTH * (head + 1))
            second.self_attn.v_proj.weight[rows] = torch.eye(WIDTH)
            second.self_attn.o_proj.weight[:, rows] = matrix.T


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """Planted successors, and a tokenizer in which every word of the texts is one token."""
    words = [word for line in (*SERIES, *prompts().ordinary, *FORMS) for word in re.findall(r"\w+", line)]
    fast = word_tokenizer([*PLACES, *VALUES, *words])
    sizes = {"hidden_size": WIDTH, "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 2}
    theirs = random_decoder(
        "llama", vocab_size=fast.get_vocab_size(), max_position_embeddings=300, head_dim=WIDTH, **sizes
    )
    plant_successors(theirs, fast)
    return load_model(folder_of(theirs, tmp_path_factory, fast), device="cpu")


def result_of(cases, shape=(1, 5)):
    return score_question(cases, shape, TRIED)


# Retrieval


def retrieving(text, rng):
    """Weights (layer, head, query, key) of heads that find the right value, always the same one, the nearer one, a
    random one of the two, and the token that followed the last one's latest copy."""
    n, (right, wrong) = len(text.tokens), text.places
    ids, last = text.tokens.ids, len(text.tokens) - 1
    latest = max(i for i in range(last) if ids[i] == ids[last])
    looks = [right, min(right, wrong), max(right, wrong), rng.choice([right, wrong]), latest + 1]
    weights = np.full((1, len(looks), n, n), 0.3 / n, np.float32)
    weights[0, :, :, 0] = 0.6  # the attention sink
    weights[0, range(len(looks)), last, looks] = 0.4
    return weights


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_who_finds_the_needle_has_the_role_and_shuffled_answers_give_none(decoder, is_shuffled):
    rng, collector = np.random.default_rng(0), RetrievalCollector()
    for pair in needle_pairs(decoder):
        swapped = rng.random() < 0.5
        for text, other in zip(pair, pair[::-1], strict=True):
            collector.add(retrieving(other if is_shuffled and swapped else text, rng), text)
    result = result_of(collector.scored("needles", ""))
    assert result.n == 60
    assert [word == "role" for word in result.word[0]] == [not is_shuffled, *[False] * 4]
    assert result.score[0, 1:3].max() == 0, "a favourite or a distance is never right in both"
    assert result.score[0, 3] < 0.45
    assert result.score[0, 4] == 0, "both needles end alike"
    assert result.baselines[0].score == CHANCE


def test_texts_of_a_pair_differ_in_the_question_alone(decoder):
    pairs = needle_pairs(decoder)
    for first, second in pairs:
        texts = [text.tokens.text for text in (first, second)]
        (differs,) = [(a, b) for a, b in zip(*(text.split() for text in texts), strict=True) if a != b]
        assert set(differs) <= set(PLACES)
        assert first.places == second.places[::-1]
        for text in (first, second):
            question = text.tokens.text.rpartition(". ")[2]
            needle = text.tokens.text.partition(f"{question} ")[2]
            value = text.tokens.pieces[text.places[0]].text.strip(" Ġ")
            assert needle.startswith(f"{value}.")
            assert text.values[0] == text.tokens.ids[text.places[0]]
    assert len({text.tokens.text for pair in pairs for text in pair}) == 120


def test_a_model_at_chance_is_said_to_be_and_has_no_such_head(decoder):
    (cases,) = retrieval_cases(decoder, "needles")
    assert "at chance itself" in cases.question.asks
    assert "role" not in result_of(cases, (2, 4)).word


def test_a_model_that_knows_no_needles_is_refused(tmp_path_factory, model):
    bytes_alone = load_model(
        folder_of(random_decoder("llama"), tmp_path_factory, word_tokenizer([])), device="cpu"
    )
    for ask, reason in ((needle_pairs, "needles' words"), (series_of, "No series")):
        with pytest.raises(InputError, match=reason):
            ask(bytes_alone)
    with pytest.raises(InputError, match="predicts no next word"):
        needle_pairs(model)


# Successors


def test_who_raises_the_next_member_has_the_role_and_who_raises_both_neighbours_has_none(decoder):
    (cases,) = successor_cases(decoder, "series")
    result = result_of(cases, (2, 4))
    assert result.n == sum(len(line.split()) - 1 for line in SERIES)
    assert [tuple(map(int, head)) for head in np.argwhere(result.word == "role")] == [(1, NEXT)]
    assert result.score[1, NEXT] > 0.95
    assert result.control[1, NEXT] < 0.05
    assert result.score[1, BOTH] == pytest.approx(result.control[1, BOTH], abs=0.2)
    assert result.baselines[0].score < 0.5


# Dormant heads


def test_who_rests_on_the_sink_is_dormant_only_if_it_writes_little(tmp_path_factory):
    theirs = random_bert(hidden_size=32, num_attention_heads=4, num_hidden_layers=1)
    with torch.no_grad():
        states = theirs.embeddings(torch.tensor([[101, *range(2000, 2300, 10), 102]]))[0]
        u = states[[0, -1]].mean(0) - states[1:-1].mean(0)
        attention = theirs.encoder.layer[0].attention
        attention.self.query.weight.zero_()
        attention.self.key.weight.zero_()
        attention.self.key.bias.zero_()
        for head, (rests, writes) in enumerate([(1, 0), (1, 1), (0, 0), (0, 1)]):
            rows = slice(8 * head, 8 * head + 8)
            attention.self.query.bias[rows] = 5.0 * rests
            attention.self.key.weight[rows] = u * rests
            attention.output.dense.weight[:, rows] *= writes
    ours = load_model(folder_of(theirs, tmp_path_factory), device="cpu")
    (cases,) = dormant_cases(ours, "builtin")
    result = result_of(cases, (1, 4))
    assert result.mass[0, :2].min() > 0.5 > result.mass[0, 2:].max()
    assert result.score[0, [0, 2]].tolist() == [1, 1]
    assert [word == "role" for word in result.word[0]] == [True, False, False, False]


# The tables that come with the program


def test_smollm2_retrieves_has_no_successor_head_and_an_active_head_on_the_sink():
    table = read_roles("smollm2")
    retrieval, successor, dormant = (table.by_key[key] for key in ("retrieval", "successor", "dormant"))
    known = {(18, 6): 0.80, (23, 2): 0.68, (18, 7): 0.65, (24, 4): 0.63}  # on other texts
    for head, score in known.items():
        assert retrieval.score[head] == pytest.approx(score, abs=0.2)
    assert retrieval.word[18, 6] == "role"
    assert successor.score.max() == pytest.approx(0.37, abs=0.05)
    assert not heads_with(table, "successor")
    assert dormant.mass[23, 3] > 0.5
    assert dormant.word[23, 3] == "no", "it lowers names, and its attention mostly lies on the first token"
    for key in ("retrieval", "successor", "dormant"):
        assert "role" not in table.untrained.by_key[key].word
    assert table.untrained.by_key["retrieval"].score.max() == 0
