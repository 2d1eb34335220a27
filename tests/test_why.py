"""Why a head looks there: the parts of a link's score, taking parts away, logit attribution and copying."""

from collections import defaultdict
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from bert_folders import embedded_folder, random_bert, write
from decoder_folders import random_decoder, write_decoder
from parts_by_hand import LAYERS, MLP, ByHand

from mha_core import (
    InputError,
    copying_scores,
    from_transformers,
    hidden_states,
    layer_details,
    load_model,
    logit_attribution,
    mlp_sources,
    predict_next,
    score_attribution,
    trace,
    weight_without_head,
)
from mha_core.causal.activation_cache import mean_head_outputs
from mha_core.causal.logit_attribution import mean_attribution
from mha_core.causal.prompts import Prompt

TIRED = "The animal didn't cross the street because it was too tired."
SENTENCES = (
    "the cat sat", "it was the end", "Anna met Tom", "two of the three", "no one saw it",
    "the theory", "rain, then sun", "a b c d e f g", "It is. Is it?", "the best of it",
)  # fmt: skip
KINDS = ("bert", "gpt2", "llama")


def loaded(kind, folder, **changes):
    """A random model of transformers with norms and biases of its own, and ours of the same weights."""
    if kind == "bert":
        theirs = random_bert(**changes)
        write(folder, theirs)
    else:
        theirs = write_decoder(folder, random_decoder(kind, int(kind == "llama"), **changes))
    return theirs, load_model(str(folder), device="cpu")


@pytest.fixture(scope="module", params=KINDS)
def both(request, tmp_path_factory):
    return request.param, *loaded(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def two_layers(tmp_path_factory):
    changes = {"bert": {"num_hidden_layers": 2}, "llama": {"num_hidden_layers": 2}, "gpt2": {"n_layer": 2}}
    return {kind: loaded(kind, tmp_path_factory.mktemp(kind), **changes[kind])[1] for kind in KINDS}


def scores_of(frame):
    """{(side, part, layer, head): score}."""
    rows = frame.astype(object).where(frame.notna(), None)
    return dict(
        zip(zip(rows.side, rows.part, rows.layer, rows["head"], strict=True), rows.score, strict=True)
    )


# Published and known results


@pytest.mark.parametrize(
    ("word", "weight", "total", "expected"),
    [
        ("tired", 0.677, 4.16, {
            ("key", "embedding", None, None): 1.69, ("key", "mlp", 1, None): 0.79, ("key", "mlp", 2, None): 0.72,
            ("key", "mlp", 3, None): -0.68, ("query", "mlp", 3, None): 1.94, ("query", "embedding", None, None): 0.84,
            ("query", "bias", None, None): 0.41, ("query", "head", 3, 2): 0.25,
        }),
        ("wide", 0.281, 2.71, {("query", "mlp", 3, None): 0.67}),
    ],
)  # fmt: skip
def test_what_makes_it_look_at_the_animal(model, word, weight, total, expected):
    frame = score_attribution(TIRED.replace("tired", word), model, head="4-2", query="it", key="animal")
    assert frame.attrs["weight"] == pytest.approx(weight, abs=0.001)
    assert frame.attrs["score"] == pytest.approx(total, abs=0.01)
    result = scores_of(frame)
    assert {name: result[name] for name in expected} == pytest.approx(expected, abs=0.01)


def test_what_makes_a_verb_look_at_its_subject(model):
    text = "The keys to the cabinet are on the table."
    frame = score_attribution(text, model, head="4-2", query="are", key="keys")
    result = scores_of(frame)
    assert (frame.attrs["weight"], frame.attrs["score"]) == pytest.approx((0.788, 4.00), abs=0.01)
    assert result["key", "embedding", None, None] == pytest.approx(2.07, abs=0.01)
    assert result["key", "mlp", 3, None] == pytest.approx(1.07, abs=0.01)
    assert result["query", "embedding", None, None] == pytest.approx(1.49, abs=0.01)
    assert result["query", "mlp", 3, None] == pytest.approx(1.10, abs=0.01)


def test_the_mlp_that_turns_it_to_the_animal_needs_the_heads_that_read_tired(model):
    link = {"head": "4-2", "query": "it", "key": "animal", "mlp": 3, "side": "query"}
    tired, wide = (mlp_sources(TIRED.replace("tired", word), model, **link) for word in ("tired", "wide"))
    names = [(3, 4), (3, 9), (3, 2)]
    falls = [frame.set_index(["layer", "head"]).fall[names] for frame in (tired, wide)]
    assert [*zip(tired.layer, tired["head"], strict=True)][:3] == names
    assert all(trace(TIRED, model).weights[layer - 1, head - 1, 10].argmax() == 13 for layer, head in names)
    assert falls[0].tolist() == pytest.approx([0.60, 0.33, 0.26], abs=0.01)
    assert falls[1].sum() < 0.1


@pytest.mark.slow
def test_an_induction_head_finds_its_previous_token_head(smollm2):
    text = "Mr and Mrs Dursley lived at number four. The owner of the house, Mrs Durs"
    frame = score_attribution(text, smollm2, head="19-7", query="urs#2", key="ley")
    assert frame.attrs["weight"] == pytest.approx(0.996, abs=0.001)
    assert frame.attrs["score"] == pytest.approx(16.37, abs=0.01)
    result = scores_of(frame)
    expected = {
        ("head", 17, 1): 13.07,
        ("mlp", 16, None): -2.86,
        ("mlp", 2, None): -2.20,
        ("mlp", 6, None): 2.15,
    }
    assert {name: result["key", *name] for name in expected} == pytest.approx(expected, abs=0.01)
    assert result["key", "head", 4, 3] == pytest.approx(1.88, abs=0.01)
    pd.testing.assert_frame_equal(frame, score_attribution(text, smollm2, head="19-7", query="#20", key=5))


@pytest.mark.slow
def test_a_copy_suppression_head_speaks_against_the_name_said_twice(smollm2):
    text = "When Mary and John went to the store, John gave a drink to"
    frames = {word: logit_attribution(text, smollm2, word) for word in (" Mary", " John")}
    mary, john = (frame[frame.part == "head"].set_index(["layer", "head"]).score for frame in frames.values())
    assert john.idxmin() == (24, 4)
    assert john[24, 4] < -2 < mary[24, 4]
    both = logit_attribution(text, smollm2, " Mary", " John")
    both = both[both.part == "head"].set_index(["layer", "head"]).score
    np.testing.assert_allclose(both.sort_index(), (mary - john).sort_index(), atol=1e-3)


# The same numbers apart from the project


@pytest.mark.parametrize("text", SENTENCES)
def test_parts_are_those_of_transformers_and_plain_loops(both, text):
    kind, theirs, ours = both
    ids = ours.tokenizer.encode(text).ids
    byhand = ByHand(theirs, kind, ids)
    layer, head, i, j = len(ids) % ours.n_layers, len(ids) % ours.n_heads, len(ids) - 1, len(ids) // 2
    expected, weight = byhand.link(layer, head, i, j)
    frame = score_attribution(text, ours, head=f"{layer + 1}-{head + 1}", query=i, key=j)
    result = scores_of(frame)
    scale = max(map(abs, expected.values()))
    expected = {name: score for name, score in expected.items() if name in result or abs(score) > 1e-9}
    assert result == pytest.approx(expected, abs=3e-6 * max(1, scale))
    assert frame.attrs["weight"] == pytest.approx(weight, abs=1e-5)


@pytest.mark.parametrize("side", ["query", "key"])
@pytest.mark.parametrize("text", SENTENCES[:4])
def test_an_mlp_without_a_head_is_recomputed_by_plain_loops(both, text, side):
    kind, theirs, ours = both
    byhand = ByHand(theirs, kind, ours.tokenizer.encode(text).ids)
    layer, mlp, (i, j) = ours.n_layers - 1, 1, (3, 1)
    frame = mlp_sources(text, ours, head=f"{layer + 1}-1", query=i, key=j, mlp=mlp + 1, side=side).set_index(
        ["layer", "head"]
    )
    assert len(frame) == (mlp + 1) * ours.n_heads
    token, place = i if side == "query" else j, f"{LAYERS[kind]}.{mlp}.{MLP[kind]}"
    given, own = byhand.parts(mlp, of_mlp=True), byhand.outputs[place].copy()
    whole = sum(part[token] for part in given.values())
    np.testing.assert_allclose(byhand.mlp(mlp, whole), own[token], atol=1e-5)
    (W_q, b_q), (W_k, b_k) = byhand.matrices(layer, 0)
    state = sum(byhand.parts(layer).values())
    q = byhand.turned(state[i] @ W_q + b_q, i)
    seen = range(i + 1 if ours.is_causal else len(state))

    def score(part):
        if side == "query":
            keys = [byhand.turned(state[k] @ W_k + b_k, k) for k in seen]
            row = [np.real(np.vdot(key, byhand.turned(part[i] @ W_q, i))) for key in keys]
        else:
            row = [np.real(np.vdot(byhand.turned(part[k] @ W_k, k), q)) for k in seen]
        return (row[j] - np.mean(row)) / np.sqrt(W_q.shape[1])

    assert frame.attrs["score"] == pytest.approx(score(byhand.parts(layer)["mlp", mlp + 1, None]), abs=1e-5)
    for writer, head in frame.index:
        byhand.outputs[place] = own.copy()
        byhand.outputs[place][token] = byhand.mlp(mlp, whole - given["head", writer, head][token])
        after = score(byhand.parts(layer)["mlp", mlp + 1, None])
        assert frame.after[writer, head] == pytest.approx(after, abs=2e-5)
        assert frame.fall[writer, head] == pytest.approx(frame.attrs["score"] - after, abs=2e-5)


@pytest.mark.parametrize("text", SENTENCES[:3])
@pytest.mark.parametrize("both", KINDS[1:], indirect=True)
def test_attribution_is_that_of_transformers_and_plain_loops(both, text):
    kind, theirs, ours = both
    byhand = ByHand(theirs, kind, ours.tokenizer.encode(text).ids)
    frame = logit_attribution(text, ours, "t", "e")
    vectors = theirs.lm_head.weight.detach().numpy()[[ours.tokenizer.ids_of(word)[0] for word in "te"]]
    rows = frame.astype(object).where(frame.notna(), None)
    result = dict(zip(zip(rows.part, rows.layer, rows["head"], strict=True), rows.score, strict=True))
    parts = byhand.parts(ours.n_layers)
    expected = {name: float(part[-1] @ (vectors[0] - vectors[1])) for name, part in parts.items()}
    assert result == pytest.approx(expected, abs=1e-4)
    logits = byhand.run.logits[0, -1].numpy()
    difference = logits[ours.tokenizer.ids_of("t")[0]] - logits[ours.tokenizer.ids_of("e")[0]]
    assert frame.score.sum() == pytest.approx(difference, abs=1e-3)


@pytest.mark.parametrize("both", KINDS[1:], indirect=True)
def test_the_mean_attribution_of_prompts_is_that_of_transformers_and_plain_loops(both):
    kind, theirs, ours = both
    prompts = [Prompt(text, *answers) for text, answers in zip(SENTENCES, ("te", "ea", "at"), strict=False)]
    result = mean_attribution(prompts, ours)
    expected, differences = defaultdict(float), list[float]()
    for prompt in prompts:
        byhand = ByHand(theirs, kind, ours.tokenizer.encode(prompt.text).ids)
        target, against = (ours.tokenizer.ids_of(word)[0] for word in prompt.answers)
        direction = theirs.lm_head.weight.detach().numpy()[[target, against]]
        for name, part in byhand.parts(ours.n_layers).items():
            expected[name] += float(part[-1] @ (direction[0] - direction[1])) / len(prompts)
        logits = byhand.run.logits[0, -1].detach().numpy()
        differences.append(logits[target] - logits[against])
    rows = result.astype(object).where(result.notna(), None)
    scores = dict(zip(zip(rows.part, rows.layer, rows["head"], strict=True), rows.score, strict=True))
    assert scores == pytest.approx(dict(expected), abs=1e-5)
    assert result.score.sum() == pytest.approx(np.mean(differences), abs=1e-5)


@pytest.mark.parametrize("both", KINDS[1:], indirect=True)
def test_copying_is_what_plain_loops_count(both):
    kind, theirs, ours = both
    words = list("abcdefghij")
    result = copying_scores(words, ours, first="t").set_index(["layer", "head"])
    ids = [ours.tokenizer.ids_of(word)[0] for word in words]
    states = [
        ByHand(theirs, kind, [ours.tokenizer.ids_of("t")[0], identity]).run.hidden_states[1][0, 1]
        for identity in ids
    ]
    theirs.double()
    norm = theirs.transformer.ln_f if kind == "gpt2" else theirs.model.norm
    unembedding = theirs.lm_head.weight.detach()[: ours.tokenizer.largest_id + 1]
    layers = theirs.transformer.h if kind == "gpt2" else theirs.model.layers
    for layer, block in enumerate(layers):
        before = block.ln_1 if kind == "gpt2" else block.input_layernorm
        for head in range(ours.n_heads):
            d, kv = ours.d_k, head * ours.n_kv_heads // ours.n_heads
            if kind == "gpt2":
                W_v = block.attn.c_attn.weight[:, 2 * ours.d_model :][:, head * d : (head + 1) * d]
                W_o = block.attn.c_proj.weight[head * d : (head + 1) * d]
            else:
                W_v = block.self_attn.v_proj.weight[kv * d : (kv + 1) * d].T
                W_o = block.self_attn.o_proj.weight[:, head * d : (head + 1) * d].T
            copied, suppressed = 0, 0
            for identity, state in zip(ids, states, strict=True):
                written = before(state) @ W_v @ W_o
                written = written - written.mean() if kind == "gpt2" else written
                order = (unembedding @ (written * norm.weight)).argsort(descending=True).tolist()
                copied, suppressed = copied + (identity in order[:5]), suppressed + (identity in order[-5:])
            expected = (copied / 10, suppressed / 10)
            assert tuple(result.loc[(layer + 1, head + 1)]) == pytest.approx(expected)


@pytest.mark.parametrize("both", KINDS[1:], indirect=True)
def test_random_and_shuffled_weights_are_drawn_by_their_seed(both):
    ours = both[2]
    words = list("abcdefghijklmnop")
    for weights in ("random", "shuffled"):
        first, again, other = (
            copying_scores(words, ours, weights=weights, first="t", seed=seed) for seed in (0, 0, 1)
        )
        pd.testing.assert_frame_equal(first, again)
        assert not first.equals(other)


# Laws


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("name", ["minilm", "classroom", "gpt2", "llama"])
def test_parts_sum_to_the_score_and_give_the_rows_of_the_record(name, first, model, two_layers):
    ours = model if name == "minilm" else two_layers.get(name) or load_model(name, device="cpu")
    text = (
        TIRED
        if name == "minilm"
        else "the cat sees the dog and the mouse"
        if name == "classroom"
        else "the cat sat"
    )
    record = trace(text, ours)
    layer, head, i = 0 if first else ours.n_layers - 1, 1, len(record.tokens) - 1
    seen = [k for k in range(i + 1) if record.visible is None or record.visible[layer, i, k]]
    above = []
    for key in seen:
        frame = score_attribution(text, ours, head=f"{layer + 1}-{head + 1}", query=i, key=key)
        for _, side in frame.groupby("side"):
            assert side.score.sum() == pytest.approx(frame.attrs["score"], abs=1e-4)
            assert side.share.sum() == pytest.approx(1, abs=1e-3)
        assert frame.attrs["weight"] == pytest.approx(record.weights[layer, head, i, key], abs=1e-5)
        above.append(frame[frame.side == "key"].score.sum())
    exponentials = np.exp(np.array(above) - max(above))
    np.testing.assert_allclose(
        exponentials / exponentials.sum(), record.weights[layer, head, i, seen], atol=1e-5
    )
    assert sum(above) == pytest.approx(0, abs=1e-3), "a score above the mean"


@pytest.mark.parametrize(
    "ask",
    [score_attribution, partial(weight_without_head, without="1-1"), partial(mlp_sources, mlp=1, side="key")],
)
def test_of_a_token_that_sees_itself_alone_nothing_is_explained(two_layers, ask):
    with pytest.raises(InputError, match=r"sees only .* nothing is to be explained"):
        ask("the cat", two_layers["llama"], head="2-1", query=0, key=0)


def test_pairs_sum_to_either_side(both):
    ours = both[2]
    link = {"head": f"{ours.n_layers}-1", "query": 3, "key": 1}
    sides, pairs = (
        scores_of(score_attribution("it was the end", ours, **link)),
        score_attribution("it was the end", ours, **link, pairs=True),
    )
    for side in ("query", "key"):
        columns = [f"{side}_{name}" for name in ("part", "layer", "head")]
        sums = pairs.groupby(columns, dropna=False).score.sum()
        assert len(sums) == len(sides) / 2
        for name, score in sums.items():
            name = tuple(None if pd.isna(each) else each for each in name)  # noqa: PLW2901
            assert score == pytest.approx(sides[side, *name], abs=1e-3)


def test_a_head_that_writes_nothing_is_a_part_of_zero(tmp_path):
    for kind in KINDS:
        folder = tmp_path / kind
        folder.mkdir()
        _, ours = loaded(kind, folder)
        attention = ours.encoder.layer(1).attention
        with torch.no_grad():
            attention.W_o.weight.view(ours.d_model, ours.n_heads, -1)[:, 0] = 0
        result = scores_of(score_attribution("it was the end", ours, head="3-1", query=3, key=1))
        assert result["key", "head", 2, 1] == result["query", "head", 2, 1] == 0
        assert result["key", "head", 1, 1] != 0


def test_without_positions_a_permuted_sentence_has_the_same_parts(tmp_path):
    theirs = random_bert()
    theirs.embeddings.position_embeddings.weight.data.zero_()
    write(tmp_path, theirs)
    ours = load_model(str(tmp_path), device="cpu")
    first, other = (
        scores_of(score_attribution(text, ours, head="3-2", query="cat", key="dog"))
        for text in ("a cat saw the dog", "the dog a saw cat")
    )
    assert first == pytest.approx(other, abs=1e-4)


def test_half_precision_is_computed_in_single(both):
    half = both[2].to("cpu", "bfloat16")
    frame = score_attribution("the cat sat", half, head="2-1", query=3, key=1)
    same = score_attribution("the cat sat", half.to("cpu", "float32"), head="2-1", query=3, key=1)
    for _, side in frame.groupby("side"):
        assert side.score.sum() == pytest.approx(same.attrs["score"], abs=1e-3)


# Taking a part away


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("replacement", ["zero", "mean"])
@pytest.mark.parametrize("j", [0, 1])
def test_path_patching_is_recomputing_by_hand(two_layers, kind, replacement, j):
    ours, text, sender, i = two_layers[kind], "it was the end", 1, 3
    reader, d = ours.n_heads - 1, ours.config.d_k
    frame = weight_without_head(text, ours, head=f"2-{reader + 1}", query=i, key=j, without=f"1-{sender + 1}")
    result = frame.set_index(["place", "replacement"])
    states, details = hidden_states(text, ours), layer_details(text, ours, 0)
    block, after = ours.encoder.layer(0), ours.encoder.layer(1)
    with torch.no_grad():
        x, attended = (torch.from_numpy(np.array(array)) for array in (states[0], details.output))
        written = torch.from_numpy(np.array(details.contributions[sender]))
        instead = torch.zeros(len(x), ours.d_model)
        if replacement == "mean":
            W_o = block.attention.W_o.weight[:, sender * d : (sender + 1) * d]
            instead += mean_head_outputs(ours)[0, sender] @ W_o.T
            if ours.is_causal:
                instead[0] = written[0]
        mlp = block.mlp(block.residual(x, attended))
        patched = block.output(block.residual(x, attended - written + instead), mlp)
        attention, n = after.attention, i + 1 if ours.is_causal else len(x)

        def projected(state):
            read = after.attention_input(state)
            start = reader * d, reader * ours.n_kv_heads // ours.n_heads * d
            q, k = attention.W_q(read)[:, start[0] :][:, :d], attention.W_k(read)[:, start[1] :][:, :d]
            if ours.encoder.rotary is None:
                return q, k
            turn = ours.encoder.rotary.at(0, len(read), read)
            return turn(q), turn(k)

        (q, k), (q_patched, k_patched) = projected(torch.from_numpy(np.array(states[1]))), projected(patched)
        mixed = k.clone()
        mixed[j] = k_patched[j]
        for place, query, keys in (("query", q_patched[i], k), ("key", q[i], mixed)):
            weight = (keys[:n] @ query / d**0.5).softmax(0)[j]
            assert result.after[place, replacement] == pytest.approx(float(weight), abs=1e-5)
        assert result.before["query", replacement] == pytest.approx(
            trace(text, ours).weights[1, reader, i, j], abs=1e-5
        )
    if replacement == "zero":
        gates = np.ones((2, ours.n_heads))
        gates[0, sender] = 0
        ablated = trace(text, ours, gates=gates).weights[1, reader, i, j]
        assert result.after["everywhere", "zero"] == pytest.approx(ablated, abs=1e-6)


def test_beside_a_removed_head_stands_another_of_its_layer(two_layers):
    ours, link = two_layers["llama"], {"head": "2-1", "query": 3, "key": 1}
    where = ["place", "replacement"]
    for without in ("1-1", "1-2", "1-3"):
        frame = weight_without_head("it was the end", ours, **link, without=without)
        (control,) = set(frame.control)
        assert control in {f"1-{head + 1}" for head in range(ours.n_heads)} - {without}
        other = weight_without_head("it was the end", ours, **link, without=control).set_index(where)
        assert frame.set_index(where).after_control.to_dict() == pytest.approx(
            other.after.to_dict(), abs=1e-6
        )
        pd.testing.assert_frame_equal(
            frame, weight_without_head("it was the end", ours, **link, without=without)
        )


def test_attribution_of_the_likeliest_token_sums_to_its_logit(two_layers):
    for kind in ("gpt2", "llama"):
        best = predict_next("the cat", two_layers[kind], k=1)[0]
        frame = logit_attribution("the cat", two_layers[kind])
        assert frame.score.sum() == pytest.approx(best.logit, abs=1e-3)
        assert frame.attrs["target"] == best.text


# What is refused, and the command


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"head": "9-9", "query": 3, "key": 1}, "9-9"),
        ({"head": "2-1", "query": "zebra", "key": 1}, "zebra"),
        ({"head": "2-1", "query": "#90", "key": 1}, "#90"),
        ({"head": "2-1", "query": 1, "key": 3}, "cannot look"),
    ],
)
def test_a_link_that_is_not_there_is_refused_in_words(two_layers, link, message):
    with pytest.raises(InputError, match=message):
        score_attribution("it was the end", two_layers["gpt2"], **link)


def test_what_gives_no_answer_is_refused_in_words(two_layers, model):
    from transformers import BertTokenizerFast

    foreign = from_transformers(random_bert(), BertTokenizerFast.from_pretrained(embedded_folder()))
    with pytest.raises(InputError, match="computed by transformers"):
        score_attribution("it was", foreign, head="2-1", query=1, key=0)
    for ask in (logit_attribution, lambda text, model: copying_scores([text], model)):
        with pytest.raises(InputError, match="predicts no next word"):
            ask("cat", model)
    classroom = load_model("classroom", device="cpu")
    with pytest.raises(InputError, match="cannot look"):
        score_attribution("the cat sees the dog and the mouse", classroom, head="1-1", query=1, key=7)
    with pytest.raises(InputError, match="earlier layer"):
        weight_without_head("it was", two_layers["gpt2"], head="1-1", query=1, key=0, without="1-2")
    with pytest.raises(InputError, match="MLP 2 does not write before"):
        mlp_sources("it was", two_layers["gpt2"], head="2-1", query=1, key=0, mlp=2, side="key")
    with pytest.raises(InputError, match="without the word itself"):
        logit_attribution("it was", two_layers["gpt2"], against="t")
