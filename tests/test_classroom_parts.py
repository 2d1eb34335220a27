"""The classroom's texts, batches, steps, moments and cards, each on its own, beside what plain torch makes of them."""

import copy
import hashlib
import json
import lzma
from dataclasses import asdict, replace
from itertools import islice, pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mha_core import ModelError
from mha_core.checkpoints import untrained_encoder
from mha_core.cli import main
from mha_core.learning import classroom_cli
from mha_core.learning.classroom import batches as batching
from mha_core.learning.classroom import evaluation, live, moments, shipped, shipping
from mha_core.learning.classroom import pairs as pairing
from mha_core.learning.classroom.batches import MASK, Hider, batches
from mha_core.learning.classroom.evaluation import (
    Answers,
    Evaluation,
    Masses,
    best_head,
    evaluate,
    weights_of,
)
from mha_core.learning.classroom.grammar import RATE, Text, first_texts
from mha_core.learning.classroom.lexicon import APART, held_out, lexicon
from mha_core.learning.classroom.pairs import FAMOUS, pairs
from mha_core.learning.classroom.recipe import CLASSROOM, TWIN
from mha_core.learning.classroom.report import card, over_seeds
from mha_core.learning.classroom.tasks import TASK_SEED, TASKS, _asked
from mha_core.learning.classroom.training import Training
from mha_core.seeds import LAST

TINY = replace(CLASSROOM, steps=6, batch=8, warm_up=2, d_model=32, d_ff=32)


@pytest.fixture(scope="module")
def texts():
    return first_texts(1, 6_000)


# ---- texts and batches


def test_an_stands_before_a_vowel_and_a_before_everything_else(texts):
    after = {"a": set(), "an": set()}
    for text in texts:
        for article, word in pairwise(text.words):
            if article in after:
                after[article].add(word[0] in "aeiou")
    assert after == {"a": {False}, "an": {True}}


def test_either_noun_or_name_may_be_the_one_that_is_meant(texts):
    """The first of the two is meant in about half of the texts of each kind."""
    first = {"because": [], "names": [], "repeated": []}
    for text in texts:
        words = text.words
        if text.task == "because" and text.right is not None:
            first["because"].append(text.right < text.wrong)
        if text.task == "names":
            first["names"].append(words[words.index("and") + 1] == words[0])
        if text.task == "repeated":
            again = words[words.index(".") + 2]
            first["repeated"].append(words.index(again) < words.index("and"))
    for task, found in first.items():
        assert len(found) > 200, task
        assert 0.4 < np.mean(found) < 0.6, task


def test_irregular_plurals_are_their_own():
    plural = lexicon().plural
    assert [plural[noun] for noun in ("wolf", "mouse", "scarf", "dog")] == [
        "wolves",
        "mice",
        "scarves",
        "dogs",
    ]


def test_a_hidden_word_becomes_no_sign_but_the_mask():
    hide = Hider(3)
    found = np.array([hide._sign(50) for _ in range(20_000)])
    others = found[(found != MASK) & (found != 50)]
    assert others.min() > MASK
    assert len(np.unique(others)) > 500


def test_texts_of_one_length_are_together_and_their_batches_come_in_any_order():
    lengths = [
        (int(n.min()), int(n.max()))
        for n in (batch.real.sum(1) for batch in islice(batches(4, 16), batching.SORTED))
    ]
    in_order = sorted(lengths)
    assert all(one[1] <= other[0] for one, other in pairwise(in_order))
    assert in_order[0][1] < in_order[-1][0]
    assert lengths != in_order


def test_what_is_hidden_is_drawn_apart_from_the_texts(monkeypatch):
    seeds = []
    monkeypatch.setattr(batching, "Hider", lambda seed: seeds.append(seed) or Hider(seed))
    next(batches(4, 2))
    assert seeds != [4]


def test_the_last_word_that_comes_again_is_asked_for():
    text = Text("names")
    for word in ("Ann", "met", "Bea", "and"):
        text.add(word)
    text.add("Ann", rate=RATE["again"])
    text.add("gave")
    text.add("Bea", rate=RATE["again"])
    assert _asked(text) == 6
    assert TASK_SEED > LAST, "no training has read the texts that tasks are asked on"


def test_what_a_pair_says_of_one_noun_can_be_said_of_it_alone():
    for unseen in (True, False):
        for pair in pairs(3, 300, unseen=unseen):
            for words, other in zip(pair.words, pair.nouns[::-1], strict=True):
                assert not lexicon().fits(other, words[-2])


def test_nouns_that_are_kept_apart_are_no_pair(monkeypatch):
    before = {frozenset(pair.nouns) for pair in pairs(3, 100)}
    monkeypatch.setattr(pairing, "APART", before)
    assert not before & {frozenset(pair.nouns) for pair in pairs(3, 100)}


def test_what_the_famous_sentences_say_is_held_out_and_their_nouns_are_apart():
    for pair in FAMOUS.values():
        assert {(noun, words[-2]) for noun, words in zip(pair.nouns, pair.words, strict=True)} <= held_out()
        assert frozenset(pair.nouns) in APART


def test_what_is_said_fits_no_third_noun(texts):
    """After "because" stands what can be said of the noun that is meant, and of no other noun of the text."""
    one = {many: noun for noun, many in lexicon().plural.items()}
    thirds = 0
    for text in texts:
        if text.task != "because" or text.right is None:
            continue
        nouns = {one.get(word, word) for word in text.words} & lexicon().kind.keys()
        right = one.get(text.words[text.right], text.words[text.right])
        said = [word for word in text.words if lexicon().fits(right, word)]
        thirds += len(nouns) > 2
        assert len(said) == 1
        assert not any(lexicon().fits(other, said[0]) for other in nouns - {right})
    assert thirds > 100


# ---- training


def test_a_step_is_that_of_plain_torch():
    training = Training(5, TINY)
    stack = copy.deepcopy(training.stack)
    optimizer = torch.optim.AdamW(stack.parameters(), betas=TINY.betas, fused=True)
    for done, batch in enumerate(islice(batches(5, TINY.batch), 4)):
        for group in optimizer.param_groups:
            group["lr"] = TINY.rate_at(done)
        hidden = stack(batch.ids, real=batch.real).hidden.flatten(0, 1)[batch.places]
        logits = hidden @ stack.embeddings.word.weight.t()
        loss = torch.nn.functional.cross_entropy(logits, batch.answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert training.step() == pytest.approx(float(loss.detach()), rel=1e-5)
    learnt, wanted = (one.embeddings.word.weight.detach() for one in (training.stack, stack))
    torch.testing.assert_close(learnt, wanted, rtol=1e-4, atol=2e-5)


def test_what_is_told_while_it_learns_is_of_the_steps_since_it_was_told_last(monkeypatch):
    losses = []

    class Noted(Training):
        def step(self):
            losses.append(super().step())
            return losses[-1]

    monkeypatch.setattr(live, "STEPS_FIRST", 2)
    monkeypatch.setattr(live, "STEPS_EVERY", 3)
    monkeypatch.setattr(live, "WATCHED", 4)
    monkeypatch.setattr(live, "evaluate", lambda stack: stack)
    monkeypatch.setattr(live, "card", lambda stack: stack.embeddings.word.weight.detach().clone())
    live.watched.cache_clear()
    training = Noted(5, TINY)
    told = list(live.followed(training))
    live.watched.cache_clear()
    assert [row["step"] for _, row, _ in told] == [0, 2, 5, 6]
    assert [fraction for fraction, _, _ in told] == pytest.approx([0, 1 / 3, 5 / 6, 1])
    means = [np.mean(losses[a:b]) for a, b in ((0, 2), (2, 5), (5, 6))]
    assert [row["loss"] for _, row, _ in told] == [None, *map(pytest.approx, means)]
    assert len(losses) == 6
    untrained = untrained_encoder(TINY.config, 5)
    last = told[-1][2]
    torch.testing.assert_close(last["untrained"]["report"], untrained.embeddings.word.weight.detach())
    np.testing.assert_array_equal(last["untrained"]["weights"], weights_of(untrained, FAMOUS["street"]))
    torch.testing.assert_close(last["report"], training.stack.embeddings.word.weight.detach())


@pytest.mark.parametrize(("twin", "recipe"), [(False, CLASSROOM), (True, TWIN)])
def test_the_twin_is_trained_without_the_window(monkeypatch, twin, recipe):
    trained = []
    monkeypatch.setattr(live, "followed", lambda training: iter([trained.append(training)]))
    list(live.live({"seed": 3, "twin": twin}))
    assert (trained[0].recipe, trained[0].seed) == (recipe, 3)
    assert (recipe.window == 0) == twin


def test_a_head_of_a_live_curve_is_chosen_on_other_pairs(monkeypatch):
    """On the pairs to choose by head 1-2 passes, on those to judge by head 1-1 alone."""

    def looking(_stack, of):
        right = np.zeros((1, 2, len(of), 2))
        right[0, 0 if of == "judged" else 1] = 1.0
        return Masses(right, np.zeros_like(right))

    monkeypatch.setattr(live, "watched", lambda seed, unseen: "judged" if unseen else "chosen")
    monkeypatch.setattr(live, "masses", looking)
    found = live.rows_of(Training(1, TINY), [])
    assert (found["head"], found["pass"], found["right"]) == ("1-2", 0.0, 0.0)


def test_checkpoints_are_read_back_to_half_a_step():
    rng = torch.Generator().manual_seed(0)
    states = {step: {"a": torch.randn(20, 30, generator=rng) * step} for step in moments.MOMENTS[1:-1]}
    again = moments.unpacked(moments.packed(states))
    assert again.keys() == states.keys()
    for step, state in states.items():
        half = float(state["a"].abs().max()) / moments.LEVELS / 2
        assert float((again[step]["a"] - state["a"]).abs().max()) <= half * 1.001


def test_the_first_moment_is_the_untrained_model_of_the_seed_that_is_shipped():
    untrained = untrained_encoder(CLASSROOM.config, 1).state_dict()
    found = moments.at_step(0).state_dict()
    assert all(torch.equal(found[name], tensor) for name, tensor in untrained.items())


# ---- what is shipped


@pytest.mark.parametrize(
    ("asked", "seed", "recipe"),
    [
        ((), 1, CLASSROOM),
        (("--seed", "0"), 0, CLASSROOM),
        (("--twin",), 1, TWIN),
        (("--seed", "3", "--steps", "9"), 3, replace(CLASSROOM, steps=9)),
        (("--twin", "--steps", "9", "--seed", "2"), 2, replace(TWIN, steps=9)),
    ],
)
def test_the_command_trains_the_seed_the_steps_and_the_window_that_are_asked_for(
    asked, seed, recipe, monkeypatch, tmp_path
):
    done = []
    monkeypatch.setattr(classroom_cli, "trained", lambda *given: given[:2])
    monkeypatch.setattr(classroom_cli, "save_model", lambda *given: done.append(given))
    assert main(["learn", "train", "classroom", *asked, "--out", str(tmp_path / "x")]) == 0
    assert done == [((seed, recipe), tmp_path / "x")]
    assert recipe.window == (0 if "--twin" in asked else 3)


def test_all_that_is_shipped_is_trained_into_the_folder_that_is_named_and_told_of_in_one_line(
    monkeypatch, tmp_path, capsys
):
    shipped = []
    monkeypatch.setattr(
        classroom_cli, "ship", lambda out, told: shipped.append(out) or told("seed 1, step 100")
    )
    assert main(["learn", "train", "classroom", "--ship", "--out", str(tmp_path / "a" / "b")]) == 0
    assert shipped == [tmp_path / "a" / "b"]
    assert (tmp_path / "a" / "b").is_dir()
    assert capsys.readouterr().err == f"\r{'seed 1, step 100':<60}\n"
    (tmp_path / "file").write_text("")
    assert main(["learn", "train", "classroom", "--ship", "--out", str(tmp_path / "file" / "x")]) == 2
    assert capsys.readouterr().err == f"'{tmp_path / 'file' / 'x'}' cannot be written: Not a directory.\n"


def counting(losses):
    """A training that only counts its steps; its stack says how many."""

    class Counting:
        def __init__(self, seed, recipe):
            self.seed, self.recipe, self.done = seed, recipe, 0

        @property
        def finished(self):
            return self.done == self.recipe.steps

        @property
        def stack(self):
            return SimpleNamespace(
                seed=self.seed, done=self.done, state_dict=lambda: {"w": torch.tensor(self.done)}
            )

        def step(self):
            self.done += 1
            return losses

    return Counting


def test_a_shipped_training_is_told_of_by_the_hundred_and_kept_at_every_moment(monkeypatch):
    monkeypatch.setattr(shipping, "Training", counting(2.346))
    told, kept = [], {}
    stack = shipping.trained(1, replace(CLASSROOM, steps=1_050), told.append, kept)
    assert (stack.seed, stack.done) == (1, 1_050)
    assert {step: int(state["w"]) for step, state in kept.items()} == {
        step: step for step in (0, 100, 250, 400, 600, 800, 1000)
    }
    assert len(told) == 10
    assert told[-1] == "seed 1, step 1,000 of 1,050, loss 2.35"
    shipping.trained(1, replace(CLASSROOM, steps=3), told.append)


def test_a_twin_is_broken_off_where_a_head_points_and_the_first_that_has_none_is_shipped(monkeypatch):
    shares = {(4, 2800): 0.5, (1, 1400): 0.05, (1, 3000): 0.06, (2, 3000): 0.03}
    monkeypatch.setattr(shipping, "Training", counting(1.0))

    def evaluated(stack):
        return SimpleNamespace(passed=shares.get((stack.seed, stack.done), 0.0))

    monkeypatch.setattr(shipping, "evaluate", evaluated)
    twin = replace(TWIN, steps=3_000)
    told = []
    found = [shipping.try_twin(seed, told.append, twin) for seed in (4, 1, 2)]
    assert told[-1] == "without the window, seed 2, step 3,000 of 3,000"
    assert len(told) == 27 + 30 + 30, "not of the step at which it is broken off"
    assert [(stack.done, passed) for stack, passed in found] == [(2800, 0.5), (3000, 0.06), (3000, 0.03)]

    tries = dict(zip((4, 1, 2), (("four", 0.5), ("one", 0.06), ("two", 0.03)), strict=True))
    trained, written = [], []
    monkeypatch.setattr(shipping, "trained", lambda *given: trained.append(given) or f"stack {given[0]}")
    monkeypatch.setattr(shipping, "try_twin", lambda seed, _: tries[seed])
    monkeypatch.setattr(shipping, "write", lambda *given: written.append(given))
    shipping.ship("out", print)
    ((out, stacks, kept, twins),) = written
    assert (out, twins) == ("out", {4: 0.5, 1: 0.06, 2: 0.03})
    assert stacks == {f"seed-{seed}": f"stack {seed}" for seed in range(1, 6)} | {"twin": "two"}
    assert [given[:2] for given in trained] == [(seed, CLASSROOM) for seed in range(1, 6)]
    assert trained[0][3] is kept
    assert [given[3] for given in trained[1:]] == [None] * 4


def test_the_report_card_of_what_is_shipped_counts_the_seeds_without_the_twin(monkeypatch, tmp_path):
    """A card says the mean of a model's words: of the shipped ones as their files in half precision have them."""
    small = replace(TINY, d_model=16, d_ff=16)

    def mean(state):
        return float(state["embeddings.word.weight"].double().mean())

    compress = lzma.compress
    monkeypatch.setattr(lzma, "compress", lambda data, preset: compress(data, preset=preset - 9))
    monkeypatch.setattr(shipping, "CLASSROOM", small)
    monkeypatch.setattr(shipping, "evaluate", lambda stack: stack)
    rest = dict.fromkeys(("pairs", "head", "answers"))
    monkeypatch.setattr(shipping, "card", lambda stack: rest | {"pass": mean(stack.state_dict())})
    stacks = {f"seed-{seed}": untrained_encoder(small.config, seed) for seed in (1, 4, 5)}
    stacks["twin"] = untrained_encoder(replace(small, window=0).config, 9)
    with torch.no_grad():
        for i, stack in enumerate(stacks.values()):
            stack.embeddings.word.weight.add_(0.2 * i + 0.1)
    states = {
        step: {name: tensor + step / 1000 for name, tensor in stacks["seed-1"].state_dict().items()}
        for step in moments.MOMENTS
    }
    shipping.write(tmp_path, stacks, states, {4: 0.5, 1: 0.03})
    found = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))

    def sha256(*parts):
        return hashlib.sha256(tmp_path.joinpath(*parts).read_bytes()).hexdigest()

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoints.xz",
        "report.json",
        "seed-1",
        "twin",
    ]
    exact = {name: mean(stack.state_dict()) for name, stack in stacks.items()}
    halves = {name: mean(stacks[name].half().state_dict()) for name in ("seed-1", "twin")}
    assert {name: one["pass"] for name, one in found["models"].items()} == pytest.approx(halves, abs=1e-9)
    assert {name: one.get("digest") for name, one in found["models"].items()} == {
        "seed-1": sha256("seed-1", "model.safetensors"), "twin": sha256("twin", "model.safetensors"),
    }  # fmt: skip
    shares = [halves["seed-1"], exact["seed-4"], exact["seed-5"]]
    over = found["over_seeds"]
    assert (over["seeds"], over["pass"], over["least"]) == (
        3, pytest.approx(np.mean(shares), abs=1e-4), pytest.approx(min(shares)),
    )  # fmt: skip
    assert found["without_window"] == {"4": 0.5, "1": 0.03}
    assert found["recipe"] == json.loads(json.dumps(asdict(small)))
    assert found["untrained"]["pass"] == pytest.approx(mean(untrained_encoder(small.config, 1).state_dict()))
    assert [one["step"] for one in found["moments"]] == list(moments.MOMENTS)
    wanted = [mean(states[step]) for step in moments.MOMENTS]
    assert [one["pass"] for one in found["moments"]] == pytest.approx(wanted, abs=2e-3)
    assert [found["moments"][at]["pass"] for at in (0, -1)] == pytest.approx(
        [wanted[0], wanted[-1]], abs=1e-6
    )
    assert found["checkpoints"] == {
        "seed": 1,
        "steps": list(moments.MOMENTS),
        "digest": sha256("checkpoints.xz"),
    }
    assert (found["lexicon"], found["command"]) == (2, "make train-classroom")
    assert found["torch"] == torch.__version__.partition("+")[0]


def test_what_is_missing_or_of_another_kind_is_refused_in_a_sentence(monkeypatch, tmp_path):
    shipped.report.cache_clear()
    monkeypatch.setattr(shipped, "home", lambda: tmp_path)
    for damaged in (None, "{", "["):
        if damaged is not None:
            (tmp_path / "report.json").write_text(damaged)
        with pytest.raises(
            ModelError, match=r"^The report card of the classroom models is missing or damaged"
        ):
            shipped.report()
    bert = SimpleNamespace(config=SimpleNamespace(model_type="bert"), state_dict=dict)
    with pytest.raises(ModelError, match=r"^A bert model is not one of the classroom's"):
        shipped.save_model(bert, tmp_path / "x")
    shipped.report.cache_clear()


def test_a_pair_is_passed_in_both_texts_and_of_equals_the_head_with_more_on_the_right_noun_is_best():
    right = np.array([[[[0.7, 0.7]], [[0.7, 0.5]], [[0.9, 0.9]], [[0.9, 0.9]]]])
    wrong = np.array([[[[0.1, 0.1]], [[0.1, 0.1]], [[0.1, 0.1]], [[0.1, 0.2]]]])
    found = Masses(right, wrong)
    assert found.passed.tolist() == [[[1], [0], [1], [0]]]
    assert best_head(found) == (0, 2)


def test_of_a_famous_pair_each_noun_has_its_mass_in_both_texts(monkeypatch):
    right, wrong = np.array([0.8, 0.7]).reshape(1, 1, 1, 2), np.array([0.1, 0.2]).reshape(1, 1, 1, 2)
    monkeypatch.setattr(evaluation, "masses", lambda *_: Masses(right, wrong))
    found = evaluation.famous_masses(None, FAMOUS["street"], (0, 0))
    assert found == ({"animal": 0.8, "street": 0.1}, {"animal": 0.2, "street": 0.7})


def test_an_evaluation_chooses_its_head_elsewhere_and_takes_each_head_away_where_it_says(monkeypatch):
    """On the pairs to choose by head 1-2 passes all; on the held-out ones head 2-1 and 2-2 look at the right noun, and
    2-3 at both."""

    def looking(_stack, of):
        right, wrong = np.zeros((2, 4, len(of), 2)), np.zeros((2, 4, len(of), 2))
        if of == chosen_on:
            right[0, 1] = 1.0
        else:
            right[1, 0], right[1, 1], right[1, 2] = 0.6, 0.9, 0.55
            wrong[1, 2] = 0.4
            right[0, 1, : len(of) // 2] = 0.8
        return Masses(right, wrong)

    chosen_on = pairs(2, 8, unseen=False)
    taken = {"answers": [], "tasks": []}
    monkeypatch.setattr(evaluation, "masses", looking)
    monkeypatch.setattr(evaluation, "famous_masses", lambda *_: ({}, {}))
    monkeypatch.setattr(
        evaluation, "answers", lambda *_, without=(): taken["answers"].append(without) or Answers(0, 0)
    )
    monkeypatch.setattr(
        evaluation, "task_scores", lambda *_, without=(): taken["tasks"].append(without) or {}
    )
    found = evaluate(None, 8)
    assert (found.head, found.passed) == ((0, 1), 0.5)
    assert found.pointing == ((1, 0), (1, 1))
    assert taken == {"answers": [(), ((0, 1),), ((1, 0), (1, 1))], "tasks": [(), ((0, 1),)]}
    assert found.interval == pytest.approx((0.2152, 0.7848), abs=1e-4), "Wilson's of 4 in 8"


def test_a_card_has_every_number_in_its_own_place():
    both = {
        name: ({a: 0.8, b: 0.1}, {a: 0.2, b: 0.7}) for name, pair in FAMOUS.items() for a, b in [pair.nouns]
    }
    tasks = dict.fromkeys(TASKS, 0.9)
    found = card(
        Evaluation(
            200, (1, 3), 0.95, (0.91, 0.97), 0.96, 0.94, 0.77, 0.03, both, Answers(0.5, 0.6), Answers(0.4, 0.3),
            ((1, 0), (1, 3)), Answers(0.2, 0.1), tasks, tasks | {"names": 0.25},
        )
    )  # fmt: skip
    assert found == {
        "pairs": 200, "pass": 0.95, "interval": [0.91, 0.97], "head": "2-4", "animate": 0.96, "inanimate": 0.94,
        "right": 0.77, "wrong": 0.03,
        "famous": {"tired": {"animal": 0.8, "street": 0.1}, "wide": {"animal": 0.2, "street": 0.7}},
        "trophy and suitcase": {"big": {"trophy": 0.8, "suitcase": 0.1}, "small": {"trophy": 0.2, "suitcase": 0.7}},
        "cat and mat": {"tired": {"cat": 0.8, "mat": 0.1}, "warm": {"cat": 0.2, "mat": 0.7}},
        "answers": {"exact": 0.5, "better": 0.6}, "tasks": tasks,
        "without_head": {"exact": 0.4, "better": 0.3, "tasks": tasks | {"names": 0.25}},
        "pointing": ["2-1", "2-4"], "without_pointing": {"exact": 0.2, "better": 0.1},
    }  # fmt: skip


def test_a_share_over_seeds_is_never_below_nothing_nor_above_all():
    low, high = (
        over_seeds([{"pass": one} for one in shares])["interval"] for shares in ((0.0, 0.1), (0.9, 1.0))
    )
    assert low[0] == 0.0
    assert high[1] == 1.0
