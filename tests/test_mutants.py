"""The faults put in on purpose: every entry applies, and the runner tells a fault noticed from one that is not."""

import re
import shlex
from collections import Counter
from pathlib import Path
from queue import Queue

import psutil
import pytest
from _pytest.mark import KeywordMatcher, MarkMatcher
from _pytest.mark.expression import Expression
from mutants import NEEDED, NOTICED, SURVIVED, Fault, problem, read, report, run_tests, try_all

ROOT = Path(__file__).resolve().parent.parent


def test_every_fault_listed_can_be_put_in():
    faults = read(ROOT / "tests" / "mutants")
    assert [f"{fault.area}: {fault.what}: {why}" for fault in faults if (why := problem(fault, ROOT))] == []


def chosen(tests: str, items: list[pytest.Item]) -> list[pytest.Item]:
    """Of the tests of a whole run those that are named this way: files, nodes, -k, -m."""
    words, given = shlex.split(tests), {}
    for option in ("-k", "-m"):
        if option in words:
            at = words.index(option)
            given[option] = Expression.compile(words[at + 1])
            del words[at : at + 2]
    found = [
        item
        for item in items
        if any(re.match(rf"{re.escape(word)}(::|\[|/|$)", item.nodeid) for word in words)
    ]
    if "-k" in given:
        found = [item for item in found if given["-k"].evaluate(KeywordMatcher.from_item(item))]
    if "-m" in given:
        found = [
            item for item in found if given["-m"].evaluate(MarkMatcher.from_markers(item.iter_markers()))
        ]
    return found


@pytest.mark.long
def test_nearly_all_faults_of_every_area_are_noticed_without_the_long_tests(request):
    items = request.session.items
    if len({item.path for item in items}) < len([*ROOT.glob("tests/**/test_*.py")]):
        pytest.skip("not all tests are run: `make test ALL=1`")
    by_file: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.nodeid.partition("::")[0], []).append(item)
    listed, unseen, nowhere = Counter[str](), Counter[str](), []
    for fault in read(ROOT / "tests" / "mutants"):
        files = [word.partition("::")[0] for word in shlex.split(fault.tests) if word.startswith("tests/")]
        looking = chosen(fault.tests, [item for file in files for item in by_file.get(file, [])])
        if not looking:
            nowhere.append(f"{fault.area}: {fault.what} [{fault.tests}]")
        elif not fault.survives:
            listed[fault.area] += 1
            unseen[fault.area] += all(item.get_closest_marker("long") for item in looking)
    assert nowhere == [], "no test has that name"
    few = {area: n for area, n in unseen.items() if n > max(1, (1 - NEEDED) * listed[area])}
    assert few == {}, "make one of those tests shorter, or let a short one notice it, too"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with one test that looks at `add` and none that looks at `twice`."""
    monkeypatch.setenv(
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1"
    )  # they take longer to load than these tests to run
    (tmp_path / "tests").mkdir()
    (tmp_path / "sums.py").write_text(
        "def add(a, b):\n    return a + b\n\n\ndef twice(a):\n    return a * 2\n"
    )
    (tmp_path / "tests/test_sums.py").write_text(
        "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\n"
        "def test_wrong():\n    assert add(2, 3) == 6\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    return tmp_path


def fault(old: str, new: str, tests: str = "tests/test_sums.py -k add", survives: str = "") -> Fault:
    return Fault("sums", "sums.py", f"{old} is {new}", old, new, tests, survives)


def tried(tree: Path, *faults: Fault) -> tuple[list[str], bool, str]:
    """The verdicts, whether they are good enough, and what was said."""
    trees: Queue[Path] = Queue()
    trees.put(tree)
    said: list[str] = []
    verdicts = try_all(list(faults), trees, say=lambda _: None)
    return verdicts, report(list(faults), verdicts, said.append), "\n".join(said)


@pytest.mark.long
def test_a_fault_is_noticed_when_a_test_fails_with_it(tree):
    sound = (tree / "sums.py").read_bytes()
    verdicts, good, said = tried(tree, fault("a + b", "a - b"), fault("a * 2", "a * 3"))
    assert verdicts == [NOTICED, SURVIVED]
    assert not good
    assert "1/2 noticed" in said
    assert "a * 2 is a * 3" in said
    assert (tree / "sums.py").read_bytes() == sound


@pytest.mark.long
def test_what_no_test_can_see_is_not_counted_until_one_does(tree):
    unseen = fault("a * 2", "2 * a", survives="the same product")
    assert tried(tree, fault("a + b", "a - b"), unseen)[1:] == (
        True,
        "\nsums: 1/1 noticed, 1 that no test can see",
    )
    assert not tried(tree, fault("a + b", "a - b", survives="nobody adds"))[1]


@pytest.mark.long
@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (fault("a + b", "a - b", tests="tests/test_sums.py -k wrong"), "fail without it"),
        (fault("a + b", "a - b", tests="tests/test_sums.py -k nothing_of_that_name"), "fail without it"),
        (fault("def add", "def plus"), "error during collection|cannot be collected"),
        (
            Fault("sums", "pytest.ini", "", "pythonpath", "addopts = --x\npythonpath", "tests -k add"),
            "ended with 4",
        ),
    ],
)
def test_tests_that_cannot_tell_are_a_broken_entry_and_not_a_noticed_fault(tree, entry, says):
    (verdict,), good, _ = tried(tree, entry)
    assert re.search(says, verdict)
    assert not good


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (fault("a", "b"), "stands 5 times"),
        (fault("a - b", "a + b"), "stands 0 times"),
        (fault("a + b", "a + b"), "the same"),
        (fault("a + b", "a - b", tests="tests/test_gone.py"), "no tests/test_gone.py"),
    ],
)
def test_an_entry_that_has_rotted_is_named(tree, entry, says):
    assert says in problem(entry, tree)


def test_an_entry_with_an_unknown_key_is_refused(tmp_path):
    (tmp_path / "area.toml").write_text('[[fault]]\nfile = "a.py"\nwhy = "?"\n')
    with pytest.raises(SystemExit, match="why"):
        read(tmp_path)


@pytest.mark.long
def test_tests_that_do_not_end_are_stopped_with_all_that_they_started(tree):
    (tree / "tests/test_sleep.py").write_text(
        "import subprocess\n\n\ndef test_sleep():\n"
        "    child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "    open('child', 'w').write(str(child.pid))\n    child.wait()\n"
    )
    for patience in (4, 20, 120):  # a busy machine needs longer than the first to come so far
        assert run_tests("tests/test_sleep.py", tree, patience).status is None
        if (tree / "child").exists():
            break
    child = int((tree / "child").read_text())
    assert not psutil.pid_exists(child)
