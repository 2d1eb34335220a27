"""The documents: every line of Python in getting started and in the notebooks runs, and gives what the words say."""

import ast
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import mha_core
from mha_core.embedded import DECODER_PACKAGE

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
# What the words of a notebook rest on, as it must stand in what it gives.
SAID = {
    "one-sentence": ("6-12", "without 4-2"),
    "claim-on-a-treebank": ("3-9: 75.0% of 400 determiners", "its rank among 72 heads: 2"),
    "ablation-of-a-language-model": ("24-4", "at random:"),
}


def test_every_public_name_says_what_it_does():
    for name in mha_core.__all__:
        assert len((getattr(mha_core, name).__doc__ or "").split()) > 5, name


def test_every_document_is_linked_from_the_first():
    linked = set(re.findall(r"\]\(([\w./-]+)\)", (DOCS / "index.md").read_text()))
    files = {file.relative_to(DOCS).as_posix() for file in (*DOCS.glob("*.md"), *NOTEBOOKS)}
    assert linked == files - {"index.md"}


@pytest.mark.slow
def test_the_lines_of_getting_started_run(model, capsys):
    place = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "start.md").read_text(), re.S):
        exec(block, place)  # noqa: S102 - our own page
    assert place["record"].weights.shape == (6, 12, 13, 13)
    assert len(place["without"].interventions) == 1
    assert "(6, 12, 9, 9)" in capsys.readouterr().out


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_kept_without_what_it_gave(file):
    book = json.loads(file.read_text(encoding="utf-8"))
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 3
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def run(source: str, place: dict[str, object]) -> object:
    """A cell; gives the value of its last line, as a notebook shows it."""
    lines = ast.parse(source)
    last = lines.body.pop() if isinstance(lines.body[-1], ast.Expr) else None
    exec(compile(lines, "cell", "exec"), place)  # noqa: S102 - our own notebook
    return None if last is None else eval(ast.unparse(last), place)  # noqa: S307


@pytest.mark.long
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_from_beginning_to_end_and_gives_what_its_words_say(file, capsys):
    if file.stem.startswith("ablation") and find_spec(DECODER_PACKAGE) is None:
        pytest.skip("the decoder's file is missing: `make decoder`")
    place, said = dict[str, object](), ""
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            said += repr(run("".join(cell["source"]), place)) + capsys.readouterr().out
    assert [text for text in SAID[file.stem] if text not in said] == []
