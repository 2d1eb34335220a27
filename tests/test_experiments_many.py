"""Many heads at once: tasks, roles against random heads, orders and curves of pruning; and the command line."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from decoder_folders import random_decoder, write_decoder

from mha_core import InputError, embedding, load_model
from mha_core.cli import main
from mha_core.experiments import (
    Cosine,
    Curve,
    Effects,
    Factor,
    Loss,
    Prompt,
    Prompts,
    Word,
    last,
    measure,
    next_words,
    order_by_effect,
    order_by_gradient,
    order_greedy,
    order_random,
    prompts,
    prune_curve,
    pruning_texts,
    selective,
    tasks,
)
from mha_core.experiments.pruning import gate_gradient
from mha_core.experiments.report import Asked, effects_data, effects_rows, effects_text, once_text
from mha_core.experiments.selective import Selectivity
from mha_core.experiments.tasks import (
    AGREEMENT,
    EMBEDDING,
    NAME,
    ORDINARY,
    REPEATED,
    EmbeddingTask,
    Ready,
    gates_without,
    mean_loss,
    ready_tasks,
    share_right,
)
from mha_core.trace import run

pytest.importorskip("transformers")
TEXTS = ("the cat it", "it dog the thing", "that")


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    theirs = write_decoder(folder, random_decoder("llama", 1))
    return theirs, load_model(str(folder), device="cpu", dtype="float64")


@pytest.fixture(scope="module")
def llama(decoder):
    return decoder[1]


@pytest.fixture(scope="module")
def texts(llama):
    return [llama.tokenizer.encode(text) for text in TEXTS]


# Tasks


def test_losses_and_shares_over_texts_are_those_of_every_token(decoder, texts):
    theirs, model = decoder
    # What the model says itself it holds likeliest, but for the three tokens that were given.
    ids = list(texts[0].ids[:4])
    while len(ids) < 12:
        ids.append(next_words(model.tokenizer.from_ids(ids), model, k=1)[0].id)
    texts = [*texts, model.tokenizer.from_ids(ids)]
    losses, right = list[float](), list[bool]()
    for tokens in texts:
        ids = torch.tensor(tokens.ids)
        with torch.no_grad():
            scores = theirs.double()(ids[None]).logits[0, :-1, : model.tokenizer.vocab_size]
        losses += torch.nn.functional.cross_entropy(scores, ids[1:], reduction="none").tolist()
        right += (scores.argmax(-1) == ids[1:]).tolist()
    assert mean_loss(texts, model, None) == pytest.approx(np.mean(losses), abs=1e-6)
    assert share_right(texts, model, None) == pytest.approx(np.mean(right), abs=1e-9)
    assert sum(right[-11:]) >= 8
    heads = ((0, 1), (2, 3))
    one_by_one = [measure(tokens, model, Loss(), (Factor(heads),))[0] * (len(tokens) - 1) for tokens in texts]
    expected = sum(one_by_one) / sum(len(tokens) - 1 for tokens in texts)
    assert mean_loss(texts, model, gates_without(heads, model)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_the_embeddings_are_compared_with_the_whole_model_s(model):
    texts = [model.tokenizer.encode(text) for text in ("Rain falls.", "Snow melts on the roof.")]
    task, gates = EmbeddingTask(texts, model), gates_without(((5, 5), (2, 1)), model)
    cosines = []
    for tokens in texts:
        a, b = embedding(tokens, model), embedding(tokens, model, gates=gates.numpy())
        cosines.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    assert task(gates) == pytest.approx(np.mean(cosines), abs=1e-6)
    assert task(None) == pytest.approx(1, abs=1e-6)
    (ready,) = ready_tasks(model)
    assert (ready.task, ready.n) == (EMBEDDING, 60)


def test_a_decoder_is_asked_for_four_things_each_over_its_own_texts(monkeypatch):
    samples = [SimpleNamespace(tokens=range(i, 80 + i), said_twice=40 * (i > 0)) for i in range(8)]
    asked = Prompts(("name",) * 3, ("agreement",) * 2, tuple("abcdefg"))
    monkeypatch.setattr(tasks, "repeated_samples", lambda _: samples)
    monkeypatch.setattr(tasks, "is_repeated", lambda one: one.said_twice > 0)
    monkeypatch.setattr(tasks, "prompts", lambda: asked)
    monkeypatch.setattr(tasks, "mean_loss", lambda texts, model, gates, first=1: (texts, model, gates, first))
    monkeypatch.setattr(
        tasks, "_pairs", lambda task, rows, model: Ready(task, len(rows), lambda gates: (rows, model, gates))
    )
    used = SimpleNamespace(next_head=object(), tokenizer=SimpleNamespace(encode="tokens of {}".format))
    found = [(one.task, one.n, one.of("gates")) for one in ready_tasks(used)]
    said_again, passages = [one.tokens for one in samples[1:5]], [f"tokens of {text}" for text in "abcde"]
    assert found == [
        (REPEATED, 4, (said_again, used, "gates", 40)), (NAME, 3, (asked.name, used, "gates")),
        (AGREEMENT, 2, (asked.agreement, used, "gates")), (ORDINARY, 5, (passages, used, "gates", 1)),
    ]  # fmt: skip
    assert [(task.key, task.better) for task in (REPEATED, NAME, AGREEMENT, ORDINARY, EMBEDDING)] == [
        ("repeated", "low"), ("name", "high"), ("agreement", "high"), ("ordinary", "low"), ("embedding", "high"),
    ]  # fmt: skip
    samples[:] = samples[:1]
    assert [one.task for one in ready_tasks(used)] == [NAME, AGREEMENT, ORDINARY], "nothing is said again"


def test_a_pair_s_difference_is_that_of_its_own_words_at_the_end_of_its_own_text(llama):
    rows = (
        Prompt("the cat it", " the", " it"), Prompt("it dog the thing", " it", " the"), Prompt("that", "the", " it"),
    )  # fmt: skip
    heads = ((0, 1), (2, 3))
    for how, gates in (((), None), ((Factor(heads),), gates_without(heads, llama))):
        each = [
            measure(llama.tokenizer.encode(row.text), llama, Word(row.target, row.against), how)[0]
            for row in rows
        ]
        ready = tasks._pairs(NAME, rows, llama)
        assert (ready.n, ready.of(gates)) == (3, pytest.approx(np.mean(each), abs=1e-6))


def test_every_prompt_is_a_sentence_of_its_own_with_the_names_it_asks_for():
    found = prompts()
    texts = [row.text for row in (*found.name, *found.agreement)] + list(found.ordinary)
    assert len(set(texts)) == len(texts)
    for row in found.name:  # the target is said once, the other name twice
        assert (row.text.count(row.target.strip()), row.text.count(row.against.strip())) == (1, 2), row.text
    plural = {" are", " were", " have"}
    assert sum(row.target in plural for row in found.agreement) == len(found.agreement) / 2
    assert all((row.target in plural) != (row.against in plural) for row in found.agreement)


# Roles against random heads


def test_a_role_is_compared_with_as_many_heads_that_are_not_its_own(model, monkeypatch):
    asked = []

    def of(gates):
        gone = [] if gates is None else [tuple(place) for place in (gates == 0).nonzero().tolist()]
        asked.append(gone)
        return float(sum(layer for layer, _ in gone))

    monkeypatch.setitem(
        selective.__globals__, "ready_tasks", lambda _: (Ready(ORDINARY, 3, of), Ready(AGREEMENT, 3, of))
    )
    roles = {"top": ((5, 0), (5, 1), (5, 2)), "low": ((0, 0), (0, 3))}
    parts = list(selective(roles, model, draws=12))
    assert (len(parts), parts[-1].fraction) == (1 + 2 * 13, 1)
    drawn = asked[::2]
    assert drawn[0] == []
    for heads, start in ((roles["top"], 1), (roles["low"], 14)):
        assert drawn[start] == list(heads)
        for gone in drawn[start + 1 : start + 13]:
            assert len(gone) == len(heads)
            assert not set(gone) & set(heads)
    assert len({tuple(gone) for gone in drawn}) == 27
    loss, agreement, *_ = parts[-1].result
    assert (loss.role, loss.intact, loss.without, len(loss.draws)) == ("top", 0, 15, 12)
    assert loss.worse  # no other three lie as high; and a loss is better low
    assert not agreement.worse
    assert loss.share_as_bad == pytest.approx(1 / 13)
    assert (loss.low, loss.high) == (min(loss.draws), max(loss.draws))


def test_every_role_has_draws_of_its_own(model, monkeypatch):
    asked = []

    def of(gates):
        asked.append(set() if gates is None else {tuple(place) for place in (gates == 0).nonzero().tolist()})
        return 0.0

    monkeypatch.setitem(selective.__globals__, "ready_tasks", lambda _: (Ready(ORDINARY, 3, of),))
    roles = {
        "last": ((5, 10), (5, 11)),
        "before": ((5, 8), (5, 9)),
    }  # all that stands before both is drawn alike
    list(selective(roles, model, draws=12))
    one, other = asked[2:14], asked[15:]
    assert sum(a == b for a, b in zip(one, other, strict=True)) < 2


def test_worse_means_beyond_every_draw_in_the_bad_direction():
    low = Selectivity("r", ((0, 0),), ORDINARY, 5, 3.0, 4.5, (3.1, 4.4, 3.0))
    assert low.worse
    assert not replace(low, without=4.3).worse
    assert replace(low, without=4.3).share_as_bad == 2 / 4
    as_bad = replace(low, without=4.4)
    assert (as_bad.worse, as_bad.share_as_bad) == (False, 2 / 4), (
        "a draw that is as bad as the role is no better"
    )
    high = replace(low, task=AGREEMENT, without=2.9)
    assert high.worse
    assert not replace(high, without=3.05).worse
    as_bad = replace(high, without=3.0)
    assert (as_bad.worse, as_bad.share_as_bad, high.share_as_bad) == (False, 2 / 4, 1 / 4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("sets", "draws", "message"),
    [
        (
            {"all": tuple((layer, head) for layer in range(6) for head in range(12))},
            10,
            "'all' has 72 of 72 heads",
        ),
        ({"none": ()}, 10, "'none' has 0 of 72 heads"),
        ({"far": ((6, 0),)}, 10, "There is no head 7-1"),
        ({"one": ((0, 0),)}, 0, "0 draws were asked for"),
    ],
)
def test_sets_that_cannot_be_compared_get_a_sentence(sets, draws, message, model):
    with pytest.raises(InputError, match=message):
        next(selective(sets, model, draws=draws))


# Pruning


def test_the_gradient_of_a_gate_is_what_a_small_step_changes(llama, model, texts):
    found = gate_gradient(texts[1], llama, texts[0])
    assert found.shape == (3, 6)
    for layer, head in ((0, 0), (1, 4), (2, 5)):
        up, down = (
            measure(texts[1], llama, Loss(), (Factor(((layer, head),), 1 + step),))[0]
            for step in (1e-3, -1e-3)
        )
        assert found[layer, head] == pytest.approx(abs(up - down) / 2e-3, rel=1e-3, abs=1e-6)
    tokens, other = (model.tokenizer.encode(text) for text in ("Rain falls.", "Snow melts."))
    gates = np.ones((2, 6, 12))
    gates[:, 5, 5] += (0.01, -0.01)
    theirs = embedding(other, model)
    up, down = (
        v @ theirs / np.linalg.norm(v) / np.linalg.norm(theirs)
        for v in (embedding(tokens, model, gates=gate) for gate in gates)
    )
    assert gate_gradient(tokens, model, other)[5, 5] == pytest.approx(abs(up - down) / 0.02, rel=0.02)
    parameters = [*model.encoder.parameters(), *llama.encoder.parameters()]
    assert all(p.grad is None and not p.requires_grad for p in parameters)


def test_an_encoder_s_order_by_gradient_asks_for_the_cosine_with_the_next_text(model):
    tokens, other = (model.tokenizer.encode(text) for text in ("Rain falls.", "Snow melts."))
    gradient = gate_gradient(tokens, model, other)
    least = (gradient / np.linalg.norm(gradient, axis=1, keepdims=True)).ravel().argsort()
    first = next(order_by_gradient([tokens, other], model)).result
    assert first == tuple(divmod(int(i), 12) for i in least)


@pytest.mark.slow
def test_orders_hold_every_head_once_the_least_missed_first(llama, texts):
    every = {(layer, head) for layer in range(3) for head in range(6)}
    by_effect = last(order_by_effect(texts, llama))
    harm = {
        head: sum(
            measure(t, llama, Loss(), (Factor((head,)),))[0] - measure(t, llama, Loss())[0] for t in texts
        )
        for head in every
    }
    assert [harm[head] for head in by_effect] == pytest.approx(sorted(harm.values()), abs=1e-6)
    greedy = list(order_greedy(texts, llama, at_once=5))
    assert [part.n for part in greedy] == [5, 10, 15, 18]
    assert set(greedy[0].result[:5]) == set(by_effect[:5])
    gone = Factor(by_effect[:5])
    next_harm = {
        head: sum(measure(t, llama, Loss(), (gone, Factor((head,))))[0] for t in texts)
        for head in every - set(by_effect[:5])
    }
    assert set(greedy[1].result[5:10]) == set(sorted(next_harm, key=next_harm.get)[:5])
    orders = [by_effect, greedy[-1].result, last(order_by_gradient(texts, llama)), order_random(llama)]
    for order in orders:
        assert (len(order), set(order)) == (18, every)
    assert order_random(llama) == order_random(llama) != order_random(llama, 1)


@pytest.mark.slow
def test_a_curve_begins_whole_and_counts_what_is_left(llama, model, texts):
    order = order_random(llama)
    parts = list(prune_curve(order, texts, llama, (0, 7, 18)))
    assert [part.result.gone for part in parts] == [(0,), (0, 7), (0, 7, 18)]
    curve = parts[-1].result
    gates = np.zeros((3, 6))
    bare = [run([t], llama, gates=torch.tensor(gates), need_weights=False).hidden[0, :-1] for t in texts]
    guesses = [llama.next_head(h)[:, : llama.tokenizer.vocab_size].argmax(-1).tolist() for h in bare]
    right = [
        g == i for row, t in zip(guesses, texts, strict=True) for g, i in zip(row, t.ids[1:], strict=True)
    ]
    assert curve.points[-1] == pytest.approx(100 * np.mean(right))
    assert (curve.n, curve.measure) == (len(right), "next words right")
    some = [model.tokenizer.encode("Rain falls.")]
    whole = last(prune_curve(order_random(model), some, model))
    assert whole.points[0] == pytest.approx(100, abs=1e-4)
    assert (whole.gone[0], whole.gone[-1], whole.measure) == (0, 72, "cosine of the embedding")


def test_where_points_are_lost_is_the_first_place_below():
    curve = Curve("next words right", 500, (0, 10, 20, 30), (40.0, 39.5, 38.9, 30.0))
    assert (curve.loses(1), curve.loses(5), curve.loses(20)) == (20, 30, None)


def test_an_order_and_its_curve_are_made_on_other_texts(model):
    chosen, counted = pruning_texts(model)
    assert (len(chosen), len(counted)) == (8, 30)
    assert not {t.text for t in chosen} & {t.text for t in counted}
    with pytest.raises(InputError, match="There is no text to count on"):
        next(order_by_effect([], model))
    with pytest.raises(InputError, match="0 heads at once"):
        next(order_greedy(chosen, model, at_once=0))


def test_of_an_encoder_the_head_that_turns_the_embedding_least_goes_first(model):
    tokens = model.tokenizer.encode("Rain falls.")
    order = last(order_by_effect([tokens], model))
    kept = [measure(tokens, model, Cosine(), (Factor((order[at],)),))[0] for at in (0, 20, 50, -1)]
    assert kept == sorted(kept, reverse=True)
    assert kept[0] > kept[-1]


def test_rows_of_effects_count_heads_from_one_and_states_and_tokens_from_nought():
    effects = [[0.5, 1.0], [2.0, 3.0]]
    heads = effects_rows({"axes": ["layer", "head"], "effects": effects})
    assert heads[1] == {"layer": 1, "head": 2, "effect": 1.0}
    assert effects_rows({"axes": ["state", "token"], "effects": effects})[2] == {
        "state": 1,
        "token": 0,
        "effect": 2.0,
    }


def test_the_table_of_one_run_has_the_words_before_on_the_left_and_those_after_on_the_right():
    def run(number, word):
        return {"logit": number, "next": [{"token": word, "probability": 0.25, "logit": number}]}

    data = {"model": {"title": "M"}, "how": "mean", "heads": "1-2"}
    lines = once_text(data | {"before": run(2.0, " cat"), "after": run(-1.0, " dog")}).splitlines()
    assert lines[0] == "M: 1-2 replaced by its mean output."
    assert lines[1].split() == ["logit", "2.0000", "->", "-1.0000"]
    assert " ".join(lines[2].split()) == "25.0 % ' cat' 25.0 % ' dog'"


@pytest.mark.parametrize(
    ("how", "axes", "heads", "said"),
    [
        (0.0, ["layer", "head"], "", "each head times 0."),
        (2.0, ["layer", "head"], "1-2", "each head times 2, with 1-2 the same throughout."),
        (
            "mean",
            ["layer", "head"],
            "1-2",
            "each head replaced by its mean output, with 1-2 the same throughout.",
        ),
        ("patch", ["layer", "head"], "", "each head taken over from 'the dog'."),
        ("patch", ["state", "token"], "", "each place taken over from 'the dog'."),
    ],
)
def test_the_table_of_every_change_says_what_is_changed_in_turn_and_what_all_the_time(how, axes, heads, said):
    asked = {"model": {"title": "M"}, "how": how, "axes": axes, "heads": heads, "source": "the dog"}
    first, *_ = effects_text(asked | {"before": {"logit": 2.0}, "strongest": []}).splitlines()
    assert first == f"M: logit 2.0000; the strongest changes, {said}"


@pytest.mark.parametrize(
    ("name", "against", "said"),
    [
        ("logit difference", " John", "logit difference of ' Mary' against ' John'"),
        ("logit", None, "logit of ' Mary'"),
        ("probability of ' Mary'", " John", "probability of ' Mary'"),
    ],
)
def test_a_logit_is_said_with_the_words_that_it_is_of(name, against, said):
    asked = {"model": {"title": "M"}, "how": 0.0, "heads": "1-1", "target": " Mary", "against": against}
    every = asked | {"axes": ["layer", "head"], "heads": "", "before": {name: 2.0}, "strongest": []}
    assert effects_text(every).startswith(f"M: {said} 2.0000; the strongest changes,")
    once = asked | {"before": {name: 2.0, "next": []}, "after": {name: -1.0, "next": []}}
    assert once_text(once).splitlines()[1].split("  ")[0].startswith(said)


def test_a_patched_state_is_named_by_its_token_from_one_and_the_source_has_its_own_outcome(llama):
    into, source = (llama.tokenizer.encode(text) for text in ("the cat", "the dog"))
    numbers = np.zeros((4, len(into), 1))
    numbers[2, 1] = 3.0
    found = Effects(("logit",), (1.0,), numbers, (5.0,))
    asked = Asked(into, llama.info, Word(" the"), "", "patch", source)
    data = effects_data(asked, found, 1)
    assert (data["before"], data["source_outcome"]) == ({"logit": 1.0}, {"logit": 5.0})
    label = into.label(into.pieces[1])
    assert data["strongest"] == [{"place": f"layer 2, token 2 {label!r}", "effect": 2.0}]


# The command line


@pytest.fixture
def command(capsys):
    def run_it(*arguments):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code
        return (code, *capsys.readouterr())

    return run_it


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("gpt2")
    write_decoder(where, random_decoder("gpt2"))
    return str(where)


def test_ablate_says_what_changes(command, folder):
    asked = ("--model", folder, "--target", " the", "--against", " it", "--format", "json")
    code, out, _ = command("ablate", "the cat", "--heads", "1-2,3-1", *asked)
    found, model = json.loads(out), load_model(folder)
    assert code == 0
    tokens = model.tokenizer.encode("the cat")
    before, after = (
        measure(tokens, model, Word(" the", " it"), chosen) for chosen in ((), (Factor(((0, 1), (2, 0))),))
    )
    assert found["effect"] == pytest.approx(after[0] - before[0], abs=1e-5)
    assert found["after"]["probability of ' the'"] == pytest.approx(after[1], abs=1e-6)
    for run_of, how in (("before", ()), ("after", (Factor(((0, 1), (2, 0))),))):
        words = [(one["token"], one["probability"], one["logit"]) for one in found[run_of]["next"]]
        assert words == [(w.text, w.probability, w.logit) for w in next_words(tokens, model, how, 5)]
    assert found["before"]["next"] != found["after"]["next"]
    code, out, _ = command("ablate", "the cat", "--every", *asked)
    effects = np.array(json.loads(out)["effects"])
    assert effects.shape == (3, 5)
    one = measure(tokens, model, Word(" the", " it"), (Factor(((0, 1),)),))[0]
    assert effects[0, 1] == pytest.approx(one - before[0], abs=1e-4)
    code, out, _ = command("ablate", "the cat", "--every", "--heads", "1-2,3-1", "--factor", "2", *asked)
    found, beside = json.loads(out), Factor(((0, 1), (2, 0)), 2.0)
    before = measure(tokens, model, Word(" the", " it"), (beside,))
    assert list(found["before"].values()) == pytest.approx(list(before), abs=1e-4)
    for layer, head in ((0, 0), (0, 1), (2, 4)):
        after = measure(tokens, model, Word(" the", " it"), (beside, Factor(((layer, head),), 2.0)))
        assert found["effects"][layer][head] == pytest.approx(after[0] - before[0], abs=1e-4)
    code, out, _ = command("ablate", "the cat", "--model", folder, "--every", "--factor", "2", "--top", "3")
    assert (code, len(out.splitlines())) == (0, 4)


def test_of_many_texts_each_has_its_number_from_one_and_its_own_rows(command, folder, tmp_path):
    texts, path = ("the cat", "it dog the"), tmp_path / "texts.txt"
    path.write_text("\n".join(texts))
    asked = (
        "ablate",
        "--file",
        str(path),
        "--heads",
        "1-2",
        "--model",
        folder,
        "--target",
        " the",
        "--top",
        "1",
    )
    model, rows = load_model(folder), []
    for number, text in enumerate(texts, 1):
        tokens = model.tokenizer.encode(text)
        for name, how in (("before", ()), ("after", (Factor(((0, 1),)),))):
            logit, share = measure(tokens, model, Word(" the"), how)
            (best,) = next_words(tokens, model, how, 1)
            what = {
                "logit": logit,
                "probability of ' the'": share,
                f"probability of {best.text!r}": best.probability,
            }
            rows += [(number, name, key, pytest.approx(value, abs=1e-6)) for key, value in what.items()]
    code, out, _ = command(*asked, "--format", "jsonl")
    assert code == 0
    found = [tuple(json.loads(line).values()) for line in out.splitlines()]
    assert found == rows
    assert list(json.loads(out.splitlines()[0])) == ["sentence", "run", "what", "value"]
    _, out, _ = command(*asked, "--format", "json")
    assert [one["text"] for one in json.loads(out)] == list(texts)
    _, out, _ = command(*asked, "--format", "table")
    assert [line for line in out.splitlines() if line in texts] == list(texts)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("ablate", "the cat", "--heads", "1-2 03-1,1-2"), "1-2,3-1 times 0."),
        (("ablate", "the cat", "--every", "--heads", ","), "each head times 0."),
        (("patch", "the dog", "the cat", "--heads", ", 1-2,1-2"), "1-2 taken over from 'the dog'."),
    ],
)
def test_heads_are_told_as_they_were_read_and_each_once(command, folder, asked, said):
    code, out, _ = command(*asked, "--model", folder, "--target", " the")
    assert code == 0
    assert out.splitlines()[0].endswith(f" {said}")


def test_of_each_text_that_is_cut_it_is_said_how_many_tokens_are_left_out(command, folder):
    most = load_model(folder).max_tokens
    fits, long, longer = ("it " * n for n in (most - 1, most + 2, most + 5))  # and a space at the end
    for asked, left_out in (
        (("ablate", long), ["3 tokens were"]),
        (("ablate", fits), []),
        (("patch", long, fits), ["3 tokens were"]),
        (("patch", fits, long), ["3 tokens were"]),
        (("patch", longer, long), ["3 tokens were", "6 tokens were"]),
    ):
        code, _, err = command(*asked, "--heads", "1-2", "--model", folder, "--target", " the")
        said = [line for line in err.splitlines() if "were compared with no digest" not in line]
        assert (code, len(said)) == (0, len(left_out))
        for line, tokens in zip(said, left_out, strict=True):
            assert line.startswith(f"The text is longer than the {most} tokens that ")
            assert line.endswith(f"; {tokens} left out.")


def test_ablate_measures_the_embedding_of_a_model_that_says_nothing(command):
    code, out, _ = command("ablate", "Rain falls.", "--model", "minilm", "--heads", "6-6")
    assert code == 0
    assert "6-6 times 0." in out
    assert "cosine of the embedding" in out
    code, out, _ = command("ablate", "Rain falls.", "--model", "minilm", "--every", "--format", "json")
    assert np.array(json.loads(out)["effects"]).shape == (6, 12)


@pytest.mark.parametrize("every", ["heads", "layers"])
def test_patch_takes_over_heads_or_states_one_by_one(every, command, folder):
    code, out, _ = command(
        "patch", "the dog", "the cat", "--model", folder, "--every", every, "--format", "json"
    )
    found = json.loads(out)
    assert code == 0
    assert np.array(found["effects"]).shape == {"heads": (3, 5), "layers": (4, 5)}[every]
    assert found["axes"] == {"heads": ["layer", "head"], "layers": ["state", "token"]}[every]
    assert (found["text"], found["source"]) == ("the cat", "the dog")
    if every == "layers":
        restored = found["before"]["logit difference"] + found["effects"][-1][-1]
        assert restored == pytest.approx(found["source_outcome"]["logit difference"], abs=1e-4)
    code, out, _ = command("patch", "the dog", "the cat", "--model", folder, "--heads", "1-1,2-2")
    assert (code, "taken over from 'the dog'" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ablate", "the cat"), "Say which heads with --heads 19-7,18-4"),
        (("ablate", "the cat", "--heads", " , "), "Say which heads"),
        (("ablate", "the cat", "--heads", "9-9"), "There is no head 9-9; the model has 3 layers of 5 heads."),
        (("ablate", "the cat", "--heads", "all"), "'all' is no head"),
        (("ablate", "the cat", "--every", "--factor", "inf"), "A factor of inf"),
        (("ablate", "the cat", "--every", "--factor", "2", "--mean"), "not allowed with"),
        (("ablate", "the cat", "--every", "--target", "zebra"), "'zebra' is 5 tokens"),
        (("ablate", "the cat", "--every", "--against", " it"), "give the target, too"),
        (("ablate", "the cat", "--every", "--top", "0"), "--top is 0"),
        (("ablate", " ", "--every"), "The sentence is empty"),
        (("patch", "the cats", "the cat", "--every", "heads"), "has 6 tokens and the other 5"),
        (("patch", "the dog", "the cat"), "Say which heads to take over"),
        (("patch", "the dog", "the cat", "--heads", " , "), "Say which heads to take over"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(arguments, sentence, command, folder):
    code, out, err = command(*arguments, "--model", folder)
    assert (code, out) == (2, "")
    said = [line for line in err.splitlines() if "were compared with no digest" not in line]
    assert len(said) == 1
    assert sentence in said[0]
