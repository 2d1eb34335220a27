"""What all tests share: a long test that is not marked is named, and what takes seconds is made once."""

from types import SimpleNamespace

import once
import pytest
import spent
from spent import LEFT_OUT, LONG_SECONDS, SECONDS, too_long

from tests.conftest import in_order


def report(nodeid: str, seconds: float, *marks: str, when: str = "call") -> SimpleNamespace:
    return SimpleNamespace(
        nodeid=nodeid, when=when, keywords=dict.fromkeys(marks, 1), user_properties=[("cpu", seconds)]
    )


def test_what_takes_long_and_is_not_marked_is_named_the_longest_first():
    reports = [
        report("quick", SECONDS / 2),
        report("long", SECONDS + 0.1),
        report("longer", SECONDS + 1),
        report("marked", LONG_SECONDS + 1, "slow"),
        report("drawn", LONG_SECONDS + 2, "browser"),
        report("left out", LONG_SECONDS + 3, "slow", "long"),
        report("later", 60.0, when="teardown"),
    ]
    assert too_long(reports, SECONDS, "slow", "browser") == ["2.5 s longer", "1.6 s long"]
    assert too_long(reports, LONG_SECONDS, "long") == ["10.0 s drawn", "9.0 s marked"]


class Said:
    """What pytest writes at the end of a run."""

    def __init__(self, config: SimpleNamespace, *reports: SimpleNamespace):
        self.config, self.reports, self.lines = config, reports, []
        self.section = self.write_line = self.lines.append

    def getreports(self, _: str) -> tuple[SimpleNamespace, ...]:
        return self.reports


def test_a_run_says_at_its_end_what_took_long_and_how_many_long_tests_were_left_out():
    process, whole = (SimpleNamespace(stash=pytest.Stash()) for _ in range(2))
    process.workeroutput = {}
    chosen = [
        SimpleNamespace(config=process, get_closest_marker={"long": mark}.get) for mark in (1, None, 1, 1)
    ]
    spent.pytest_deselected(chosen[:2])
    spent.pytest_deselected(chosen[2:])
    spent.pytest_sessionfinish(SimpleNamespace(config=process))
    for _ in range(3):  # as many processes, and each leaves out the same
        spent.pytest_testnodedown(SimpleNamespace(config=whole, workeroutput=process.workeroutput))
    assert whole.stash[LEFT_OUT] == 3
    said = Said(whole, report("one", 2.0), report("two", 9.0, "browser"))
    spent.pytest_terminal_summary(said)
    assert said.lines == [
        *("not marked slow, and more than 1.5 s of the processor", "2.0 s one"),
        *("not marked long, and more than 8.0 s of the processor", "9.0 s two"),
        "3 long tests left out: `make test ALL=1` runs them too",
    ]
    assert spent.pytest_terminal_summary(nothing := Said(SimpleNamespace(stash=pytest.Stash()))) is None
    assert nothing.lines == []


def test_the_seconds_of_a_test_are_its_own_and_those_of_what_it_started_and_not_those_on_the_clock(
    monkeypatch,
):
    clock = iter([(1.0, 0.5, 2.0, 0.25, 100.0), (1.5, 0.75, 3.0, 0.5, 900.0)])
    item = SimpleNamespace(user_properties=[])
    with monkeypatch.context() as patch:  # this test is timed by the same function
        patch.setattr(spent.os, "times", lambda: next(clock))
        call = spent.pytest_runtest_call(item)
        next(call)
        with pytest.raises(StopIteration):
            call.send(None)
    assert dict(item.user_properties) == {"cpu": 2.0}


def test_what_takes_seconds_is_made_by_one_and_read_by_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(once, "folder", tmp_path)
    made = []

    def make() -> list[int]:
        made.append(1)
        return [1, 2]

    assert [once.once("numbers", make) for _ in range(3)] == [[1, 2]] * 3
    assert once.once("others", make) is not once.once("others", make), "nobody changes another's"
    assert len(made) == 2


def test_no_test_is_lost_and_what_is_long_to_begin_stands_together(tmp_path):
    sources = {
        "a": "import numpy\n",
        "b": "from visit import run\n",
        "c": "def test_it():\n    import transformers\n",
        "d": "from bert_folders import write\nfrom visit import run\n",
        "e": "# visit, transformers\n",
    }
    for name, source in sources.items():
        (tmp_path / name).write_text(source)

    def item(name: str, slow: bool = False, *fixtures: str) -> SimpleNamespace:
        marker = SimpleNamespace() if slow else None
        path = tmp_path / name[0]
        return SimpleNamespace(
            name=name, path=path, fixturenames=fixtures, get_closest_marker=lambda _: marker
        )

    def names(items: list[SimpleNamespace]) -> str:
        return " ".join(one.name for one in in_order(items))

    quick = [item(name + number) for name in sources for number in "12"]
    assert names(quick) == "b1 b2 a1 a2 e1 c1 c2 d1 d2 e2"
    assert names([*quick, item("a3", slow=True)]) == "b1 b2 e1 e2 c1 c2 d1 d2 a1 a2 a3"
    assert names([*quick, item("a3", True, "smollm2")]) == "b1 b2 e1 e2 a1 a2 a3 c1 c2 d1 d2"
    assert names([*quick, item("c3", True, "app_server", "smollm2")]) == "c1 c2 c3 b1 b2 d1 d2 a1 a2 e1 e2"
    assert names(quick[:1]) == "a1"
    assert names([]) == ""
