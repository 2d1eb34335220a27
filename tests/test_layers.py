"""Data flows one way: text, tokens, model, record, analysis, figure, page. Who may import whom is a table."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

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


@cache
def files() -> tuple[Path, ...]:
    found = [ROOT / "app.py", *ROOT.glob("mha_core/**/*.py"), *ROOT.glob("pages/**/*.py")]
    return tuple(sorted(path.relative_to(ROOT) for path in found))


@dataclass(frozen=True)
class Source:
    """What a file imports, the attributes it takes, the lines that name `print`, and its strings but for docstrings."""

    imports: frozenset[str]
    attributes: frozenset[str]
    prints: tuple[int, ...]
    strings: frozenset[str]


@cache
def read(path: Path) -> Source:
    nodes = list(ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))))
    scopes = [n for n in nodes if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef) and n.body]
    docs = {id(scope.body[0].value) for scope in scopes if isinstance(scope.body[0], ast.Expr)}
    imported = set[str]()
    for node in nodes:
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively; say the whole name"
            imported |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    constants = [n for n in nodes if isinstance(n, ast.Constant) and id(n) not in docs]
    return Source(
        frozenset(imported),
        frozenset(n.attr for n in nodes if isinstance(n, ast.Attribute)),
        tuple(n.lineno for n in nodes if isinstance(n, ast.Name) and n.id == "print"),
        frozenset(n.value for n in constants if isinstance(n.value, str)),
    )


def within(name: str, forbidden: set[str]) -> bool:
    return any(name == no or name.startswith(f"{no}.") for no in forbidden)


def wrong(file: Path, names: set[str]) -> list[str]:
    return [f"{file}: {name}" for name in sorted(names)]


def test_a_file_imports_only_what_its_place_allows():
    found = []
    for path in files():
        places = [place for place in FORBIDDEN if path.as_posix().startswith(place)]
        found += wrong(
            path, {n for n in read(path).imports for place in places if within(n, FORBIDDEN[place])}
        )
    assert found == []


def test_every_place_in_the_table_is_there():
    paths = [path.as_posix() for path in files()]
    assert [place for place in FORBIDDEN if not any(path.startswith(place) for path in paths)] == []


def test_streamlits_private_parts_are_named_in_one_place():
    found = []
    for path in files():
        if not path.as_posix().startswith("pages/parts/serve/streamlit_"):
            found += wrong(path, {name for name in read(path).imports if within(name, set(PRIVATE))})
    assert found == [], "serve/streamlit_*.py are to be asked for these"


def test_streamlits_caches_are_not_used_and_the_frame_has_one_place():
    found = []
    for path in files():
        used = read(path).attributes & set(ONLY)
        found += wrong(path, {name for name in used if path.as_posix() not in ONLY[name]})
    assert found == []


def test_the_engine_prints_nothing():
    engine = [path for path in files() if path.parts[0] == "mha_core" and path.name != "cli.py"]
    assert [f"{path}:{line}" for path in engine for line in read(path).prints] == []


def test_names_of_berts_special_tokens_stand_in_its_own_file_alone():
    found = []
    for path in files():
        place = path.as_posix()
        if not place.startswith(("mha_core/", "pages/parts/specialization/")) or path.name == "bert.py":
            continue
        strings = read(path).strings
        found += wrong(path, {s for s in strings if any(name in s for name in ("[CLS]", "[SEP]", "##"))})
    assert found == []
