"""Data flows one way: text, tokens, model, record, analysis, figure, page. Who may import whom is a table."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCREEN = {"streamlit", "plotly"}
MODELS = {"mha_core.models", "mha_core.stack", "mha_core.trace"}
PAGES = {
    "app",
    *(
        f"pages.{page}"
        for page in ("atlas", "compare", "experiment", "inside", "learn", "specialization", "training")
    ),
}
ROOMS = {
    f"pages.parts.{room}"
    for room in ("atlas", "experiment", "explore", "inside", "learn", "specialization", "training")
}
# What each place of the house must not import; for a file all places that its path begins with count.
FORBIDDEN = {
    "mha_core/": {*SCREEN, "pages", "app", "transformers", "matplotlib"},
    "mha_core/errors.py": {"mha_core", "torch", "numpy"},
    "mha_core/wording.py": {"mha_core", "torch", "numpy"},
    "mha_core/run.py": {"mha_core", "torch", "numpy"},
    "mha_core/record.py": {"torch", *MODELS},
    "mha_core/compare.py": {"torch", *MODELS},
    "mha_core/export.py": {"torch", "mha_core.heads", *MODELS},
    "mha_core/gguf/": {"torch", "mha_core.families", *MODELS},
    "mha_core/stack.py": {"mha_core.families", "mha_core.models"},
    **{
        f"mha_core/learning/{place}": {"mha_core.models", "mha_core.trace"}
        for place in ("classroom/", "descent.py", "live.py", "scores.py", "tasks.py", "train.py", "worker.py")
    },
    "mha_core/figures/": {"torch", "mha_core.heads", "mha_core.picture", *MODELS},
    "mha_core/picture/": {"torch", *MODELS},
    "mha_core/heads/notices.py": {"torch", *MODELS},
    "mha_core/heads/verdict.py": {"torch", *MODELS},
    "mha_core/heads/jobs.py": {"mha_core", "torch", "numpy"},
    "pages/": {"torch", "transformers", *PAGES},
    "pages/compare.py": SCREEN,
    "pages/parts/frame/": ROOMS,
    "pages/parts/serve/": ROOMS,
    "pages/parts/picture/": ROOMS,
    **{
        f"pages/parts/{room}/": ROOMS - {f"pages.parts.{other}" for other in also}
        for room, also in {
            "atlas": ["atlas"],
            "experiment": ["experiment"],
            "explore": ["explore"],
            "specialization": ["specialization"],
            "inside": ["inside"],
            "learn": ["learn", "inside"],
            "training": ["training"],
        }.items()
    },
    **{
        f"pages/parts/{file}.py": {"streamlit"}
        for file in (
            *("frame/request", "frame/selection", "frame/pages", "frame/links"),
            *(
                "serve/store",
                "serve/training",
                "training/parts",
                "training/export",
                "atlas/figure",
                "picture/figures",
                "explore/export",
                "experiment/asked",
                "experiment/changed",
                "experiment/said",
                "experiment/answers",
                "experiment/trials",
            ),
        )
    },
    "app.py": {"torch", "plotly", *PAGES - {"app"}},
}
# Streamlit's own inside, which may change with any version.
PRIVATE = (
    "streamlit.runtime",
    "streamlit.proto",
    "streamlit.dataframe_util",
    "streamlit.web",
    "streamlit.elements",
)
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


def within(name: str, forbidden: set[str]) -> bool:
    return any(name == no or name.startswith(f"{no}.") for no in forbidden)


@pytest.mark.parametrize("path", files(), ids=str)
def test_a_file_imports_only_what_its_place_allows(path: Path):
    places = [place for place in FORBIDDEN if path.as_posix().startswith(place)]
    wrong = {name for name in imports(path) for place in places if within(name, FORBIDDEN[place])}
    assert not wrong, f"{path} must not import {', '.join(sorted(wrong))}"


def test_every_place_in_the_table_is_there():
    paths = [path.as_posix() for path in files()]
    assert [place for place in FORBIDDEN if not any(path.startswith(place) for path in paths)] == []


@pytest.mark.parametrize("path", files(), ids=str)
def test_streamlits_private_parts_are_named_in_one_file(path: Path):
    if path.as_posix() != "pages/parts/serve/streamlit_private.py":
        wrong = {name for name in imports(path) if within(name, set(PRIVATE))}
        assert not wrong, f"{path} must ask serve/streamlit_private.py for {', '.join(sorted(wrong))}"


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
