"""The documents: every line of Python in the Python guide runs, and gives what the words say."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.slow
def test_the_lines_of_the_python_guide_run(model, capsys):
    place = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "python.md").read_text(), re.S):
        exec(block, place)  # noqa: S102 - our own page
    assert place["record"].weights.shape == (6, 12, 13, 13)
    assert len(place["without"].interventions) == 1
    assert "(6, 12, 9, 9)" in capsys.readouterr().out
