"""Files a reader brings: what is read, what is refused, and by which line it is named."""

import itertools
import json

import pytest

from mha_core.corpus import (
    MAX_LINE,
    Lines,
    PronounCase,
    Reading,
    pairs,
    read_conllu,
    read_gap,
    read_pairs,
    read_text,
)
from mha_core.errors import InputError


def line(number: str, form: str, head: str, relation: str) -> str:
    return "\t".join([number, form, "_", "_", "_", "_", head, relation, "_", "_"])


DONT = [
    "# text = Don't go",
    line("1-2", "Don't", "_", "_"),
    line("1", "Do", "3", "aux"),
    line("2", "n't", "3", "advmod"),
    line("2.1", "really", "_", "_"),
    line("3", "go", "0", "root"),
    "",
]
GO = [line("1", "Go", "0", "root"), line("2", "home", "1", "advmod:x"), ""]
GAP = (
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    "1\tAnn saw Sue when she left.\tshe\t17\tAnn\t0\tTRUE\tSue\t8\tFALSE\tu\n"
    "2\tAnn saw Sue when she left.\tshe\t17\tAnn\t0\tFALSE\tSue\t8\tFALSE\tu\n"
    "3\tAnn saw Sue when she left.\tshe\t17\tAnn\t0\tTRUE\tSue\t8\tTRUE\tu\n"
    "4\tAnn saw Sue when she left.\tshe\t17\tAnn\t0\tFALSE\tSue\t8\tTRUE\tu\n"
)
PAIR = {
    "text": "Ann saw Sue when she left.",
    "pronoun": [17, 20],
    "candidates": [[0, 3], [8, 11]],
    "answer": 1,
}


def test_only_syntactic_words_are_words():
    (sentence,) = read_conllu(DONT)
    assert sentence.words == ("Do", "n't", "go")
    assert sentence.heads == (2, 2, -1)
    assert sentence.relations == ("aux", "advmod", "root")
    assert sentence.text == "Don't go"


def test_relations_keep_their_subtypes_and_the_last_sentence_needs_no_empty_line():
    first, second = read_conllu([*DONT, *GO[:2]])
    assert second.relations == ("root", "advmod:x")
    assert (first.text, second.text) == ("Don't go", "Go home"), "without its text a sentence is its words"
    assert (first.line, second.line) == (1, 8)


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        ("2\thome\t_", "3 columns, and CoNLL-U has 10"),
        ("home", "1 column, and CoNLL-U has 10"),
        (line("x", "home", "1", "obj"), "the word number is 'x'"),
        (line("3", "home", "1", "obj"), "word number 3 where 2 is due"),
        (line("2", "home", "one", "obj"), "the head is 'one'"),
        (line("2", "home", "-1", "obj"), "the head is '-1'"),
        (line("2", "home", "٣", "obj"), "the head is '٣'"),
        (line("2", "home", "9", "obj"), "word 2 has head 9 in a sentence of 2 words"),
        (line("2", "home", "2", "obj"), "word 2 has head 2"),
        (line("2", " ", "1", "obj"), "a word without letters"),
        (line("2", "home", "1", ""), "a word without a relation"),
    ],
)
def test_a_broken_line_is_refused_by_its_number_or_its_sentence_skipped(broken: str, what: str):
    lines = [*DONT, GO[0], broken, "", *GO]
    with pytest.raises(InputError, match=r"^Line 9: ") as flaw:
        list(read_conllu(lines))
    assert what in str(flaw.value)
    reading = Reading(on_error="skip")
    assert [s.words for s in read_conllu(lines, reading)] == [("Do", "n't", "go"), ("Go", "home")]
    assert reading.n_skipped == 1
    assert reading.notes == [str(flaw.value)]


def test_one_word_and_one_column_are_said_as_one():
    with pytest.raises(InputError, match=r"word 1 has head 2 in a sentence of 1 word\.$"):
        list(read_conllu([line("1", "Go", "2", "obj")]))
    with pytest.raises(InputError, match=r"^Line 2: 1 column, and the first line has 11\.$"):
        list(read_gap([GAP.splitlines()[0], "Ann"]))


def test_a_treebank_is_read_as_a_stream():
    endless = itertools.cycle(GO)
    assert len(list(itertools.islice(read_conllu(endless), 5000))) == 5000


def test_a_sentence_without_end_is_not_held_in_memory():
    def flood():
        for i in itertools.count(1):
            yield line(str(i), "a", "0", "root")
            if i == 200_000:
                return

    with pytest.raises(InputError, match="more than 5,000 words"):
        list(read_conllu(flood()))


def test_skipping_keeps_few_notes_and_the_full_count():
    reading = Reading(on_error="skip")
    list(read_conllu(["broken", ""] * 500, reading))
    assert (reading.n_skipped, len(reading.notes)) == (500, 20)


def test_lines_are_the_same_from_a_file_and_from_bytes_and_know_how_far_they_are(tmp_path):
    content = "\ufeffone\r\ntwo\u2028still two\n\nfour".encode()
    (tmp_path / "a.txt").write_bytes(content)
    expected = ["one", "two\u2028still two", "", "four"]
    for source in (tmp_path / "a.txt", content):
        lines = Lines(source)
        assert list(lines) == expected
        assert lines.fraction == 1.0
        assert list(lines) == expected
        half = iter(lines)
        next(half)
        assert 0 < lines.fraction < 1


def test_what_is_no_text_or_has_no_lines_is_refused(tmp_path):
    with pytest.raises(InputError, match="Line 2: it is not UTF-8 text"):
        list(Lines(b"one\n\xff\xfe\n"))
    for source in (b"a" * (MAX_LINE + 5), tmp_path / "long"):
        if not isinstance(source, bytes):
            source.write_bytes(b"ok\n" + b"a" * (MAX_LINE + 5))
        with pytest.raises(InputError, match="longer than 1,000,000 bytes"):
            list(Lines(source))
    with pytest.raises(InputError, match="There is no file"):
        Lines(tmp_path / "missing.conllu")
    with pytest.raises(InputError, match="There is no file"):
        Lines(tmp_path)


def test_gap_gives_only_pronouns_with_exactly_one_right_name():
    reading = Reading()
    first, second = read_gap(Lines(GAP.encode()), reading)
    assert first == PronounCase("Ann saw Sue when she left.", (17, 20), ((0, 3), (8, 11)), 0, None, 2)
    assert (second.answer, second.line) == (1, 5)
    assert reading.n_unused == 2


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("\tshe\t17\t", "\tshe\t16\t", "an offset does not point at the name"),
        ("\tshe\t17\t", "\tshe\tx\t", "an offset does not point at the name"),
        ("\tAnn\t0\t", "\tAnn\t1\t", "an offset does not point at the name"),
        ("\tSue\t8\t", "\tSue\t9\t", "an offset does not point at the name"),
        ("Sue\t8\tFALSE", "Sue\t8\tmaybe", "TRUE or FALSE"),
        ("\tu\n", "\n", "10 columns, and the first line has 11"),
    ],
)
def test_a_broken_gap_row_is_refused_by_its_number_or_skipped(old: str, new: str, what: str):
    rows = Lines(
        GAP.replace(old, new, 1).encode()
        if old != "\tu\n"
        else GAP[::-1].replace("\nu\t", "\n", 1)[::-1].encode()
    )
    number = 5 if old == "\tu\n" else 2
    with pytest.raises(InputError, match=f"^Line {number}: .*{what}"):
        list(read_gap(rows))
    reading = Reading("skip")
    assert len(list(read_gap(rows, reading))) == 1
    assert reading.n_skipped == 1


def test_a_file_without_gap_columns_is_refused():
    with pytest.raises(InputError, match="Line 1: a GAP file has the column 'ID'"):
        list(read_gap(["a\tb"]))
    with pytest.raises(InputError, match=r"^Line 1: .*not UTF-8"):
        list(read_gap(Lines("caf\u00e9\tText\n".encode("latin-1"))))


def test_pairs_are_read_with_their_lines():
    text = json.dumps([PAIR, {**PAIR, "answer": 0, "pair": "p1"}], indent=1)
    first, second = read_pairs(text.split("\n"))
    assert first == PronounCase(PAIR["text"], (17, 20), ((0, 3), (8, 11)), 1, None, 2)
    assert (second.answer, second.pair) == (0, "p1")
    assert second.line > first.line
    assert list(read_pairs(["[]"])) == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"text": 3}, 'an object with a "text"'),
        ({"pronoun": [17]}, '"pronoun" is'),
        ({"pronoun": [17, 99]}, '"pronoun" is'),
        ({"pronoun": [20, 17]}, '"pronoun" is'),
        ({"pronoun": [True, 3]}, '"pronoun" is'),
        ({"pronoun": [3, 4]}, '"pronoun" is'),
        ({"candidates": [[0, 3]]}, "two spans"),
        ({"candidates": [[0, 3], [8, 8]]}, "two spans"),
        ({"candidates": [[0, 3], [2, 6]]}, "overlap"),
        ({"candidates": [[0, 3], [18, 22]]}, "overlap"),
        ({"answer": 2}, '"answer" is 0 or 1'),
        ({"answer": True}, '"answer" is 0 or 1'),
    ],
)
def test_a_broken_pair_is_refused_by_its_line_or_skipped(change: dict, what: str):
    lines = ["[", json.dumps(PAIR) + ",", json.dumps({**PAIR, **change}) + ",", json.dumps(PAIR), "]"]
    with pytest.raises(InputError, match=f"^Line 3: .*{what}"):
        list(read_pairs(lines))
    assert len(list(read_pairs(lines, Reading("skip")))) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"text": 1}', "Line 1: pairs are one JSON list"),
        ("[1\n2]", "Line 2: the file is no JSON list; .*delimiter"),
        ('[\n\n{"a": }]', "Line 3: the file is no JSON list"),
        ('[\n{"a": 1}', "Line 2: the file is no JSON list"),
        ("[" * 100_000, "Line 1: brackets inside brackets"),
        ("[" + "9" * 5000 + "]", "Line 1: a number with more digits"),
        ("", "Line 1: the file is no JSON list"),
    ],
)
def test_what_is_no_json_list_is_refused_by_the_line_where_it_breaks(text: str, said: str):
    with pytest.raises(InputError, match=f"^{said}"):
        list(read_pairs(text.split("\n")))
    reading = Reading("skip")
    assert list(read_pairs(text.split("\n"), reading)) == []
    assert reading.n_skipped == 1


def test_a_json_list_has_a_largest_size(monkeypatch):
    monkeypatch.setattr(pairs, "MAX_JSON", 500)
    assert len(list(read_pairs([json.dumps([PAIR])]))) == 1
    with pytest.raises(InputError, match="may have 500 characters at most"):
        list(read_pairs([json.dumps([PAIR] * 20)]))


def test_an_item_may_span_many_lines_and_share_one():
    spread = json.dumps([PAIR, PAIR], indent=1) + "\n"
    begins = [n for n, text in enumerate(spread.split("\n"), start=1) if text == " {"]
    assert [choice.line for choice in read_pairs(spread.split("\n"))] == begins
    assert begins[1] > 10
    assert [choice.line for choice in read_pairs(["", json.dumps([PAIR, PAIR])])] == [2, 2]


def test_plain_text_is_one_text_a_line():
    assert list(read_text(["a b", "", "  ", " c "])) == [(1, "a b"), (4, "c")]


def tree(*words: str) -> list[str]:
    """Lines of a sentence whose words are given as head and relation."""
    return [line(str(i), "word", *word.split()) for i, word in enumerate(words, start=1)]


@pytest.mark.parametrize(
    ("lines", "number", "what"),
    [
        (tree("2 det", "3 nsubj", "0 dep"), 3, "word 3 has head 0 and the relation 'dep'"),
        (tree("2 det", "3 root", "0 root"), 2, "word 2 has head 3 and the relation 'root'"),
        (tree("2 det", "3 nsubj", "1 dep"), 1, "a sentence without a root"),
        (tree("0 root", "1 det", "0 root"), 3, "a second root"),
        (tree("2 det", "1 det", "0 root"), 1, "word 1 is above itself"),
        (tree("0 root", "3 det", "4 det", "2 det"), 2, "word 2 is above itself"),
    ],
)
def test_what_is_no_tree_is_named_by_the_line_where_it_fails(lines, number, what):
    with pytest.raises(InputError, match=f"^Line {number}: {what}"):
        list(read_conllu(lines))
    reading = Reading("skip")
    assert len(list(read_conllu([*lines, "", *GO], reading))) == 1
    assert reading.n_skipped == 1


def test_a_root_may_have_a_subtype_and_be_written_in_capitals():
    lines = [line("1", "Go", "0", "ROOT"), "", line("1", "Go", "0", "root:x")]
    assert len(list(read_conllu(lines))) == 2


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("Sue\t8", "Ann\t0", "overlap"),
        ("Sue\t8", "Sue when\t8", None),
        ("Sue\t8", "she\t17", "overlap"),
        ("Sue\t8", ".\t25", "'.' is no word"),
        ("Ann saw Sue", "A" * 20_000 + " Sue", "20,000 are read at most|an offset does not point"),
    ],
)
def test_gap_refuses_what_the_json_form_refuses(old: str, new: str, what: str | None):
    reading = Reading("skip")
    found = list(read_gap(Lines(GAP.replace(old, new, 1).encode()), reading))
    if what is None:
        assert (len(found), reading.n_skipped) == (2, 0)
        return
    with pytest.raises(InputError, match=f"^Line 2: .*({what})"):
        list(read_gap(Lines(GAP.replace(old, new, 1).encode())))
    assert (len(found), reading.n_skipped) == (1, 1)


def test_a_long_text_is_refused_by_both_forms_of_a_choice():
    text = PAIR["text"] + " " + "a" * 20_000
    rows = GAP.replace("Ann saw Sue when she left.", text)
    for read, lines in ((read_gap, rows.splitlines()), (read_pairs, [json.dumps([{**PAIR, "text": text}])])):
        with pytest.raises(InputError, match="a text of 20,027 characters; 20,000 are read at most"):
            list(read(lines))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (json.dumps([PAIR]) + " x", "Line 1: the file is no JSON list; .*Extra data"),
        (json.dumps([PAIR]).replace('"answer"', '"answer": 0, "answer"'), "Line 1: the key 'answer' stands"),
        (json.dumps([{**PAIR, "candidates": [[0, 3], [25, 26]]}]), r"Line 1: '\.' is no word"),
    ],
)
def test_doubled_keys_and_rubbish_after_the_list_are_refused(text: str, what: str):
    with pytest.raises(InputError, match=what):
        list(read_pairs([text]))


def test_a_column_that_stands_twice_is_refused():
    with pytest.raises(InputError, match="Line 1: the column 'A' stands there twice"):
        list(read_gap([GAP.splitlines()[0] + "\tA"]))


FLAWS = {
    "old line ends": (b"one\rtwo\rthree", "old Macs"),
    "a NUL byte far behind": (b"a" * 5000 + b"\0", "NUL byte"),
    "Latin-1": ("caf\u00e9".encode("latin-1"), "not UTF-8"),
    "a long line": (b"b" * (MAX_LINE + 5), "longer than 1,000,000 bytes"),
}


@pytest.mark.parametrize("name", FLAWS)
@pytest.mark.parametrize("in_a_file", [False, True])
def test_one_line_that_is_no_text_never_ends_a_file(name, in_a_file, tmp_path):
    bad, what = FLAWS[name]
    rows = [b"Rain falls.", bad, b"Snow falls."]
    treebank = "\n".join(GO).encode()
    contents = {
        read_text: b"\n".join(rows),
        read_gap: GAP.encode() + bad + b"\n" + GAP.splitlines()[1].encode(),
        read_conllu: treebank + b"\n" + bad + b"\n\n" + treebank,
    }
    expected = {read_text: 2, read_gap: 3, read_conllu: 2}
    for read, content in contents.items():
        source = tmp_path / "x"
        source.write_bytes(content)
        reading = Reading("skip")
        found = list(read(Lines(source if in_a_file else content), reading))
        assert (len(found), reading.n_skipped) == (expected[read], 1)
        assert what in reading.notes[0]
        with pytest.raises(InputError, match=what):
            list(read(Lines(content)))


def test_a_sentence_of_huge_lines_is_not_held_in_memory():
    comment = "# " + "x" * 900_000
    reading = Reading("skip")
    lines = [comment] * 50 + [*GO, *GO]
    assert len(list(read_conllu(lines, reading))) == 1
    assert "more than 15,000 lines or 1,000,000 characters" in reading.notes[0]


def test_the_part_of_speech_is_the_universal_one():
    lines = [
        "1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_",
        "2\tran\trun\tVERB\tVBD\t_\t0\troot\t_\t_",
    ]
    (sentence,) = read_conllu(lines)
    assert (sentence.tags, sentence.heads) == (("NOUN", "VERB"), (1, -1))
