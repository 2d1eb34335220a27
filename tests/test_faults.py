"""A few dozen of the cases of `make faults`, and that a wrong ending is seen."""

import random

import numpy as np
import pytest
from bert_folders import write
from faults import Failure, counted, damaged_folder, one_sentence, run

from mha_core import load_model, models, trace
from mha_core.errors import ModelError

CHANCE = random.Random(0)  # noqa: S311 - damage needs no secret


@pytest.mark.long
def test_some_damage_from_another_seed_ends_as_it_may(monkeypatch):
    monkeypatch.setattr(models, "_LOADED", {})
    ended = run(18, 7)
    assert sum(ended.values()) == 18
    assert ended["folder refused (with sums)"] == 6
    assert ended["corpus right"] == 3


@pytest.mark.slow
def test_a_folder_that_should_be_refused_and_is_not_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "_LOADED", {})
    write(tmp_path / "bert")
    expected = trace("Time flies like an arrow", load_model(str(tmp_path / "bert"), device="cpu")).weights
    monkeypatch.setattr("faults.flip", lambda *_: None)
    assert damaged_folder(tmp_path / "bert", expected, False, CHANCE) == "right"
    assert damaged_folder(tmp_path / "bert", np.zeros(1), False, CHANCE) == "unpinned"
    with pytest.raises(Failure, match="SHA256SUMS was loaded"):
        damaged_folder(tmp_path / "bert", expected, True, CHANCE)


@pytest.mark.parametrize("said", ["no stop", "two\nlines.", "x" * 700 + ".", "an escape \x1b[31m."])
def test_what_is_no_sentence_fails(said):
    with pytest.raises(Failure, match="no sentence"):
        one_sentence(ModelError(said))


def test_the_independent_reader_counts_trees_alone():
    rows = [("1", "a", "2", "det"), ("2", "b", "0", "root")]
    tree = "\n".join(f"{i}\t{w}\t_\t_\t_\t_\t{h}\t{r}\t_\t_" for i, w, h, r in rows)
    circle = tree.replace("\t0\troot", "\t1\tobj")
    assert counted(f"{tree}\n\n{circle}\n\n{tree}".encode()) == [(1, -1), (1, -1)]
