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
    """A style sheet of assets/css/, the picture's unless another is named."""
    return (ASSETS / "css" / f"{name}.css").read_text(encoding="utf-8")


@cache
def bundle(entry: str) -> str:
    """The module of that name with everything it needs; its default export, if it has one, is the text's own."""
    modules = modules_of(SCRIPTS / f"{entry}.js")
    text = "".join(_scoped(module) for module in modules)
    default = "default:" in _exports(modules[-1].read_text(encoding="utf-8"))
    return text + (f"export default {_variable(modules[-1])}.default;\n" if default else "")


def modules_of(entry: Path) -> list[Path]:
    """The files that an entry needs, itself last, each after those that it imports."""
    found: dict[Path, None] = {}
    _find(entry, (), found)
    return list(found)


def _find(module: Path, importing: tuple[Path, ...], found: dict[Path, None]) -> None:
    """Add what a module needs and itself, each file read once however many import it."""
    if module in importing:
        raise ValueError(f"{module.name} imports itself through {importing[-1].name}")
    if module in found:
        return
    if module.suffix == ".js":
        for named in IMPORT.finditer(module.read_text(encoding="utf-8")):
            _find((module.parent / named["path"]).resolve(), (*importing, module), found)
    found[module] = None


def _variable(module: Path) -> str:
    return "module_" + re.sub(r"\W", "_", str(module.relative_to(ASSETS).with_suffix("")))


def _scoped(module: Path) -> str:
    source = module.read_text(encoding="utf-8")
    if module.suffix == ".json":
        return f"const {_variable(module)} = {{ default: {source.strip()} }};\n"

    def taken(found: re.Match[str]) -> str:
        names = found["names"].replace(" as ", ": ")
        names = names if names.startswith("{") else f"{{ default: {names} }}"
        return f"const {names} = {_variable((module.parent / found['path']).resolve())};\n"

    body = EXPORT.sub(r"\2", IMPORT.sub(taken, source))
    return f"const {_variable(module)} = (() => {{\n{body}return {{ {_exports(source)} }};\n}})();\n"


def _exports(source: str) -> str:
    return ", ".join(f"default: {m[3]}" if m[1] else m[3] for m in EXPORT.finditer(source))
