"""Files a reader brings: what is read, what is refused, and by which line it is named."""

import json

import pytest

from mha_core.errors import InputError
from mha_core.heads.corpora import Lines, PronounCase, Reading, read_conllu, read_gap, read_pairs
from mha_core.heads.corpora.plain import read_json_lines, read_text


def line(number: str, form: str, head: str, relation: str) -> str:
    """No two columns hold the same."""
    return f"{number}\t{form}\tlemma\tUPOS{number}\tXPOS\tA=b\t{head}\t{relation}\t0:deps\tMisc=1"


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
TEXT = "Ann saw Sue when she left."
PAIR = {"text": TEXT, "pronoun": [17, 20], "candidates": [[0, 3], [8, 11]], "answer": 1}
GOOD = json.dumps(PAIR)


def test_only_syntactic_words_are_words():
    reading = Reading()
    (sentence,) = read_conllu(DONT, reading)
    assert sentence.words == ("Do", "n't", "go")
    assert sentence.heads == (2, 2, -1)
    assert sentence.relations == ("aux", "advmod", "root")
    assert sentence.text == "Don't go"
    assert [said.split()[:3] for said in reading.said()] == [["1", "multiword", "token"]]
    assert sentence.tags == ("UPOS1", "UPOS2", "UPOS3")


def test_a_sentence_is_of_the_document_that_began_last_also_without_a_last_empty_line():
    lines = [*GO, "# newdoc id = a", *DONT, *GO, "# newdoc id = b", *GO[:-1]]
    assert [sentence.document[-1:] for sentence in read_conllu(lines)] == ["", "a", "a", "b"]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_conllu, "\n".join(DONT)),
        (read_gap, GAP),
        (read_pairs, json.dumps([PAIR])),
        (read_text, "One.\n\n Two words. \n"),
        (read_json_lines, '{"text": "One."}\n\n{"text": " Two  words."}\n'),
    ],
)
def test_a_file_that_begins_with_a_mark_of_utf_8_is_read_as_one_without(read, text, tmp_path):
    (tmp_path / "plain").write_text(text)
    (tmp_path / "marked").write_text(text, encoding="utf-8-sig")
    plain, marked = (list(read(Lines(tmp_path / name))) for name in ("plain", "marked"))
    assert plain
    assert plain == marked


def test_gap_gives_only_pronouns_with_exactly_one_right_name():
    reading = Reading()
    first, second = read_gap(Lines(GAP.encode()), reading)
    assert first == PronounCase(TEXT, (17, 20), ((0, 3), (8, 11)), 0, None, 2, "u")
    assert (second.answer, second.line) == (1, 5)
    assert reading.n_unused == 2


def test_pairs_are_read_with_their_lines():
    text = json.dumps([PAIR, {**PAIR, "answer": 0, "pair": "p1"}], indent=1)
    first, second = read_pairs(text.split("\n"))
    assert first == PronounCase(TEXT, (17, 20), ((0, 3), (8, 11)), 1, None, 2)
    assert (second.answer, second.pair) == (0, "p1")
    assert second.line > first.line
    assert list(read_pairs(["[]"])) == []


# Number, form, head and relation.
BROKEN_LINES = (
    "x|home|1|obj/3|home|1|obj/2|home|one|obj/2|home|-1|obj/2|home|٣|obj/2|home|9|obj/2|home|2|obj/"
    "2| |1|obj/2|home|1|"
)
NO_TREES = (
    "2 det/3 nsubj/0 dep;2 det/3 root/0 root;2 det/3 nsubj/1 dep;0 root/1 det/0 root;2 det/1 det/0 root;"
    "0 root/3 det/4 det/2 det"
)
BROKEN_ROWS = [
    "\tshe\t16\tAnn\t0\tTRUE\tSue\t8\tFALSE\tu",
    "\tshe\tx\tAnn\t0\tTRUE\tSue\t8\tFALSE\tu",
    "\tshe\t17\tAnn\t1\tTRUE\tSue\t8\tFALSE\tu",
    "\tshe\t17\tAnn\t0\tTRUE\tSue\t9\tFALSE\tu",
    "\tshe\t17\tAnn\t0\tTRUE\tSue\t8\tmaybe\tu",
    "\tshe\t17\tAnn\t0\tTRUE\tSue\t8\tFALSE",
]
BROKEN_PAIRS = {
    "text": [3],
    "pronoun": [[17], [17, 99], [20, 17], [True, 3], [3, 4]],
    "candidates": [[[0, 3]], [[0, 3], [8, 8]], [[0, 3], [2, 6]], [[0, 3], [18, 22]]],
    "answer": [2, True],
}


def pairs_with(**change) -> list[str]:
    """Return the lines of a pair between two good ones."""
    return f"[\n{GOOD},\n{json.dumps(PAIR | change)},\n{GOOD}\n]".split("\n")


def tree(words: str) -> list[str]:
    """Return the lines of a sentence whose words are given as head and relation."""
    return [line(str(i), "word", *word.split()) for i, word in enumerate(words.split("/"), start=1)]


@pytest.mark.parametrize(
    ("read", "lines", "n_left"),
    [
        *((read_conllu, [*DONT, GO[0], broken, "", *GO], 2) for broken in ("2\thome\t_", "home")),
        *(
            (read_conllu, [*DONT, GO[0], line(*row.split("|")), "", *GO], 2)
            for row in BROKEN_LINES.split("/")
        ),
        *((read_conllu, [*tree(words), "", *GO], 1) for words in NO_TREES.split(";")),
        *((read_gap, [*GAP.split("\n")[:2], f"9\t{TEXT}{row}"], 1) for row in BROKEN_ROWS),
        *((read_pairs, pairs_with(**{key: bad}), 2) for key, each in BROKEN_PAIRS.items() for bad in each),
    ],
)
def test_what_is_broken_is_refused_by_its_line_or_left_out_alone(read, lines, n_left):
    with pytest.raises(InputError, match=r"Line \d+: ") as flaw:
        list(read(lines))
    reading = Reading("skip")
    assert len(list(read(lines, reading))) == n_left
    assert (reading.n_skipped, reading.notes) == (1, [str(flaw.value)])
