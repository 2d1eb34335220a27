"""The model in which "it" moves: its texts, its training, what is shipped, and the numbers that are said of it."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import scipy.stats
import torch
from plain_classroom import Plain

from mha_core import InputError, load_model, predict_masked, trace, trace_many, trace_tokens
from mha_core.models.toy_checkpoints import CHECKPOINT_STEPS, at_step
from mha_core.record.grid import head_from_name
from mha_core.training.toy.evaluation import MAX_WRONG, MIN_RIGHT, best_head, evaluate, masses, over_seeds
from mha_core.training.toy.grammar import Grammar
from mha_core.training.toy.lexicon import lexicon
from mha_core.training.toy.pairs import CHOICE_SEED, FAMOUS, TEST_SEED, pairs
from mha_core.training.toy.recipe import CLASSROOM, toy_trainer
from mha_core.training.toy.shipping import CHECKED_EVERY, EVERY, save_model, train_toy
from mha_core.training.toy.toy_updates import updates_of

TIRED = "The animal didn't cross the street because it was too tired."
TINY = replace(CLASSROOM, steps=6, batch=8, warm_up=2, d_model=32, d_ff=32)


@pytest.mark.slow
def test_what_is_said_after_because_fits_the_right_noun_alone():
    texts = list(islice(Grammar(1).texts(), 20_000))
    plural = {many: singular for singular, many in lexicon().plural.items()}
    reasons = [text for text in texts if text.task == "because"]
    assert len(reasons) / len(texts) == pytest.approx(0.7, abs=0.02)
    for text in reasons:
        right, wrong = (plural.get(text.words[i], text.words[i]) for i in (text.right, text.wrong))
        fitting = [word for word in text.words if lexicon().fits(right, word)]
        assert len(fitting) == 1, text
        assert not lexicon().fits(wrong, fitting[0])
        if text.slot is not None:
            assert 0 < text.words.index(fitting[0]) - text.slot <= 3


@pytest.mark.slow
def test_a_shipped_training_is_its_seeds_sees_every_checkpoint_and_stops_where_its_head_points():
    assert not any(step % EVERY for step in (*CHECKPOINT_STEPS, CHECKED_EVERY)), "steps that are looked at"
    recipe, steps, lines = replace(TINY, steps=2 * EVERY + 7), [], []
    model = train_toy(4, recipe, lines.append, lambda step, _: steps.append(step) or step == 2 * EVERY)
    assert steps == [0, EVERY, 2 * EVERY]
    assert len(lines) == 2
    longer, other = toy_trainer(4, recipe), toy_trainer(5, recipe)
    losses = longer.run(2 * EVERY)
    for name, tensor in longer.model.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name]), "one seed, one training"
    assert losses[:2] != other.run(2)
    assert len(train_toy(4, TINY, lines.append).state_dict()) == len(longer.model.state_dict())


def test_a_small_random_model_is_what_plain_torch_makes_of_its_file(tmp_path):
    trainer = toy_trainer(4, TINY)
    trainer.run(1)
    save_model(trainer.model, tmp_path)
    model, plain = load_model(str(tmp_path), device="cpu"), Plain(tmp_path)
    assert model.pinned
    record = trace(TIRED, model)
    words = [piece.text for piece in record.tokens.pieces]
    weights, scores = plain(words)
    for ours, theirs in zip(record.weights, weights, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-5)
    both = [model.tokenizer.encode(text) for text in (TIRED, "The cat sleeps .")]
    for tokens, padded in zip(both, trace_many(both, model), strict=True):
        np.testing.assert_allclose(padded, trace_tokens(tokens, model).weights, atol=1e-6)
    far = np.abs(np.subtract.outer(range(len(words)), range(len(words)))) > 3
    assert (record.weights[0][:, far] == 0).all()
    assert (record.weights[1][:, far] > 0).all()
    hidden = TIRED.replace(" it ", " [MASK] ")
    place = words.index("it")
    _, scores = plain([*words[:place], "[MASK]", *words[place + 1 :]])
    best = scores[place].softmax(-1).topk(3)
    predictions = predict_masked(hidden, model, 3)[0]
    assert [word for word, _ in predictions] == [plain.words[i] for i in best.indices]
    assert [share for _, share in predictions] == pytest.approx(best.values.tolist(), abs=1e-5)


def plain_masses(plain, pair):
    """Every head's attention from "it" on the right and on the wrong noun, (text, layer, head, noun)."""
    rows = [torch.stack(plain(words)[0])[:, :, pair.slot] for words in pair.words]
    return [
        row[..., list(order)].numpy()
        for row, order in zip(rows, (pair.places, pair.places[::-1]), strict=True)
    ]


def plain_answers(plain, pair, without=()):
    """Whether the model names the noun where "it" is hidden, and prefers it, in both texts."""
    rows = []
    for words, noun in zip(pair.words, pair.nouns, strict=True):
        shown = [*words[: pair.slot], "[MASK]", *words[pair.slot + 1 :]]
        scores = plain(shown, without)[1][pair.slot]
        better = max(pair.nouns, key=lambda noun: float(scores[plain.words.index(noun)]))
        rows.append((plain.words[int(scores.argmax())] == noun, better == noun))
    return rows


@pytest.mark.slow
def test_what_evaluate_says_is_what_plain_torch_finds(tmp_path):
    n, half_trained = 12, at_step(1000)  # no two of its shares are alike
    save_model(half_trained, tmp_path)
    plain, card = Plain(tmp_path), evaluate(half_trained, n)
    best = head_from_name(card["head"], 2, 4)
    held = pairs(1, n)
    masses_of = np.array([plain_masses(plain, pair) for pair in held])  # (pair, text, layer, head, noun)
    of_best, means = masses_of[:, :, *best], masses_of.mean((0, 1))
    passed = ((of_best[..., 0] >= MIN_RIGHT) & (of_best[..., 1] <= MAX_WRONG)).all(-1)
    assert card["pass"] == passed.mean()
    assert [card["animate"], card["inanimate"]] == [passed[: n // 2].mean(), passed[n // 2 :].mean()]
    assert [card["right"], card["wrong"]] == pytest.approx(of_best.mean((0, 1)).tolist(), abs=1e-4)
    street = FAMOUS["street"]
    for words in street.words:
        row = plain(words)[0][best[0]][best[1], street.slot]
        shares = {noun: float(row[place]) for noun, place in zip(street.nouns, street.places, strict=True)}
        assert card["famous"][words[-2]] == pytest.approx(shares, abs=1e-4)
    pointing = [*map(tuple, np.argwhere((means[..., 0] > 0.5) & (means[..., 1] <= 0.15)).tolist())]
    assert [head_from_name(name, 2, 4) for name in card["pointing"]] == pointing
    for key, without in {"answers": (), "without_head": (best,), "without_pointing": pointing}.items():
        right = np.mean([plain_answers(plain, pair, without) for pair in held], axis=(0, 1))
        assert [card[key]["exact"], card[key]["better"]] == pytest.approx(right.tolist())


def test_the_head_of_a_training_is_chosen_on_other_pairs_than_those_that_score_it():
    (row,) = next(updates_of(3, TINY)).rows
    chosen_on, scored_on = pairs(CHOICE_SEED, 40, unseen=False), pairs(TEST_SEED, 40, unseen=True)
    best, other = (best_head(masses(toy_trainer(3, TINY).model, each)) for each in (chosen_on, scored_on))
    assert head_from_name(row["head"], 2, 4) == best != other


def test_over_seeds_the_interval_is_students():
    for passed in ([0.5, 0.7, 0.8], [0.91, 0.95, 0.93, 0.9, 0.97]):
        seeds = over_seeds([{"pass": share} for share in passed])
        low, high = scipy.stats.t.interval(0.95, len(passed) - 1, np.mean(passed), scipy.stats.sem(passed))
        assert seeds["interval"] == pytest.approx([low, min(high, 1)], abs=1e-4)
        assert (seeds["seeds"], seeds["least"], seeds["most"]) == (len(passed), min(passed), max(passed))


@pytest.mark.slow
def test_the_checkpoints_lead_from_the_untrained_model_to_the_trained_one():
    assert len(CHECKPOINT_STEPS) == 12
    first, last = at_step(0), at_step(CHECKPOINT_STEPS[-1])
    digests = {load_model(f"classroom@{step}", device="cpu").digest for step in CHECKPOINT_STEPS[:2]}
    assert len(digests) == 2, "other weights, another model to all that is kept"
    untrained = load_model("classroom", trained=False, seed=1, device="cpu").encoder
    assert torch.equal(first.embeddings.word.weight, untrained.embeddings.word.weight)
    trained = load_model("classroom", device="cpu").encoder
    assert torch.equal(last.embeddings.word.weight, trained.embeddings.word.weight)
    tried = pairs(1, 8)
    right = [masses(at_step(step), tried).right[1].max(0).mean() for step in CHECKPOINT_STEPS]
    assert right[0] < 0.2
    assert right[-1] > 0.8
    assert right[-2] > 0.7
    with pytest.raises(InputError):
        at_step(7)
