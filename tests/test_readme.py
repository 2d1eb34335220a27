"""The README's lines of Python run as they stand, and say what they say they do."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from bert_folders import random_bert, write

from mha_core.cli import build_parser
from mha_core.figures import files
from mha_core.heads import ranking
from mha_core.heads.studies import study_builtin
from mha_core.heads.survey import Options

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.long
def test_the_lines_of_python_in_the_readme_run(capsys, monkeypatch, tmp_path):
    few = Options(limit=120)
    monkeypatch.setattr(
        ranking,
        "study_builtin",
        lambda model, options, similarity: study_builtin(model, None, few, similarity),
    )
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "bert", random_bert())
    if find_spec("vl_convert") is None:  # the lines run, and what they would make is not looked at
        made = SimpleNamespace(svg_to_pdf=lambda _: b"PDF", svg_to_png=lambda _, ppi: b"PNG")
        monkeypatch.setattr(files, "_converter", lambda: made)
    place = {"folder": tmp_path / "bert"}
    for block in BLOCKS[:4]:
        exec(block, place)  # noqa: S102 - our own README
    assert [(tmp_path / name).stat().st_size > 0 for name in ("arcs.svg", "arcs.pdf", "heads.png")] == [
        True
    ] * 3
    assert place["bert"].title
    assert place["record"].rank("it", "cat")[0].name == "6-12"
    assert ("state", 6) in place["states"]
    assert capsys.readouterr().out == "2 2\n"
    assert place["own"].grid(words=True).labels == ("[CLS]", "tiredness")
    assert "Katze,cat" in place["export"].weights_csv(place["between"].grid(), [(0, 1)])


def test_a_file_of_sentences_can_be_asked_as_the_readme_says():
    lines = [
        line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()
    ]
    asked = [line for line in lines if "python -m mha_core" in line]
    assert len(asked) > 8
    for line in asked:
        command = line.partition("python -m mha_core ")[2].partition(" | ")[0]
        build_parser().parse_args(shlex.split(command, comments=True))
