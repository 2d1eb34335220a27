"""Data flows one way: text, tokens, model, record, analysis, figure, page. Who may import whom is a table."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCREEN = {"streamlit", "plotly"}
# What each place of the house must not import; a place is the longest prefix that fits a file.
FORBIDDEN = {
    "mha_core": SCREEN | {"pages", "app", "transformers", "matplotlib"},
    "mha_core/errors.py": SCREEN | {"pages", "mha_core", "torch", "numpy"},
    "mha_core/record.py": SCREEN | {"pages", "torch", "mha_core.models", "mha_core.stack", "mha_core.trace"},
    "mha_core/heads/notices.py": SCREEN | {"pages", "torch", "mha_core.models", "mha_core.trace"},
    "mha_core/wording.py": SCREEN | {"pages", "mha_core", "torch", "numpy"},
    "mha_core/export.py": SCREEN | {"pages", "torch", "mha_core.heads", "mha_core.models"},
    "mha_core/heads/jobs.py": SCREEN | {"pages", "mha_core", "torch", "numpy"},
    "mha_core/heads/verdict.py": SCREEN | {"pages", "torch", "mha_core.models", "mha_core.trace"},
    "mha_core/compare.py": SCREEN | {"pages", "torch", "mha_core.models", "mha_core.trace"},
    "pages/parts": {
        "app",
        "pages.compare",
        "pages.inside",
        "pages.learn",
        "pages.specialization",
        "transformers",
    },
    "pages/parts/picture/figures.py": {"streamlit", "torch", "app"},
    "pages/parts/explore/export.py": {"streamlit", "torch", "app"},
    "pages/parts/frame/request.py": {"streamlit", "torch", "app"},
    "pages": {"torch", "plotly", "transformers", "app", "pages.compare", "pages.inside", "pages.learn"},
    "app.py": {"torch", "plotly", "pages.compare", "pages.inside", "pages.learn", "pages.specialization"},
}
# Names that only one file may use.
ONLY = {
    "cache_data": set(),
    "cache_resource": set(),
    "set_page_config": {"pages/parts/frame/shell.py"},
    "navigation": set(),
}


def files() -> list[Path]:
    found = [ROOT / "app.py", *ROOT.glob("mha_core/**/*.py"), *ROOT.glob("pages/**/*.py")]
    return sorted(path.relative_to(ROOT) for path in found)


def imports(path: Path) -> set[str]:
    names = set[str]()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively; say the whole name"
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def place_of(path: Path) -> str:
    return max((place for place in FORBIDDEN if path.as_posix().startswith(place)), key=len)


@pytest.mark.parametrize("path", files(), ids=str)
def test_a_file_imports_only_what_its_place_allows(path: Path):
    forbidden = FORBIDDEN[place_of(path)]
    wrong = {name for name in imports(path) for no in forbidden if name == no or name.startswith(f"{no}.")}
    assert not wrong, f"{path} must not import {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("path", files(), ids=str)
def test_streamlits_caches_are_not_used_and_the_frame_has_one_place(path: Path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & set(ONLY)
    wrong = {name for name in used if path.as_posix() not in ONLY[name]}
    assert not wrong, f"{path} must not use {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("path", [p for p in files() if p.parts[0] == "mha_core"], ids=str)
def test_the_engine_prints_nothing(path: Path):
    if path.name == "cli.py":
        return
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    calls = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "print"]
    assert not calls, f"{path} prints in line {calls[0]}"
