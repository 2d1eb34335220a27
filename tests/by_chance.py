"""Faults that nobody thought of: files are changed at random, and what no test notices is said.

    python tests/by_chance.py assets/js/sentence.js --tests tests/test_js.py --number 40 --seed 7 --jobs 2

A change that survives is either a hole in the tests or one that nothing can see; which of both, a person must judge.
"""

import argparse
import ast
import random
import re
from collections.abc import Iterator

from mutants import ENDLESS, NOTICED, ROOT, SURVIVED, Fault, copies, try_all

Change = tuple[int, int, str, str]  # from, to, what stands there instead, what was done

COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
COMPARED |= {"in": "not in", "not in": "in", "is": "is not", "is not": "is"}
COMPUTED = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "&": "|", "|": "&"}
JOINED = {"and": "or", "or": "and"}
NAMES = {"min": "max", "any": "all", "argmax": "argmin", "sum": "mean", "tril": "triu", "rows": "columns"}
NAMES |= {new: old for old, new in NAMES.items()}

IN_JAVASCRIPT = {
    **{f" {old} ": f" {new} " for old, new in COMPARED.items() if old[0] in "<>"},
    " === ": " !== ",
    " !== ": " === ",
    " && ": " || ",
    " || ": " && ",
    " + ": " - ",
    " - ": " + ",
    " * ": " / ",
    " / ": " * ",
    " ?? ": " && ",
    " += ": " -= ",
    "true": "false",
    "false": "true",
    ".some(": ".every(",
    ".every(": ".some(",
    "Math.abs": "",
    "Math.min": "Math.max",
    "Math.max": "Math.min",
    "Math.floor": "Math.ceil",
    "query": "key",
    "width": "height",
    "height": "width",
    ".left": ".right",
    ".right": ".left",
    ".x": ".y",
    ".y": ".x",
}
WORDS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.S)
TEMPLATE = re.compile(r"(?:\\.|[^\\`$]|\$(?!\{))*(`|\$\{)", re.S)
EXPRESSION = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+/")
STATEMENT = re.compile(r"^ +(?!return|const|let|throw|import|export)[\w.#\[\]]+(\(.*\)| [+-]?= .*);$", re.M)


def of_python(text: str) -> list[Change]:
    """Every change of a module, where it is still Python; annotations, decorators and docstrings stay."""
    lines = [0]
    for line in text.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    data = text.encode()

    def at(node: ast.AST) -> int:
        return len(data[: lines[node.lineno - 1] + node.col_offset].decode())

    def end(node: ast.AST) -> int:
        return len(data[: lines[node.end_lineno - 1] + node.end_col_offset].decode())

    def said(node: ast.AST) -> str:
        return text[at(node) : end(node)]

    def between(a: ast.AST, b: ast.AST, table: dict[str, str]) -> Iterator[Change]:
        for old in sorted(table, key=len, reverse=True):
            if found := re.search(rf"(?<![\w*/<>=!]){re.escape(old)}(?![\w*/<>=!])", text[end(a) : at(b)]):
                start = end(a) + found.start()
                yield start, start + len(old), table[old], f"{old} is {table[old]}"
                return

    def exchanged(a: ast.AST, b: ast.AST, what: str) -> Iterator[Change]:
        if said(a) != said(b):
            yield at(a), end(b), said(b) + text[end(a) : at(b)] + said(a), f"{what} exchanged"

    def of(node: ast.AST) -> Iterator[Change]:
        match node:
            case ast.Compare(left=a, comparators=[b]):
                yield from between(a, b, COMPARED)
            case ast.BinOp(left=a, right=b):
                yield from between(a, b, COMPUTED)
            case ast.BoolOp(values=[a, b, *_]):
                yield from between(a, b, JOINED)
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=a):
                yield at(node), end(node), f"({said(a)})", "without its sign"
            case ast.Constant(value=bool(value)):
                yield at(node), end(node), str(not value), f"{value} is {not value}"
            case ast.Constant(value=int(value) | float(value)):
                more = value * 1.5 if isinstance(value, float) and value else value + 1
                yield at(node), end(node), repr(more), f"{value} is {more}"
            case ast.Subscript(slice=ast.Tuple(elts=[a, b, *_])):
                yield from exchanged(a, b, "indices")
            case ast.IfExp(test=test) | ast.If(test=test) | ast.While(test=test):
                yield at(test), end(test), f"not ({said(test)})", "the condition is turned round"
            case ast.comprehension(ifs=[test, *_]):
                yield at(test), end(test), "True", "nothing is left out"
            case ast.AugAssign() | ast.Expr(value=ast.Call()):
                yield at(node), end(node), "pass", "nothing is done"
            case ast.Return(value=ast.Tuple(elts=[a, b])):
                yield from exchanged(a, b, "what is returned")
        if isinstance(node, ast.Call):
            if len(node.args) > 1 and not any(isinstance(one, ast.Starred) for one in node.args[:2]):
                yield from exchanged(*node.args[:2], "arguments")
            name = said(node.func).rpartition(".")[2]
            if name in NAMES:
                yield end(node.func) - len(name), end(node.func), NAMES[name], f"{name} is {NAMES[name]}"

    def inside(node: ast.AST) -> Iterator[ast.AST]:
        match node:
            case ast.JoinedStr():
                return
            case ast.FunctionDef(args=given, body=body) | ast.AsyncFunctionDef(args=given, body=body):
                below = [*given.defaults, *filter(None, given.kw_defaults), *body]
            case ast.ClassDef(body=body):
                below = body
            case ast.AnnAssign(value=value):
                below = [value] if value else []
            case _:
                yield node
                below = list(ast.iter_child_nodes(node))
        for one in below:
            yield from inside(one)

    return [
        change
        for node in inside(ast.parse(text))
        for change in of(node)
        if still_python(text[: change[0]] + change[2] + text[change[1] :])
    ]


def still_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def code_alone(text: str) -> str:
    """The same length, with spaces for comments, strings and the text of templates."""
    out, nested, i = list(text), [], 0

    def blank(start: int, stop: int) -> int:
        out[start:stop] = [each if each == "\n" else " " for each in text[start:stop]]
        return stop

    def template(start: int) -> int:
        found = TEMPLATE.match(text, start)
        if found[1] == "${":
            nested.append("$")
        return blank(start, found.end())

    while i < len(text):
        if found := WORDS.match(text, i):
            i = blank(i, found.end())
        elif text[i] == "/" and re.search(r"([(,=:\[!&|?{};>]|return)\s*$", text[max(0, i - 9) : i]):
            i = blank(i, EXPRESSION.match(text, i).end())
        elif text[i] == "`" or (text[i] == "}" and nested and nested.pop() == "$"):
            i = template(blank(i, i + 1))
        else:
            if text[i] == "{":
                nested.append("{")
            i += 1
    return "".join(out)


def of_javascript(text: str) -> list[Change]:
    """Every change of a module outside of its strings and comments."""
    code, changes = code_alone(text), list[Change]()
    for old, new in IN_JAVASCRIPT.items():
        edge = [r"\b" if each.isalpha() else "" for each in (old[0], old[-1])]
        for found in re.finditer(edge[0] + re.escape(old) + edge[1], code):
            changes.append((*found.span(), new, f"{old.strip()} is {new.strip() or 'gone'}"))
    for found in re.finditer(r"(?<![\w.#])\d+(\.\d+)?(?![\w.])", code):
        more = f"{float(found[0]) * 1.5:g}" if found[1] else str(int(found[0]) + 1)
        changes.append((*found.span(), more, f"{found[0]} is {more}"))
    for found in re.finditer(r"(?<![\w!)\]])!(?=[\w(])|(?<=[(,=?:\[] )-(?=[\w(])", code):
        changes.append((*found.span(), "", "without its sign"))
    for found in re.finditer(r"\(([\w.]+), ([\w.]+)(?=[,)])", code):
        if found[1] != found[2]:
            changes.append((found.start(1), found.end(2), f"{found[2]}, {found[1]}", "arguments exchanged"))
    for found in STATEMENT.finditer(code):
        changes.append((*found.span(), "", "nothing is done"))
    for found in re.finditer(r"\bif \(", code):
        stop, depth = found.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(code[stop], 0)
            stop += 1
        test = (found.end(), stop - 1)
        changes.append((*test, f"!({text[slice(*test)]})", "the condition is turned round"))
    return changes


def faults_by_chance(files: list[str], tests: str, number: int, seed: int) -> list[Fault]:
    """So many changes of these files, every one as likely as any other."""
    every = []
    for file in files:
        text = (ROOT / file).read_text(encoding="utf-8")
        made = of_python(text) if file.endswith(".py") else of_javascript(text)
        every += [(file, text, change) for change in made]
    found = []
    for file, text, (start, stop, new, what) in random.Random(seed).sample(every, min(number, len(every))):
        line = text[text.rfind("\n", 0, start) + 1 : (text + "\n").find("\n", stop)].strip()
        place = f"{file}:{text[:start].count(chr(10)) + 1}"
        changed = text[:start] + new + text[stop:]
        found.append(Fault(place, file, f"{what}: {line[:100]}", text, changed, tests))
    return found


def files_under(given: list[str]) -> list[str]:
    """The modules among these files and below these folders, as they are named from the top of the tree."""
    paths = [
        path
        for one in given
        for path in ([ROOT / one] if (ROOT / one).is_file() else (ROOT / one).rglob("*"))
    ]
    return sorted({str(path.relative_to(ROOT)) for path in paths if path.suffix in (".py", ".js")})


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", help="files and folders of Python or JavaScript")
    parser.add_argument("--tests", required=True, help="what looks at them, as pytest is told")
    parser.add_argument("--number", type=int, default=20, help="how many changes are tried")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--jobs", type=int, default=1, help="changes tried at the same time")
    given = parser.parse_args()
    faults = faults_by_chance(files_under(given.files), given.tests, given.number, given.seed)
    with copies(given.jobs) as trees:
        verdicts = try_all(faults, trees)
    noticed = sum(verdict in (NOTICED, ENDLESS) for verdict in verdicts)
    print(f"\n{noticed} of {len(faults)} noticed, {verdicts.count(SURVIVED)} not.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
