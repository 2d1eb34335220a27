"""Why a head looks there: the parts of a link's score, taking parts away, logit attribution and copying."""

from collections import defaultdict
from copy import deepcopy
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import pytest
import torch
from bert_folders import bert_tokenizer
from decoder_folders import shared_model
from scipy.special import softmax

from mha_core import (
    InputError,
    copying_scores,
    from_transformers,
    hidden_states,
    layer_details,
    load_model,
    logit_attribution,
    logit_lens,
    mlp_sources,
    predict_next,
    score_attribution,
    trace,
    weight_without_head,
)
from mha_core.causal import activation_cache
from mha_core.causal.logit_attribution import mean_attribution
from mha_core.causal.prompts import Prompt
from mha_core.causal.why import find_link, queries_and_keys

SENTENCES = (
    "the cat sat", "it was the end", "Anna met Tom", "two of the three", "no one saw it",
    "the theory", "rain, then sun", "a b c d e f g", "It is. Is it?", "the best of it",
)  # fmt: skip
KINDS = ("bert", "gpt2", "llama")
LINK = {"head": "2-1", "query": 1, "key": 0}
LAYERS = {"bert": "bert.encoder.layer", "gpt2": "transformer.h", "llama": "model.layers"}
OUT = {"bert": "attention.output.dense", "gpt2": "attn.c_proj", "llama": "self_attn.o_proj"}
MLP = {"bert": "output.dense", "gpt2": "mlp", "llama": "mlp"}
AFTER_HEADS, AFTER_MLP = "attention.output.LayerNorm", "output.LayerNorm"
BEFORE = {"gpt2": "ln_1", "llama": "input_layernorm"}
LAST = {"gpt2": "transformer.ln_f", "llama": "model.norm"}


class ByHand:
    """A transformers model's residual stream of one text split into parts once more, in double precision.

    `parts(layer)` is what the attention of a layer reads of each part, {name: (n, width)}."""

    def __init__(self, theirs, kind, ids):
        self.theirs, self.kind = deepcopy(theirs).double().requires_grad_(False), kind
        self.inputs, self.outputs = {}, {}
        modules = self.theirs.named_modules()
        hooks = [module.register_forward_hook(self.keep(name)) for name, module in modules]
        self.run = self.theirs(torch.tensor([list(ids)]), output_hidden_states=True, output_attentions=True)
        for hook in hooks:
            hook.remove()

    def keep(self, name):
        def hook(_module, inputs, output):
            if inputs and isinstance(inputs[0], torch.Tensor) and isinstance(output, torch.Tensor):
                self.inputs[name], self.outputs[name] = inputs[0][0].numpy(), output[0].numpy()

        return hook

    def held(self, name, part):
        """A part through a norm whose scale is that of the whole state."""
        norm, x = self.theirs.get_submodule(name), self.inputs[name]
        weight = norm.weight.numpy()
        if getattr(norm, "bias", None) is None:
            return part / np.sqrt((x**2).mean(-1, keepdims=True) + norm.variance_epsilon) * weight
        deviation = np.sqrt(x.var(-1, keepdims=True) + norm.eps)
        return (part - part.mean(-1, keepdims=True)) / deviation * weight

    def all_held(self, name, parts):
        parts = {key: self.held(name, part) for key, part in parts.items()}
        bias = getattr(self.theirs.get_submodule(name), "bias", None)
        if bias is not None:
            parts["bias", None, None] += bias.numpy()
        return parts

    def parts(self, layer, of_mlp=False):
        """With `of_mlp` what the MLP of that layer is given, before a norm of its own."""
        config, kind = self.theirs.config, self.kind
        state = self.run.hidden_states[0][0].numpy()
        parts = {("embedding", None, None): state, ("bias", None, None): np.zeros_like(state)}
        for index in range(layer + of_mlp):
            place = f"{LAYERS[kind]}.{index}."
            out, contexts = self.theirs.get_submodule(place + OUT[kind]), self.inputs[place + OUT[kind]]
            matrix = out.weight.numpy() if kind == "gpt2" else out.weight.numpy().T
            width = len(matrix) // config.num_attention_heads
            for head in range(config.num_attention_heads):
                own = slice(head * width, (head + 1) * width)
                parts["head", index + 1, head + 1] = contexts[:, own] @ matrix[own]
            if out.bias is not None:
                parts["bias", None, None] = parts["bias", None, None] + out.bias.numpy()
            if kind == "bert":
                parts = self.all_held(place + AFTER_HEADS, parts)
            if of_mlp and index == layer:
                return parts
            parts["mlp", index + 1, None] = self.outputs[place + MLP[kind]]
            if kind == "bert":
                parts = self.all_held(place + AFTER_MLP, parts)
        if layer == config.num_hidden_layers:
            return self.all_held(LAST[kind], parts)
        return parts if kind == "bert" else self.all_held(f"{LAYERS[kind]}.{layer}.{BEFORE[kind]}", parts)

    def mlp(self, layer, x):
        """What the MLP of a layer writes where it is given x (width,)."""
        block = self.theirs.get_submodule(f"{LAYERS[self.kind]}.{layer}")
        x = torch.from_numpy(x)[None]
        if self.kind == "bert":
            return block.output.dense(block.intermediate(x))[0].numpy()
        norm = block.ln_2 if self.kind == "gpt2" else block.post_attention_layernorm
        return block.mlp(norm(x))[0].numpy()

    def matrices(self, layer, head):
        """W_q and W_k of a head, (width, d_k), and their biases."""
        config, place = self.theirs.config, f"{LAYERS[self.kind]}.{layer}."
        n_heads = config.num_attention_heads
        shared = n_heads // getattr(config, "num_key_value_heads", n_heads)
        d_k = getattr(config, "head_dim", None) or config.hidden_size // n_heads
        result = []
        for letter, index in (("query", head), ("key", head // shared)):
            if self.kind == "gpt2":
                fused = self.theirs.get_submodule(place + "attn.c_attn")
                third = ("query", "key").index(letter)
                weight = fused.weight.numpy().T.reshape(3, config.n_embd, -1)[third]
                bias = fused.bias.numpy().reshape(3, -1)[third]
            else:
                name = f"attention.self.{letter}" if self.kind == "bert" else f"self_attn.{letter[0]}_proj"
                linear = self.theirs.get_submodule(place + name)
                weight = linear.weight.numpy()
                bias = np.zeros(len(weight)) if linear.bias is None else linear.bias.numpy()
            rows = slice(index * d_k, (index + 1) * d_k)
            result.append((weight[rows].T, bias[rows]))
        return result

    def turned(self, x, position):
        """A query or key (d_k,) turned by its position, as complex numbers."""
        if self.kind != "llama":
            return x
        half = len(x) // 2
        theta = self.theirs.config.rope_parameters["rope_theta"]
        pairs = (x[:half] + 1j * x[half:]) * np.exp(1j * position * theta ** (-np.arange(half) / half))
        return np.concatenate([pairs.real, pairs.imag])

    def link(self, layer, head, i, j):
        """{(side, part, layer, head): score} of one link, one key after the other, and the link's weight."""
        (W_q, b_q), (W_k, b_k) = self.matrices(layer, head)
        parts = self.parts(layer)
        n = len(next(iter(parts.values())))
        seen = range(i + 1) if self.kind != "bert" else range(n)
        queries = {name: self.turned(part[i] @ W_q, i) for name, part in parts.items()}
        queries["bias", layer + 1, head + 1] = self.turned(b_q, i)
        keys = {name: [self.turned(part[k] @ W_k, k) for k in seen] for name, part in parts.items()}
        keys["bias", layer + 1, head + 1] = [self.turned(b_k, k) for k in seen]
        q = sum(queries.values())
        k = [sum(part[place] for part in keys.values()) for place in range(len(seen))]
        result = {}
        for name in queries:
            scores = {"key": [q @ key for key in keys[name]], "query": [queries[name] @ key for key in k]}
            for side, own in scores.items():
                result[side, *name] = (own[j] - np.mean(own)) / np.sqrt(len(q))
        return result, float(self.run.attentions[layer][0, head, i, j])


@pytest.fixture(params=KINDS)
def both(request):
    return request.param, *shared_model(request.param)


@pytest.fixture(autouse=True)
def few_texts(monkeypatch):
    """Every twentieth of the texts whose means replace a head's output."""
    texts = activation_cache.builtin_texts()[::20]
    monkeypatch.setattr(activation_cache, "builtin_texts", lambda: texts)
    monkeypatch.setattr(activation_cache, "_MEANS", WeakKeyDictionary())


def scores_of(frame):
    """{(side, part, layer, head): score}, without a side where the frame has none."""
    names = [name for name in ("side", "part", "layer", "head") if name in frame]
    rows = frame.astype(object).where(frame.notna(), None)
    return dict(zip(rows[names].itertuples(index=False, name=None), rows.score, strict=True))


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
    assert frame.fall.abs().is_monotonic_decreasing
    token, place = i if side == "query" else j, f"{LAYERS[kind]}.{mlp}.{MLP[kind]}"
    given, own = byhand.parts(mlp, of_mlp=True), byhand.outputs[place].copy()
    whole = sum(part[token] for part in given.values())
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


@pytest.mark.parametrize("both", KINDS[1:], indirect=True)
def test_attribution_of_a_prompt_and_of_several_is_that_of_transformers_and_plain_loops(both):
    kind, theirs, ours = both
    prompts = [Prompt(text, *answers) for text, answers in zip(SENTENCES, ("te", "ea", "at"), strict=False)]
    expected, differences = defaultdict(float), []
    for prompt in prompts:
        byhand = ByHand(theirs, kind, ours.tokenizer.encode(prompt.text).ids)
        target, against = (ours.tokenizer.ids_of(word)[0] for word in prompt.answers)
        vectors = byhand.theirs.lm_head.weight.numpy()
        parts = {name: part[-1] for name, part in byhand.parts(ours.n_layers).items()}
        own = {name: float(part @ (vectors[target] - vectors[against])) for name, part in parts.items()}
        frame = logit_attribution(prompt.text, ours, *prompt.answers)
        assert scores_of(frame) == pytest.approx(own, abs=1e-4)
        for name, score in own.items():
            expected[name] += score / len(prompts)
        logits = byhand.run.logits[0, -1].numpy()
        differences.append(logits[target] - logits[against])
        assert frame.score.sum() == pytest.approx(differences[-1], abs=1e-3)
        likeliest = logit_attribution(prompt.text, ours)
        (best,) = predict_next(prompt.text, ours, k=1)
        assert likeliest.attrs["target"] == best.text
        assert likeliest.score.sum() == pytest.approx(logits[best.id], abs=1e-3)
    result = mean_attribution(prompts, ours)
    assert scores_of(result) == pytest.approx(dict(expected), abs=1e-5)
    assert result.score.sum() == pytest.approx(np.mean(differences), abs=1e-5)


@pytest.mark.parametrize("both", KINDS[1:], indirect=True)
def test_copying_is_what_plain_loops_count(both):
    kind, theirs, ours = both
    result = copying_scores(list("abcdefghij"), ours, first="t").set_index(["layer", "head"])
    first, *ids = (ours.tokenizer.ids_of(letter)[0] for letter in "tabcdefghij")
    runs = [ByHand(theirs, kind, [first, identity]) for identity in ids]
    theirs, d = runs[0].theirs, ours.d_k
    norm = theirs.transformer.ln_f if kind == "gpt2" else theirs.model.norm
    unembedding = theirs.lm_head.weight[: ours.tokenizer.largest_id + 1]
    for layer, block in enumerate(theirs.transformer.h if kind == "gpt2" else theirs.model.layers):
        before = block.ln_1 if kind == "gpt2" else block.input_layernorm
        for head in range(ours.n_heads):
            rows = slice(head * d, (head + 1) * d)
            if kind == "gpt2":
                W_v = block.attn.c_attn.weight[:, 2 * ours.d_model :][:, rows]
                W_o = block.attn.c_proj.weight[rows]
            else:
                kv = head * ours.n_kv_heads // ours.n_heads
                W_v = block.self_attn.v_proj.weight[kv * d : (kv + 1) * d].T
                W_o = block.self_attn.o_proj.weight[:, rows].T
            copied, suppressed = 0, 0
            for identity, run in zip(ids, runs, strict=True):
                written = before(run.run.hidden_states[1][0, 1]) @ W_v @ W_o
                written = written - written.mean() if kind == "gpt2" else written
                order = (unembedding @ (written * norm.weight)).argsort(descending=True).tolist()
                copied, suppressed = copied + (identity in order[:5]), suppressed + (identity in order[-5:])
            expected = (copied / 10, suppressed / 10)
            assert tuple(result.loc[(layer + 1, head + 1)]) == pytest.approx(expected)


@pytest.mark.parametrize("weights", ["random", "shuffled"])
def test_weights_of_a_control_are_drawn_by_their_seed(weights):
    options = {"weights": weights, "first": "t"}
    first, again, other = (
        copying_scores([*"abcdefghijklmnop"], shared_model("llama")[1], seed=seed, **options)
        for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


@pytest.mark.parametrize("layer", [0, 1])
def test_parts_sum_to_the_score_and_give_the_row_of_a_layer_with_a_window(layer):
    text, ours = "the cat sees the dog and the mouse", load_model("classroom")
    record = trace(text, ours)
    last, above = len(record.tokens) - 1, []
    (seen,) = record.visible[layer, last].nonzero()
    for key in seen.tolist():
        frame = score_attribution(text, ours, head=f"{layer + 1}-2", query=last, key=key)
        for _, side in frame.groupby("side"):
            assert side.score.sum() == pytest.approx(frame.attrs["score"], abs=1e-4)
            assert side.share.sum() == pytest.approx(1, abs=1e-3)
        assert frame.attrs["weight"] == pytest.approx(record.weights[layer, 1, last, key], abs=1e-5)
        above.append(frame.attrs["score"])
    np.testing.assert_allclose(softmax(above), record.weights[layer, 1, last, seen], atol=1e-5)


def test_pairs_sum_to_either_side(both):
    link = {"head": "3-1", "query": 3, "key": 1}
    sides = scores_of(score_attribution("it was the end", both[2], **link))
    pairs = score_attribution("it was the end", both[2], **link, pairs=True)
    for side in ("query", "key"):
        names = {f"{side}_{name}": name for name in ("part", "layer", "head")}
        sums = pairs.groupby([*names], dropna=False).score.sum().reset_index().rename(columns=names)
        expected = {name[1:]: score for name, score in sides.items() if name[0] == side}
        assert scores_of(sums) == pytest.approx(expected, abs=1e-3)


def test_half_precision_is_computed_in_single(both):
    half = both[2].to("cpu", "bfloat16")
    frame = score_attribution("the cat sat", half, head="2-1", query=3, key=1)
    same = score_attribution("the cat sat", half.to("cpu", "float32"), head="2-1", query=3, key=1)
    for _, side in frame.groupby("side"):
        assert side.score.sum() == pytest.approx(same.attrs["score"], abs=1e-3)


@pytest.mark.parametrize("j", [0, 1])
def test_path_patching_is_recomputing_by_hand(both, j):
    ours, text, sender, i = both[2], "it was the end", 1, 3
    reader, d = ours.n_heads - 1, ours.config.d_k
    frame = weight_without_head(text, ours, head=f"2-{reader + 1}", query=i, key=j, without=f"1-{sender + 1}")
    result = frame.set_index(["place", "replacement"])
    states, details = hidden_states(text, ours), layer_details(text, ours, 0)
    block = ours.encoder.layer(0)
    link, n = find_link(text, ours, f"2-{reader + 1}", i, j), i + 1 if ours.is_causal else len(states[0])
    for replacement in ("zero", "mean"):
        with torch.no_grad():
            x, attended = (torch.from_numpy(np.array(array)) for array in (states[0], details.output))
            written = torch.from_numpy(np.array(details.contributions[sender]))
            instead = torch.zeros(len(x), ours.d_model)
            if replacement == "mean":
                W_o = block.attention.W_o.weight[:, sender * d : (sender + 1) * d]
                instead += activation_cache.mean_head_outputs(ours)[0, sender] @ W_o.T
                if ours.is_causal:
                    instead[0] = written[0]
            mlp = block.mlp(block.residual(x, attended))
            patched = block.output(block.residual(x, attended - written + instead), mlp)
            (q, k), (q_patched, k_patched) = (
                queries_and_keys(link, state[:n])
                for state in (torch.from_numpy(np.array(states[1])), patched)
            )
            mixed = k.clone()
            mixed[j] = k_patched[j]
            for place, query, keys in (("query", q_patched[i], k), ("key", q[i], mixed)):
                weight = (keys @ query / d**0.5).softmax(0)[j]
                assert result.after[place, replacement] == pytest.approx(float(weight), abs=1e-5)
        before = trace(text, ours).weights[1, reader, i, j]
        assert result.before["query", replacement] == pytest.approx(before, abs=1e-5)
    gates = np.ones((ours.n_layers, ours.n_heads))
    gates[0, sender] = 0
    ablated = trace(text, ours, gates=gates).weights[1, reader, i, j]
    assert result.after["everywhere", "zero"] == pytest.approx(ablated, abs=1e-6)


def test_beside_a_removed_head_stands_another_of_its_layer():
    ours = shared_model("llama")[1]

    def without(head):
        frame = weight_without_head("it was the end", ours, head="2-1", query=3, key=1, without=head)
        return frame.set_index(["place", "replacement"])

    for removed in ("1-1", "1-2", "1-3"):
        frame = without(removed)
        (control,) = set(frame.control)
        assert control in {f"1-{head + 1}" for head in range(ours.n_heads)} - {removed}
        expected = without(control).after.to_dict()
        assert frame.after_control.to_dict() == pytest.approx(expected, abs=1e-6)
        pd.testing.assert_frame_equal(frame, without(removed))


@pytest.mark.parametrize(
    ("kind", "ask", "options", "message"),
    [
        ("gpt2", score_attribution, LINK | {"head": "9-9"}, "9-9"),
        ("gpt2", score_attribution, LINK | {"query": "zebra"}, "zebra"),
        ("gpt2", score_attribution, LINK | {"query": "#90"}, "#90"),
        ("gpt2", score_attribution, LINK | {"key": 3}, "cannot look"),
        ("llama", score_attribution, LINK | {"query": 0}, "nothing is to be explained"),
        ("gpt2", weight_without_head, LINK | {"without": "2-2"}, "earlier layer"),
        ("gpt2", mlp_sources, LINK | {"mlp": 2, "side": "key"}, "MLP 2 does not write before"),
        ("gpt2", logit_attribution, {"against": "t"}, "without the word itself"),
        *(
            ("bert", ask, {}, "predicts no next word")
            for ask in (logit_attribution, copying_scores, logit_lens)
        ),
    ],
)
def test_what_gives_no_answer_is_refused_in_words(kind, ask, options, message):
    with pytest.raises(InputError, match=message):
        ask("it was the end", shared_model(kind)[1], **options)


def test_a_model_of_transformers_is_not_explained():
    foreign = from_transformers(shared_model("bert")[0], bert_tokenizer())
    with pytest.raises(InputError, match="computed by transformers"):
        score_attribution("it was", foreign, head="2-1", query=1, key=0)
