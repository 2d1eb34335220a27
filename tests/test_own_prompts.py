"""Names, retrieval, successors and dormant heads: planted heads get the role, imitators and random weights none."""

import re

import numpy as np
import pytest
import torch
import visit
from bert_folders import random_bert, write
from decoder_folders import random_decoder, word_tokenizer, write_decoder

from mha_core import InputError, copying_scores, load_model, trace_many, trace_tokens
from mha_core.causal.prompts import prompts
from mha_core.heads.build_role_table import NAMES
from mha_core.heads.conclude import score_question
from mha_core.heads.questions import retrieval
from mha_core.heads.questions.copying import by_distance, copying_cases, names_of, namings
from mha_core.heads.questions.dormant import dormant_cases
from mha_core.heads.questions.successor import SERIES, series_of, successor_cases
from mha_core.heads.roles import heads_with
from mha_core.heads.table import read_roles
from mha_core.heads.verdict import HALF

KNOWN = 35  # names that are one token of the decoder made here
MOVER, SUPPRESSION, LOOKS_AWAY, SILENT = (1, 0), (1, 1), (1, 2), (1, 3)
WIDTH = 128
NEXT, BOTH, SAME, NOTHING = range(4)


def quiet_decoder(fast, width: int, d_k: int):
    """Return a decoder of two layers of four heads; the first does next to nothing."""
    sizes = {"hidden_size": width, "head_dim": d_k, "num_attention_heads": 4, "num_key_value_heads": 4}
    sizes |= {"num_hidden_layers": 2, "vocab_size": fast.get_vocab_size(), "max_position_embeddings": 300}
    theirs = random_decoder("llama", **sizes)
    with torch.no_grad():
        first, second = theirs.model.layers
        for matrix in (first.self_attn.o_proj, first.mlp.down_proj):
            matrix.weight.mul_(1e-3)
        for norm in (first.input_layernorm, second.input_layernorm, theirs.model.norm):
            norm.weight.fill_(1.0)
        E = theirs.model.embed_tokens.weight.normal_(std=1.0, generator=torch.Generator().manual_seed(1))
        theirs.lm_head.weight.copy_(E)
    return theirs


def plant_copiers(theirs, fast) -> None:
    """Give the second layer a head that looks at names and copies, one that suppresses, one that copies and looks
    elsewhere, and one that looks at names and writes nothing."""
    u, w, *rest = torch.linalg.qr(torch.randn(64, 64, generator=torch.Generator().manual_seed(0))).Q.T
    with torch.no_grad():
        E, attention = theirs.model.embed_tokens.weight, theirs.model.layers[1].self_attn
        E.add_(3 * w)
        E[[fast.token_to_id(f"Ġ{name}") for name in prompts().names[:KNOWN]]] += 3 * u
        for head, (sign, looks) in enumerate([(1, True), (-1, True), (1, False), (0, True)]):
            rows, turns_least = slice(16 * head, 16 * head + 16), 16 * head + 7
            copied = torch.stack(rest[rows] if head < 3 else rest[:16])
            attention.v_proj.weight[rows] = copied
            attention.o_proj.weight[:, rows] = sign * copied.T
            attention.q_proj.weight[rows] = attention.k_proj.weight[rows] = 0.0
            attention.q_proj.weight[turns_least] = 6 * w * looks
            attention.k_proj.weight[turns_least] = 6 * u


def plant_successors(theirs, fast) -> None:
    """Give the second layer heads that write, of a member of a series, the next one; both neighbours; itself; and
    nothing."""
    ids = [[fast.token_to_id(f"Ġ{word}") for word in line.split()] for line in SERIES]
    with torch.no_grad():
        E, attention = theirs.model.embed_tokens.weight, theirs.model.layers[1].self_attn
        inverse = torch.linalg.pinv(torch.cat([E[members] for members in ids]))
        after, before = (torch.cat([E[members].roll(-step, 0) for members in ids]) for step in (1, -1))
        writes = {NEXT: inverse @ after, BOTH: inverse @ (after + before)}
        writes |= {SAME: torch.eye(WIDTH), NOTHING: torch.zeros(WIDTH, WIDTH)}
        for head, matrix in writes.items():
            rows = slice(WIDTH * head, WIDTH * (head + 1))
            attention.v_proj.weight[rows] = torch.eye(WIDTH)
            attention.o_proj.weight[:, rows] = matrix.T


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Decoders that copy names, that know series, and one whose tokenizer knows no names."""
    names = word_tokenizer(prompts().names[:KNOWN])
    words = [
        word for line in (*SERIES, *prompts().ordinary, *retrieval.FORMS) for word in re.findall(r"\w+", line)
    ]
    series = word_tokenizer([*retrieval.PLACES, *retrieval.VALUES, *words])
    copying, counting = quiet_decoder(names, 64, 16), quiet_decoder(series, WIDTH, WIDTH)
    plant_copiers(copying, names)
    plant_successors(counting, series)
    folder = tmp_path_factory.mktemp("decoders")
    write_decoder(folder / "copying", copying, names)
    write_decoder(folder / "counting", counting, series)
    write_decoder(folder / "bytes", random_decoder("llama", max_position_embeddings=300))
    return folder


@pytest.fixture(scope="module")
def copying(folders):
    return load_model(str(folders / "copying"), device="cpu")


@pytest.fixture(scope="module")
def decoder(folders):
    return load_model(str(folders / "counting"), device="cpu")


def results_of(model, cases):
    shape = (model.n_layers, model.n_heads)
    return {each.question.key: score_question(each, shape, 1000) for each in cases}


def test_a_head_has_the_role_if_it_copies_and_looks_at_names(copying):
    results = results_of(copying, copying_cases(copying, NAMES))
    heads = {key: np.argwhere(result.word == "role").tolist() for key, result in results.items()}
    assert heads == {"mover": [list(MOVER)], "suppression": [list(SUPPRESSION)]}
    mover = results["mover"]
    assert (mover.n, mover.score[LOOKS_AWAY] > 0.8, mover.mass[LOOKS_AWAY] < HALF) == (KNOWN, True, True)
    assert mover.mass[SILENT] > HALF
    texts = namings(names_of(copying), copying)
    last_rows = [trace_tokens(text.tokens, copying).weights[:, :, -1, list(text.places)] for text in texts]
    np.testing.assert_allclose(mover.mass, np.mean([row.sum(-1) for row in last_rows], 0), atol=1e-5)
    assert max(result.score[SILENT] for result in results.values()) == 0, "it writes nothing"
    for result in results.values():
        names = {rule.name.rpartition("with ")[2] for rule in result.baselines}
        assert names == {"random weights", "shuffled output matrices"}


def test_no_place_in_the_prompts_has_a_name_in_half_of_them(copying, smollm2):
    for model in (copying, smollm2):
        names = names_of(model)
        texts = namings(names, model)
        assert by_distance(texts) < HALF
        for i, text in enumerate(texts):
            spelled = "".join(text.tokens.pieces[place].text for place in text.places).replace(" ", "")
            pair = names[i], names[(i + 1) % len(names)]
            assert spelled in {pair[0] + 2 * pair[1], pair[1] + 2 * pair[0]}


def test_a_model_that_cannot_be_asked_is_refused_in_a_sentence(folders, model):
    bytes_alone = load_model(str(folders / "bytes"), device="cpu")
    for ask, reason in (
        (names_of, "0 of 60 names are one"),
        (retrieval.needle_pairs, "needles' words"),
        (series_of, "No series"),
    ):
        with pytest.raises(InputError, match=reason):
            ask(bytes_alone)
    for ask in (names_of, retrieval.needle_pairs):
        with pytest.raises(InputError, match="predicts no next word"):
            ask(model)


def test_roles_says_why_a_decoder_is_not_asked_about_names(folders, monkeypatch, few_sentences):
    monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", "1")
    page = visit.open_page("pages/roles.py", model=str(folders / "bytes"))
    (reason,) = visit.said(page, "notice")
    assert "0 of 60 names are one token" in reason


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
    rng, collector = np.random.default_rng(0), retrieval.RetrievalCollector()
    for pair in retrieval.needle_pairs(decoder):
        swapped = rng.random() < 0.5
        for text, other in zip(pair, pair[::-1], strict=True):
            collector.add(retrieving(other if is_shuffled and swapped else text, rng), text)
    result = score_question(collector.scored("needles", ""), (1, 5), 10_000)
    assert result.n == 60
    assert [word == "role" for word in result.word[0]] == [not is_shuffled, *[False] * 4]
    assert result.score[0, 1:3].max() == 0, "a favourite or a distance is never right in both"
    assert result.score[0, 3] < 0.45
    assert result.score[0, 4] == 0, "both needles end alike"
    assert result.baselines[0].score == retrieval.CHANCE


def test_texts_of_a_pair_differ_in_the_question_alone(decoder):
    pairs = retrieval.needle_pairs(decoder)
    for first, second in pairs:
        texts = [text.tokens.text for text in (first, second)]
        (differs,) = [(a, b) for a, b in zip(*(text.split() for text in texts), strict=True) if a != b]
        assert set(differs) <= set(retrieval.PLACES)
        assert first.places == second.places[::-1]
        for text in (first, second):
            question = text.tokens.text.rpartition(". ")[2]
            needle = text.tokens.text.partition(f"{question} ")[2]
            value = text.tokens.pieces[text.places[0]].text.strip(" Ġ")
            assert needle.startswith(f"{value}.")
            assert text.values[0] == text.tokens.ids[text.places[0]]
    assert len({text.tokens.text for pair in pairs for text in pair}) == 120


def test_a_model_at_chance_is_said_to_be_and_has_no_such_head(decoder):
    (result,) = results_of(decoder, retrieval.retrieval_cases(decoder, "needles")).values()
    assert "at chance itself" in result.question.asks
    assert "role" not in result.word


def test_who_raises_the_next_member_has_the_role_and_who_raises_both_neighbours_has_none(decoder):
    (result,) = results_of(decoder, successor_cases(decoder, "series")).values()
    assert result.n == sum(len(line.split()) - 1 for line in SERIES)
    assert [tuple(map(int, head)) for head in np.argwhere(result.word == "role")] == [(1, NEXT)]
    assert result.score[1, NEXT] > 0.95
    assert result.control[1, NEXT] < 0.05
    assert result.score[1, BOTH] == pytest.approx(result.control[1, BOTH], abs=0.2)
    assert result.baselines[0].score < 0.5


def test_who_rests_on_the_sink_is_dormant_only_if_it_writes_little(tmp_path):
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
    write(tmp_path, theirs)
    ours = load_model(str(tmp_path), device="cpu")
    (result,) = results_of(ours, dormant_cases(ours, "builtin")).values()
    assert result.mass[0, :2].min() > 0.5 > result.mass[0, 2:].max()
    assert result.score[0, [0, 2]].tolist() == [1, 1]
    assert [word == "role" for word in result.word[0]] == [True, False, False, False]


def test_the_heads_of_smollm2_are_those_known():
    table = read_roles("smollm2")
    heads = {
        "mover": {(23, 0), (23, 1), (23, 7)}, "suppression": {(23, 3), (24, 4)}, "successor": set(),
    }  # fmt: skip
    assert {kind: set(heads_with(table, kind)) for kind in heads} == heads
    mover, suppression, needles, successor, dormant = map(
        table.by_key.get, ("mover", "suppression", "retrieval", "successor", "dormant")
    )
    assert [mover.score[23, head] for head in (0, 2, 5)] == pytest.approx([1, 1, 0.8], abs=0.06)
    assert np.sort(suppression.score.ravel())[-3:] == pytest.approx([0, 1, 1], abs=0.03)
    assert max(rule.score for answer in (mover, suppression) for rule in answer.baselines) < 0.1
    known = {(18, 6): 0.80, (23, 2): 0.68, (18, 7): 0.65, (24, 4): 0.63}  # on other texts
    assert {head: needles.score[head] for head in known} == pytest.approx(known, abs=0.2)
    assert needles.word[18, 6] == "role"
    assert successor.score.max() == pytest.approx(0.37, abs=0.05)
    assert dormant.mass[23, 3] > 0.5
    assert dormant.word[23, 3] == "no", "it lowers names, and its attention mostly lies on the first token"
    assert table.untrained.by_key["retrieval"].score.max() == 0


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
