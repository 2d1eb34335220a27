"""What the tests share: the embedded model, the running app and a browser."""

import gc
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import once
import pytest
from reader import app, profile, reader  # noqa: F401 - fixtures
from running import AppServer, Host, hosted, start_app

try:
    from hypothesis import settings
except (
    ModuleNotFoundError
):  # on a machine that lends its graphics card, `pytest -m gpu` needs none of the extras
    pass
else:
    # How long one example takes says how busy the machine is, not whether the code is right.
    settings.register_profile("headscope", deadline=None)
    settings.load_profile("headscope")

# The processes of a run share the machine: more threads each, and boosted trees take ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEADLESS_SHELL = "chromium-headless-shell"  # the same without a window: a visit takes less of the processor
TRANSFORMERS = re.compile(
    r"^ *(import transformers|from (transformers|bert_folders|decoder_folders|causal_runs) )", re.M
)
PAGES = re.compile(r"^from (visit|streamlit.testing.v1) ", re.M)
MAC_CHROME = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    # All tabs in one process, which has Streamlit's scripts compiled and its fonts read after the first of them.
    "--renderer-process-limit=1",
    # Or a tab of a site of its own begins with a process of its own all the same, and a spare one is kept ready.
    "--disable-site-isolation-trials",
    # The headless shell rounds the width of every letter otherwise, and lines end elsewhere than for a reader.
    "--font-render-hinting=none",
]
NO_CHROMIUM = (
    "no Chromium found: install one (`apt-get install chromium`, `brew install --cask google-chrome` or "
    "`.venv/bin/playwright install chromium`), or name it in the variable CHROMIUM"
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m gpu` read no file or folder without such a test: it would import what only the app needs."""
    if config.option.markexpr != "gpu":
        return None
    files = collection_path.rglob("test_*.py") if collection_path.is_dir() else [collection_path]
    return not any("pytest.mark.gpu" in file.read_text("utf-8") for file in files) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """What starts the app, a browser, the embedded decoder or transformers is slow; all is then put in order."""
    heavy = {"app_server", "fresh_server", "smollm2", "chromium"}
    compared = {
        path for path in {item.path for item in items} if TRANSFORMERS.search(path.read_text("utf-8"))
    }
    for item in items:
        if heavy & set(getattr(item, "fixturenames", ())) or item.path in compared:
            item.add_marker("slow")
    yield
    items[:] = in_order(items)


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """Deal what takes seconds to begin to processes of their own: the app; a browser without it, and pages; what takes
    long, and the embedded decoder. Whoever is done takes over from the end of another's share, where the others are."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    groups = defaultdict[str, list[pytest.Item]](list)
    for path, tests in files.items():
        groups[kind_of(path.read_text(encoding="utf-8"), tests)] += tests
    shares = [groups["app"], groups["browser"] + groups["pages"], groups["long"] + groups["decoder"]]
    if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) < len(shares):
        shares[:2] = [shares[0] + shares[1]]
    others, ordered = groups["short"] + groups["models"], []
    for share in shares:
        n_others = max(len(items) // len(shares) - len(share), 0)
        ordered += share + others[:n_others]
        others = others[n_others:]
    return ordered + others


def kind_of(source: str, tests: list[pytest.Item]) -> str:
    """What a file's tests have to begin with, or how long they take."""
    wanted = {name for item in tests for name in getattr(item, "fixturenames", ())}
    for kind, fixture in {"app": "app_server", "browser": "chromium", "decoder": "smollm2"}.items():
        if fixture in wanted:
            return kind
    if TRANSFORMERS.search(source):
        return "models"
    if PAGES.search(source):
        return "pages"
    return "long" if any(item.get_closest_marker("slow") for item in tests) else "short"


def pytest_collection_finish() -> None:
    """What is imported stays for the whole run: the garbage collector need not go through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


@pytest.fixture(scope="session", autouse=True)
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Say where the processes of this run of the tests keep what they make once."""
    own = tmp_path_factory.getbasetemp()
    once.folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def static_folder() -> Path:
    """The page that needs no server, with the embedded and the toy model, built once for the whole run."""
    from mha_core import static_site

    return once.once("static-folder", lambda: static_site(once.folder / "static-folder", model="minilm"))


@pytest.fixture
def host() -> Iterator[Callable[[Path], Host]]:
    """`host(folder)`: a host of its files until the test ends."""
    with ExitStack() as hosts:
        yield lambda folder: hosts.enter_context(hosted(folder))


@pytest.fixture(scope="session")
def model():
    """The embedded model with its trained weights, loaded once for the whole run."""
    import mha_core

    return mha_core.load_model("minilm")


@pytest.fixture(scope="session")
def smollm2():
    """The decoder, where its package is; loaded once for the whole run, which takes longer than most tests do."""
    import mha_core

    try:
        return mha_core.load_model("smollm2", device="cpu")
    except mha_core.Unavailable as problem:
        pytest.skip(str(problem))


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few draws of a bootstrap and two folds, where no interval and no single case matters."""
    from mha_core.heads import cluster_stats, surface

    monkeypatch.setattr(cluster_stats, "N_DRAWS", 20)
    monkeypatch.setattr(surface, "FOLDS", 2)


@pytest.fixture
def few_sentences(monkeypatch: pytest.MonkeyPatch, few_draws: None) -> None:
    """Every tenth of the built-in sentences and every fourth pair of those of agreement, where it does not matter what
    they tell of a model."""
    from mha_core.heads import build_role_table
    from mha_core.heads.questions import agreement

    sentences = build_role_table.read_builtin()
    pairs = [each for each in sentences if each.kind in agreement.AGREEMENT]
    few_pairs = [each for i, each in enumerate(pairs) if i % 8 < 2]
    monkeypatch.setattr(build_role_table, "read_builtin", lambda: sentences[::10])
    monkeypatch.setattr(agreement, "read_builtin", lambda: few_pairs)


@pytest.fixture(scope="session")
def app_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """The app, started once as a fresh process and shared by the tests that leave no trace in it."""
    server = start_app(tmp_path_factory.mktemp("app") / "server.log")
    yield server
    server.stop()


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[Callable[..., AppServer]]:
    """`fresh_server(**environment)`: an app of one's own on which nothing was opened yet."""
    servers: list[AppServer] = []

    def start(**kwargs) -> AppServer:
        servers.append(start_app(tmp_path / f"server-{len(servers)}.log", **kwargs))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def find_chromium(bundled: str, *first: str) -> str | None:
    """The browser to drive: the one named in CHROMIUM, one on the path (`first` before the others), or Playwright's
    own (`bundled`)."""
    candidates = [os.environ.get("CHROMIUM"), *map(shutil.which, (*first, *BROWSERS)), MAC_CHROME, bundled]
    return next((found for found in candidates if found and Path(found).is_file()), None)


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium under Playwright. REQUIRE_CHROMIUM=1 turns its absence into a failure."""
    absent = pytest.fail if os.environ.get("REQUIRE_CHROMIUM") == "1" else pytest.skip
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        absent("Playwright is not installed: `pip install -r requirements-dev.txt`")
    with sync_playwright() as playwright:
        executable = find_chromium(playwright.chromium.executable_path, HEADLESS_SHELL)
        if executable is None:
            absent(NO_CHROMIUM)
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGS)
        yield browser
        browser.close()
