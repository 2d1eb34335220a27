"""The page Inside without a browser: each number that it draws against the record and against torch."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from boards import Walked, boards, charts, flat, found, matrix, numbers_in, one, prose, words_of
from streamlit.testing.v1 import AppTest
from visit import TIRED, link, open_page, unopened

from mha_core import LayerActivations, layer_details, load_model, projections_of, trace
from mha_core.engine.rotary import Rotary
from mha_core.layer import CellEdit, ScoreEdit
from mha_core.models.families.bert import EncoderConfig
from mha_core.models.weights import untrained_encoder
from pages.parts.inside import rotation, scene
from pages.parts.inside.changes import edits_of, read_changes

NEAR = 2e-5


def open_inside(**query: str) -> AppTest:
    return open_page("pages/inside.py", **query)


def classic(layer: int) -> LayerActivations:
    """A layer of the embedded model, from 0, on the page's own sentence."""
    model = load_model()
    return layer_details(trace(TIRED, model).tokens, model, layer)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


SCREENS = (
    *("sentence", "x", "qkv", "heads", "rotation", "distance", "scores", "scaled"),
    *("weights", "z", "row", "w_o", "output", "parts", "gone", "torch"),
)


def walk(*screens: str, **query: str) -> Walked:
    """Every screen of the walk, or those named, the matrices shown."""
    return Walked(open_inside(**{"matrices": "true", **query}), screens or SCREENS)


@pytest.fixture(scope="module")
def odd_model():
    """d_model 35, 5 heads of 7, 3 layers: no size that could be mistaken for another."""
    real = load_model("minilm")
    config = EncoderConfig(real.config.vocab_size, d_model=35, n_layers=3, n_heads=5, d_ff=13)
    encoder = untrained_encoder(config, seed=23)
    generator = torch.Generator().manual_seed(7)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.4, generator=generator)
    return replace(
        real, encoder=encoder.eval().requires_grad_(False), config=config, digest="odd for the page"
    )


@pytest.fixture(scope="module")
def page(odd_model):
    """The walk on layer 2, head 3, from the fifth token; the record and the layer that it shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pages.parts.frame.loading.load_model", lambda name, **_: odd_model)
        record = trace(TIRED, odd_model)
        return walk(head="2-3", pin="4"), record, layer_details(record.tokens, odd_model, 1)


def assert_walk(walked: Walked, truth: LayerActivations, h: int, query: int) -> None:
    """Every matrix is the layer's, and the followed token adds up number by number."""
    sizes, kv, seen = truth.projections, truth.projections.kv_head(h), truth.allowed
    before = (truth.q, truth.k) if truth.rotary is None else (truth.q_unrotated, truth.k_unrotated)
    biases = [] if sizes.b_o is None else [sizes.b_o[None]]
    expected = {
        "X": truth.x, "W_q": sizes.W_q[h], "W_k": sizes.W_k[kv], "W_v": sizes.W_v[kv], "W_o": sizes.W_o[h],
        "b_q": sizes.b_q[h][None], "b_k": sizes.b_k[kv][None], "b_v": sizes.b_v[kv][None],
        "Q": before[0][h], "K": before[1][kv], "V": truth.v[kv],
        "raw": np.where(seen, truth.q[h] @ truth.k[kv].T, np.nan),
        "scores": np.where(seen, truth.scores[h], np.nan), "weights": np.where(seen, truth.weights[h], np.nan),
        "z": truth.context[h], "Z": np.concatenate(list(truth.context), axis=-1), "output": truth.output,
        "parts": np.concatenate([truth.contributions[:, query], *biases, truth.output[query][None]]),
    }  # fmt: skip
    for name, values in expected.items():
        reach = NEAR * (1 + np.abs(np.nan_to_num(values)).max())
        np.testing.assert_allclose(matrix(walked, name), values, atol=reach, err_msg=name)
    block, numbers = one(walked, "follow")
    n, d_k, d_v = seen[query].sum(), block["d_k"], block["d_v"]
    assert len(block["tokens"]) == n

    def take(name, *shape):
        return numbers[block[name] : block[name] + int(np.prod(shape))].reshape(shape)

    np.testing.assert_allclose(take("q", d_k), truth.q[h, query], atol=NEAR)
    np.testing.assert_allclose(take("k", n, d_k), truth.k[kv, :n], atol=NEAR)
    np.testing.assert_allclose(take("products", n, d_k).sum(axis=1), take("raw", n), atol=1e-4)
    np.testing.assert_allclose(take("raw", n) / block["divisor"], truth.scores[h, query, :n], atol=NEAR)
    np.testing.assert_allclose(take("weights", n), truth.weights[h, query, :n], atol=NEAR)
    np.testing.assert_allclose(take("weighted", n, d_v).sum(axis=0), truth.context[h, query], atol=NEAR)
    np.testing.assert_allclose(take("z", d_v), truth.context[h, query], atol=NEAR)


@pytest.mark.slow
def test_every_matrix_of_the_walk_is_the_records(page):
    at, record, truth = page
    np.testing.assert_array_equal(record.weights[1], truth.weights)
    assert_walk(at, truth, 2, 4)
    printed = re.search(r"Equal to torch\.nn\.MultiheadAttention within ([\d.e-]+)", prose(at))
    assert float(printed[1]) < 1e-5


def test_the_parts_of_the_heads_are_the_records(page):
    at, _, truth = page
    (bars,) = (block for block, _ in found(at) if block.get("id") == "lengths")
    length, share, cosine = matrix(at, "lengths").T
    output, parts = truth.output[4], [*truth.contributions[:, 4], truth.projections.b_o]
    lengths = [np.linalg.norm(part) for part in parts]
    np.testing.assert_allclose(length, lengths, atol=1e-4)
    np.testing.assert_allclose(share, [part @ output / (output @ output) for part in parts], atol=1e-4)
    cosines = [part @ output / np.linalg.norm(part) / np.linalg.norm(output) for part in parts]
    np.testing.assert_allclose(cosine, cosines, atol=1e-4)
    assert bars["rows"] == [f"2-{i + 1}" for i in range(5)] + ["bₒ"]
    shown = np.array([text[:-1].replace("−", "-").split(" · ") for text in bars["texts"]], float)
    np.testing.assert_allclose(shown / [1, 100], np.stack([lengths, share], axis=1), atol=0.0051)
    assert f"its length is {np.linalg.norm(output):.3f}" in prose(at)


def test_a_link_ablates_heads_of_the_layer_and_no_others():
    at = open_inside(at="gone", head="4-2", pin="10", gone="4-2,4-5,9-9")
    truth = classic(3)
    left = truth.output - truth.contributions[1] - truth.contributions[4]
    np.testing.assert_allclose(matrix(at, "output-gone"), left, atol=1e-4)
    share = np.linalg.norm(left[10]) / np.linalg.norm(truth.output[10])
    assert f"Without 4-2, 4-5 the output of it keeps {round(100 * share)}% of its length" in prose(at)
    (heads,) = (group for group in at.get("button_group") if group.key == "inside-gone")
    heads.set_value(["4-5"]).run()
    assert link(at)["gone"] == "4-5"


def test_the_tokens_stand_with_the_weights_of_the_one_that_is_followed(page):
    at, record, _ = page
    bars = next(block for block, _ in found(at) if block.get("id") == "tokens")
    assert bars["rows"] == list(record.grid().labels)
    np.testing.assert_allclose(matrix(at, "tokens")[:, 0], record.weights[1, 2, 4], atol=NEAR)
    shown = [float(text.removesuffix("%")) / 100 for text in bars["texts"]]
    np.testing.assert_allclose(shown, record.weights[1, 2, 4], atol=0.0051)


@pytest.mark.slow
def test_what_one_head_and_many_cost_is_what_is_counted():
    (table,) = open_inside(part="One head or many", at="costs").dataframe
    rows = table.value.set_index(table.value.columns[0])
    assert rows.loc["parameters of W_q, W_k, W_v, W_o"].tolist() == [4 * 384**2] * 2
    assert rows.loc["operations: all"].tolist() == rows.loc["operations, counted by torch"].tolist()


def test_costs_are_those_of_the_known_models_and_of_the_readers_own():
    at = open_inside(part="Sizes and costs", n="4096", d="8192", h="64", layers="80", kv="8")
    table = at.dataframe[0].value.set_index("model")
    # LLaMA-2-7B, 4,096 tokens in 16 bits: 2 GiB, as its users know.
    assert table.loc["LLaMA-2-7B", "KV cache (MiB)"] == 2048
    assert np.isnan(table.loc["BERT-base", "KV cache (MiB)"])
    alike = table.drop(columns=["parameters", "parameters per layer"])
    assert alike.loc["yours"].tolist() == alike.loc["LLaMA-2-70B"].tolist()
    (chart,) = charts(at)
    for trace_, power in zip(chart["data"], (4, 2), strict=True):
        tokens, sizes = numbers_in(trace_["x"]), numbers_in(trace_["y"])
        np.testing.assert_allclose(tokens[1:] / tokens[:-1], 2)
        np.testing.assert_allclose(sizes[1:] / sizes[:-1], power, err_msg=trace_["name"])
    assert sizes[tokens == 4096] == table.loc["yours", "KV cache (MiB)"]


@pytest.mark.parametrize(
    ("query", "mask", "divisor"),
    [
        ({"causal": "true"}, "back", 32**0.5),
        ({"divide": "false"}, "none", 1.0),
        ({"temperature": "2.0"}, "none", 2 * 32**0.5),
        ({"unseen": "3"}, "third", 32**0.5),
    ],
)
def test_what_a_link_switches_changes_the_numbers_at_once(query, mask, divisor):
    at = walk("scaled", "weights", "z", head="4-2", pin="10", **query)
    truth = classic(3)
    scores = truth.q[1] @ truth.k[1].T / divisor
    allowed = {"back": np.tri(16), "none": np.ones((16, 16)), "third": np.arange(16) != 2}[mask]
    scores = np.where(allowed, scores, -np.inf)
    expected = softmax(scores)
    np.testing.assert_allclose(matrix(at, "scores"), np.where(np.isinf(scores), np.nan, scores), atol=1e-4)
    np.testing.assert_allclose(matrix(at, "weights"), expected, atol=NEAR)
    np.testing.assert_allclose(matrix(at, "z"), expected @ truth.v[1], atol=NEAR)
    np.testing.assert_allclose(matrix(at, "z-change"), expected @ truth.v[1] - truth.context[1], atol=NEAR)
    assert "You changed this layer" in prose(at)
    assert ("one masked token" in prose(at)) == (mask == "third")


def test_a_weight_in_the_link_reaches_the_output():
    at = walk("qkv", "output", head="4-2", pin="10", edits="4-2:W_q:1:1:3,4-2:W_v:7:3:-2.5", cell="W_v:7:3")
    truth = classic(3)
    used = truth.projections
    W_q, W_v = used.W_q[1].copy(), used.W_v[1].copy()
    W_q[0, 0], W_v[6, 2] = 3.0, -2.5
    np.testing.assert_allclose(matrix(at, "W_q"), W_q)
    np.testing.assert_allclose(matrix(at, "W_v"), W_v)
    q, v = truth.x @ W_q + used.b_q[1], truth.x @ W_v + used.b_v[1]
    np.testing.assert_allclose(matrix(at, "Q"), q, atol=NEAR)
    np.testing.assert_allclose(matrix(at, "Q-change"), q - truth.q[1], atol=NEAR)
    parts = [*truth.context]
    parts[1] = softmax(q @ truth.k[1].T / 32**0.5) @ v
    output = np.concatenate(parts, axis=-1) @ used.W_o.reshape(384, 384) + used.b_o
    np.testing.assert_allclose(matrix(at, "output"), output, atol=1e-4)
    boxes = [block for block, _ in found(at) if block["type"] == "change"]
    assert boxes[0]["place"] == ["W_v", 6, 2]
    assert (boxes[0]["value"], boxes[0]["was"]) == pytest.approx((-2.5, used.W_v[1, 6, 2]))


def test_only_what_can_be_there_is_taken_from_a_link():
    run = classic(3)
    fitting, other_layer = "4-2:score:11:3:-9.5,4-1:W_o:32:384:1e-3", "2-1:W_q:1:1:1"
    changes = f"{fitting},{other_layer},4-2:score:17:1:1,4-13:W_q:1:1:1,4-2:W_o:33:1:1"
    edits, problems = edits_of({"edits": changes, "unseen": "2,0,99,2,x", "temperature": "99"}, run, 3)
    assert edits.scores == (ScoreEdit(1, 10, 2, -9.5),)
    assert edits.cells == (CellEdit("W_o", 0, 31, 383, 1e-3),)
    assert (edits.hidden_keys, edits.temperature) == ((1,), 5.0)
    assert len(problems) == 3
    for wrong in ("score:0:1:1", "score:1:1:1e999", "score:1:1:nan", "W_x:1:1:1", "W_q:1:1:2e6"):
        changes, refused = read_changes(f"4-2:{wrong}")
        assert (changes, len(refused)) == ([], 1), wrong


@pytest.mark.slow
def test_a_change_is_undone_step_by_step_and_reset_at_once():
    at = open_inside(head="4-2", pin="10", at="scaled")
    at.toggle(key="inside-causal").set_value(True).run()
    at.slider(key="inside-temperature").set_value(2.0).run()
    assert "causal mask" in prose(at)
    assert "temperature 2" in prose(at)
    at.button(key="inside-undo-button").click().run()
    assert "temperature" not in prose(at)
    assert at.query_params["causal"] in ("true", ["true"])
    at.slider(key="inside-temperature").set_value(3.0).run()
    at.button(key="inside-reset-button").click().run()
    assert "You changed" not in prose(at)
    assert not {"causal", "temperature"} & set(link(at))
    at = open_inside(head="2-1", at="scaled", edits="1-1:W_q:1:1:5,2-1:W_q:1:1:5")
    at.button(key="inside-reset-button").click().run()
    assert link(at)["edits"] == "1-1:W_q:1:1:5", "of another layer"
    assert not at.exception


def test_what_is_compared_with_torch_is_the_layer_as_it_was_changed(monkeypatch):
    compared, equal = [], scene.equal_to_torch
    apart = {"output": 2e-3, "weights": 3e-4}
    monkeypatch.setattr(
        scene, "equal_to_torch", lambda run: compared.append(run.edits) or replace(equal(run), **apart)
    )
    for query in ({}, {"temperature": "2.0"}):
        said = prose(walk("torch", head="1-1", pin="1", text="Two owls compare their wings.", **query))
        assert re.findall(r"within ([\de.-]+)\b", said) == ["2.0e-03", "3.0e-04"]
    assert [edits.temperature for edits in compared] == [1, 2]


def test_the_scaling_is_told_with_the_variance_of_these_very_scores():
    at = walk("scaled", head="4-2", pin="10")
    truth = classic(3)
    raw = truth.q[1] @ truth.k[1].T
    largest, fair = (100 * softmax(scores).max(axis=1).mean() for scores in (raw, raw / 32**0.5))
    shown = re.search(r"from ([\d.]+) to ([\d.]+)\..*? from ([\d.]+) ?% to ([\d.]+) ?%", prose(at))
    expected = [raw.var(), (raw / 32**0.5).var(), largest, fair]
    assert [float(number) for number in shown.groups()] == pytest.approx(expected, rel=0.1, abs=0.51)


@pytest.mark.slow
def test_each_variant_says_where_the_token_looks_and_how_far_its_output_moved():
    at = walk("gqa", "mqa", "causal", "cross", part="Variants", head="4-2", pin="10", across="A wide street.")
    model, truth = load_model(), classic(3)
    weights = softmax(np.where(np.tri(16) > 0, truth.scores, -np.inf))
    np.testing.assert_allclose(matrix(at, "weights-Causal"), weights[1], atol=NEAR)
    output = np.einsum("hnd,hdm->nm", weights @ truth.v, truth.projections.W_o) + truth.projections.b_o
    share = np.linalg.norm(output[10] - truth.output[10]) / np.linalg.norm(truth.output[10])
    best = weights[1, 10].argmax()
    label = trace(TIRED, model).grid().labels[best]
    most = dict(re.findall(r"it looks most at (\S+): ([\d.]+) ?%", prose(at)))
    assert float(most[label]) == pytest.approx(100 * weights[1, 10, best], abs=0.51)
    moved = [float(percent) for percent in re.findall(r"output moves by ([\d.]+) ?%", prose(at))]
    assert any(abs(percent - 100 * share) < 0.51 for percent in moved)
    other = layer_details(trace("A wide street.", model).tokens, model, 3)
    across = softmax(truth.q[1, 10] @ other.k[1].T / 32**0.5)
    np.testing.assert_allclose(matrix(at, "weights-Cross")[10], across, atol=NEAR)
    words = trace("A wide street.", model).grid().labels
    (crossed,) = [block for block, _ in found(at) if block.get("id") == "weights-Cross"]
    assert crossed["cols"] == list(words)
    word = words[across.argmax()]
    assert float(most[word]) == pytest.approx(100 * across.max(), abs=0.51)
    groups = {b["keys"]: b["owner"] for b, _ in found(at) if b["type"] == "groups" and b["keys"] < 12}
    assert groups == {4: [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], 1: [0] * 12}


def test_a_pair_is_walked_as_a_pair_and_the_untrained_model_as_itself():
    text, pair = "Maria gave the book to her sister.", "She read it."
    for query, record in (
        ({"text": text, "pair": pair}, trace(text, load_model(), pair=pair)),
        ({"weights": "untrained"}, trace(TIRED, load_model(trained=False))),
    ):
        at = walk("weights", head="2-3", pin="1", **query)
        np.testing.assert_allclose(matrix(at, "weights"), record.weights[1, 2], atol=NEAR)


@pytest.mark.slow
@pytest.mark.parametrize("h", [0, 1])
def test_the_example_by_hand_shows_its_own_numbers(h):
    at = walk(part="By hand", by=str(h + 1))
    x, W = matrix(at, "X"), matrix(at, f"W_q{h + 1}")
    q = x @ W
    scores = q @ q.T / 2**0.5
    weights = softmax(scores)
    expected = {"Q": q, "raw": q @ q.T, "scores": scores, "weights": weights, "z": weights @ q}
    for name, values in expected.items():
        np.testing.assert_allclose(matrix(at, name), values, atol=NEAR, err_msg=name)
    joined = matrix(at, "Z")
    np.testing.assert_allclose(joined[:, 2 * h : 2 * h + 2], weights @ q, atol=NEAR)
    np.testing.assert_allclose(matrix(at, "output"), joined @ matrix(at, "W_o"), atol=NEAR)
    said = prose(at)
    assert re.search(r"Equal to torch\.nn\.MultiheadAttention within [\d.e-]+ for 2 tokens", said)
    assert "÷" not in prose(walk("scores", part="By hand")), "nothing is divided before its screen"


@pytest.mark.parametrize("turning", [None, 3])
def test_what_is_said_of_a_rotation_are_the_angles_of_its_first_and_last_pair(turning):
    turns = Rotary(8, 100.0, None, turning)
    run = SimpleNamespace(rotary=turns, q_unrotated=np.ones((2, 3, 8)), k_unrotated=np.ones((2, 3, 8)))
    (words,) = rotation.rotation_words(SimpleNamespace(run=run, h=1, kv=0, title="M"))
    last = 100.0 ** (-(turns.n_turned - 1) / turns.n_turned)
    assert re.findall(r"([\d.]+)°", words_of(words)) == [f"{np.degrees(1):.1f}", f"{np.degrees(last):.1f}"]
    assert ("Pairs 4 to 4 are not rotated" in words_of(words)) == (turning == 3)


@pytest.mark.parametrize(
    "part", ["Step by step", "By hand", "One head or many", "Variants", "Sizes and costs"]
)
@pytest.mark.parametrize(
    "text", ["x", "<img src=x onerror=alert(1)> ![x](http://evil.example/x.png) " + "word " * 90]
)
def test_every_part_opens_with_any_text(part, text):
    at = open_inside(part=part, text=text)
    shown = [b for data, _ in boards(at) for b in flat(data["blocks"])]
    assert shown
    assert all("evil" not in m.value for m in at.markdown)


def test_an_empty_text_is_answered_in_a_sentence():
    at = open_inside()
    at.text_input(key="text").set_value("   ").run()
    assert not at.exception
    assert not [b for data, _ in boards(at) for b in flat(data["blocks"]) if b["type"] == "matrix"]
    assert any('class="hs-problem"' in element.proto.body for element in at.get("html"))


@pytest.mark.slow
def test_ranks_and_spectra_are_those_of_the_head_and_layer_that_are_shown_whatever_was_shown_before():
    screen = {"part": "One head or many", "at": "ranks"}
    for page_, query, layer, head in (
        ("inside", screen, 0, 2), ("inside", screen, 4, 2), ("learn", {"step": "split"}, 4, 7),
        ("inside", screen, 4, 7), ("inside", screen, 1, 2),
    ):  # fmt: skip
        at = open_page(f"pages/{page_}.py", head=f"{layer + 1}-{head + 1}", **query)
        used = projections_of(load_model(), layer)
        unsplit = sum(q @ k.T for q, k in zip(used.W_q, used.W_k, strict=True))
        (chart,) = charts(at)
        for line, form in zip(chart["data"], (used.W_q[head] @ used.W_k[head].T, unsplit), strict=True):
            values = np.linalg.svd(form.astype(np.float64), compute_uv=False)
            shown = numbers_in(line["y"])
            expected = values[: len(shown)] / values[0]
            np.testing.assert_allclose(shown, expected, atol=1e-4, err_msg=line["name"])
            np.testing.assert_array_equal(numbers_in(line["x"]), np.arange(1, len(shown) + 1))
            rank = int((values > values[0] * 384 * np.finfo(np.float32).eps).sum())
            assert line["name"].endswith(f": rank {rank}")
            assert re.search(rf"(rank|is) {rank}\b", prose(at).replace("*", ""))


@pytest.mark.slow
def test_cross_attention_is_to_the_sentence_of_the_link_or_else_to_the_second_text():
    second = trace("She read it.", load_model()).grid().labels
    for query in ({"pair": "She read it."}, {"pair": "She sold it now.", "across": "She read it."}):
        app = open_inside(part="Variants", at="cross", head="4-2", pin="10", text=TIRED, **query)
        (block,) = [block for block, _ in found(app) if block.get("id") == "weights-Cross"]
        assert block["cols"] == list(second)


@pytest.mark.slow
def test_in_a_layer_with_a_window_only_what_is_near_is_counted_and_drawn():
    """Layer 1 of the classroom's model sees three words to either side."""
    model = load_model("classroom")
    truth = layer_details(trace(TIRED, model).tokens, model, 0)
    at = walk("scaled", model="classroom", head="1-3", pin="6")
    largest = re.search(r"% to ([\d.]+) ?%", prose(at))
    assert float(largest[1]) == pytest.approx(100 * truth.weights[2].max(axis=-1).mean(), abs=0.51)
    assert "sees only 3 tokens" in prose(at)
    labels = trace(TIRED, model).grid().labels
    at = open_inside(model="classroom", head="1-3", pin="6", part="One head or many", at="hulls")
    near = truth.weights[2, 6, 3:10]
    for chart in charts(at):
        hull, points, mark = chart["data"]
        assert points["hovertext"] == list(labels[3:10])
        sizes = numbers_in(points["marker"]["size"])
        np.testing.assert_allclose(np.square((sizes - 8) / 18), near, atol=1e-5)
        (x, y), corners = (np.array([numbers_in(one[axis]) for axis in "xy"]) for one in (points, hull))
        assert {tuple(corner) for corner in corners.T} <= set(zip(x, y, strict=True))
        of_the_mark = [numbers_in(mark[axis])[0] for axis in "xy"]
        if mark["text"] == ["z"]:
            np.testing.assert_allclose(of_the_mark, [near @ x, near @ y], atol=1e-4)
    assert [chart["data"][2]["text"] for chart in charts(at)] == [["z"], ["all heads"]]
    assert "sees only" not in prose(open_inside(model="classroom", head="2-3", at="scaled"))


def test_the_numbers_of_a_matrix_open_as_a_table():
    at = unopened("pages/inside.py", at="weights", head="2-3", pin="4")
    at.session_state["inside-picture-walk-numbers"] = True
    at.run()
    assert not at.exception, at.exception[0].message
    (table,) = (one.value for one in at.dataframe)
    record = trace(TIRED, load_model())
    np.testing.assert_allclose(table, record.weights[1, 2], atol=NEAR)
    names = [f"{i + 1} {label}" for i, label in enumerate(record.grid().labels)]
    assert (table.index.tolist(), table.columns.tolist()) == (names, names)
    (button,) = at.get("download_button")
    assert button.proto.label == "Download CSV"
