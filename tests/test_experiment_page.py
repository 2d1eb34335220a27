"""The page Experiment without a browser: its sentences against the model run with gates, links, and honest refusals.

What is expected comes from gates on a plain run (mha_core's own, older than the page), never from the page's code.
"""

import csv
import io
import re
import time
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch
from visit import TIRED, WIDE, figures, full_maps, link, numbers, open_page, picture, run, said, shown_heads

from mha_core import ModelInfo, load_model, predict_next, trace
from mha_core.causal import (
    EmbeddingCosine,
    LogitDifference,
    Prompt,
    PromptEffects,
    ScaleHeads,
    SweepResult,
    final_result,
    read_sweep,
    state_cosines,
    sweep_heads,
    sweep_receivers,
    with_other_names,
)
from mha_core.causal.logit_attribution import mean_attribution
from mha_core.display_names import head_name, percent
from mha_core.models.model_list import DECODER
from mha_core.models.trace import run as run_model
from pages.parts.experiment import ablation_sweep, effects, paths, python_lines, switch
from pages.parts.experiment.ablation_query import AblationQuery, heads_param, parse_ablation
from pages.parts.experiment.common import explore_link, last_word
from pages.parts.explore.walk import steps_of
from pages.parts.frame import charts, head_facts
from pages.parts.frame import pages as frame_pages
from pages.parts.frame.presets import MARY
from pages.parts.frame.request import Request
from pages.parts.serve import store
from pages.parts.serve.store import Store

PAGE = "pages/experiment.py"
SWEEP, PATCHING = "Ablation sweep", "Activation patching"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """A store in which nothing is kept yet, and no work on roles behind the page."""
    monkeypatch.setattr(store, "STORE", Store(400_000_000))
    monkeypatch.setattr(head_facts, "roles_of", lambda *_: {})


def gates(model, *heads, factor=0.0):
    result = np.ones((model.n_layers, model.n_heads), np.float32)
    for layer, head in heads:
        result[layer - 1, head - 1] = factor
    return result


@pytest.mark.slow
def test_a_decoder_s_sentence_bars_and_moved_heads_are_those_of_a_run_with_gates(smollm2):
    at = open_page(PAGE, off="24-4,2-6")
    tokens, away = smollm2.tokenizer.encode(MARY), gates(smollm2, (24, 4), (2, 6))
    before, after = (
        {word.text: word.probability for word in predict_next(tokens, smollm2, k=2000, gates=g)}
        for g in (None, away)
    )
    assert said(at, "finding") == [
        f"Without 2-6 and 24-4,  Mary falls from {percent(before[' Mary'])} to {percent(after[' Mary'])}."
    ]
    data = picture(at)
    assert data["off"] == ["2-6", "24-4"]
    first, then = figures(at)[0]["data"]
    assert then["name"] == "without 2-6 and 24-4"
    words = [word.replace("␣", " ") for word in first["customdata"]]
    assert {" Mary", " John", " the"} <= set(words)
    assert numbers(first["x"]) == pytest.approx([before[word] for word in words], abs=1e-4)
    assert numbers(then["x"]) == pytest.approx([after[word] for word in words], abs=1e-4)
    assert at.selectbox(key="follow").value == " Mary"
    at.selectbox(key="follow").set_value(" John")
    assert link(run(at))["word"] == " John"
    assert said(at, "finding")[0].startswith("Without 2-6 and 24-4,  John rises from")
    moved = np.abs(trace(MARY, smollm2).weights - trace(MARY, smollm2, gates=away).weights).sum(-1) / 2
    mean = moved.mean(-1)
    assert set(data["moved"]) == {f"{i + 1}-{j + 1}" for i, j in np.argwhere(mean >= 0.05)}
    assert data["moved"]["25-5"] == pytest.approx(mean[24, 4], abs=1e-3)


@pytest.mark.slow
def test_an_encoder_s_embedding_turns_as_in_a_run_with_gates(model):
    at = open_page(PAGE, model="minilm", text=TIRED, off="6-6", set="2")
    tokens = model.tokenizer.encode(TIRED)
    plain, doubled = (
        run_model([tokens], model, gates=g).hidden[0].double()
        for g in (None, torch.from_numpy(gates(model, (6, 6), factor=2.0)))
    )
    whole = torch.cosine_similarity(plain.mean(0), doubled.mean(0), dim=0).item()
    (sentence,) = said(at, "finding")
    assert sentence.startswith(f"With 6-6 doubled, the embedding keeps cosine similarity {whole:.2f}. ")
    (bars,) = figures(at)[0]["data"]
    each = torch.cosine_similarity(plain, doubled).sort().values.tolist()
    assert numbers(bars["x"]) == pytest.approx([whole, *each[:6]], abs=1e-5)
    assert bars["customdata"][0] == "the whole text"


def test_what_is_no_head_and_no_ablation_in_a_link_get_one_sentence_each():
    at = open_page(PAGE, model="minilm", text=TIRED, off="<script>", set="banana")
    assert said(at, "notice") == [
        "'<script>' is not a head. Write layer and head counted from 1, such as 4-2. No head is ablated.",
        "Choose “0”, “mean”, “2” as the ablation, not “banana”. Heads are zero-ablated.",
    ]
    assert picture(at)["off"] == []


def test_what_a_browser_sends_is_taken_only_where_it_can_be_meant():
    assert switch.parse_ask({"do": "set", "off": ["2-1", "1-3", "2-1"]}) == {"off": "1-3,2-1"}
    assert switch.parse_ask({"do": "set", "off": []}) == {"off": None}
    assert switch.parse_ask({"do": "set", "off": [None, "0-1", {}, "x"]}) == {"off": None}
    assert switch.parse_ask({"do": "set", "off": 3}) is None
    assert switch.parse_ask({}) is None


@pytest.mark.slow
def test_heads_are_picked_at_random_and_the_last_changes_are_undone_in_turn(monkeypatch):
    monkeypatch.setattr(switch, "MAX_UNDO", 2)
    half = {f"{layer}-{head}" for layer in (1, 2, 3) for head in range(1, 13)}
    at = open_page(PAGE, model="minilm", text=TIRED, off=",".join(half))

    def press(label):
        next(each for each in at.button if each.label == label).click()
        return link(run(at))

    picked = press("Pick 36 at random")
    assert set(picked["off"].split(",")).isdisjoint(half)
    at.segmented_control(key="ablation-method").set_value("2")
    doubled = link(run(at))
    assert doubled == picked | {"set": "2"}
    assert "off" not in press("Reset")
    assert [press("Undo"), press("Undo")] == [doubled, picked]
    assert next(each for each in at.button if each.label == "Undo").disabled


@pytest.mark.slow
def test_a_finished_sentence_is_cut_before_its_last_word_for_a_decoder_alone(smollm2):
    at = open_page(PAGE, model="smollm2", text=TIRED)
    assert (
        picture(at)["records"] != picture(open_page(PAGE, model="smollm2", text=TIRED, whole="1"))["records"]
    )
    first = predict_next(smollm2.tokenizer.encode(TIRED.removesuffix(" tired.")), smollm2, k=1)[0]
    (sentence,) = said(at, "finding")
    assert first.text in sentence
    assert at.text_input(key="text").value == TIRED, "what was typed stays in the box"


@pytest.mark.parametrize(
    ("text", "before", "word"),
    [
        (TIRED, TIRED.removesuffix(" tired."), "tired"),
        ("He said “no.”", "He said", "“no"),
        ("Is it so?  ", "Is it", "so"),
        (MARY, None, None),
        ("Stop.", None, None),
        ("It cost 3.50", None, None),
    ],
)
def test_the_last_word_of_a_finished_sentence_is_found(text, before, word):
    match = last_word(text)
    assert (match and text[: match.start()], match and match[1]) == (before, word)


def test_all_heads_of_a_large_model_can_be_switched_and_a_longer_link_is_refused_whole():
    layers, heads = 36, 20
    every = [(layer, head) for layer in range(layers) for head in range(heads)]
    link = {"off": heads_param(every)}
    assert parse_ablation(link, (layers, heads)) == (AblationQuery(tuple(every)), [])
    assert parse_ablation(link | {"set": "banana"}, (layers, heads))[0] == AblationQuery(tuple(every))
    refused = ["The link names more heads than any model has. No head is ablated."]
    assert parse_ablation({"off": "1-1," * 20_000}, (layers, heads)) == (AblationQuery(), refused)


@pytest.mark.slow
def test_who_looks_elsewhere_now_by_how_much_and_where_most_is_that_of_these_heads(model):
    """Also where other heads were switched off in the same text before."""
    record = trace(TIRED, model)
    for layer in (2, 4):
        heads = [(layer, head) for head in range(1, 13)]
        off = ",".join(f"{i}-{j}" for i, j in heads)
        shares = np.abs(record.weights - trace(TIRED, model, gates=gates(model, *heads)).weights).sum(-1) / 2
        mean = shares.mean(-1)
        expected = []
        for i, j in (divmod(int(place), 12) for place in np.argsort(-mean, axis=None)[:3]):
            word = record.tokens.pieces[int(shares[i, j].argmax())].text
            expected.append(f"{i + 1}-{j + 1} {percent(mean[i, j])}, most at {word}")
        (sentence,) = said(open_page(PAGE, model="minilm", text=TIRED, off=off), "moved")
        assert sentence.startswith(f"{(mean >= 0.05).sum()} of {72 - 12 * layer} later heads ")
        assert sentence.endswith(f": {'; '.join(expected)}.")


def test_a_file_of_a_chart_says_model_sentence_heads_and_link(monkeypatch):
    files = {}
    monkeypatch.setattr(
        charts.st, "download_button", lambda _, content, name, **__: files.update({name: content()})
    )
    at = open_page(PAGE, model="minilm", text=TIRED, off="6-6")
    at.session_state["before-after-save"] = True
    run(at)
    assert sorted(name.rpartition(".")[2] for name in files) == ["csv", "json"]
    (content,) = (content for name, content in files.items() if name.endswith(".csv"))
    for row in csv.DictReader(io.StringIO(content)):
        assert (row["model"], row["sentence"]) == ("minilm", TIRED)
        assert row["ablated"].startswith("6-6")
        assert parse_qs(urlsplit(row["link"]).query)["off"] == ["6-6"]


def test_a_head_of_a_map_opens_in_explore_with_the_same_model_and_weights():
    to = explore_link(Request(TIRED, WIDE, "classroom", trained=False), (1, 2), pin="4")
    assert parse_qs(urlsplit(to).query) == {
        "text": [TIRED], "pair": [WIDE], "model": ["classroom"], "weights": ["untrained"], "pin": ["4"],
        "head": ["2-3"],
    }  # fmt: skip


def test_the_page_opens_with_the_decoder_where_it_is_and_says_so_where_it_is_not(monkeypatch):
    page = frame_pages.page_called("Experiment")
    monkeypatch.setattr(frame_pages, "find_spec", lambda name: object())
    assert page.first["model"]() == DECODER
    monkeypatch.setattr(frame_pages, "find_spec", lambda name: None)
    at = open_page(PAGE)
    assert picture(at)["shape"] == [6, 12]
    (notice,) = said(at, "notice")
    assert notice.startswith("SmolLM2 is not on this server")
    assert at.text_input(key="text").value == MARY


@pytest.mark.slow
def test_the_map_of_all_heads_is_what_leaving_out_one_at_a_time_gives(model):
    at = open_page(PAGE, **{"try": SWEEP}, model="minilm", text=TIRED)
    at.button(key="stop-every").click()
    assert run(at).get("progress")[0].proto.text.startswith("Stopped after ")
    at.button(key="go-every").click()
    while not (drawn := figures(run(at))) or np.isnan(numbers(drawn[0]["data"][0]["z"])).any():
        if bars := at.get("progress"):
            assert re.match(r"\d+ of 72 heads tried", bars[0].proto.text)
            assert drawn or bars[0].proto.text.startswith("0 ")
        time.sleep(0.1)
    run(at)
    (figure,) = figures(at)
    colours, marks = figure["data"]
    tokens = model.tokenizer.encode(TIRED)
    expected = -final_result(sweep_heads(tokens, model, EmbeddingCosine())).effect
    assert numbers(colours["z"]) == pytest.approx(-expected, abs=1e-5)
    name = head_name(np.unravel_index(expected.argmax(), expected.shape))
    after = 1 - expected.max()
    (hover,) = (text for text in marks["hovertext"] if text.startswith(f"Head {name}:"))
    assert f"1.00 → {after:.2f} (−{expected.max():.2f})" in hover
    table = at.dataframe[0].value
    assert table["effect"].tolist() == pytest.approx(
        sorted(-expected.ravel(), key=abs, reverse=True), abs=1e-5
    )
    assert shown_heads(table["head"])[0] == name
    assert table["head"].str.startswith("./?text=The+animal").all()
    (sentence,) = said(at, "finding")
    assert name in sentence
    assert f"1.00 → {after:.2f}" in sentence


@pytest.mark.slow
def test_beside_the_sweep_stands_what_every_head_and_mlp_writes_to_the_same_prompts(smollm2):
    at = open_page(PAGE, **{"try": SWEEP}, text=MARY, word="Mary", rival="John")
    drawn = full_maps(at, 2)
    (effects_drawn, _), (cells, marks) = (figure["data"] for figure in drawn)
    prompts = with_other_names(Prompt(MARY, " Mary", " John"), smollm2)
    mean = mean_attribution(prompts, smollm2).set_index(["part", "layer", "head"]).sort_index().score
    shown = numbers(cells["z"]).T  # layers across
    assert shown[:, :9] == pytest.approx(mean["head"].to_numpy().reshape(30, 9), abs=1e-4)
    assert np.isnan(shown[:, 9]).all()
    assert shown[:, 10] == pytest.approx(mean["mlp"].to_numpy(), abs=1e-4)
    assert shown[23, 3] > 2, "24-4 pushes John down"
    outcome = read_sweep(smollm2, prompts, "resample").outcome
    assert f"(sum +{outcome:.2f})" in drawn[1]["layout"]["title"]["text"]
    r = np.corrcoef(shown[:, :9].ravel(), numbers(effects_drawn["z"]).T.ravel())[0, 1]
    (sentence,) = (text for text in said(at, "note") if "Pearson" in text)
    assert f"r = −{-r:.2f}" in sentence
    assert "270 heads" in sentence
    (hover,) = (text for text in marks["hovertext"] if text.startswith("Head 24-4:"))
    assert hover == f"Head 24-4: +{shown[23, 3]:.2f}, ablated −{-numbers(effects_drawn['z'])[3, 23]:.2f}"


def test_the_table_is_of_the_heads_that_are_selected_and_they_can_be_ablated(monkeypatch):
    frame = planted("resample").to_frame()

    def link_of(head):
        return f"./?head={head[0] + 1}-{head[1] + 1}"

    every = effects.listed(frame, "effect", [], link_of, {})
    assert set(shown_heads(every["head"])[:2]) == {"1-2", "2-1"}, "the two large effects"
    assert every["matters"].sum() == 1
    chosen = effects.listed(frame, "effect", [(0, 1), (1, 2)], link_of, {})
    assert shown_heads(chosen["head"]) == ["1-2", "2-3"]
    low, high = frame.set_index(["layer", "head"]).loc[(1, 2), ["low", "high"]]
    assert chosen["half"].iloc[0] == pytest.approx((high - low) / 2)
    params = {"try": SWEEP, "text": MARY, "word": "Mary", "method": "zero"}
    monkeypatch.setattr(effects.url_params, "params", lambda: params)
    to = parse_qs(urlsplit(effects.ablate_link([(0, 1), (1, 2)])).query)
    assert to == {"text": [MARY], "word": ["Mary"], "try": ["Ablate heads"], "off": ["1-2,2-3"]}


@pytest.mark.parametrize(("n_tried", "n_shown"), [(4, 0), (5, 5), (29, 25), (30, 30)])
def test_a_map_fills_in_whole_steps_from_the_last_layer_and_ends_complete(n_tried, n_shown):
    losses = np.arange(120.0).reshape(30, 4, 1)
    losses[: 30 - n_tried] = np.nan
    frame = effects.in_steps(SweepResult(("loss",), (0.0,), losses).to_frame(), "effect")
    layers = frame.dropna(subset=["effect"])["layer"].value_counts()
    assert layers.to_dict() == dict.fromkeys(range(31 - n_shown, 31), 4)


@pytest.mark.slow
def test_the_ablation_is_what_the_address_says_also_after_back():
    at = open_page(PAGE, **{"try": SWEEP}, model="minilm", text=TIRED)
    at.segmented_control(key="sweep-method").set_value("mean")
    assert link(run(at))["method"] == "mean"
    del at.query_params["method"]
    assert "method" not in link(run(at))
    assert at.segmented_control(key="sweep-method").value == "zero"
    for method, shown in (("mean", "mean"), ("resample", "zero")):  # one sentence has no other prompts
        at.query_params["method"] = method
        assert run(at).segmented_control(key="sweep-method").value == shown


def planted(method, n=12):
    """Head 2-1 lowers ` John` by 3 in every prompt; 1-2 has as large an effect on average, but not clear of zero."""
    prompts = tuple(Prompt(MARY, " Mary", " John") for _ in range(n))
    after = np.zeros((n, 2, 3, 2)) + np.random.default_rng(3).normal(size=(n, 2, 3, 2)) / 100
    after[:, 1, 0, 1] += 3
    after[:, 0, 1, 0] += np.linspace(-20, 14, n)
    return PromptEffects(prompts, method, np.zeros((n, 2)), after)


def test_only_resample_ablation_names_heads_that_matter():
    resampled = planted("resample")
    text = ablation_sweep.prompts_text(resampled, {})
    assert "2-1" in text
    assert "lowers ` John`" in text
    assert "1-2" not in text
    assert f"−3.00 ± {resampled.half_width()[1, 0]:.2f} (n = 12" in text
    for method in ("zero", "mean"):
        text = ablation_sweep.prompts_text(planted(method), {})
        assert "matters" not in text
    resampled.after[:, 1, 0] = 0
    assert ablation_sweep.prompts_text(resampled, {}).startswith("No head's effect")
    one_text = SweepResult(("logit difference", "p( is)", "p( are)"), (2.0, 0.5, 0.1), np.ones((2, 3, 3)))
    assert "one prompt" in ablation_sweep.sentence_text(one_text, {}, "zero")


@pytest.mark.slow
def test_two_names_are_swept_over_twelve_prompts_and_a_word_that_is_no_token_is_refused(smollm2):
    at = open_page(PAGE, **{"try": SWEEP})
    assert at.segmented_control(key="sweep-method").options == ["resample", "mean", "zero"]
    for text, answers, n in ((MARY, (" Mary", " John"), 12), ("The key to the cabinets", (" is", " are"), 0)):
        prompts = ablation_sweep.prompts_of(trace(text, smollm2), smollm2, LogitDifference(*answers))
        assert len(prompts) == n
    at.text_input(key="word").set_value("Mississippi river")
    (problem,) = said(run(at), "problem")
    assert problem.startswith("'Mississippi river' is")
    assert not figures(at)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("Too short.", "The source sentence needs 16 tokens, as yours; “Too short.” has 5."),
        (" ", "The sentence is empty. Type a word."),
    ],
)
def test_a_source_that_does_not_fit_is_answered_in_a_sentence(source, sentence):
    at = open_page(PAGE, **{"try": PATCHING, "from": source}, model="minilm", text=TIRED)
    assert said(at, "problem") == [sentence]
    assert not figures(at)


@pytest.mark.slow
def test_taking_over_the_last_states_gives_the_other_sentence(model):
    at = open_page(PAGE, **{"try": PATCHING}, model="minilm", text=TIRED, map="layers and tokens")
    assert at.text_input(key="from").placeholder == WIDE
    drawn = full_maps(at)
    share, rows = numbers(drawn[0]["data"][0]["z"]), drawn[0]["layout"]["yaxis"]["ticktext"]
    assert share.shape == (16, 7)
    wide = rows.index("wide → tired")
    assert model.tokenizer.encode(TIRED).pieces[wide].text == "tired"
    assert share[:, 0] == pytest.approx(np.eye(16)[wide], abs=1e-4), "only the embedding of what differs"
    assert 0 < share[:, -1].max() < 1, "no single last state is the whole mean"


@pytest.mark.slow
def test_the_paths_of_a_head_are_a_map_and_each_cell_asks_why(model):
    address = {"try": PATCHING, "map": "paths from a head", "sender": "4-2", "input": "value"}
    page = open_page(PAGE, **address, model="minilm", text=TIRED)
    drawn = full_maps(page, first_layer=4)
    tokens, source = (model.tokenizer.encode(text) for text in (TIRED, WIDE))
    result = final_result(sweep_receivers(source, tokens, model, EmbeddingCosine(), sender=(3, 1)))
    shown = numbers(drawn[0]["data"][0]["z"])
    assert np.isnan(shown[:4]).all(), "no earlier head reads it"
    np.testing.assert_allclose(shown[4:], result.recovered[2], atol=1e-5)
    (finding,) = said(page, "finding")
    side, layer, head = max(np.ndindex(result.after.shape), key=lambda cell: abs(result.effect[cell]))
    assert f"the {('query', 'key', 'value')[side]} of {layer + 5}-{head + 1} " in finding
    grid = trace(TIRED, model).grid()
    listed = page.dataframe[0].value["head"]
    assert len(listed) == 24
    for to in listed:
        params = {key: value for key, (value,) in parse_qs(urlsplit(to).query).items()}
        (step,) = steps_of(params["why"], grid)
        assert (params["head"], params["pin"], params["to"]) == tuple(step.link.values())
        weights = grid.weights[step.head][1:-1, 1:-1]
        assert grid.weights[step.head][step.query, step.key] == weights.max(), (
            "its largest weight between words"
        )


def test_inputs_that_heads_share_are_named_and_counted_once():
    losses = np.zeros((3, 2, 6, 1))
    losses[1, 1, 3:] = 0.5  # the keys of 4-4 to 4-6
    losses[0, 0, 1] = -0.25
    result = SweepResult(("loss",), (0.0,), losses, (1.0,), ("input", "layer", "head"), 2)
    model = ModelInfo("d", "Decoder", True, 4, 6, 12, 2, 999, 64, "digest", 2, is_causal=True)
    text = paths.paths_text(result, (1, 0), model)
    assert text.startswith(
        "Head 2-1 acts most through the key of 4-4 to 4-6 (50%), the query of 3-2 (−25%) and "
    )
    assert "median of 20 inputs: 0%" in text


@pytest.mark.slow
def test_the_python_lines_of_save_run_and_print_the_numbers_of_the_page(capsys):
    change, outcome, sender = ScaleHeads(((3, 1),), 0.0), EmbeddingCosine(), (3, 1)
    pair, plain = Request("The cat sat.", "It slept.", trained=False), Request("The cat sat.")
    model, random_model = load_model(), load_model(trained=False)
    both = random_model.tokenizer.encode(pair.text, pair.pair)
    tokens, source = (model.tokenizer.encode(text) for text in (plain.text, "The dog sat."))

    def first(steps, column):
        return final_result(steps).to_frame()[column].iloc[0]

    for lines, number in (
        (
            python_lines.ablation_lines(pair, (change,), "state_cosines"),
            state_cosines(both, random_model, (change,))[-1].min(),
        ),
        (
            python_lines.sweep_lines(pair, outcome, "zero", ()),
            first(sweep_heads(both, random_model, outcome), "effect"),
        ),
        (
            python_lines.patch_lines(plain, source.text, outcome, "sweep_receivers", sender=sender),
            first(sweep_receivers(source, tokens, model, outcome, sender=sender), "after"),
        ),
    ):
        exec("\n".join(lines), {})  # noqa: S102 - our own lines
        printed = map(float, re.findall(r"-?\d+\.\d+(?:e-?\d+)?", capsys.readouterr().out))
        assert min(abs(value - number) for value in printed) < 1e-5
