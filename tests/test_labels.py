"""A classifier's labels against transformers: logits, probabilities, and every head ablated, resampled and patched."""

import json
from functools import partial

import numpy as np
import pytest
import torch
import visit
from bert_folders import change_config, change_weights, random_bert, write
from test_encoder_families import loaded

from mha_core import InputError, ModelError, load_model
from mha_core.causal import (
    EmbeddingCosine,
    LogitDifference,
    Prompt,
    ScaleHeads,
    default_outcome,
    final_result,
    measure,
    next_words,
    predicted_labels,
    sweep_head_patches,
    sweep_heads,
    sweep_prompts,
)
from mha_core.cli import main
from mha_core.display_names import number, percent
from pages.parts.experiment.python_lines import ablation_lines
from pages.parts.frame.request import Request

transformers = pytest.importorskip("transformers")
KINDS = ("bert", "distilbert", "electra", "roberta", "xlm-roberta")
TEXT, OTHER, PAIR = "The animal's it.", "The it's animal.", "It was"
NAMES = {"id2label": {0: "negative", 1: "it's mixed", 2: "positive"}}
PROBLEMS = {
    "unnamed": {},
    "named": NAMES,
    "several": NAMES | {"problem_type": "multi_label_classification"},
    "one": {"num_labels": 1},
    "regression": {"num_labels": 2, "problem_type": "regression"},
}
OUTCOME = LogitDifference("positive", "negative")
classifier = partial(loaded, head="SequenceClassification")


@pytest.mark.parametrize(
    ("kind", "problem"),
    [*((kind, "named") for kind in KINDS[1:]), *(("bert", problem) for problem in PROBLEMS)],
)
def test_labels_and_probabilities_are_those_of_the_text_classification_pipeline(kind, problem, tmp_path):
    theirs, tokenizer, model = classifier(tmp_path, kind, **PROBLEMS[problem])
    pipeline = transformers.TextClassificationPipeline(model=theirs, tokenizer=tokenizer, top_k=None)
    for pair in (None, PAIR):
        labels = predicted_labels(model.tokenizer.encode(TEXT, pair), model)
        expected = pipeline({"text": TEXT, "text_pair": pair} if pair else [TEXT])
        expected = {row["label"]: row["score"] for row in (expected if pair else expected[0])}
        if problem == "regression":
            assert {label.probability for label in labels} == {None}
            assert {label.text: label.logit for label in labels} == pytest.approx(expected, abs=1e-5)
        else:
            assert {label.text: label.probability for label in labels} == pytest.approx(expected, abs=1e-5)
        if {OUTCOME.target, OUTCOME.against} <= expected.keys():
            _, *shares = measure(model.tokenizer.encode(TEXT, pair), model, OUTCOME)
            assert shares == pytest.approx([expected[OUTCOME.target], expected[OUTCOME.against]], abs=1e-5)
        with torch.no_grad():
            logits = theirs(**tokenizer(TEXT, pair, return_tensors="pt")).logits[0].tolist()
        assert [label.logit for label in labels] == pytest.approx(sorted(logits, reverse=True), abs=1e-5)
        assert logits[labels[0].id] == max(logits)


def logits_with(theirs, tokenizer, text, layer=None, head=0, other=None):
    """transformers' logits, and the input of every output projection; there a head of a layer is zero, or has its
    output in another text."""
    inputs, width = [], theirs.config.hidden_size // theirs.config.num_attention_heads

    def edit(_, args):
        inputs.append(args[0])
        x, place = args[0].clone(), slice(head * width, head * width + width)
        if len(inputs) - 1 == layer:
            x[..., place] = 0 if other is None else other[layer][..., place]
        return (x,)

    ends = ("attention.output.dense", "attention.out_lin")
    projections = [module for name, module in theirs.named_modules() if name.endswith(ends)]
    hooks = [module.register_forward_pre_hook(edit) for module in projections]
    with torch.no_grad():
        logits = theirs(**tokenizer(text, return_tensors="pt")).logits[0]
    for hook in hooks:
        hook.remove()
    return logits, inputs


@pytest.mark.parametrize("kind", KINDS)
def test_ablated_resampled_and_patched_heads_give_the_logits_of_transformers_with_a_hook(kind, tmp_path):
    theirs, tokenizer, model = classifier(tmp_path, kind, **NAMES)
    texts = (TEXT, OTHER)
    tokens = [model.tokenizer.encode(text) for text in texts]
    assert len(tokens[0]) == len(tokens[1])
    hooked = partial(logits_with, theirs, tokenizer)
    inputs = [hooked(text)[1] for text in texts]
    zero = final_result(sweep_heads(tokens[0], model, OUTCOME))
    patched = final_result(sweep_head_patches(tokens[1], tokens[0], model, OUTCOME)).after
    prompts = tuple(Prompt(text, "positive", "negative") for text in texts)
    resampled = final_result(sweep_prompts(prompts, model, "resample")).after  # (prompt, layer, head, label)
    for layer, head in np.ndindex(zero.after.shape):
        logits = hooked(TEXT, layer, head)[0]
        expected = [logits[2] - logits[0], *logits.softmax(-1)[[2, 0]]]
        np.testing.assert_allclose(zero.numbers[layer, head], expected, atol=1e-5)
        logits = [
            hooked(text, layer, head, other)[0] for text, other in zip(texts, inputs[::-1], strict=True)
        ]
        np.testing.assert_allclose(patched[layer, head], logits[0][2] - logits[0][0], atol=1e-5)
        np.testing.assert_allclose(resampled[:, layer, head], [each[[2, 0]] for each in logits], atol=1e-5)
    ablation = (ScaleHeads(((layer, head),)),)
    np.testing.assert_allclose(measure(tokens[0], model, OUTCOME, ablation), expected, atol=1e-5)


def test_the_likeliest_label_is_measured_against_the_second_only_where_they_share_a_softmax(tmp_path):
    for problem in ("named", "several", "one"):
        *_, model = classifier(tmp_path / problem, "bert", **PROBLEMS[problem])
        tokens = model.tokenizer.encode(TEXT)
        first, *others = predicted_labels(tokens, model)
        against = others[0].text if problem == "named" else None
        assert default_outcome(tokens, model) == LogitDifference(first.text, against)
        exact = predicted_labels(tokens, model.to("cpu", "float64"))
        assert exact[0].logit == pytest.approx(first.logit, abs=1e-5)
        with pytest.raises(InputError, match="predicts labels"):
            next_words(tokens, model)


@pytest.mark.parametrize("head", ["TokenClassification", "QuestionAnswering", "MultipleChoice", "MaskedLM"])
def test_a_head_of_another_kind_is_no_classifier(head, tmp_path):
    for kind in ("bert", "distilbert", "electra", "roberta"):
        *_, model = loaded(tmp_path / kind, kind, head=head)
        tokens = model.tokenizer.encode(TEXT)
        assert model.label_head is None
        assert (model.masked_head is not None) == (head == "MaskedLM")
        assert default_outcome(tokens, model) == EmbeddingCosine()
        with pytest.raises(InputError, match="has no labels"):
            predicted_labels(tokens, model)


def test_another_class_or_a_part_of_the_head_is_no_classifier_and_wrong_labels_are_refused(tmp_path):
    write(tmp_path, random_bert("BertForSequenceClassification", **NAMES))

    def reloaded(**changes):
        change_config(tmp_path, **changes)
        return load_model(tmp_path)

    assert reloaded().label_head.names == tuple(NAMES["id2label"].values())
    assert reloaded(id2label={"2": "b", "1": "a", "0": "a"}).label_head.names == ("a (0)", "a (1)", "b")
    assert reloaded(architectures=["MyBertForSequenceClassification"]).label_head is None
    change_config(tmp_path, architectures=["BertForSequenceClassification"])
    for names in ({"0": "a", "2": "b", "3": "c"}, {"x": "a"}, ["a", "b", "c"], {"0": "a", "1": "b"}):
        with pytest.raises(ModelError):
            reloaded(id2label=names)
    change_weights(tmp_path, lambda tensors: {key: tensors[key] for key in tensors if "pooler" not in key})
    assert reloaded(**NAMES).label_head is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("labels")
    write(place, random_bert("BertForSequenceClassification", **NAMES))
    return place


def test_the_command_measures_and_lists_labels_and_a_name_that_is_none_names_those_there_are(folder, capsys):
    names, model = ["--target", "positive", "--against", "negative"], load_model(folder)
    command = ["ablate", TEXT, "--model", str(folder), "--format", "json"]
    assert main([*command, "--heads", "2-4", *names]) == 0
    answer = json.loads(capsys.readouterr().out)
    tokens, ablation = model.tokenizer.encode(TEXT), (ScaleHeads(((1, 3),)),)
    effect = measure(tokens, model, OUTCOME, ablation)[0] - measure(tokens, model, OUTCOME)[0]
    assert answer["effect"] == pytest.approx(effect, abs=1e-6)
    for run, edits in (("before", ()), ("after", ablation)):
        for row, label in zip(answer["labels"][run], predicted_labels(tokens, model, edits), strict=True):
            assert (row["label"], row["logit"]) == (label.text, pytest.approx(label.logit, abs=1e-6))
    assert main([*command, "--every", *names]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    effects = final_result(sweep_heads(tokens, model, OUTCOME)).effect
    assert [row["effect"] for row in rows] == pytest.approx(effects.ravel(), abs=1e-5)
    assert main([*command, "--every", "--target", "good"]) == 2
    problem = capsys.readouterr().err.splitlines()[-1]
    for name in NAMES["id2label"].values():
        assert name in problem


@pytest.fixture
def opened(folder, monkeypatch):
    monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", "1")
    return partial(visit.open_page, model=str(folder), text=TEXT)


def test_explore_names_the_labels_and_experiment_what_an_ablation_makes_of_them(opened, folder, capsys):
    model = load_model(folder)
    tokens, ablation = model.tokenizer.encode(TEXT), (ScaleHeads(((1, 3),)),)
    before, after = (
        {label.text: label.probability for label in predicted_labels(tokens, model, edits)}
        for edits in ((), ablation)
    )
    (line,) = visit.said(opened(), "finding")
    assert line == f"Label: {', '.join(f'{name} {percent(share)}' for name, share in before.items())}."
    page = opened("pages/experiment.py", off="2-4", word="positive")
    (finding,) = visit.said(page, "finding")
    assert f"from {percent(before['positive'])} to {percent(after['positive'])}" in finding
    (plain, *_), (edited, *_) = (measure(tokens, model, OUTCOME, edits) for edits in ((), ablation))
    both = opened("pages/experiment.py", off="2-4", word="positive", rival="negative")
    assert visit.said(both, "finding")[0].endswith(f" from {number(plain)} to {number(edited)}.")
    both.selectbox(key="follow").set_value("negative")
    assert (visit.link(visit.run(both))["word"], visit.link(both).get("rival")) == ("negative", None)
    for trace, shares in zip(visit.figures(page)[0]["data"], (before, after), strict=True):
        shown = dict(zip(trace["customdata"], visit.numbers(trace["x"]), strict=True))
        assert shown == pytest.approx(shares, abs=1e-4)
    page.selectbox(key="rival-label").set_value("it's mixed")
    assert (visit.link(visit.run(page))["word"], visit.link(page)["rival"]) == ("positive", "it's mixed")
    request = Request(TEXT, model=str(folder))
    exec("\n".join(ablation_lines(request, ablation, "predicted_labels")), {})  # noqa: S102 - our own lines
    assert repr(predicted_labels(tokens, model, ablation)) in capsys.readouterr().out


@pytest.mark.parametrize(
    "part", [{}, {"try": "Ablation sweep"}, {"try": "Activation patching", "from": TEXT}]
)
def test_a_label_in_the_link_that_is_none_is_answered_with_those_there_are(part, opened):
    (problem,) = visit.said(opened("pages/experiment.py", word="good", **part), "problem")
    assert all(name in problem for name in NAMES["id2label"].values())


@pytest.mark.parametrize("part", ["Ablation sweep", "Activation patching"])
def test_the_map_is_of_the_labels_in_the_link_which_the_boxes_change(part, opened, folder):
    page = opened("pages/experiment.py", word="positive", rival="negative", **{"try": part, "from": OTHER})
    drawn = visit.full_maps(page)
    model = load_model(folder)
    source, tokens = (model.tokenizer.encode(text) for text in (OTHER, TEXT))
    if part == "Activation patching":
        expected = final_result(sweep_head_patches(source, tokens, model, OUTCOME)).recovered
    else:
        expected = final_result(sweep_heads(tokens, model, OUTCOME)).effect
    assert visit.numbers(drawn[0]["data"][0]["z"]) == pytest.approx(expected, abs=1e-4)
    page.selectbox(key="rival-label").set_value("it's mixed")
    link = visit.link(visit.run(page))
    assert (link["word"], link["rival"]) == ("positive", "it's mixed")
