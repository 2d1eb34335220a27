"""The scripts of assets/js/ as one text a component: an entry, and what it imports, each module in a scope of its own.

In: the name of an entry. Out: JavaScript without imports. A module comes after those that it imports, so two modules
must not import each other.
"""

import re
from functools import cache
from pathlib import Path

from mha_core.resources import asset

ASSETS = asset()
SCRIPTS = ASSETS / "js"
IMPORT = re.compile(r'^import (?P<names>[^;]*?) from "(?P<path>[^"]+)"(?: with \{[^}]*\})?;\n', re.MULTILINE)
EXPORT = re.compile(r"^export (default )?((?:async )?(?:function|const|class) (\w+))", re.MULTILINE)


@cache
def style(name: str = "view") -> str:
    """Return a style sheet of assets/css/, the picture's unless another is named."""
    return (ASSETS / "css" / f"{name}.css").read_text(encoding="utf-8")


@cache
def bundle(entry: str) -> str:
    """Return the module of that name with everything it needs; its default export is the text's own."""
    modules = modules_of(SCRIPTS / f"{entry}.js")
    text = "".join(_scoped(module) for module in modules)
    default = "default:" in _exports(modules[-1].read_text(encoding="utf-8"))
    return text + (f"export default {_variable(modules[-1])}.default;\n" if default else "")


def modules_of(entry: Path) -> list[Path]:
    """Return the files that an entry needs, itself last, each after those that it imports."""
    modules: dict[Path, None] = {}
    _add_module(entry, (), modules)
    return list(modules)


def _add_module(module: Path, importing: tuple[Path, ...], modules: dict[Path, None]) -> None:
    """Add the modules that this one needs and itself, each file read once."""
    if module in importing:
        raise ValueError(f"{module.name} imports itself through {importing[-1].name}")
    if module in modules:
        return
    if module.suffix == ".js":
        for match in IMPORT.finditer(module.read_text(encoding="utf-8")):
            _add_module((module.parent / match["path"]).resolve(), (*importing, module), modules)
    modules[module] = None


def _variable(module: Path) -> str:
    return "module_" + re.sub(r"\W", "_", str(module.relative_to(ASSETS).with_suffix("")))


def _scoped(module: Path) -> str:
    source = module.read_text(encoding="utf-8")
    if module.suffix == ".json":
        return f"const {_variable(module)} = {{ default: {source.strip()} }};\n"

    def assignment(match: re.Match[str]) -> str:
        names = match["names"].replace(" as ", ": ")
        names = names if names.startswith("{") else f"{{ default: {names} }}"
        return f"const {names} = {_variable((module.parent / match['path']).resolve())};\n"

    body = EXPORT.sub(r"\2", IMPORT.sub(assignment, source))
    return f"const {_variable(module)} = (() => {{\n{body}return {{ {_exports(source)} }};\n}})();\n"


def _exports(source: str) -> str:
    return ", ".join(f"default: {m[3]}" if m[1] else m[3] for m in EXPORT.finditer(source))
