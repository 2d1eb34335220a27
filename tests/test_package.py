"""The package as pip installs it: a wheel with its data inside, and its command, far from here."""

import os
import subprocess
import sys
import tomllib
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

import mha_core
from mha_core import app_command, resources
from mha_core.cli import build_parser, main
from mha_core.errors import Unavailable

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built as `pip install .` builds it, with the builder that is installed here."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder that holds the package and nothing of the checkout; its dependencies are those of these tests."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


def called(installed, folder, *arguments):
    """What Python says with the installed package alone, started in an empty folder."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_wheel_holds_the_files_that_git_knows(wheel):
    known = subprocess.run(
        ["git", "ls-files", "mha_core", "pages", "assets", "app.py", ".streamlit"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\n")
    expected = {name if name.startswith("mha_core/") else f"mha_core/web/{name}" for name in known if name}
    with zipfile.ZipFile(wheel) as packed:
        inside = {name for name in packed.namelist() if ".dist-info/" not in name}
    assert "mha_core/py.typed" in inside
    assert inside == expected


@pytest.mark.long
def test_the_installed_library_gives_the_checkouts_numbers(installed, tmp_path, model):
    lines = (
        "import mha_core, pathlib\n"
        "from mha_core.heads.atlas.shipped import read_shipped\n"
        "from mha_core.reader import read_reader\n"
        "record = mha_core.trace('The dog chased the cat.', mha_core.load_model())\n"
        "print(pathlib.Path(mha_core.__file__).parent.parent)\n"
        "print(float(record.weights[3, 1, 2, 3]))\n"
        "print(len(read_reader()), read_shipped('minilm').atlas.n_passages)\n"
    )
    code, out, err = called(installed, tmp_path, "-c", lines)
    assert code == 0, err
    place, weight, passages = out.splitlines()
    assert Path(place) == installed
    expected = mha_core.trace("The dog chased the cat.", model).weights[3, 1, 2, 3]
    assert float(weight) == pytest.approx(float(expected), abs=1e-6)
    assert passages == "214 214"


@pytest.mark.long
def test_the_command_is_called_by_its_name(installed, tmp_path):
    line = (
        "import sys; sys.argv = ['headscope', *sys.argv[1:]]; from mha_core.cli import main; sys.exit(main())"
    )
    code, out, _ = called(installed, tmp_path, "-c", line, "--version")
    assert (code, out) == (0, f"HeadScope {mha_core.__version__}\n")
    code, _, err = called(installed, tmp_path, "-c", line, "trace", "text", "--layer")
    assert code == 2
    assert "see 'headscope trace --help'" in err
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert settings["scripts"] == {"headscope": "mha_core.cli:main"}


def test_the_app_is_started_where_its_files_are():
    options = build_parser().parse_args(["app", "--port", "8600", "--address", "192.0.2.1", "--no-browser"])
    started = app_command.command(options)
    assert started[1:5] == ["-m", "streamlit", "run", "app.py"]
    assert " ".join(started).endswith("--server.address 192.0.2.1 --server.headless true --server.port 8600")
    assert (resources.home() / "app.py").is_file()


def test_the_app_listens_where_the_environment_says_unless_the_command_says_it(monkeypatch):
    monkeypatch.setenv("STREAMLIT_SERVER_ADDRESS", "0.0.0.0")  # noqa: S104 - nobody listens
    assert "--server.address 0.0.0.0" in " ".join(app_command.command(build_parser().parse_args(["app"])))
    said = app_command.command(build_parser().parse_args(["app", "--address", "localhost"]))
    assert "--server.address localhost" in " ".join(said)


@pytest.mark.parametrize(("option", "wrong", "told"), [
    ("--address", "192.0.2.7", "Nobody can listen at '192.0.2.7' on this machine"),
    ("--address", "..a", "Nobody can listen at '..a' on this machine"),
    ("--port", "65536", "'65536' is not a port from 0 to 65535"),
    ("--port", "many", "'many' is not a port from 0 to 65535"),
])  # fmt: skip
def test_an_app_that_could_not_be_served_is_refused_in_a_sentence(monkeypatch, capsys, option, wrong, told):
    started = []
    monkeypatch.setattr(os, "execv", lambda *command: started.append(command))
    monkeypatch.setattr(os, "chdir", started.append)
    with suppress(SystemExit):
        main(["app", "--no-browser", option, wrong])
    said = capsys.readouterr().err
    assert told in said
    assert "Traceback" not in said
    assert not started


def test_without_its_parts_the_app_is_refused_in_a_sentence(monkeypatch, tmp_path):
    options = build_parser().parse_args(["app"])
    monkeypatch.setattr(app_command, "home", lambda: tmp_path)
    with pytest.raises(Unavailable, match="install HeadScope again"):
        app_command.command(options)
    monkeypatch.setattr(app_command, "find_spec", lambda _: None)
    with pytest.raises(Unavailable, match=r"pip install 'headscope\[app\]'"):
        app_command.command(options)
