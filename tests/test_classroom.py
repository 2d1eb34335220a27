"""The model in which "it" moves: its texts, its training, what is shipped, and the numbers that are said of it."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
import torch
from plain_classroom import Plain

from mha_core import InputError, load_model, predict_masked, trace
from mha_core.learning.classroom.evaluation import RIGHT, WRONG, Answers, Evaluation, evaluate, masses
from mha_core.learning.classroom.grammar import first_texts
from mha_core.learning.classroom.lexicon import lexicon
from mha_core.learning.classroom.moments import MOMENTS, at_step
from mha_core.learning.classroom.pairs import FAMOUS, pairs
from mha_core.learning.classroom.recipe import CLASSROOM
from mha_core.learning.classroom.report import card, over_seeds
from mha_core.learning.classroom.shipped import home, save_model
from mha_core.learning.classroom.training import Training

TIRED = "The animal didn't cross the street because it was too tired."
TINY = replace(CLASSROOM, steps=6, batch=8, warm_up=2, d_model=32, d_ff=32)


@pytest.fixture(scope="module")
def texts():
    return first_texts(1, 40_000)


# ---- the texts


def test_what_is_said_after_because_fits_the_right_noun_alone(texts):
    plural = {many: one for one, many in lexicon().plural.items()}
    reasons = [text for text in texts if text.task == "because"]
    assert len(reasons) / len(texts) == pytest.approx(0.7, abs=0.02)
    for text in reasons:
        right, wrong = (plural.get(text.words[i], text.words[i]) for i in (text.right, text.wrong))
        said = [word for word in text.words if lexicon().fits(right, word)]
        assert len(said) == 1, text
        assert not lexicon().fits(wrong, said[0])
        if text.slot is not None:
            assert 0 < text.words.index(said[0]) - text.slot <= 3


# ---- the model and its training


def test_the_same_seed_trains_to_the_same_weights():
    runs = []
    for seed in (1, 1, 2):
        training = Training(seed, TINY)
        losses = [training.step() for _ in range(TINY.steps)]
        assert training.finished
        runs.append((losses, training.stack.state_dict()))
    assert runs[0][0] == runs[1][0] != runs[2][0]
    assert all(torch.equal(tensor, runs[1][1][name]) for name, tensor in runs[0][1].items())


def test_a_small_random_model_is_what_plain_torch_makes_of_its_file(tmp_path):
    training = Training(4, TINY)
    training.step()
    save_model(training.stack, tmp_path)
    model, plain = load_model(str(tmp_path), device="cpu"), Plain(tmp_path)
    assert model.pinned
    record = trace(TIRED, model)
    words = [piece.text for piece in record.tokens.pieces]
    weights, scores = plain(words)
    for ours, theirs in zip(record.weights, weights, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-5)
    far = np.abs(np.subtract.outer(range(len(words)), range(len(words)))) > 3
    assert (record.weights[0][:, far] == 0).all()
    assert (record.weights[1][:, far] > 0).all()
    hidden = TIRED.replace(" it ", " [MASK] ")
    place = words.index("it")
    _, scores = plain([*words[:place], "[MASK]", *words[place + 1 :]])
    best = scores[place].softmax(-1).topk(3)
    said = predict_masked(hidden, model, 3)[0]
    assert [word for word, _ in said] == [plain.words[i] for i in best.indices]
    assert [share for _, share in said] == pytest.approx(best.values.tolist(), abs=1e-5)


# ---- what is shipped


def plain_masses(plain, pair, head):
    """The head's attention from "it" on the right and on the wrong noun, in both texts."""
    layer, number = head
    rows = [plain(words)[0][layer][number, pair.slot] for words in pair.words]
    order = (pair.places, pair.places[::-1])
    return [[float(row[place]) for place in places] for row, places in zip(rows, order, strict=True)]


def plain_answers(plain, pair, without=()):
    """Which word the model names where "it" is hidden, and which of the two nouns it prefers, in both texts."""
    said = []
    for words in pair.words:
        shown = [*words[: pair.slot], "[MASK]", *words[pair.slot + 1 :]]
        scores = plain(shown, without)[1][pair.slot]
        better = max(pair.nouns, key=lambda noun: float(scores[plain.words.index(noun)]))
        said.append((plain.words[int(scores.argmax())], better))
    return said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classroom"])
def test_what_evaluate_says_is_what_plain_torch_finds(name):
    n, plain = 24, Plain(home() / {"classroom": "seed-1", "classroom-twin": "twin"}[name])
    found = evaluate(load_model(name, device="cpu").encoder, n)
    held = pairs(1, n)
    masses_of = np.array([plain_masses(plain, pair, found.head) for pair in held])
    passed = ((masses_of[..., 0] >= RIGHT) & (masses_of[..., 1] <= WRONG)).all(-1)
    assert found.passed == passed.mean()
    assert [found.animate, found.inanimate] == [passed[: n // 2].mean(), passed[n // 2 :].mean()]
    assert [found.right, found.wrong] == pytest.approx(masses_of.mean((0, 1)).tolist(), abs=1e-4)
    heads = [(layer, number) for layer in range(2) for number in range(4)]
    means = [np.mean([plain_masses(plain, pair, head) for pair in held], axis=(0, 1)) for head in heads]
    assert found.pointing == tuple(
        head for head, (right, wrong) in zip(heads, means, strict=True) if right > 0.5 and wrong <= 0.15
    )
    for answers, without in (
        (found.answers, ()), (found.without_head, (found.head,)), (found.without_pointing, found.pointing),
    ):  # fmt: skip
        said = [plain_answers(plain, pair, without) for pair in held]
        right = [
            (word == noun, better == noun)
            for pair, both in zip(held, said, strict=True)
            for noun, (word, better) in zip(pair.nouns, both, strict=True)
        ]
        assert [answers.exact, answers.better] == pytest.approx(np.mean(right, axis=0).tolist())


def test_a_card_has_each_number_under_its_name_and_over_seeds_the_interval_is_students():
    shares = iter(np.linspace(0.11, 0.97, 15).round(4).tolist())
    famous = {"x": next(shares), "y": next(shares)}, {"x": next(shares), "y": next(shares)}
    found = Evaluation(
        7, (1, 2), next(shares), (next(shares), next(shares)), next(shares), next(shares), next(shares), next(shares),
        dict.fromkeys(FAMOUS, famous), Answers(0.2, 0.3), Answers(0.4, 0.6), ((0, 3), (1, 0)), Answers(0.7, 0.9),
        {"copy": 0.8}, {"copy": 0.1},
    )  # fmt: skip
    made = card(found)
    for name in ("animate", "inanimate", "right", "wrong"):
        assert made[name] == getattr(found, name)
    assert (made["pairs"], made["pass"], made["interval"]) == (7, found.passed, [*found.interval])
    assert (made["head"], made["pointing"]) == ("2-3", ["1-4", "2-1"])
    assert [*made["famous"].values()] == [*famous]
    assert (made["answers"]["exact"], made["without_pointing"]["better"]) == (0.2, 0.9)
    assert made["without_head"] == {"exact": 0.4, "better": 0.6, "tasks": {"copy": 0.1}}
    for passed in ([0.5, 0.7, 0.8], [0.91, 0.95, 0.93, 0.9, 0.97]):
        seeds = over_seeds([{"pass": share} for share in passed])
        low, high = scipy.stats.t.interval(0.95, len(passed) - 1, np.mean(passed), scipy.stats.sem(passed))
        assert seeds["interval"] == pytest.approx([low, min(high, 1)], abs=1e-4)
        assert (seeds["seeds"], seeds["least"], seeds["most"]) == (len(passed), min(passed), max(passed))


@pytest.mark.slow
def test_the_checkpoints_lead_from_the_untrained_model_to_the_trained_one():
    assert len(MOMENTS) == 12
    first, last = at_step(0), at_step(MOMENTS[-1])
    untrained = load_model("classroom", trained=False, seed=1, device="cpu").encoder
    assert torch.equal(first.embeddings.word.weight, untrained.embeddings.word.weight)
    trained = load_model("classroom", device="cpu").encoder
    assert torch.equal(last.embeddings.word.weight, trained.embeddings.word.weight)
    tried = pairs(1, 8)
    right = [masses(at_step(step), tried).right[1].max(0).mean() for step in MOMENTS]
    assert right[0] < 0.2
    assert right[-1] > 0.8
    assert right[-2] > 0.7
    with pytest.raises(InputError):
        at_step(7)
