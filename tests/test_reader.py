"""The reader: enough ordinary text, of ten kinds, every passage different, and what heads may look for is in it."""

import hashlib
import re
from collections import Counter, defaultdict

import pytest

from mha_core.reader import REGISTERS, read_reader, reader_digest, reader_folder

PASSAGES = read_reader()
LONGEST_SHARED = 5  # words in a row that two passages may have in common ("at the end of the")
WORTH_LOOKING_FOR = {
    "a quotation": r'"[^"]+"',
    "brackets": r"\([^)]+\)",
    "a date": r"\b\d{1,2} (January|February|March|April|May|June|July|August|September|October|November|December)\b",
    "a number": r"\d",
    "a price": r"[€£]\d",
    "a time": r"\d{1,2}:\d\d",
    "a numbered list": r"\(1\)|\b1\. .*\b2\. ",
    "code": r"\w+\(\w+\)|SELECT",
    "an address": r"\d+ [A-Z]\w+ (Street|Row)",
    "a negation": r"\bnot\b|\bnever\b|n't\b",
    "joining words": r"\b(and|or|but)\b",
    "a capital inside a word or an abbreviation": r"\b[A-Z]{2,}\b",
}


def words(text):
    return re.findall(r"\S+", text)


def test_two_hundred_passages_in_ten_registers():
    counts = Counter(one.register for one in PASSAGES)
    assert set(counts) == set(REGISTERS)
    assert len(REGISTERS) == 10
    assert all(20 <= n <= 22 for n in counts.values())
    assert [one.register for one in PASSAGES] == sorted(
        (one.register for one in PASSAGES), key=REGISTERS.index
    )


def test_sixteen_thousand_words_in_passages_of_about_eighty():
    lengths = [len(words(one.text)) for one in PASSAGES]
    assert 15_500 <= sum(lengths) <= 17_000
    assert min(lengths) >= 60
    assert max(lengths) <= 95


def test_a_passage_is_one_tidy_line():
    for one in PASSAGES:
        assert one.text == " ".join(one.text.split()), one.text[:40]
        assert one.text.count('"') % 2 == 0, one.text
        assert one.text.count("(") <= one.text.count(")"), one.text


def test_no_two_passages_share_more_than_a_turn_of_phrase():
    seen = defaultdict(set)
    n = LONGEST_SHARED + 1
    for number, one in enumerate(PASSAGES):
        said = re.findall(r"\w+", one.text.lower())
        for start in range(len(said) - n + 1):
            seen[tuple(said[start : start + n])].add(number)
    assert {" ".join(gram): where for gram, where in seen.items() if len(where) > 1} == {}


def test_no_two_passages_begin_alike():
    starts = Counter(" ".join(words(one.text)[:3]).lower() for one in PASSAGES)
    assert {start: n for start, n in starts.items() if n > 2} == {}


@pytest.mark.parametrize("what", WORTH_LOOKING_FOR)
def test_what_heads_may_look_for_is_there_more_than_once(what):
    found = [one for one in PASSAGES if re.search(WORTH_LOOKING_FOR[what], one.text)]
    assert len(found) >= 2, what


def test_rare_names_come_again_in_their_passage():
    small = {word for one in PASSAGES for word in re.findall(r"\b[a-z]+\b", one.text)}
    again = 0
    for one in PASSAGES:
        names = Counter(re.findall(r"\b[A-Z][a-z]{3,}\b", one.text))
        again += any(n > 1 and name.lower() not in small for name, n in names.items())
    assert again >= 20, again


def test_the_digest_is_that_of_the_files_one_after_the_other():
    read = b"".join((reader_folder() / f"{register}.txt").read_bytes() for register in REGISTERS)
    assert reader_digest() == hashlib.sha256(read).hexdigest()
