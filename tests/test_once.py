"""What is kept for the next runs of the tests is never older than what it was made of."""

import once
import pytest


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Ask for a value as a run does that begins with these sources and ends with those; what was made is counted."""
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(once, "kept", tmp_path / "cache")
    monkeypatch.setattr(once, "folder", tmp_path)
    made = []

    def make():
        made.append(len(made))
        return made[-1]

    def ask(before, after, keep=True, of=()):
        monkeypatch.setattr(once, "AT_START", before)
        monkeypatch.setattr(once, "sources", lambda: after)
        return once.once("value", make, keep=keep, of=of)

    return ask


def test_the_next_run_reads_it_until_a_source_is_another(asked, tmp_path):
    assert [asked("a", "a"), asked("a", "a"), asked("b", "b"), asked("b", "b"), asked("a", "a")] == [
        0,
        0,
        1,
        1,
        2,
    ]
    assert [file.name for file in (tmp_path / "cache").glob("*.pickle")] == ["value-a.pickle"]


def test_what_was_made_while_somebody_edited_is_not_kept(asked):
    assert [asked("a", "b"), asked("a", "a"), asked("b", "b")] == [0, 1, 2]


def test_a_file_it_is_made_of_besides_makes_it_anew(asked, tmp_path):
    file = tmp_path / "book.txt"
    found = []
    for text in ("a", "a", "b", "b"):
        file.write_text(text)
        found.append(asked("x", "x", of=[file]))
    assert found == [0, 0, 1, 1]


def test_what_was_made_while_such_a_file_was_edited_is_not_kept(tmp_path, monkeypatch):
    file = tmp_path / "book.txt"
    file.write_text("a")
    monkeypatch.setattr(once, "kept", tmp_path)
    monkeypatch.setattr(once, "sources", lambda: once.AT_START)
    assert once.once("value", lambda: file.write_text("longer"), keep=True, of=[file]) == 6
    assert not list(tmp_path.glob("*.pickle"))


def test_without_a_cache_or_a_wish_it_is_this_runs(asked, tmp_path, monkeypatch):
    assert [asked("a", "a", keep=False), asked("b", "b", keep=False)] == [0, 0]
    assert (tmp_path / "value.pickle").is_file()
    monkeypatch.setattr(once, "kept", None)
    assert asked("c", "d") == 0


@pytest.mark.parametrize("file", ["mha_core/heads/verdict.py", "assets/sentences.json"])
@pytest.mark.parametrize("change", ["text", "name", "gone"])
def test_any_line_of_the_engine_or_its_assets_makes_other_sources(file, change, tmp_path):
    for each in ("mha_core/heads/verdict.py", "mha_core/other.py", "assets/sentences.json"):
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).write_text("x = 1\n")
    before = once.sources(tmp_path)
    assert before == once.sources(tmp_path)
    path = tmp_path / file
    if change == "text":
        path.write_text("x = 2\n")
    else:
        path.rename(path.with_name("renamed" + path.suffix)) if change == "name" else path.unlink()
    assert once.sources(tmp_path) != before


def test_another_library_makes_other_sources(monkeypatch):
    before = once.sources()
    assert before == once.AT_START
    real = once.version
    monkeypatch.setattr(once, "version", lambda name: real(name) + ("+x" if name == "torch" else ""))
    assert once.sources() != before
