"""The page Experiment without a browser: its sentences against the model run with gates, links, and honest refusals.

What is expected comes from gates on a plain run (mha_core's own, older than the page), never from the page's code.
"""

import re
from contextlib import nullcontext
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from visit import TIRED, WIDE, bodies, link, mounted, open_page, run, said

from mha_core import InputError, NextToken, grid_of, load_model, predict_next, trace
from mha_core.embedded import DECODER
from mha_core.experiments import (
    Curve,
    Effects,
    Factor,
    Loss,
    MeanOutput,
    Part,
    Selectivity,
    Word,
    default_outcome,
    last,
)
from mha_core.experiments.tasks import NAME, ORDINARY, REPEATED
from mha_core.heads.ablation import ablate_each
from mha_core.heads.builtin import read_builtin
from mha_core.heads.jobs import KIND_OF
from mha_core.trace import batch_of
from mha_core.trace import run as run_model
from mha_core.wording import percent
from pages.parts.experiment import changed, deciding, matter, pruning, ready, selective, switch, trials
from pages.parts.experiment.asked import Asked, asked, spelled
from pages.parts.experiment.frame import PARTS, kept
from pages.parts.experiment.said import elsewhere, finding, moves, number, signed
from pages.parts.frame import pages as frame_pages
from pages.parts.frame.presets import JOHN, MARY
from pages.parts.frame.request import Request
from pages.parts.serve import cache
from pages.parts.serve.store import Store

PAGE = "pages/experiment.py"
MATTER, WHERE, READY, GONE = "Which matter?", "Where is it decided?", "Ready-made", "How many can go?"


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """A store in which nothing is kept yet, and no work on roles behind the page."""
    monkeypatch.setattr(cache, "STORE", Store(400_000_000))
    monkeypatch.setattr(cache, "roles_of", lambda *_: {})


@pytest.fixture(scope="module")
def minilm():
    return load_model("minilm")


def gates(model, *heads, factor=0.0):
    found = np.ones((model.n_layers, model.n_heads), np.float32)
    for layer, head in heads:
        found[layer - 1, head - 1] = factor
    return found


def view(at):
    (data,) = mounted(at, "view")
    return data


@pytest.mark.long
def test_parts_that_read_the_readers_sentence_have_its_controls_and_the_others_none():
    """Elsewhere its box is kept unseen, and alone: a second text would change nothing there."""
    with_sentence = {"Switch heads off", "Which matter?", "Where is it decided?"}
    for part in PARTS:
        at = open_page(PAGE, model="minilm", **{"try": part})
        labels = [box.label for box in (*at.text_area, *at.text_input)]
        assert ("Second sentence (optional)" in labels) == (part in with_sentence), part
    at = open_page(PAGE, model="minilm", **{"try": "switch heads off"})  # is none, so the first one is shown
    assert at.button_group(key="try").value == PARTS[0]
    assert "Second sentence (optional)" in [box.label for box in (*at.text_area, *at.text_input)]


@pytest.mark.long
def test_the_model_that_is_shown_for_one_that_is_not_there_is_the_one_that_is_named(smollm2):
    at = open_page(PAGE, model="no-such-model")
    assert at.session_state["model"] == DECODER
    assert "There is no model “no-such-model” on this server; showing SmolLM2 135M, 4-bit." in said(
        at, "notice"
    )


# ---- heads switched off


@pytest.mark.slow
def test_a_decoder_s_sentence_bars_and_moved_heads_are_those_of_a_run_with_gates(smollm2):
    at = open_page(PAGE, off="24-4,2-6")
    tokens, away = smollm2.tokenizer.encode(MARY), gates(smollm2, (24, 4), (2, 6))
    before, after = (
        {word.text: word.probability for word in predict_next(tokens, smollm2, k=2000, gates=g)}
        for g in (None, away)
    )
    assert said(at, "finding") == [
        f"Without 2-6 and 24-4  Mary falls from {percent(before[' Mary'])} to {percent(after[' Mary'])}."
    ]
    data = view(at)
    assert data["off"] == ["2-6", "24-4"]
    rows = {row["id"]: row for row in data["result"]["rows"]}
    assert {" Mary", " John", " the"} <= set(rows)
    for word, row in rows.items():
        assert (row["before"], row["after"]) == pytest.approx((before[word], after[word]), abs=1e-4)
    moved = np.abs(trace(MARY, smollm2).weights - trace(MARY, smollm2, gates=away).weights).sum(-1) / 2
    mean = moved.mean(-1)
    assert set(data["moved"]) == {f"{i + 1}-{j + 1}" for i, j in np.argwhere(mean >= 0.05)}
    assert data["moved"]["25-5"] == pytest.approx(mean[24, 4], abs=1e-3)
    assert not any(name.startswith(("1-", "2-")) for name in data["moved"]), "below a head nothing changes"


def test_an_encoder_s_embedding_turns_as_in_a_run_with_gates(minilm):
    at = open_page(PAGE, model="minilm", text=TIRED, off="6-6", set="2")
    tokens = minilm.tokenizer.encode(TIRED)
    plain, doubled = (
        run_model([tokens], minilm, gates=g).hidden[0].double().numpy()
        for g in (None, _tensor(gates(minilm, (6, 6), factor=2.0)))
    )
    whole = cosine(plain.mean(0), doubled.mean(0))
    (sentence,) = said(at, "finding")
    assert sentence.startswith(
        f"With 6-6 doubled the text's embedding has cosine {whole:.3f} with what it was;"
    )
    rows = view(at)["result"]["rows"]
    assert rows[0]["after"] == pytest.approx(whole, abs=1e-5)
    each = [cosine(a, b) for a, b in zip(plain, doubled, strict=True)]
    assert [row["after"] for row in rows[1:]] == pytest.approx(sorted(each)[:6], abs=1e-5)
    assert said(at, "moved") == ["No head stands above the last layer, so none looks elsewhere now."]


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def _tensor(array):
    import torch

    return torch.from_numpy(array)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            {"off": "99-99"},
            "There is no head 99-99; the model has 6 layers of 12 heads. No head is switched.",
        ),
        (
            {"off": "<script>"},
            "'<script>' is no head; write layer and head from 1, as in 4-2,6-6. No head is switched.",
        ),
        (
            {"off": "1-1", "set": "banana"},
            "A switched head cannot be set to “banana”, only to “0”, “mean”, “2”; it gives nothing.",
        ),
    ],
)
def test_silly_heads_and_factors_in_a_link_get_one_sentence(query, sentence):
    at = open_page(PAGE, model="minilm", text=TIRED, **query)
    assert said(at, "notice") == [sentence]
    assert view(at)["off"] == (["1-1"] if "set" in query else [])


def test_what_a_browser_sends_is_taken_only_where_it_can_be_meant():
    assert switch.changes({"do": "set", "off": ["2-1", "1-3", "2-1"]}) == {"off": "1-3,2-1"}
    assert switch.changes({"do": "set", "off": []}) == {"off": None}
    assert switch.changes({"do": "set", "off": [None, "0-1", {}, "x"]}) == {"off": None}
    assert switch.changes({"do": "factor", "value": "2"}) == {"set": "2"}
    assert switch.changes({"do": "factor", "value": "0"}) == {"set": None}
    assert switch.changes({"do": "word", "text": " John"}) == {"word": " John"}
    for ask in (
        {"do": "factor", "value": "9"},
        {"do": "set", "off": 3},
        {"do": "word", "text": "x" * 999},
        {},
    ):
        assert switch.changes(ask) is None


def test_undo_takes_back_one_change_after_the_other(monkeypatch):
    session, link = {}, {"off": "6-6"}
    state = SimpleNamespace(params=lambda: {k: v for k, v in link.items() if v}, change=link.update)
    monkeypatch.setattr(switch, "state", state)
    monkeypatch.setattr(switch.st, "session_state", session)
    seen = []
    for ask in (
        *({"do": "set", "off": ["1-1"]}, {"do": "set", "off": []}, {"do": "factor", "value": "2"}),
        {"do": "word", "text": " John"},
        *[{"do": "undo"}] * 5,
    ):
        session[switch.PICTURE] = {"ask": ask}
        switch._heard()
        seen.append((link.get("off"), link.get("set"), link.get("word")))
    forward = [("1-1", None, None), (None, None, None), (None, "2", None), (None, "2", " John")]
    assert seen == [*forward, *forward[2::-1], ("6-6", None, None), ("6-6", None, None)]


def test_the_same_heads_at_their_mean_and_doubled_are_other_interventions():
    shape = (6, 12)
    made = {
        value: asked({"off": "6-6", "set": value}, shape)[0].interventions for value in ("0", "mean", "2")
    }
    assert len(set(made.values())) == 3
    assert asked({"set": "2"}, shape)[0].interventions == ()
    many = asked({"off": "6-6,4-2", "set": "mean"}, shape)[0]
    assert many.said == "With 4-2 and 6-6 at their mean output"
    assert asked({"off": "1-1,1-2,1-3,1-4"}, shape)[0].said == "Without these 4 heads"


def test_what_is_done_to_one_head_to_three_and_to_more_begins_the_sentence():
    said_of = {
        (value, n): asked({"off": ",".join(f"1-{i}" for i in range(1, n + 1)), "set": value}, (1, 4))[0].said
        for value in ("0", "mean", "2")
        for n in (1, 2, 3, 4)
    }
    done = {"0": "", "2": " doubled", "mean": " at their mean output"}
    for value, rest in done.items():
        begins = "With" if rest else "Without"
        assert [said_of[value, n] for n in (2, 3, 4)] == [
            f"{begins} 1-1 and 1-2{rest}", f"{begins} 1-1, 1-2 and 1-3{rest}", f"{begins} these 4 heads{rest}",
        ]  # fmt: skip
    assert [said_of[value, 1] for value in done] == [
        "Without 1-1", "With 1-1 doubled", "With 1-1 at its mean output",
    ]  # fmt: skip


def test_a_link_to_another_page_keeps_both_sentences_and_the_model_with_its_weights():
    assert kept(Request("a", "b", model="m")) == {"text": "a", "pair": "b", "model": "m"}
    assert kept(Request("a", model="m", trained=False)) == {
        "text": "a", "pair": "", "model": "m", "weights": "untrained",
    }  # fmt: skip


def test_all_heads_of_a_large_model_can_be_switched_and_a_longer_link_is_refused_whole():
    layers, heads = 36, 20
    every = [(layer, head) for layer in range(layers) for head in range(heads)]
    given = {"off": spelled(every)}
    assert asked(given, (layers, heads)) == (Asked(tuple(every)), [])
    refused = ["The link names more heads than any model has. No head is switched."]
    assert asked({"off": "1-1," * 20_000}, (layers, heads)) == (Asked(), refused)


@pytest.mark.slow
def test_who_looks_elsewhere_now_by_how_much_and_where_most_is_that_of_these_heads(minilm):
    """Also where other heads were switched off in the same text before."""
    record = trace(TIRED, minilm)
    for layer in (2, 4):
        heads = [(layer, head) for head in range(1, 13)]
        off = ",".join(f"{i}-{j}" for i, j in heads)
        shares = (
            np.abs(record.weights - trace(TIRED, minilm, gates=gates(minilm, *heads)).weights).sum(-1) / 2
        )
        mean = shares.mean(-1)
        expected = []
        for i, j in (divmod(int(place), 12) for place in np.argsort(-mean, axis=None)[:3]):
            word = record.tokens.pieces[int(shares[i, j].argmax())].text
            expected.append(f"{i + 1}-{j + 1} {percent(mean[i, j])}, most at {word}")
        (sentence,) = said(open_page(PAGE, model="minilm", text=TIRED, off=off), "moved")
        assert sentence.startswith(f"{(mean >= 0.05).sum()} of the {72 - 12 * layer} heads above now look")
        assert sentence.endswith(f": {'; '.join(expected)}.")


def test_what_is_kept_of_one_text_is_told_apart_by_the_heads_that_are_switched(minilm):
    request, record = Request(TIRED, model="minilm"), trace(TIRED, minilm)
    plain = run_model([record.tokens], minilm, need_weights=False).hidden[0].double().numpy()
    for head, factor in (((6, 6), 0.0), ((4, 2), 0.0), ((4, 2), 2.0)):
        gated = run_model([record.tokens], minilm, gates=_tensor(gates(minilm, head, factor=factor)))
        found = changed.changed_by(request, record, minilm, (Factor(((head[0] - 1, head[1] - 1),), factor),))
        now = gated.hidden[0].double().numpy()
        each = [cosine(a, b) for a, b in zip(plain, now, strict=True)]
        assert found.cosines.tolist() == pytest.approx([*each, cosine(plain.mean(0), now.mean(0))], abs=1e-5)
        shares = np.abs(record.weights - gated.stacked()[:, 0].numpy()).sum(-1) / 2
        assert {one.head: one.share for one in found.moved} == pytest.approx(
            {(int(i), int(j)): shares[i, j].mean() for i, j in np.argwhere(shares.mean(-1) >= 0.05)}, abs=1e-4
        )
    assert changed.changed_by(request, record, minilm, ()).cosines.tolist() == pytest.approx([1.0] * 17)


def test_the_heads_of_a_role_are_offered_in_order_the_largest_role_first():
    roles = {
        (0, 1): "sink",
        (2, 0): "broad",
        (1, 3): "broad",
        (1, 0): "broad",
        (0, 0): "sink",
        (3, 3): "copy",
    }
    found = switch.groups({head: SimpleNamespace(key=key) for head, key in roles.items()})
    assert [(one["label"], one["letter"], one["heads"]) for one in found] == [
        (KIND_OF["broad"].name, KIND_OF["broad"].letter, ["2-1", "2-4", "3-1"]),
        (KIND_OF["sink"].name, KIND_OF["sink"].letter, ["1-1", "1-2"]),
        (KIND_OF["copy"].name, KIND_OF["copy"].letter, ["4-4"]),
    ]


# ---- the model of this page


def test_the_page_opens_with_the_decoder_where_it_is_and_says_so_where_it_is_not(monkeypatch):
    page = frame_pages.page_called("Experiment")
    monkeypatch.setattr(frame_pages, "find_spec", lambda name: object())
    assert page.first["model"]() == DECODER
    monkeypatch.setattr(frame_pages, "find_spec", lambda name: None)
    at = open_page(PAGE)
    assert view(at)["shape"] == [6, 12]
    (notice,) = said(at, "notice")
    assert notice.startswith("SmolLM2, which says a next word, is not on this server")
    assert "model" not in link(at)
    assert link(at)["text"] == MARY


# ---- every head in turn


@pytest.mark.slow
def test_the_map_of_all_heads_is_what_leaving_out_one_at_a_time_gives(minilm):
    at = open_page(PAGE, **{"try": MATTER}, model="minilm", text=TIRED)
    at.button(key="begin-every").click()
    for _ in range(60):  # slices of a second: a busy machine needs more of them
        map_so_far = mounted(run(at), "view")
        if map_so_far and not np.isnan(map_so_far[0]["effects"]).any():
            break
        (how_far,) = at.get("progress")
        tried = int(np.isfinite(map_so_far[0]["effects"]).sum()) if map_so_far else 0
        assert how_far.proto.text.startswith(f"{tried} of 72 heads tried")
    data = view(run(at))
    expected = ablate_each(minilm.tokenizer.encode(TIRED), minilm)
    assert data["effects"].reshape(6, 12) == pytest.approx(-expected, abs=1e-5)
    strongest = np.unravel_index(expected.argmax(), expected.shape)
    name = f"{strongest[0] + 1}-{strongest[1] + 1}"
    assert data["strongest"][0]["head"] == name
    (sentence,) = said(at, "finding")
    assert sentence.startswith(
        f"Of 72 heads {name} matters most: without it the cosine of the embedding goes from 1.00 "
        f"to {1 - expected.max():.2f}."
    )
    assert f"head={name}" in data["addresses"][name]
    assert data["addresses"][name].startswith("./?text=The+animal")


@pytest.mark.slow
def test_what_a_head_gives_in_its_turn_is_what_the_address_says_also_after_back():
    at = open_page(PAGE, **{"try": MATTER}, model="minilm", text=TIRED)

    def gives():
        (control,) = (one for one in at.get("button_group") if one.key == "every-how")
        return control

    gives().set_value("mean")
    assert link(run(at))["set"] == gives().value == "mean"
    del at.query_params["set"]
    assert "set" not in link(run(at))
    assert gives().value == "factor"
    at.query_params["set"] = "mean"
    run(at)
    assert gives().value == "mean"


@pytest.mark.slow
def test_a_word_that_the_model_does_not_have_is_refused_and_the_page_stays(smollm2):
    at = open_page(PAGE, **{"try": MATTER}, word="Mississippi river")
    (problem,) = said(at, "problem")
    assert problem.startswith("'Mississippi river' is")
    assert not at.button


def test_a_head_of_the_map_opens_with_its_text_its_weights_and_the_last_token_of_a_decoder(monkeypatch):
    drawn = {}
    monkeypatch.setattr(matter, "head_effects", lambda *_, **given: drawn.update(given["addresses"]))
    monkeypatch.setattr(matter, "say", lambda *_: None)
    record = SimpleNamespace(tokens=["a", "b", "c"])
    effects = Effects(("loss",), (1.0,), np.ones((2, 1, 1)))

    def link_of(name, next_head, **weights):
        used = SimpleNamespace(next_head=next_head, n_layers=2, n_heads=1)
        matter.picture(effects, Request("a b c", model="smollm2", **weights), record, used, {}, "factor")
        return dict(parse_qsl(urlsplit(drawn[name]).query))

    shown = {"text": "a b c", "model": "smollm2", "head": "2-1"}
    assert link_of("2-1", object()) == {**shown, "pin": "2"}
    assert link_of("2-1", None) == shown
    assert link_of("1-1", None, trained=False) == {**shown, "head": "1-1", "weights": "untrained"}


def test_words_that_are_typed_go_before_those_that_a_sentence_is_about():
    record = SimpleNamespace(tokens=SimpleNamespace(text=MARY))
    used = SimpleNamespace(
        tokenizer=SimpleNamespace(ids_of=lambda _: (7,), is_special=lambda _: False), next_head=object()
    )
    for typed, words in {
        ("", ""): (" Mary", " John"),
        ("", "Ann"): (" Mary", " Ann"),
        ("Ann", "Bill"): (" Ann", " Bill"),
        ("Mary", ""): (" Mary", " John"),  # what the empty box says
        ("Ann", ""): (" Ann", None),
    }.items():
        assert matter.outcome_of(record, used, *typed) == Word(*words)


# ---- from another sentence


def test_sentences_of_other_lengths_cannot_be_taken_over_from():
    at = open_page(PAGE, **{"try": WHERE}, model="minilm", text=TIRED, **{"from": "Too short."})
    (problem,) = said(at, "problem")
    assert problem.startswith("“Too short.” has 5 tokens and your sentence 16;")


@pytest.mark.parametrize("nothing", [" ", "\u200b"])
def test_nothing_cannot_be_taken_over_from(nothing):
    at = open_page(PAGE, **{"try": WHERE}, model="minilm", text=TIRED, **{"from": nothing})
    assert said(at, "problem") == ["The sentence is empty; type at least one word."]
    assert not mounted(at, "view")


@pytest.mark.slow
def test_taking_over_the_last_states_gives_the_other_sentence(minilm):
    at = open_page(PAGE, **{"try": WHERE}, model="minilm", text=TIRED, map="layers and tokens")
    assert at.text_input(key="from").placeholder == WIDE
    at.button(key="begin-patch").click()
    (board,) = mounted(run(run(at)), "tiles")
    (block,) = board["blocks"]
    share = board["numbers"].reshape(block["shape"])
    assert block["shape"] == [16, 7]
    wide = block["rows"].index("wide → tired")
    assert minilm.tokenizer.encode(TIRED).pieces[wide].text == "tired"
    assert share[:, 0] == pytest.approx(np.eye(16)[wide], abs=1e-4), "only the embedding of what differs"
    assert 0 < share[:, -1].max() < 1, "no single last state is the whole mean"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "module", "changes"),
    [
        (MATTER, matter, ({}, {"set": "mean"}, {"text": WIDE}, {"weights": "untrained"})),
        (
            WHERE,
            deciding,
            (
                {},
                {"from": TIRED.replace("tired", "old")},
                {"map": "layers and tokens"},
                {"text": WIDE},
                {"weights": "untrained"},
            ),
        ),
    ],
)
def test_what_was_asked_otherwise_is_tried_anew(part, module, changes, monkeypatch):
    keys = []
    monkeypatch.setattr(module, "work", lambda key, *_, **__: keys.append(key))
    link_of = {"try": part, "model": "minilm", "text": TIRED}
    for change in changes:
        open_page(PAGE, **(link_of | change))
    assert len(set(keys)) == len(keys) == len(changes)
    open_page(PAGE, **link_of)
    assert keys[-1] == keys[0]


def test_a_pair_is_taken_over_from_its_first_sentence_into_its_second():
    at = open_page(PAGE, **{"try": WHERE}, model="minilm", text="The cat sat.")
    at.button(key="pair-tired / wide").click()
    run(at)
    assert (at.text_input(key="text").value, at.text_input(key="from").value) == (WIDE, TIRED)


@pytest.mark.parametrize("shape", deciding.MAPS)
def test_between_sentences_that_come_to_the_same_there_is_no_way_and_no_map(shape, minilm, monkeypatch):
    monkeypatch.setattr(deciding, "work", lambda key, begin, draw, **_: draw(last(begin())))
    at = open_page(PAGE, **{"try": WHERE}, model="minilm", text="The cat sat.", map=shape)
    assert said(at, "finding") == [
        "In both sentences the cosine of the embedding is 1.00, so there is no way from one to the other; take over "
        "from a sentence in which it differs."
    ]
    assert not mounted(at, "view")
    assert not mounted(at, "tiles")


def test_what_carries_the_difference_is_said_as_runs_of_states():
    share = np.array([[0.9, 0.0], [0.8, 0.1], [0.4, 0.3], [0.1, 0.7], [0.0, 1.0]])
    assert deciding.carriers(share) == [(0, 0, 1), (1, 3, 4)]
    assert deciding.carriers(np.full((2, 2), np.nan)) == []
    broken = np.array([[0.9, 0.0], [0.4, 0.3], [0.8, 0.1]])
    assert deciding.carriers(broken) == [(0, 0, 0), (0, 2, 2)], "not by state 1, in which no token does"


def test_a_state_is_named_by_its_layer_and_by_both_words(minilm):
    tired, wide = (minilm.tokenizer.encode(text) for text in (TIRED, WIDE))
    numbers = np.zeros((7, 16, 1))
    numbers[:3, 13], numbers[5:, 10] = 0.9, 0.6
    found = Effects(("cosine",), (0.0,), numbers, (1.0,))
    assert deciding.of_states(found, tired, wide) == (
        "In your sentence the cosine is 0.00, in the other 1.00. What differs is carried by "
        "`wide → tired` (the embedding to layer 2), then by `it` (layer 5 to layer 6)."
    )


def test_the_heads_that_bring_most_of_the_way_are_named_not_those_that_lead_away_from_it():
    numbers = np.array([[[0.3], [-0.9]], [[0.1], [0.5]], [[0.2], [np.nan]]])
    said_of = deciding.of_heads(Effects(("cosine",), (0.0,), numbers, (1.0,)), {})
    assert said_of.endswith("brings at most: 2-2 50.0 %, 1-1 30.0 %, 3-1 20.0 % of the way there.")
    one = deciding.of_heads(
        Effects(("cosine",), (0.0,), np.array([[[0.0], [-0.9]], [[0.5], [-0.1]]]), (1.0,)), {}
    )
    assert one.endswith("One head's output taken over brings at most: 2-1 50.0 % of the way there.")
    alike = deciding.of_heads(Effects(("cosine",), (0.0,), np.full((2, 2, 1), 0.5), (1.0,)), {})
    assert alike.endswith("at most: 1-1 50.0 %, 1-2 50.0 %, 2-1 50.0 % of the way there.")
    none = deciding.of_heads(Effects(("cosine",), (0.0,), np.full((2, 2, 1), -0.5), (1.0,)), {})
    assert none.endswith(
        "in the other 1.00. No head's output, taken over alone, brings any of the way there."
    )


def test_a_difference_of_logits_that_was_taken_over_is_said_with_its_words():
    names = ("logit difference", "probability of ' Mary'", "probability of ''s'")
    found = Effects(names, (-1.0, 0.2, 0.5), np.full((1, 2, 3), 1.0), (3.0, 0.7, 0.1))
    assert deciding.of_heads(found, {}).startswith(
        "In your sentence the logit difference of ` Mary` against `'s` is −1.00, in the other 3.00. One head's"
    )
    same = Effects(names[:2], (2.0, 0.5), np.full((1, 2, 2), 2.0), (2.0, 0.5))
    assert deciding.no_way(same).startswith("In both sentences the logit difference of ` Mary` is 2.00, so")


@pytest.mark.long
def test_the_pair_of_names_is_weighed_by_what_the_other_sentence_says(smollm2):
    record = trace(JOHN, smollm2)
    outcome = deciding.outcome_of(smollm2.tokenizer.encode(MARY), record, smollm2)
    assert (outcome.target, outcome.against) == (" Mary", " John")
    assert deciding.twin(JOHN) == MARY
    one, two = ("The capital of France is", "The opposite of hot is")
    record = trace(two, smollm2)
    theirs, own = (default_outcome(smollm2.tokenizer.encode(text), smollm2) for text in (one, two))
    assert theirs.target != own.target
    assert deciding.outcome_of(smollm2.tokenizer.encode(one), record, smollm2) == Word(
        theirs.target, own.target
    )
    with pytest.raises(InputError, match=r"^“Mary” has 1 token and your sentence 6; to take over"):
        deciding.outcome_of(smollm2.tokenizer.encode("Mary"), trace(f"{two} very", smollm2), smollm2)
    with pytest.raises(InputError, match=r"has 5 tokens and your sentence 6; to take over"):
        deciding.outcome_of(smollm2.tokenizer.encode(one), trace(f"{two} very", smollm2), smollm2)


# ---- selective, and how many


def row(role, task, without, draws):
    return Selectivity(role, ((0, 0), (1, 1), (2, 2)), task, 4, 3.0, without, draws)


def test_the_verdict_says_where_the_claim_stands_and_where_it_falls():
    found = (
        row("induction", REPEATED, 12.0, (3.0, 5.0)),
        row("induction", ORDINARY, 3.1, (3.0, 3.5)),
        row("next token", REPEATED, 3.2, (3.0, 5.0)),
        row("next token", ORDINARY, 3.2, (3.0, 3.5)),
        row("broad", REPEATED, 9.0, (3.0, 5.0)),
        row("broad", ORDINARY, 9.0, (3.0, 3.5)),
    )
    assert selective.verdict(found, 3) == (
        "That heads are specialised stands for induction (random tokens said again): without them this gets worse than "
        "without any of 10 random sets; without broad everything that was asked gets worse, so they are needed but not "
        "selective; for next token it falls: random heads do as much harm or more, so the role says where they "
        "look, not what they are needed for."
    )
    body = selective.table(found)
    assert body.count("★</b>") == 3
    assert "others 3.00 to 5.00" in body
    assert selective.verdict(found[:2], 3).endswith("(1 of 3 roles so far).")
    assert selective.verdict(found[:4], 3) == (
        "That heads are specialised stands for induction (random tokens said again): without them this gets worse than "
        "without any of 10 random sets; for next token it falls: random heads do as much harm or more, so the role "
        "says where they look, not what they are needed for (2 of 3 roles so far)."
    )
    assert row("x", NAME, 1.0, (2.0, 4.0)).worse, "a smaller difference of logits is worse"


def test_dot_line_and_band_stand_on_one_scale_from_the_least_number_to_the_most():
    body = selective.table((row("x", REPEATED, 7.0, (4.0, 6.0)),))
    assert re.findall(r'<i class="(\w+)" style="([^"]+)">', body) == [
        ("is", "left:0.0%"),
        ("band", "left:25.0%;width:50.0%"),
        ("dot", "left:100.0%"),
    ], "as it is 3, random sets 4 to 6, without the role 7"


def test_a_role_is_taken_away_as_a_whole_from_three_heads_on_and_if_as_many_are_left_to_draw_from():
    kinds = {"sink": 4, "broad": 3, "copy": 2, "separator": 6}
    names = [key for key, count in kinds.items() for _ in range(count)]
    roles = {(i // 4, i % 4): SimpleNamespace(key=key) for i, key in enumerate(names)}
    found = selective.sets_of(roles, SimpleNamespace(n_layers=2, n_heads=4))
    assert [(name, len(heads)) for name, heads in found.items()] == [
        (KIND_OF["sink"].name, 4),
        (KIND_OF["broad"].name, 3),
    ], "six of eight leave two, from which no six can be drawn"
    assert found[KIND_OF["sink"].name] == ((0, 0), (0, 1), (0, 2), (0, 3))
    more = selective.sets_of(roles, SimpleNamespace(n_layers=3, n_heads=4))
    assert list(map(len, more.values())) == [6, 4, 3]


@pytest.mark.parametrize(
    ("n", "button"), [(1, "Take the one role away"), (2, "Take 2 roles away, one after the other")]
)
def test_one_role_and_one_step_are_said_as_one(n, button, monkeypatch):
    kinds = ("sink", "broad")[:n]
    roles = {(i, j): SimpleNamespace(key=key) for i, key in enumerate(kinds) for j in range(3)}
    asked_for = {}
    monkeypatch.setattr(selective.cache, "known_findings", lambda *_: SimpleNamespace(roles=roles))
    monkeypatch.setattr(selective, "work", lambda *_, **given: asked_for.update(given))
    open_page(PAGE, model="minilm", **{"try": "Selective?"})
    assert asked_for["button"] == button
    assert asked_for["one"] == "step; each role and 10 random sets of as many heads"
    assert asked_for["unit"].startswith("steps; ")


def test_where_points_are_lost_is_read_off_the_best_curve(monkeypatch):
    curve = {
        pruning.EFFECT: Curve("next words right", 90, (0, 5, 10, 20), (50.0, 49.5, 48.9, 44.0)),
        pruning.RANDOM: Curve("next words right", 90, (0, 5, 10, 20), (50.0, 44.0, 30.0, 1.0)),
    }
    assert pruning.finding(curve, 40) == (
        "Next words right: 50.0 points at first (n = 90). Taken by effect, 1 point is lost with 10 heads gone (25 %) "
        "and 5 points are lost with 20 heads gone (50 %); at random 5 points are lost with 5 heads gone (12 %)."
    )
    # One loses its first point early and five late, the other all of them soon after the first.
    two = {
        pruning.GRADIENT: Curve("next words right", 90, (0, 5, 10, 20), (50.0, 49.9, 44.0, 40.0)),
        pruning.EFFECT: Curve("next words right", 90, (0, 5, 10, 20), (50.0, 48.9, 48.0, 44.0)),
    }
    assert "Taken by effect, 1 point is lost with 5 heads gone (12 %) and 5 points are lost with 20" in (
        pruning.finding(two, 40)
    )
    begun = {pruning.EFFECT: Curve("next words right", 90, (0, 1), (50.0, 49.5))}
    assert "by effect, 1 point is not lost by 1 head and 5 points are not lost by 1 head." in pruning.finding(
        begun, 40
    )
    at_once = {pruning.EFFECT: Curve("next words right", 90, (0, 1), (50.0, 40.0))}
    assert "1 point is lost with 1 head gone (2 %) and" in pruning.finding(at_once, 40)
    shown = []
    monkeypatch.setattr(pruning, "say", lambda *given: shown.append(given))
    monkeypatch.setattr(pruning, "Board", lambda: SimpleNamespace(add=shown.append, show=shown.append))
    pruning._show(curve, SimpleNamespace(name="tiny", n_layers=4, n_heads=10))
    assert shown == [(pruning.finding(curve, 40), "finding"), pruning.chart(curve, 40), "pruned-tiny"]
    chart = pruning.chart(curve, 40)
    assert [level["y"] for level in chart["levels"]] == [49.0, 45.0]
    assert (chart["xName"], chart["xOne"]) == ("heads gone", "head gone")
    six = Curve("next words right", 90, (0, 1, 2, 3, 5, 8), (50.0, 49.0, 48.0, 47.0, 46.0, 45.0))
    assert (
        pruning.chart({pruning.EFFECT: six}, 40)["describe"]
        == "by effect: 50.0 with 0 gone, 46.0 with 5 gone"
    )


@pytest.mark.slow
def test_the_page_says_whose_claim_twenty_to_forty_per_cent_is():
    at = open_page(PAGE, **{"try": GONE})
    assert any("is what Michel et al. 2019 found" in caveat for caveat in said(at, "caveat"))


# ---- ready experiments


@pytest.mark.long
def test_a_ready_experiment_answers_with_the_numbers_of_leaving_heads_out(minilm, monkeypatch):
    monkeypatch.setattr(trials, "SENTENCES", 2)
    at = open_page(PAGE, **{"try": READY}, ready="six")
    texts = [one.text for one in read_builtin()]
    chosen = texts[:: max(1, len(texts) // 2)][:2]
    mean = 1 - np.mean([ablate_each(minilm.tokenizer.encode(text), minilm) for text in chosen], axis=0)
    rank = int((mean < mean[5, 5]).sum()) + 1
    place = "the most of all" if rank == 1 else f"number {rank} of all"
    for _ in range(60):  # slices of a second: a busy machine needs more of them
        if said(run(at), "finding"):
            break
    (sentence,) = said(at, "finding")
    assert sentence.startswith(
        f"Without 6-6 the embedding keeps a cosine of {mean[5, 5]:.3f} with what it was: {place} 72 heads."
    )
    upper = sum(layer == 5 for layer in np.argsort(mean, axis=None)[:12] // 12)
    assert f" {upper} of the 12 that turn it most stand in the last layer" in sentence
    assert any("experiment?model=minilm" in body and "off=6-6" in body for body in bodies(at))


@pytest.mark.slow
def test_a_ready_experiment_that_is_not_there_gets_a_sentence():
    at = open_page(PAGE, **{"try": READY}, ready="perpetuum")
    assert said(at, "notice") == ["There is no ready experiment “perpetuum”; choose one."]
    assert len(at.button) == len(trials.TRIALS)


def test_random_others_are_none_of_the_heads_and_never_the_same_twice(minilm):
    heads = trials.strongest(np.arange(72.0).reshape(6, 12), 8)
    assert heads[0] == (5, 11)
    drawn = trials.others(heads, minilm)
    assert len(drawn) == trials.DRAWS
    assert len(set(drawn)) == trials.DRAWS
    assert all(len(set(one)) == 8 and not set(one) & set(heads) for one in drawn)


def test_two_words_come_to_a_sentence_with_both_probabilities():
    numbers = np.array([[[3.0, 0.87, 0.01], [-1.0, 0.2, 0.4]]])
    answer = trials.answers.next_word(
        Effects(("logit difference", "a", "b"), (6.0, 0.92, 0.002), numbers), "text", " Mary", " John"
    )
    assert answer.said == (
        "` Mary` gets 92.0 %, ` John` 0.2 %. One of 2 heads, taken away alone, makes ` John` the likelier one; 1-2 "
        "matters most: without it the logit difference goes from 6.00 to −1.00, and ` Mary` from 92.0 % to 20.0 %."
    )
    assert answer.link["off"] == "1-2"


def test_an_embedding_s_bars_are_what_is_lost_without_each_head():
    mean = np.array([[0.99, 0.75], [0.5, 1.0]])
    answer = trials.answers.embedding(mean, 40, (0, 1), "text")
    assert [(bar.name, bar.value, bar.text) for bar in answer.bars] == [
        ("without 2-1", 0.5, "0.500"),
        ("without 1-2", 0.25, "0.750"),
        ("without 1-1", pytest.approx(0.01), "0.990"),
        ("without 2-2", 0.0, "1.000"),
    ]
    assert answer.said.startswith(
        "Without 1-2 the embedding keeps a cosine of 0.750 with what it was: number 2"
    )


def test_a_word_that_only_one_run_names_has_at_most_the_least_of_the_other():
    before = (NextToken(1, " a", 0.5, 3.0), NextToken(2, " b", 0.25, 2.0))
    after = (NextToken(1, " a", 0.375, 3.0), NextToken(3, " c", 0.125, 2.5))
    assert changed.guesses(before, after, None) == (
        changed.Guess(1, " a", 0.5, 0.375),
        changed.Guess(2, " b", 0.25, 0.125),
        changed.Guess(3, " c", 0.25, 0.125),
    )


def test_words_stand_in_the_order_of_what_they_were_before():
    before = tuple(NextToken(i, f" {i}", share, 0.0) for i, share in ((1, 0.5), (2, 0.25), (3, 0.125)))
    after = tuple(NextToken(i, f" {i}", share, 0.0) for i, share in ((3, 0.6), (2, 0.3), (1, 0.05)))
    assert [one.id for one in changed.guesses(before, after, None)] == [1, 2, 3]


@pytest.mark.parametrize(("chosen", "factor"), [({}, 0.0), ({"set": "mean"}, None)])
def test_in_its_turn_a_head_gives_nothing_or_its_mean_as_the_link_says(monkeypatch, chosen, factor):
    begun, asked = [], []
    monkeypatch.setattr(matter, "work", lambda _, begin, *__, **___: begun.append(begin))
    monkeypatch.setattr(matter, "every_head", lambda *_, **how: asked.append(how))
    open_page(PAGE, **{"try": MATTER, "model": "minilm", "text": TIRED} | chosen)
    begun[-1]()
    assert asked == [{"factor": factor}]


def test_a_word_that_is_typed_without_its_space_is_followed_with_it_unless_it_is_likely_as_typed(monkeypatch):
    def followed(word, *likely):
        unlikely = (NextToken(2, "Mary", 0.01, 0.0), NextToken(3, " Mary", 0.01, 0.0))
        tokens = (*(NextToken(10 + i, text, 0.1, 1.0) for i, text in enumerate(likely)), *unlikely)
        monkeypatch.setattr(switch.state, "params", lambda: {"word": word} if word else {})
        found = changed.Changed(changed.guesses(tokens, tokens, word), np.ones(0, np.float32), ())
        return switch.the_followed(found).text

    likely = ("a", "b", "c", "d", "e")
    assert followed("Mary", *likely) == " Mary"
    assert followed(" Mary", *likely) == " Mary"
    assert followed("Mary", "Mary", *likely[1:]) == "Mary"
    assert followed(None, " None", *likely[1:]) == " None"
    assert followed(None, "a", " None", *likely[2:]) == "a"


@pytest.mark.parametrize(("word", "said"), [("Mary", False), (" Mary", False), ("zebra", True), ("", False)])
def test_of_a_word_that_is_too_unlikely_to_be_known_it_is_said_that_another_is_followed(
    word, said, monkeypatch
):
    monkeypatch.setattr(switch.state, "params", lambda: {"word": word})
    likely = (NextToken(1, " the", 0.5, 1.0), NextToken(2, " Mary", 0.01, 0.0))
    found = changed.Changed(changed.guesses(likely, likely, word), np.ones(0, np.float32), ())
    assert switch.unlikely(found) is said
    assert not switch.unlikely(changed.Changed((), np.ones(3, np.float32), ())), "an encoder follows none"


@pytest.mark.slow
def test_the_word_that_is_followed_goes_along_from_the_map_to_the_switches():
    at = open_page(PAGE, **{"try": MATTER}, word=" John")
    del at.query_params["try"]
    (part,) = (one for one in at.get("button_group") if one.key == "try")
    part.set_value(PARTS[0])
    run(at)
    assert link(at)["word"] == " John"
    at.query_params["off"] = "24-4"
    assert said(run(at), "finding")[0].startswith("Without 24-4  John rises from 0.2 %")


def test_a_word_with_a_quote_of_its_own_is_said_whole():
    found = Effects(("logit", "probability of ''s'"), (1.0, 0.5), np.array([[[0.0, 0.25]]]), None)
    assert matter.finding(found, {}, "factor") == (
        "Of 1 head 1-1 matters most: without it the logit goes from 1.00 to 0.00, and `'s` falls from 50.0 % to "
        "25.0 %."
    )


def test_what_is_rounded_to_nothing_has_no_sign():
    assert [number(value) for value in (-0.004, 0.004, -0.006, -10.0)] == ["0.00", "0.00", "−0.01", "−10.00"]
    assert [signed(value) for value in (-0.004, 0.004, -0.006, 0.006)] == ["0.00", "0.00", "−0.01", "+0.01"]


def test_the_one_head_above_is_said_as_one():
    record = SimpleNamespace(tokens=SimpleNamespace(pieces=[SimpleNamespace(bare="cat")]))
    moved = changed.Moved((1, 0), 0.125, 0, 0.5)
    assert elsewhere([], record, {}, 1) == "The one head above does not move 5 % of its attention."
    assert elsewhere([], record, {}, 2) == "None of the 2 heads above moves 5 % of its attention."
    assert elsewhere([moved], record, {}, 1) == (
        "The one head above now looks elsewhere with 5 % of its attention or more, mean over all tokens: 2-1 12.5 %, "
        "most at `cat`."
    )
    assert elsewhere([moved], record, {}, 2).startswith(
        "Of the 2 heads above one now looks elsewhere with 5 % of its"
    )
    assert elsewhere([moved, moved], record, {}, 2).startswith(
        "2 of the 2 heads above now look elsewhere with 5 % of their"
    )


@pytest.mark.long
def test_bars_are_no_means_until_the_means_are_known(minilm, monkeypatch):
    link_of = {"model": "minilm", "text": "The cat sat.", "off": "4-2", "set": "mean"}
    monkeypatch.setattr(switch, "ready", lambda *_: False)
    waiting = view(open_page(PAGE, **link_of))
    assert (waiting["off"], waiting["result"]["after"]) == (["4-2"], "")
    monkeypatch.setattr(switch, "ready", lambda *_: True)
    assert view(open_page(PAGE, **link_of))["result"]["after"] == "with 4-2 at its mean output"


def test_the_likeliest_word_is_said_as_it_is_without_the_heads():
    words = (
        changed.Guess(1, " a", 0.5, 0.1),
        changed.Guess(2, " b", 0.3, 0.2),
        changed.Guess(3, " c", 0.1, 0.6),
    )
    found = changed.Changed(words, np.ones(0, np.float32), ())
    without = Asked(((0, 1),))
    assert finding(without, found, words[1], None) == (
        "Without 1-2 ` b` falls from 30.0 % to 20.0 %; likeliest is then ` c` with 60.0 %."
    )
    assert finding(without, found, words[2], None) == "Without 1-2 ` c` rises from 10.0 % to 60.0 %."
    record = SimpleNamespace(model=None)
    told = [finding(asked({"set": value}, (1, 1))[0], found, None, record) for value in ("0", "mean", "2")]
    assert [one.rpartition(". ")[2] for one in told] == [
        "Click heads to take them away.",
        "Click heads to set them to their mean output.",
        "Click heads to double them.",
    ]


def test_a_head_rests_by_the_mean_of_the_rows_that_see_more_than_the_first_token(monkeypatch):
    weights = np.zeros((1, 2, 3, 3))
    weights[0, :, :, 0] = [[1, 0.4, 0.5], [1, 0.5, 0.6]]  # the first row sees itself alone: always 1
    monkeypatch.setattr(trials, "trace_tokens", lambda *_: SimpleNamespace(weights=weights))
    assert trials.resting_heads(None, None) == ((0, 1),)


def test_what_is_lost_without_induction_heads_is_counted_over_the_second_copy(monkeypatch):
    sample = SimpleNamespace(tokens=range(80), said_twice=40)
    sums = SimpleNamespace(add=lambda *_: None, result=lambda: SimpleNamespace(induction=np.eye(4)))
    monkeypatch.setattr(trials, "repeated_samples", lambda _: [sample])
    monkeypatch.setattr(trials, "is_repeated", lambda _: True)
    monkeypatch.setattr(trials, "trace_tokens", lambda *_: SimpleNamespace(weights=None))
    monkeypatch.setattr(trials, "RepeatedSums", lambda: sums)
    measured = []
    monkeypatch.setattr(trials, "measure", lambda *given: measured.append(given) or (2.0,))
    answer = last(trials.repeated(SimpleNamespace(n_layers=4, n_heads=4)))
    assert {outcome for _, _, outcome, _ in measured} == {Loss(first=40)}, "the first of 80 is number 0"
    assert [how for *_, how in measured][:2] == [(), (Factor(trials.strongest(np.eye(4), 8)),)]
    assert len(measured) == 2 + trials.DRAWS
    assert answer.said.startswith("The loss on the second copy is 2.00 nats a token. Without the 8 heads")


def test_the_steps_of_the_first_token_are_counted_on_from_the_means(monkeypatch):
    used = SimpleNamespace(tokenizer=SimpleNamespace(encode=str.split), n_layers=2, n_heads=3)
    monkeypatch.setattr(trials, "resting_heads", lambda *_: ((0, 0),))
    monkeypatch.setattr(trials, "measure", lambda *_: (3.0,))
    means = [Part(0.5, 400, None), Part(1.0, 800, None)]
    monkeypatch.setattr(trials, "mean_steps", lambda _: iter(means))
    told = [(part.fraction, part.n) for part in trials.first_token(used)]
    assert [n for _, n in told] == [1, 401, 801, *range(802, 815), 814]
    assert told == sorted(told)


def test_heads_at_rest_are_taken_away_set_to_their_mean_and_held_against_others(monkeypatch):
    used = SimpleNamespace(tokenizer=SimpleNamespace(encode=str.split), n_layers=2, n_heads=3)
    monkeypatch.setattr(trials, "resting_heads", lambda *_: ((0, 0), (1, 2)))
    monkeypatch.setattr(trials, "mean_steps", lambda _: iter([Part(1.0, 1, None)]))

    def loss(_tokens, _model, _outcome, how):
        if not how:
            return (3.0,)
        return (
            (5.0,) if isinstance(how[0], MeanOutput) else (4.0 if how[0].heads == ((0, 0), (1, 2)) else 6.0,)
        )

    monkeypatch.setattr(trials, "measure", loss)
    bars = {bar.name: bar.value for bar in last(trials.first_token(used)).bars}
    assert bars["as it is"] == 3.0
    assert bars["without the 2 that rest there"] == 4.0
    assert bars["with their mean output instead"] == 5.0
    assert bars["without 2 others, the worst draw"] == 6.0


def test_how_far_heads_turn_the_embedding_is_the_mean_over_all_texts(monkeypatch):
    told = []
    monkeypatch.setattr(trials, "SENTENCES", 3)
    monkeypatch.setattr(trials.answers, "embedding", lambda *given: told.append(given) or "answer")

    def one_text(tokens, *_):
        after = np.full((1, 2), float(len(told_of)))
        told_of.append(tokens)
        return iter([Part(1.0, 1, SimpleNamespace(after=after))])

    told_of = []
    monkeypatch.setattr(trials, "every_head", one_text)
    used = SimpleNamespace(tokenizer=SimpleNamespace(encode=str), n_layers=1, n_heads=2)
    parts = list(trials.turning(used))
    ((mean, n, head, text),) = told
    assert (n, head, text, len(set(told_of))) == (3, trials.SIX_SIX, TIRED, 3)
    np.testing.assert_array_equal(mean, [[1.0, 1.0]])
    assert [(part.fraction, part.n) for part in parts] == [(1 / 3, 1), (2 / 3, 2), (1.0, 3), (1.0, 3)]
    assert parts[-1].result == "answer"


def test_heads_at_rest_come_to_bars_of_each_way_to_take_them_away():
    answer = trials.answers.sink(270, [(0, 0), (1, 4)], 3.0, 3.5, 3.2, (3.6, 3.9, 4.2), 200, "It rained.")
    assert [(bar.name, bar.value, bar.text) for bar in answer.bars] == [
        ("as it is", 3.0, "3.00"),
        ("without the 2 that rest there", 3.5, "3.50"),
        ("with their mean output instead", 3.2, "3.20"),
        ("without 2 others, the median draw", 3.9, "3.90"),
        ("without 2 others, the worst draw", 4.2, "4.20"),
    ]
    assert (
        "goes from 3.00 to 3.50, with their mean output instead to 3.20; without 2 random others it is 3.60 to"
        in (answer.said)
    )
    assert answer.link == {"text": "It rained.", "off": "1-1,2-5"}


@pytest.mark.slow
def test_the_picture_is_that_of_the_text_as_it_is(minilm):
    at = open_page(PAGE, model="minilm", text=TIRED, off="1-1,6-2")
    record = trace(TIRED, minilm)
    assert " of the 60 heads above " in said(at, "moved")[0]
    (data,) = mounted(at, "record")
    expected = grid_of(record.tokens, record.weights, False, "shown", model=record.model).weights
    assert data["weights"].reshape(expected.shape) / 65535 == pytest.approx(expected, abs=1e-4)


def test_inside_has_the_same_switch_on_its_heads(minilm):
    at = open_page("pages/inside.py", text=TIRED, head="4-2", at="gone")
    at.session_state["inside-gone-3"] = [1, 4]
    at = run(at)
    boards = [
        board
        for board in mounted(at, "tiles")
        for block in board["blocks"]
        if block.get("item", {}).get("id") == "output-without"
    ]
    (board,) = boards
    block = board["blocks"][1]["item"]
    shown = board["numbers"][block["at"] : block["at"] + 16 * 384].reshape(16, 384)
    with_gates = _tensor(gates(minilm, (4, 2), (4, 5)))
    steps = minilm.encoder.steps(*batch_of([minilm.tokenizer.encode(TIRED)], minilm), gates=with_gates)
    assert shown == pytest.approx(list(steps)[3].attended[0].detach().numpy(), abs=2e-5)
    before = list(minilm.encoder.steps(*batch_of([minilm.tokenizer.encode(TIRED)], minilm)))[3].attended[
        0, 10
    ]
    left = np.linalg.norm(shown[10]) / np.linalg.norm(before.detach().numpy())
    assert percent(float(left)) in str(board["blocks"][0]["spans"])


@pytest.mark.long
def test_a_text_too_long_to_travel_in_full_and_shorter_than_a_small_picture_is_drawn_as_it_is(smollm2):
    text = " ".join(trials.ORDINARY.split()[:40])
    (data,) = mounted(open_page(PAGE, text=text), "record")
    weights = trace(text, smollm2).weights
    n = weights.shape[-1]
    assert (data["packing"], data["side"]) == ("small", n)
    assert n < 64
    assert data["weights"].reshape(weights.shape) / 255 == pytest.approx(weights, abs=1 / 500)


def test_the_state_that_changes_most_is_named_and_effects_have_their_sign():
    pieces = [SimpleNamespace(bare=word) for word in ("cat", "sat", "it")]
    record = SimpleNamespace(tokens=SimpleNamespace(pieces=pieces))
    found = changed.Changed((), np.array([0.9, 0.25, 0.75, 0.5], np.float32), ())
    assert finding(Asked(((0, 0),)), found, None, record).endswith(
        "has cosine 0.500 with what it was; the last state of `sat` changes most, to 0.250."
    )
    assert matter.listed([((0, 0), 0.5), ((1, 2), -0.25)], {}) == "1-1 (+0.50), 2-3 (−0.25)"


# ---- the parts without the page


@pytest.fixture
def told(monkeypatch):
    """What the parts say on the page, in order: a sentence with its kind, or HTML."""
    shown = []
    for part in (switch, matter, deciding, pruning, selective, ready):
        monkeypatch.setattr(part, "say", lambda *given: shown.append(given))
        monkeypatch.setattr(part, "caveats", lambda *_: None)
    for part in (selective, ready):
        monkeypatch.setattr(part, "markup", shown.append)
    return shown


def words_of(*texts):
    """A text of these words, one token each."""
    pieces = [SimpleNamespace(text=text, bare=text) for text in texts]
    return SimpleNamespace(
        tokens=SimpleNamespace(pieces=pieces), model=SimpleNamespace(title="M", is_causal=True)
    )


FOUND = changed.Changed(
    (changed.Guess(1, " a", 0.5, 0.25), changed.Guess(2, "  b", 0.25, 0.5)),
    np.ones(0, np.float32),
    (changed.Moved((2, 0), 0.25, 1, 0.75),),
)
BARS = {
    "title": "What it says next", "before": "as it is", "unit": "percent",
    "note": "Click a word to follow it. Probabilities are this model's, of the next token only.",
}  # fmt: skip


@pytest.mark.parametrize(
    ("link_of", "known", "how", "sentences", "after"),
    [
        ({}, True, (), ["As it is, M gives ` a` 50.0 %, `  b` 25.0 %. Click heads to take them away."], ""),
        (
            {"off": "2-1,1-2", "word": "zebra"}, True, (Factor(((0, 1), (1, 0))),),
            [
                "`zebra` is none of the 2,000 likeliest tokens here; the likeliest of all is followed.",
                "Without 1-2 and 2-1 ` a` falls from 50.0 % to 25.0 %; likeliest is then `  b` with 50.0 %.",
                "Of the 4 heads above one now looks elsewhere with 5 % of its attention or more, mean over all tokens: "
                "3-1 25.0 %, most at `cat`.",
            ],
            "without 1-2 and 2-1",
        ),
        (
            {"off": "2-1", "word": " b", "set": "2"}, True, (Factor(((1, 0),), 2.0),),
            [
                "With 2-1 doubled `  b` rises from 25.0 % to 50.0 %.",
                "Of the 2 heads above one now looks elsewhere with 5 % of its attention or more, mean over all tokens: "
                "3-1 25.0 %, most at `cat`.",
            ],
            "with 2-1 doubled",
        ),
        ({"off": "2-1", "set": "mean"}, False, (), [], ""),
    ],
)  # fmt: skip
def test_all_that_is_said_and_drawn_of_switched_heads(
    link_of, known, how, sentences, after, told, monkeypatch
):
    record, used = words_of("the", "cat"), SimpleNamespace(n_layers=3, n_heads=2)
    asked_of, drawn = [], []
    monkeypatch.setattr(switch.state, "params", lambda: link_of)
    monkeypatch.setattr(switch.shell, "read", lambda _: record)
    monkeypatch.setattr(switch.cache, "model", lambda _: used)
    monkeypatch.setattr(switch, "leave_param", lambda _: None)
    monkeypatch.setattr(switch, "ready", lambda *_: known)
    monkeypatch.setattr(switch, "changed_by", lambda *given: asked_of.append(given) or FOUND)
    monkeypatch.setattr(switch, "_picture", lambda *given: drawn.append(given))
    request = Request("the cat", model="m")
    switch.view(request)
    assert asked_of == [(request, record, used, how, link_of.get("word"))]
    assert [sentence for sentence, _ in told] == sentences
    ((*given, bars, roles),) = drawn
    assert (given, roles) == ([request, record, asked(link_of, (3, 2))[0], FOUND], {})
    followed = link_of.get("word") == " b"
    assert bars == BARS | {
        "after": after,
        "rows": [
            {"id": " a", "before": 0.5, "after": 0.25, "target": not followed, "mark": "␣", "text": "a"},
            {"id": "  b", "before": 0.25, "after": 0.5, "target": followed, "mark": "␣␣", "text": "b"},
        ],
    }


def test_mean_outputs_are_found_once_for_a_model_where_a_head_is_set_to_them(monkeypatch):
    works, used = [], SimpleNamespace(name="m", fingerprint="f")
    monkeypatch.setattr(switch, "mean_steps", lambda model: ("means of", model))
    monkeypatch.setattr(
        switch, "work", lambda key, begin, *_, **said: works.append((key, begin(), said)) or "so far"
    )
    off, mean = asked({"off": "1-1"}, (1, 1))[0], asked({"off": "1-1", "set": "mean"}, (1, 1))[0]
    assert switch.ready(off, used) is True
    assert switch.ready(asked({"set": "mean"}, (1, 1))[0], used) is True
    assert not works
    assert switch.ready(mean, used) == "so far"
    assert works == [
        (
            ("means", "m", "f"), ("means of", used),
            {
                "unit": "built-in sentences read for the mean outputs",
                "one": "built-in sentence read for the mean outputs",
            },
        )
    ]  # fmt: skip


def test_fifty_changes_can_be_undone_and_the_last_one_heard_is_known(monkeypatch):
    session, link_of = {}, {}
    monkeypatch.setattr(
        switch,
        "state",
        SimpleNamespace(params=lambda: {k: v for k, v in link_of.items() if v}, change=link_of.update),
    )
    monkeypatch.setattr(switch.st, "session_state", session)

    def hear(**ask):
        session[switch.PICTURE] = {"ask": ask}
        switch._heard()

    for i in range(1, 61):
        hear(do="set", off=[f"1-{i}"], n=i)
    hear(do="nonsense", n=99)
    assert (session[f"{switch.PICTURE}-heard"], link_of["off"]) == (60, "1-60")
    for _ in range(60):
        hear(do="undo")
    assert link_of["off"] == "1-10"


def test_what_stays_falls_and_rises_as_it_is_written():
    assert [moves(*each) for each in ((0.5, 0.25), (0.25, 0.5), (0.5, 0.50001), (0.0, 0.0002), (0.0001, 0.0002))] == [
        "falls from 50.0 % to 25.0 %", "rises from 25.0 % to 50.0 %", "stays at 50.0 %",
        "rises from 0.0 % to < 0.1 %", "stays at < 0.1 %",
    ]  # fmt: skip


def test_of_the_heads_that_were_tried_so_far_the_strongest_are_said_with_their_roles():
    numbers = np.full((2, 2, 2), np.nan)
    names = ("logit difference", "probability of ' Mary'")
    untried = Effects(names, (2.0, 0.5), numbers)
    assert matter.finding(untried, {}, "factor") == "As it is, the logit difference is 2.00."
    numbers = numbers.copy()
    numbers[1] = [[2.5, 0.6], [-1.0, 0.25]]
    roles = {(1, 0): SimpleNamespace(label="broad"), (0, 0): SimpleNamespace(label="sink")}
    assert matter.finding(Effects(names, (2.0, 0.5), numbers), roles, "mean") == (
        "Of 2 heads 2-2 matters most: with its mean output instead the logit difference goes from 2.00 to −1.00, and "
        "` Mary` falls from 50.0 % to 25.0 %. Then 2-1, broad, (+0.50)."
    )


def test_the_map_of_what_was_taken_over_has_every_head_with_its_link_and_its_share(told, monkeypatch):
    drawn = []
    monkeypatch.setattr(deciding, "head_effects", lambda share, **more: drawn.append((share.tolist(), more)))
    monkeypatch.setattr(deciding, "work", lambda key, begin, draw, **_: draw(begin()))
    found = Effects(("loss",), (1.0,), np.array([[[2.0], [0.0]]]), (3.0,))
    tokenizer = SimpleNamespace(encode=lambda text: f"tokens of {text}")
    used = SimpleNamespace(n_layers=1, n_heads=2, fingerprint="f", tokenizer=tokenizer)
    record, tried = words_of("the", "cat"), []
    monkeypatch.setattr(deciding.shell, "read", lambda _: record)
    monkeypatch.setattr(deciding.cache, "model", lambda _: used)
    monkeypatch.setattr(deciding, "outcome_of", lambda *given: ("outcome of", *given))
    monkeypatch.setattr(deciding, "patch_heads", lambda *given: tried.append(given) or found)
    monkeypatch.setattr(deciding, "st", SimpleNamespace(
        container=lambda **_: nullcontext(), text_input=lambda *_, **__: "the dog", button=lambda *_, **__: None,
        segmented_control=lambda *_, **__: deciding.MAPS[0],
    ))  # fmt: skip
    monkeypatch.setattr(deciding, "roles_of", lambda _: {(0, 0): SimpleNamespace(label="broad")})
    request = Request("the cat", model="smollm2", trained=False)
    deciding.view(request)
    other = "tokens of the dog"
    assert tried == [(other, record.tokens, used, ("outcome of", other, record, used))]
    assert told == [
        (
            "In your sentence the loss is 1.00, in the other 3.00. One head's output taken over brings at most: 1-1, "
            "broad, 50.0 % of the way there.",
            "finding",
        )
    ]
    ((share, more),) = drawn
    assert share == [[0.5, -0.5]]
    links = {
        name: dict(parse_qsl(urlsplit(address).query)) for name, address in more.pop("addresses").items()
    }
    assert links == {
        name: {"text": "the cat", "model": "smollm2", "weights": "untrained", "head": name}
        for name in ("1-1", "1-2")
    }
    assert more == {
        "measure": "share of the way", "was": 0.0, "roles": deciding.roles_of(None), "hint": deciding.HINT,
        "key": "patched-heads",
    }  # fmt: skip


def test_what_is_weighed_is_what_the_other_sentence_says_against_what_this_one_does(monkeypatch):
    class Text(list):
        text = "their text"

    theirs, own = Text("ab"), Text("cd")
    record, speaks = SimpleNamespace(tokens=own), SimpleNamespace(next_head=object())
    for says, wanted in (
        ((Word(" a", " b"), Word(" c", " d")), Word(" a", " c")),
        ((Word(" a", " b"), Word(" a", " d")), Word(" a", " b")),
    ):
        by_text = dict(zip(("ab", "cd"), says, strict=True))
        monkeypatch.setattr(deciding, "default_outcome", lambda tokens, _, by=by_text: by["".join(tokens)])
        assert deciding.outcome_of(theirs, record, speaks) == wanted
        assert deciding.outcome_of(theirs, record, SimpleNamespace(next_head=None)) == says[1]
    theirs.text = MARY
    assert deciding.outcome_of(theirs, record, speaks) == Word(" Mary", " John")


def test_where_no_state_and_no_head_was_tried_or_brings_half_of_the_way_that_is_said(minilm):
    tired, wide = (minilm.tokenizer.encode(text) for text in (TIRED, WIDE))
    ways = "In your sentence the cosine is 0.00, in the other 1.00."
    untried = Effects(("cosine",), (0.0,), np.full((7, 16, 1), np.nan), (1.0,))
    few = Effects(("cosine",), (0.0,), np.full((7, 16, 1), 0.49), (1.0,))
    assert deciding.of_heads(untried, {}) == ways
    assert deciding.of_states(few, tired, wide) == f"{ways} No single state brings half of the way there."


def test_every_order_is_made_on_one_half_of_the_texts_and_followed_on_the_other(monkeypatch):
    def order(name):
        return lambda *given: iter([Part(0.5, 1, (name, "begun")), Part(1.0, 2, (name, *given))])

    monkeypatch.setattr(pruning, "pruning_texts", lambda _: ("some", "others"))
    monkeypatch.setattr(pruning, "order_by_effect", order("effect"))
    monkeypatch.setattr(pruning, "order_by_gradient", order("gradient"))
    monkeypatch.setattr(pruning, "order_greedy", order("greedy"))
    monkeypatch.setattr(pruning, "order_random", lambda used: ("random", used))
    monkeypatch.setattr(
        pruning, "prune_curve", lambda *given: iter([Part(0.5, 1, "begun"), Part(1.0, 2, given)])
    )
    small, large = SimpleNamespace(n_layers=10, n_heads=10), SimpleNamespace(n_layers=10, n_heads=11)
    wanted = {
        "by effect": ("effect", "some"), "by gradient": ("gradient", "some"), "at random": ("random",),
        "greedy": ("greedy", "some"),
    }  # fmt: skip
    for used, names, more in ((small, list(wanted), {"greedy": (6,)}), (large, list(wanted)[:3], {})):
        parts = list(pruning.curves(used))
        orders = {name: (*wanted[name], used, *more.get(name, ())) for name in names}
        assert parts[-1].result == {name: (orders[name], "others", used) for name in names}
        assert list(parts[-1].result) == names
        assert [part.n for part in parts] == list(range(1, len(parts) + 1))
        steps = [0.25, 0.5, 0.75, 1.0]
        each = [[at for at in steps if (at, name) != (0.25, "at random")] for name in names]
        assert [part.fraction for part in parts] == pytest.approx(
            [(i + at) / len(names) for i, some in enumerate(each) for at in some]
        )
        assert parts[2].result == {"by effect": "begun"}


@pytest.mark.parametrize(
    ("key", "text", "word", "rival"),
    [("names", MARY, " Mary", " John"), ("key", "The key to the cabinets", " is", " are")],
)
def test_two_words_of_a_ready_experiment_are_those_of_its_sentence(key, text, word, rival, monkeypatch):
    begun = Effects(("difference", "p", "q"), (2.0, 0.6, 0.1), np.full((1, 2, 3), np.nan))
    done = Effects(begun.names, begun.before, np.array([[[-1.0, 0.2, 0.4], [1.5, 0.5, 0.2]]]))
    asked_of = []

    def every(*given):
        asked_of.append(given)
        return iter([Part(0.5, 1, begun), Part(1.0, 2, done)])

    monkeypatch.setattr(trials, "every_head", every)
    used = SimpleNamespace(tokenizer=SimpleNamespace(encode=lambda text: f"tokens of {text}"))
    parts = list(trials.BY_KEY[key].run(used))
    assert asked_of == [(f"tokens of {text}", used, Word(word, rival))]
    assert [(part.fraction, part.n) for part in parts] == [(0.5, 1), (1.0, 2)]
    assert parts[0].result is None
    assert parts[1].result.link == {"text": text, "off": "1-1", "word": word}
    assert parts[1].result.said.startswith(f"`{word}` gets 60.0 %, `{rival}` 10.0 %. One of 2 heads,")


def test_a_ready_experiment_is_said_with_its_bars_from_nought_and_the_link_to_its_heads(told, monkeypatch):
    opened = []
    monkeypatch.setattr(ready.state, "change", opened.append)
    ready._open(trials.BY_KEY["sink"])
    assert opened == [{"ready": "sink"}]
    bars = (
        trials.answers.Bar("as it is", 2.0, "2.00"),
        trials.answers.Bar("without 1-2 & 3-4", -4.0, "−4.00"),
        trials.answers.Bar("with `a`", 0.0, "0.00"),
    )
    ready._show(None)
    ready._show(trials.answers.Answer("It is so.", bars, {"off": "1-2", "word": " a"}, "Loss & more."))
    (sentence, table, link_of) = told
    assert sentence == ("It is so.", "finding")
    assert table == (
        '<div class="hs-scroll"><table class="answer"><caption>Loss &amp; more.</caption><tbody>'
        '<tr><th scope="row">as it is</th><td class="wide"><i style="width:50.00%"></i></td><td>2.00</td></tr>'
        '<tr><th scope="row">without 1-2 &amp; 3-4</th><td class="wide"><i style="width:100.00%" class=less></i></td>'
        "<td>−4.00</td></tr>"
        '<tr><th scope="row">with <bdi class="hs-word">a</bdi></th><td class="wide"><i style="width:0.00%"></i></td>'
        "<td>0.00</td></tr></tbody></table></div>"
    )
    assert link_of == (
        '<p class="hs-note"><a href="./experiment?off=1-2&amp;word=+a">Switch these heads yourself</a></p>'
    )


def test_the_table_of_roles_has_each_number_under_its_task_beside_its_role(told):
    found = (
        Selectivity("broad", ((0, 0), (1, 1), (2, 2)), REPEATED, 4, 3.0, 7.0, (5.0, 4.0, 6.0)),
        Selectivity("broad", ((0, 0), (1, 1), (2, 2)), NAME, 9, 2.0, 1.5, (1.0, 3.0)),
        Selectivity("sink", ((0, 1), (0, 2), (0, 3), (1, 0)), REPEATED, 4, 3.0, 5.0, (4.0, 5.5)),
        Selectivity("sink", ((0, 1), (0, 2), (0, 3), (1, 0)), NAME, 9, 2.0, 0.5, (1.0, 2.5)),
    )
    selective._show(None, 2)
    selective._show((), 2)
    selective._show(found, 2)
    sentence, table = told
    assert sentence == (selective.verdict(found, 2), "finding")
    rows = [re.findall(r"<t[hd](.*?)</t[hd]>", row) for row in table.split("<tr>")[1:]]
    plain = [[" ".join(re.sub(r"<[^>]*>", " ", f"<{cell}").split()) for cell in row] for row in rows]
    assert plain == [
        [
            "", "random tokens said again nats lost a token, less is better; n = 4; as it is 3.00",
            "the name of the indirect object logit difference, more is better; n = 9; as it is 2.00",
        ],
        ["broad 3 heads", "7.00 ★ others 4.00 to 6.00", "1.50 others 1.00 to 3.00"],
        ["sink 4 heads", "5.00 others 4.00 to 5.50", "0.50 ★ others 1.00 to 2.50"],
    ]  # fmt: skip
    assert re.findall(r'title="([^"]+)"', table) == ["1-1, 2-2, 3-3", "1-2, 1-3, 1-4, 2-1"]
    assert re.findall(r'<td class="(\w+)"', table) == ["worse", "within", "within", "worse"]


def test_roles_that_are_not_known_or_too_small_are_not_taken_away(told, monkeypatch):
    used = SimpleNamespace(title="M", name="m", fingerprint="f", n_layers=2, n_heads=2)
    monkeypatch.setattr(selective.cache, "model", lambda _: used)
    monkeypatch.setattr(selective, "st", SimpleNamespace(button=lambda *_, **__: False))
    request = Request("a", model="m")
    monkeypatch.setattr(selective.cache, "known_findings", lambda *_: None)
    selective.view(request)
    roles = {(0, i): SimpleNamespace(key="sink") for i in range(2)}
    monkeypatch.setattr(selective.cache, "known_findings", lambda *_: SimpleNamespace(roles=roles))
    selective.view(request)
    assert told == [
        ("What the heads of this model do is not known yet; the roles come from there.", "note"),
        ("No role of M has 3 heads or more, so there is no set to take away.", "notice"),
    ]
