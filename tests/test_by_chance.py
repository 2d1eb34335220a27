"""Changes by chance: each is one that can be made, in code and not in words, and the same seed makes the same."""

import ast

import pytest
from by_chance import ROOT, code_alone, faults_by_chance, files_under, of_javascript, of_python
from mutants import problem

PYTHON = '''"""Not a < b here."""

def share(a: float, b: float = 2) -> float:
    """Neither 1 + 2 here."""
    if a < b and not a:
        log(a, b)
    return max(a, b) / -b[0, 1] if a in b else f"{a + b}"
'''
JAVASCRIPT = """// Not 1 + 2 here.
const a = "x < 3"; /* nor 4 here */ const r = /[0-9"] + /;
export const said = `${b - 5} of 6 ${c ? `${d}7` : e}`;
  view.draw(a, b);
if (f(a) && !g) h(8);
"""


def changed(text: str, changes) -> dict[str, str]:
    """What was done, and the line as it is then."""
    found = {}
    for start, stop, new, what in changes:
        whole = text[:start] + new + text[stop:]
        lines = [line for line in whole.split("\n") if line not in text.split("\n")]
        found[what] = lines[0].strip() if lines else ""
    return found


def test_a_change_of_python_is_python_and_leaves_words_and_types_alone():
    found = changed(PYTHON, of_python(PYTHON))
    last = 'return max(a, b) / -b[0, 1] if a in b else f"{a + b}"'
    assert found == {
        "2 is 3": "def share(a: float, b: float = 3) -> float:",
        "the condition is turned round": last.replace("a in b", "not (a in b)"),
        "and is or": "if a < b or not a:",
        "< is <=": "if a <= b and not a:",
        "without its sign": last.replace("-b[0, 1]", "(b[0, 1])"),
        "nothing is done": "pass",
        "arguments exchanged": last.replace("max(a, b)", "max(b, a)"),
        "max is min": last.replace("max", "min"),
        "/ is *": last.replace(" / ", " * "),
        "indices exchanged": last.replace("[0, 1]", "[1, 0]"),
        "0 is 1": last.replace("[0, 1]", "[1, 1]"),
        "1 is 2": last.replace("[0, 1]", "[0, 2]"),
        "in is not in": last.replace("a in b", "a not in b"),
    }
    for start, stop, new, _ in of_python(PYTHON):
        ast.parse(PYTHON[:start] + new + PYTHON[stop:])


def test_a_change_of_javascript_is_of_code_and_not_of_strings_comments_or_expressions():
    code = code_alone(JAVASCRIPT)
    assert len(code) == len(JAVASCRIPT)
    assert " ".join(code.split()) == (
        "const a = ; const r = ; export const said = b - 5 c ? d : e ; view.draw(a, b); if (f(a) && !g) h(8);"
    )
    assert changed(JAVASCRIPT, of_javascript(JAVASCRIPT)) == {
        "- is +": "export const said = `${b + 5} of 6 ${c ? `${d}7` : e}`;",
        "5 is 6": "export const said = `${b - 6} of 6 ${c ? `${d}7` : e}`;",
        "8 is 9": "if (f(a) && !g) h(9);",
        "&& is ||": "if (f(a) || !g) h(8);",
        "without its sign": "if (f(a) && g) h(8);",
        "arguments exchanged": "view.draw(b, a);",
        "nothing is done": "",
        "the condition is turned round": "if (!(f(a) && !g)) h(8);",
    }


@pytest.mark.parametrize("file", ["assets/js/duo.js", "mha_core/heads/intervals.py"])
def test_a_seed_gives_faults_that_can_be_put_in_and_gives_the_same_again(file):
    found = faults_by_chance([file], "tests/test_js.py", 12, 5)
    assert found == faults_by_chance([file], "tests/test_js.py", 12, 5)
    assert len({fault.new for fault in found}) == 12
    assert [problem(fault, ROOT) for fault in found] == [None] * 12
    assert found != faults_by_chance([file], "tests/test_js.py", 12, 6)


def test_a_folder_stands_for_the_modules_below_it():
    assert {"assets/js/tiles/turn.js", "assets/js/tiles/sheets.js"} < set(files_under(["assets/js/tiles"]))
    assert files_under(["mha_core/errors.py"]) == ["mha_core/errors.py"]
