"""Tokens and words: spans in the reader's own spelling, whatever the text; specials where they are meant."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mha_core import InputError


@pytest.fixture(scope="module")
def tokenizer(model):
    return model.tokenizer


def check(tokens):
    """What holds of the tokens of any text at all."""
    assert tokens.pieces[0].text == "[CLS]"
    assert tokens.pieces[-1].text == "[SEP]"
    assert len(tokens.ids) == len(tokens.segments) == len(tokens)
    assert list(tokens.segments) == sorted(tokens.segments)
    last = {0: 0, 1: 0}
    for piece in tokens.pieces:
        text = tokens.text_of(piece.segment)
        assert 0 <= piece.start <= piece.end <= len(text)
        if (piece.start, piece.end) != (0, 0):
            assert piece.start >= last[piece.segment]
            last[piece.segment] = piece.start
        assert piece.special == (piece.word is None)
    covered = []
    for number, word in enumerate(tokens.words):
        pieces = tokens.pieces[word.first : word.stop]
        assert pieces
        assert all(piece.word == number and piece.segment == word.segment for piece in pieces)
        assert word.text == tokens.text_of(word.segment)[word.start : word.end]
        assert word.start == pieces[0].start
        assert word.end == max(piece.end for piece in pieces)
        covered += range(word.first, word.stop)
    assert covered == [i for i, piece in enumerate(tokens.pieces) if not piece.special]
    for one, other in zip(tokens.words, tokens.words[1:], strict=False):
        assert one.segment < other.segment or one.end <= other.start


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("café Ångström", ["café", "Ångström"]),
        ("e\u0301cole a\u0308", ["e\u0301cole", "a\u0308"]),
        ("👨‍👩‍👧‍👦 family 🏳️‍🌈!", ["👨‍👩‍👧‍👦", "family", "🏳️‍🌈", "!"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("مرحبا بك", ["مرحبا", "بك"]),
        ("한국어 नमस्ते", ["한국어", "नमस्ते"]),
        ("a\0b c", ["a\0b", "c"]),
        ("\u202eabc\u202c def", ["abc\u202c", "def"]),
        ("zero\u200bwidth \ufeffend", ["zero\u200bwidth", "end"]),
        ("don't well-known 67.7 3,000.50", ["don't", "well-known", "67.7", "3,000.50"]),
        ("it’s rock'n'roll.", ["it’s", "rock'n'roll", "."]),
        ("'quoted' -5 a - b", ["'", "quoted", "'", "-", "5", "a", "-", "b"]),
        ("the dogs'.", ["the", "dogs", "'", "."]),
        ("dogs' tails", ["dogs", "'", "tails"]),
        ("said 'stop now", ["said", "'", "stop", "now"]),
        ("born in 1999.Then v.2 of", ["born", "in", "1999", ".", "Then", "v", ".", "2", "of"]),
        ("at 12:30, at 1: go", ["at", "12:30", ",", "at", "1", ":", "go"]),
        ("日本 x", ["日", "本", "x"]),
        ("z" * 150, ["z" * 150]),
        ("one\u2028two\r\nthree\tfour", ["one", "two", "three", "four"]),
    ],
)
def test_words_are_in_the_readers_own_spelling(text, words, tokenizer):
    tokens = tokenizer.encode(text)
    assert [word.text for word in tokens.words] == words
    assert tokens.text == text
    check(tokens)


# Specials


@pytest.mark.parametrize("name", ["[SEP]", "[CLS]", "[PAD]", "[MASK]", "[UNK]"])
@pytest.mark.parametrize("text", ["a {} b {} c", "it{}s {} x", "{} {} x", "x y {}{} z"])
def test_a_special_token_typed_by_the_reader_never_falls_into_pieces(name, text, tokenizer):
    tokens = tokenizer.encode(text.format(name, name))
    assert not {"[", "]", "se", "cl", "##p"} & {piece.text for piece in tokens.pieces}
    check(tokens)


def test_one_separator_between_two_texts_makes_a_pair(tokenizer):
    typed, given_apart = (
        tokenizer.encode("It rained [SEP] all day."),
        tokenizer.encode("It rained", "all day."),
    )
    assert typed == given_apart
    assert typed.segments == (0, 0, 0, 0, 1, 1, 1, 1)
    assert (typed.text, typed.pair) == ("It rained", "all day.")


def test_the_frame_typed_by_the_reader_is_not_doubled(tokenizer):
    framed = tokenizer.encode("[CLS] it rained [SEP]")
    assert framed.ids == tokenizer.encode("it rained").ids
    assert [piece.text for piece in framed.pieces].count("[SEP]") == 1
    framed_pair = tokenizer.encode("[CLS] it rained [SEP] all day [SEP]")
    assert framed_pair.ids == tokenizer.encode("it rained", "all day").ids


# Pairs, limits, emptiness


def test_a_pair_has_its_segments_and_spans_in_its_own_text(tokenizer):
    tokens = tokenizer.encode("It was tired.", "Wasn't it?")
    assert tokens.segments == (0,) * 6 + (1,) * 6
    assert [(word.text, word.start, word.segment) for word in tokens.words][4:] == [
        ("Wasn't", 0, 1), ("it", 7, 1), ("?", 9, 1)
    ]  # fmt: skip
    check(tokens)


@pytest.mark.parametrize(
    "text", ["", "   ", "\n\t", "\0\x01\x7f", "\u200b", "[SEP]", "[CLS]", "[CLS] [SEP]", "\ud800"]
)
def test_nothing_to_look_at_is_said_in_a_sentence(text, tokenizer):
    with pytest.raises(InputError):
        tokenizer.encode(text)
    if text.strip("[]CLSEP \n\t"):
        with pytest.raises(InputError):
            tokenizer.encode("It rained.", text)


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [(600, 3, (506, 3)), (3, 600, (3, 506)), (600, 500, (254, 255)), (300, 209, (300, 209))],
)
def test_of_a_pair_over_the_limit_the_longer_text_loses_its_end(first, second, kept, tokenizer):
    tokens = tokenizer.encode("one " * first, "two " * second)
    counts = [sum(word.segment == segment for word in tokens.words) for segment in (0, 1)]
    assert sum(counts) == sum(kept)
    assert counts == pytest.approx(kept, abs=1)
    assert tokens.n_cut == first + second - sum(counts)
    check(tokens)


# A treebank's words


def test_a_list_of_words_is_the_list_of_words(tokenizer):
    words = ["did", "n't", "New York", "ångström", "[SEP]", "\0", "", "x" * 150, "e\u0301"]
    tokens = tokenizer.encode_words(words)
    assert [word.text for word in tokens.words] == words
    check(tokens)
    with pytest.raises(InputError):
        tokenizer.encode_words([])


# Any text


ALPHABET = st.one_of(
    st.characters(),
    st.sampled_from(
        "abc ABC 'd’-_.,:5 \t\n\0\u200b\u200d\u0301\ufe0f\u202e\ufeff👩👧🏳\ud800\udfffßİﬁ한क्षשم日"
    ),
)
ANY_TEXT = st.one_of(
    st.text(ALPHABET, max_size=60),
    st.lists(
        st.sampled_from(
            ["[SEP]", "[CLS]", "[MASK]", "[PAD]", "[UNK]", " ", "it", "didn't", "é", "##ly", "👨‍👩‍👧", "\0"]
        ),
        max_size=12,
    ).map("".join),
)


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=ANY_TEXT, pair=st.one_of(st.none(), ANY_TEXT))
@example(text="\u0301a", pair=None)
@example(text="a'", pair="'b")
@example(text="\u0345", pair=None)
def test_any_text_gives_spans_inside_it_and_in_order_or_one_sentence(tokenizer, text, pair):
    try:
        tokens = tokenizer.encode(text, pair)
    except InputError:
        with pytest.raises(InputError):
            tokenizer.encode(text, pair)
        return
    check(tokens)
