"""Byte-level tokens: spans in the reader's own spelling whatever the bytes, words as elsewhere, specials too."""

import pytest
from decoder_folders import byte_tokenizer
from hypothesis import HealthCheck, given, settings
from test_tokens import ANY_TEXT

from mha_core import InputError, ModelError
from mha_core.bpe import BytePairs


@pytest.fixture(scope="module")
def tokenizer():
    return BytePairs(byte_tokenizer(), 1024)


@pytest.fixture(scope="module")
def framed():
    return BytePairs(byte_tokenizer(("<s>", "</s>"), begin="<s>"), 40)


def check(tokens):
    """What holds of the tokens of any text at all."""
    last = 0
    for piece in tokens.pieces:
        assert 0 <= piece.start <= piece.end <= len(tokens.text)
        if (piece.start, piece.end) != (0, 0):
            assert piece.start >= last
            last = piece.start
        assert piece.special == (piece.word is None)
        assert not (piece.continues and piece.word is None)
    covered = []
    for number, word in enumerate(tokens.words):
        pieces = tokens.pieces[word.first : word.stop]
        assert all(piece.word == number for piece in pieces)
        assert word.text == tokens.text[word.start : word.end]
        assert word.start == pieces[0].start
        assert word.end == max(piece.end for piece in pieces)
        assert not pieces[0].continues
        covered += range(word.first, word.stop)
    assert covered == [i for i, piece in enumerate(tokens.pieces) if not piece.special]
    for one, other in zip(tokens.words, tokens.words[1:], strict=False):
        assert one.end <= other.start


@pytest.mark.slow
@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=ANY_TEXT)
def test_any_text_gives_spans_inside_it_and_in_order_or_one_sentence(tokenizer, text):
    if text.strip():
        check(tokenizer.encode(text))
        return
    with pytest.raises(InputError):
        tokenizer.encode(text)


def test_words_are_those_of_the_other_models(tokenizer, model):
    for text in (
        "The animal didn't cross the well-known street, because 3,000.50 weren’t enough...",
        "naïve café (e\u0301) 日本 it's x",
    ):
        ours = [word.text for word in tokenizer.encode(text).words]
        theirs = [word.text for word in model.tokenizer.encode(text).words]
        assert ours == theirs


def test_pieces_that_split_a_character_share_its_span_and_continue_each_other(tokenizer):
    tokens = tokenizer.encode("a 🙂b")
    assert [(piece.start, piece.end) for piece in tokens.pieces] == [
        (0, 1), (2, 2), (2, 3), (2, 3), (2, 3), (2, 3), (3, 4)
    ]  # fmt: skip
    assert [tokens.label(piece) for piece in tokens.pieces[2:]] == ["🙂", "…🙂", "…🙂", "…🙂", "…b"]


def test_a_special_token_typed_by_the_reader_is_one_and_belongs_to_no_word(tokenizer):
    tokens = tokenizer.encode("it<|endoftext|>the")
    (special,) = [piece for piece in tokens.pieces if piece.special]
    assert (special.text, special.start, special.end, special.role) == ("<|endoftext|>", 2, 15, "other")
    assert [word.text for word in tokens.words] == ["it", "the"]
    assert tokens.special_names == ("<|endoftext|>",)
    assert tokenizer.special_names == ()
    check(tokens)


def test_a_model_that_wants_a_token_in_front_gets_it_once(framed):
    assert framed.special_names == ("<s>",)
    for text in ("the cat", "<s>the cat"):
        tokens = framed.encode(text)
        assert [piece.text for piece in tokens.pieces][:2] == ["<s>", "the"]
        assert (tokens.pieces[0].role, tokens.pieces[0].special, tokens.pieces[0].end) == ("begin", True, 0)
    assert framed.from_ids(tokens.ids) == tokens


@pytest.mark.parametrize("text", ["the cat it's 🙂 日本", "it<|endoftext|>the", " the\n\nit "])
def test_ids_give_back_the_text_they_came_from(text, tokenizer):
    tokens = tokenizer.encode(text)
    assert tokenizer.from_ids(tokens.ids) == tokens


def test_a_vocabulary_with_lines_for_spaces_and_bytes_by_number_is_read_too():
    from tokenizers import Tokenizer, models, normalizers

    names = ["<unk>", "<s>", "▁", "▁it", "i", "t", "▁i", *(f"<0x{i:02X}>" for i in range(256))]
    fast = Tokenizer(
        models.BPE(
            vocab={name: i for i, name in enumerate(names)},
            merges=[("▁", "i"), ("▁i", "t")],
            byte_fallback=True,
        )
    )
    fast.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    fast.add_special_tokens(["<s>"])
    tokenizer = BytePairs(fast, 99)
    assert tokenizer.ids_of(" it") == (names.index("▁it"),), "without the space that it puts in front itself"
    tokens = tokenizer.encode("it it é")
    assert [(piece.text, piece.start, piece.end) for piece in tokens.pieces] == [
        (" it", 0, 2), (" it", 3, 5), (" ", 6, 6), ("\ufffd", 6, 7), ("\ufffd", 6, 7)
    ]  # fmt: skip
    assert [word.text for word in tokens.words] == ["it", "it", "é"]


def test_a_folder_without_a_tokenizer_or_with_a_broken_one_is_refused(tmp_path):
    with pytest.raises(ModelError):
        BytePairs.from_folder(tmp_path, 99)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError):
        BytePairs.from_folder(tmp_path, 99)
    with pytest.raises(ModelError):
        BytePairs(byte_tokenizer(), 1)
