"""The handbook: every public name has its place, every line of code in it runs and draws or says something."""

import argparse
import json
import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import once
import pytest

import mha_core
from mha_core.cli import build_parser

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def made():
    """What computes the chapters, as a mapping of its functions."""
    return runpy.run_path(str(DOCS / "made.py"))


def test_every_public_name_has_its_place_in_the_api():
    listed = re.findall(
        r"^\.\. auto(?:function|class|exception):: mha_core\.(\w+)$", (DOCS / "api.rst").read_text(), re.M
    )
    assert sorted(listed) == sorted(mha_core.__all__)
    for name in mha_core.__all__:
        assert len((getattr(mha_core, name).__doc__ or "").split()) > 5, name


def test_every_chapter_is_in_the_table_of_contents():
    chapters = {file.stem for file in (*DOCS.glob("*.md"), *DOCS.glob("*.rst"))} - {"index"}
    chapters |= {f"_made/{name}" for name in ("gallery", "commands", *(file.stem for file in NOTEBOOKS))}
    trees = re.findall(
        r"```\{toctree\}\n:maxdepth: 1\n:caption: .*?\n(.*?)```", (DOCS / "index.md").read_text(), re.S
    )
    assert sorted(" ".join(trees).split()) == sorted(chapters)


def test_every_command_is_in_the_handbook(made):
    page, parser = made["commands"](), build_parser()
    (commands,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    for name in commands.choices:
        assert f"## headscope {name}" in page
    assert "## headscope heads relations\n\n```text\nusage: headscope heads relations" in page


@pytest.mark.slow
def test_the_lines_of_getting_started_run(model, capsys):
    place = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "start.md").read_text(), re.S):
        exec(block, place)  # noqa: S102 - our own page
    assert place["record"].weights.shape == (6, 12, 13, 13)
    assert len(place["without"].interventions) == 1
    assert "(6, 12, 9, 9)" in capsys.readouterr().out


def test_there_are_ten_figures():
    assert len(SCRIPTS) == 10


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_figure_of_the_gallery_is_drawn_by_its_code(made, script):
    title, words, code = made["told"](script)
    assert title
    assert words.endswith(".")
    assert "figures" in code
    for svg in made["drawn"](script):
        drawing = ET.fromstring(svg)  # noqa: S314 - our own drawing
        assert drawing.tag == f"{SVG}svg"
        assert len(list(drawing.iter())) > 20, "not an empty frame"


@pytest.mark.slow
def test_what_the_gallery_says_of_its_heads_holds(model):
    weights = mha_core.trace("The old dog chased the cat.", model).weights
    n = weights.shape[-1]
    before, after = (weights.diagonal(k, 2, 3).sum(-1) / (n - 1) for k in (-1, 1))
    assert before[0, 2] == before.max() > 0.8
    assert after[1, 8] == after.max() > 0.5
    assert weights[2, 8, [1, 5], [3, 6]].min() > 0.3, "from a determiner to its noun"
    classroom = mha_core.load_model("classroom")
    for word, noun in (("tired", "animal"), ("wide", "street")):
        text = f"the animal did not cross the street because it was too {word} ."
        row = mha_core.trace(text, classroom).grid(words=True)["2-3"].to_frame().loc["it"]
        assert row[noun] > 0.8
        assert row[["animal", "street"]].sum() - row[noun] < 0.1


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_kept_without_what_it_gave(file):
    book = json.loads(file.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 3
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


# What the words of a notebook rest on, as it must stand in its outputs.
SAID = {
    "one-sentence": ("6-12", "without 4-2"),
    "claim-on-a-treebank": ("3-9: 75.0% of 400 determiners", "its rank among 72 heads: 2"),
    "ablation-of-a-language-model": ("24-4", "at random:"),
}


# What a notebook is made of besides the engine, its assets and itself.
BESIDES = [
    DOCS / "made.py",
    *sorted(file for kind in ("css", "js") for file in (ROOT / "assets").rglob(f"*.{kind}")),
]


def run(file: Path) -> dict[str, Any]:
    """A notebook with what it gives, from a process of its own."""
    command = [sys.executable, "docs/made.py", file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_from_beginning_to_end(made, file):
    if file.stem.startswith("ablation") and find_spec(made["DECODER"]) is None:
        pytest.skip("the decoder's file is missing: `make decoder`")
    book = once.once(f"notebook-{file.stem}", lambda: run(file), keep=True, of=[file, *BESIDES])
    said = json.dumps(book, ensure_ascii=False)
    assert [text for text in SAID[file.stem] if text not in said] == []
    for cell in book["cells"]:
        last = cell["source"].splitlines()[-1]
        if cell["code"] and not re.match(r"\S+ = |\s|import|from", last):
            assert cell["outputs"], last
    page = made["page_of"](book)
    assert page.startswith("# ")
    assert "was not run" not in page


@pytest.mark.slow
def test_a_notebook_that_fails_ends_the_build_and_one_without_its_model_says_so(made, tmp_path):
    cell = {"cell_type": "code", "source": ["1 / 0"], "metadata": {}}
    file = tmp_path / "x.ipynb"
    file.write_text(json.dumps({"cells": [cell], "metadata": {}}))
    done = subprocess.run(
        [sys.executable, DOCS / "made.py", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "x.ipynb: ZeroDivisionError" in done.stderr
    cells = [
        {"code": False, "source": "# Title", "outputs": []},
        {"code": True, "source": "1", "outputs": []},
    ]
    page = made["page_of"]({"file": "x.ipynb", "missing": True, "cells": cells})
    assert page.startswith(f"# Title\n\n{made['MISSING']}\n")


@pytest.fixture(scope="module")
def tasks():
    """The ten tasks as they were measured."""
    return runpy.run_path(str(ROOT / "benchmarks" / "tasks.py"))


def test_the_page_of_tasks_shows_the_lines_that_the_script_runs(tasks):
    page = (DOCS / "tasks.md").read_text()
    assert len(tasks["TASKS"]) == 10
    for title, codes in tasks["TASKS"]:
        (row,) = re.findall(rf"^\| {re.escape(title)} \| (.*) \|$", page, re.M)
        for cell, code in zip(row.split(" | "), codes.values(), strict=True):
            if "\n" in code:
                assert cell.startswith(f"{tasks['lines_of'](code)} lines, "), (title, cell)
                assert f"```python\n{code.strip()}\n```" in page, title
            else:
                assert cell == "—"
    assert "TransformerLens 4" in page
    assert "BertViz 1.4.1" in page


@pytest.mark.long
def test_headscopes_lines_of_the_ten_tasks_run(tasks, tmp_path):
    names = tasks["place"](tmp_path)
    exec(tasks["SETUP"]["HeadScope"], names)  # noqa: S102 - our own lines
    found = {}
    for title, codes in tasks["TASKS"]:
        place = dict(names)
        exec(codes["HeadScope"], place)  # noqa: S102 - our own lines
        found[title] = place
    assert found["The head that links two words"]["best"] == "4-2"
    assert found["All weights of a sentence"]["weights"].shape == (6, 12, 16, 16)
    best = found["The head for a relation of a treebank, against the best fixed offset"]["best"]
    assert best.accuracy >= best.offset_accuracy
