"""Tokens and words: spans in the reader's own spelling, whatever the text and the kind of tokenizer; specials where
they are meant."""

from itertools import pairwise

import pytest
from bert_folders import embedded_folder
from decoder_folders import byte_tokenizer
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tokenizers import Regex, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Fast

from mha_core import InputError, ModelError, record_from_weights
from mha_core.draw.text import spelled
from mha_core.models.families.bert import FRAMED as ROBERTA
from mha_core.models.families.bert import SPECIALS as BERT
from mha_core.models.tokenizer_files import LIST, RUNS
from mha_core.text.tokens import Tokenizer, tokens_of


@pytest.fixture(scope="module")
def tokenizer(model):
    return model.tokenizer


@pytest.fixture(scope="module")
def bytewise():
    return Tokenizer(byte_tokenizer(), 1024)


def check(tokens):
    """What holds of the tokens of any text at all."""
    assert list(tokens.segments) == sorted(tokens.segments)
    last = {0: 0, 1: 0}
    for piece in tokens.pieces:
        text = tokens.text_of(piece.segment)
        assert 0 <= piece.start <= piece.end <= len(text)
        if (piece.start, piece.end) != (0, 0):
            assert piece.start >= last[piece.segment]
            last[piece.segment] = piece.start
        assert piece.special == (piece.word is None)
        assert not (piece.continues and piece.special)
        assert tokens.label(piece)
    covered = []
    for number, word in enumerate(tokens.words):
        pieces = tokens.pieces[word.first : word.stop]
        assert all(piece.word == number and piece.segment == word.segment for piece in pieces)
        assert word.text == tokens.text_of(word.segment)[word.start : word.end]
        assert word.start == pieces[0].start
        assert word.end == max(piece.end for piece in pieces)
        assert not pieces[0].continues
        covered += range(word.first, word.stop)
    assert covered == [i for i, piece in enumerate(tokens.pieces) if not piece.special]
    for word, following in pairwise(tokens.words):
        assert word.segment < following.segment or word.end <= following.start


@pytest.mark.parametrize("text", ["\0\x01\x7f", "\u200b", "\ud800"])
def test_a_second_text_without_words_is_refused(text, tokenizer):
    with pytest.raises(InputError):
        tokenizer.encode("It rained.", text)


@pytest.mark.parametrize(
    ("first", "second", "lengths"),
    [(600, 3, (506, 3)), (3, 600, (3, 506)), (600, 500, (254, 255)), (300, 209, (300, 209))],
)
def test_of_a_pair_over_the_limit_the_longer_text_loses_its_end(first, second, lengths, tokenizer):
    tokens = tokenizer.encode("one " * first, "two " * second)
    counts = [sum(word.segment == segment for word in tokens.words) for segment in (0, 1)]
    assert sum(counts) == sum(lengths)
    assert counts == pytest.approx(lengths, abs=1)
    assert tokens.n_cut == first + second - sum(counts)
    check(tokens)


def test_a_list_of_words_is_the_list_of_words(tokenizer, bytewise):
    words = ["did", "n't", "New York", "ångström", "[SEP]", "\0", "", "x" * 150, "e\u0301"]
    for each, own in ((tokenizer, words), (bytewise, words[:4])):
        tokens = each.encode_words(own)
        assert [word.text for word in tokens.words] == own
        check(tokens)
    with pytest.raises(InputError):
        tokenizer.encode_words([])


ODD = "abc ABC 'd’-_.,:5 \t\n\0\u200b\u200d\u0301\ufe0f\u202e\ufeff👩👧🏳\ud800\udfffßİﬁ한क्षשم日"
NAMES = ["[SEP]", "[CLS]", "[MASK]", "[UNK]", "<|endoftext|>", " ", "didn't", "é", "##ly", "👨‍👩‍👧", "\0"]
ANY_TEXT = st.one_of(
    st.text(st.one_of(st.characters(), st.sampled_from(ODD)), max_size=60),
    st.lists(st.sampled_from(NAMES), max_size=12).map("".join),
)


@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=ANY_TEXT, pair=st.one_of(st.none(), ANY_TEXT))
@example(text="\u0301a", pair=None)
@example(text="a'", pair="'b")
@example(text="\u0345", pair=None)
def test_any_text_gives_spans_inside_it_and_in_order_or_one_sentence(tokenizer, bytewise, text, pair):
    try:
        tokens = tokenizer.encode(text, pair)
    except InputError:
        tokens = None
    else:
        assert (tokens.pieces[0].text, tokens.pieces[-1].text) == ("[CLS]", "[SEP]")
        check(tokens)
    if text.strip():
        check(spelt := bytewise.encode(text))
        assert bytewise.from_ids(spelt.ids) == spelt
        return
    assert tokens is None
    with pytest.raises(InputError):
        bytewise.encode(text)


SCRIPTS = {
    "Latin": "Zoë's naïve café, Ångström. e\u0301cole",
    "Greek": "Η γάτα κοιμήθηκε· ναι;",
    "Cyrillic": "Кошка не перешла улицу: ёж!",
    "Arabic": "القِطّة نامت، لأنها مُتعبة.",
    "Hebrew": "הַחתול ישן, כי היה עייף.",
    "Devanagari": "बिल्ली थकी हुई थी। क्ष",
    "Thai": "แมว นอน ที่นี่ น้ำ",
    "Chinese": "猫没有过街，它太累了。",
    "Japanese": "猫は が 通りを渡らなかった。",
    "Korean": "고양이는 너무 피곤했다. 각",
    "Tamil": "பூனை தூங்கியது, சோர்வாக.",
    "emoji": "a 👩‍👩‍👧 b 🦜 漢 z 🇫🇷 👍🏽 #️⃣",
}


def wordpiece_tokenizer():
    return Fast.from_file(str(embedded_folder() / "tokenizer.json"))


def unigram_tokenizer(*words):
    signs = sorted(set("".join(SCRIPTS.values())) - {" "})
    names = [*ROBERTA.roles(), *dict.fromkeys(["▁", *words, *signs])]
    scored = [(name, -1 - i / 99) for i, name in enumerate(names)]
    fast = Fast(models.Unigram(scored, unk_id=names.index("<unk>")))
    fast.pre_tokenizer = pre_tokenizers.Metaspace()
    fast.add_special_tokens(list(ROBERTA.roles()))
    return fast


def word_level_tokenizer():
    names = [*LIST.roles(), "a", "b", "猫", "."]
    fast = Fast(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token=LIST.unknown))
    fast.pre_tokenizer = pre_tokenizers.Split(Regex(RUNS), "removed", invert=True)
    fast.add_special_tokens(list(LIST.roles()))
    return fast


KINDS = {
    "word pieces": (wordpiece_tokenizer, BERT),
    "bytes": (byte_tokenizer, None),
    "unigram": (unigram_tokenizer, ROBERTA),
    "whole words": (word_level_tokenizer, LIST),
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_script_has_its_words_through_every_kind_of_tokenizer(kind, script):
    make, specials = KINDS[kind]
    text = SCRIPTS[script]
    for tokens in (Tokenizer(make(), 512, specials).encode(text), tokens_of([text], make().encode(text))):
        check(tokens)
        assert not any("\ufffd" in tokens.label(piece) for piece in tokens.pieces)
        inside = {i for word in tokens.words for i in range(word.start, word.end)}
        assert {c for i, c in enumerate(text) if i not in inside} <= {" "}
        assert all(word.text.strip() == word.text for word in tokens.words)
    if script == "emoji":
        tokens = Tokenizer(make(), 512, specials).encode(text)
        assert [word.text for word in tokens.words] == text.split(), "an emoji of several is one word"


@pytest.mark.parametrize(
    "word", ["Mi‘kmaq", "Hawai`i", "o’clock", "well‑known", "می\u200cخواهم", "क्\u200cष", "3.14"]
)
def test_signs_between_letters_or_digits_stay_in_the_word(word):
    for make, specials in (KINDS[kind] for kind in ("word pieces", "bytes", "unigram")):
        tokens = Tokenizer(make(), 512, specials).encode(f"a {word} b")
        assert [each.text for each in tokens.words] == ["a", word, "b"]


def test_a_space_that_is_a_token_alone_takes_nothing_from_the_word_after_it():
    text, names = "中文 日本語 the cat", ["▁", "中文", "▁", "日本語", "the", "cat"]
    fast = unigram_tokenizer("中文", "日本語", "▁the", "▁cat")
    theirs = tokens_of([text], fast.encode(text))
    for tokens in (Tokenizer(fast, 99, ROBERTA).encode(text), theirs):
        pieces = [piece for piece in tokens.pieces if not piece.special]
        assert [tokens.label(piece) for piece in pieces] == names
        assert [word.text for word in tokens.words] == text.split()
        record = record_from_weights([[[[1 / len(tokens)] * len(tokens)] * len(tokens)]], tokens)
        shown = [name for name in spelled(record.grid(), tokens)["names"] if "<" not in name]
        assert shown[1::2] == names[1::2]


def test_a_token_that_shares_a_character_with_another_is_shown_whole():
    names = ["[UNK]", "k", "gx"]
    fast = Fast(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token=LIST.unknown))
    fast.normalizer = normalizers.NFKC()
    fast.pre_tokenizer = pre_tokenizers.Split(Regex("k|gx"), "isolated")
    tokens = tokens_of(["㎏x"], fast.encode("㎏x"))
    assert [(piece.start, piece.end) for piece in tokens.pieces] == [(0, 1), (0, 2)]
    record = record_from_weights([[[[0.5, 0.5], [0.5, 0.5]]]], tokens)
    assert spelled(record.grid(), tokens)["names"] == ["㎏", "㎏x"]


class Spanless:
    """An encoding whose tokenizer does not say where its tokens stand."""

    def __init__(self, encoding):
        self.tokens, self.ids, self.word_ids = encoding.tokens, encoding.ids, encoding.word_ids
        self.sequence_ids, self.special_tokens_mask = encoding.sequence_ids, encoding.special_tokens_mask
        self.offsets = [(start, start) for start, _ in encoding.offsets]


def test_tokens_without_spans_are_spelt_by_their_names_and_of_a_pair_refused():
    fast = unigram_tokenizer("▁the", "▁cat", "s")
    tokens = tokens_of(["the cats"], Spanless(fast.encode("the cats")))
    assert [word.text for word in tokens.words] == ["the", "cats"]
    assert [tokens.label(piece) for piece in tokens.pieces] == ["the", "cat", "…s"]
    check(tokens)
    with pytest.raises(InputError, match="one text"):
        tokens_of(["the", "cat"], Spanless(fast.encode("the", "cat")))


@pytest.mark.parametrize("kind", KINDS)
def test_words_that_were_cut_apart_before_are_the_words(kind):
    words = ["a", "didn't", "e\u0301", "New York"]
    encoding = KINDS[kind][0]().encode(words, is_pretokenized=True)
    tokens = tokens_of([], encoding, words=words)
    assert [word.text for word in tokens.words] == words
    check(tokens)
    with pytest.raises(InputError):
        tokens_of([], encoding, words=[*words, "more"])


def test_pieces_that_split_a_character_share_its_span_and_continue_each_other(bytewise):
    tokens = bytewise.encode("a 🙂b")
    assert [(piece.start, piece.end) for piece in tokens.pieces] == [
        (0, 1), (2, 2), (2, 3), (2, 3), (2, 3), (2, 3), (3, 4)
    ]  # fmt: skip
    assert [tokens.label(piece) for piece in tokens.pieces[2:]] == ["🙂", "…🙂", "…🙂", "…🙂", "…b"]


def test_a_model_that_wants_a_token_in_front_gets_it_once():
    framed = Tokenizer(byte_tokenizer(("<s>", "</s>"), begin="<s>"), 40)
    assert framed.special_names == ("<s>",)
    for text in ("the cat", "<s>the cat"):
        tokens = framed.encode(text)
        assert [piece.text for piece in tokens.pieces][:2] == ["<s>", "the"]
        assert (tokens.pieces[0].role, tokens.pieces[0].special, tokens.pieces[0].end) == ("begin", True, 0)
    assert framed.from_ids(tokens.ids) == tokens


def test_a_vocabulary_with_lines_for_spaces_and_bytes_by_number_is_read_too():
    names = ["<unk>", "<s>", "▁", "▁it", "i", "t", "▁i", *(f"<0x{i:02X}>" for i in range(256))]
    vocabulary, merges = {name: i for i, name in enumerate(names)}, [("▁", "i"), ("▁i", "t")]
    fast = Fast(models.BPE(vocabulary, merges, byte_fallback=True))
    fast.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    fast.add_special_tokens(["<s>"])
    tokenizer = Tokenizer(fast, 99)
    assert tokenizer.ids_of(" it") == (names.index("▁it"),), "without the space that it puts in front itself"
    tokens = tokenizer.encode("it it é")
    assert [(piece.text, piece.start, piece.end) for piece in tokens.pieces] == [
        (" it", 0, 2), (" it", 3, 5), (" ", 6, 6), ("\ufffd", 6, 7), ("\ufffd", 6, 7)
    ]  # fmt: skip
    assert [word.text for word in tokens.words] == ["it", "it", "é"]


def test_a_tokenizer_that_lacks_what_its_model_needs_is_refused():
    for make, most, specials in (
        (byte_tokenizer, 99, BERT), (byte_tokenizer, 99, ROBERTA), (word_level_tokenizer, 99, BERT),
        (byte_tokenizer, 1, None), (wordpiece_tokenizer, 4, BERT),
    ):  # fmt: skip
        with pytest.raises(ModelError):
            Tokenizer(make(), most, specials)


def test_bytes_that_are_no_character_keep_their_place(bytewise):
    ids = [bytewise.ids_of("é")[0], *bytewise.ids_of("it")]
    tokens = bytewise.from_ids(ids)
    assert tokens.text == "\ufffdit"
    assert [(piece.start, piece.end) for piece in tokens.pieces] == [(0, 1), (1, 3)]
    check(tokens)


def test_words_or_pairs_that_a_tokenizer_cannot_keep_apart_are_refused(bytewise):
    for words in ([], ["a", ""], ["a", "", "b"], "a b"):
        with pytest.raises(InputError):
            bytewise.encode_words(words)
    for each in (bytewise, Tokenizer(word_level_tokenizer(), 9, LIST)):
        with pytest.raises(InputError):
            each.encode("a", "b")
