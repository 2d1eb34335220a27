"""GGUF files: a user's own Llama is what transformers makes of the same file, and what reads wrong is refused."""

import hashlib
import shutil
from functools import partial

import numpy as np
import pytest
import torch
from gguf_files import bytes_vocabulary, pieces_vocabulary, write_gguf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mha_core import HeadScopeError, ModelError, Unavailable, load_model, trace_tokens
from mha_core.models.gguf import GgufFile
from mha_core.models.model_list import decoder_file
from mha_core.models.prediction import next_logits

TEXTS = (
    "The animal didn't cross the street because it was too",
    "1234 in 2024, 3.14 and 0x1F",
    "a🙂b 👩‍👩‍👧 naïve 東京",
    "we're I'll they've 'S 'LL",
    "x\n\ny\r\n\tz   end  ",
    "  def f(x):\n        return x ** 2",
)


def by_transformers(path, monkeypatch):
    """The model and the tokenizer that transformers reads from the same file."""
    transformers = pytest.importorskip("transformers")
    # It asks for accelerate, which it needs for several devices alone.
    monkeypatch.setattr("transformers.modeling_utils.is_accelerate_available", lambda: True)
    model, tokenizer = (
        kind.from_pretrained(path.parent, gguf_file=path.name)
        for kind in (transformers.AutoModelForCausalLM, transformers.AutoTokenizer)
    )
    model.set_attn_implementation("eager")
    return model.eval(), tokenizer


def check_weights(model, theirs, text):
    tokens = model.tokenizer.encode(text)
    with torch.no_grad():
        output = theirs(torch.tensor([tokens.ids]), output_attentions=True)
    expected = torch.stack(output.attentions)[:, 0]
    np.testing.assert_allclose(trace_tokens(tokens, model).weights, expected, atol=1e-5)
    np.testing.assert_allclose(next_logits(tokens, model), output.logits[0], rtol=1e-4, atol=1e-4)


FILES = {
    "plain": {},
    "shared matrix": {"tie_word_embeddings": True, "num_key_value_heads": 4},
    "16 and 8 bits": {"kinds": {"mlp": "F16", "self_attn": "Q8_0", "embed": "BF16"}, "intermediate_size": 64},
    "4 and 5 bits": {"kinds": {"mlp": "Q4_1", "self_attn": "Q5_0"}, "intermediate_size": 64},
    "K-quants": {
        "kinds": {"mlp": "Q4_K", "self_attn": "Q6_K"},
        "hidden_size": 256,
        "intermediate_size": 256,
        "num_hidden_layers": 1,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("which", FILES)
def test_the_weights_are_those_that_transformers_reads(which, tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "mine.gguf", **FILES[which])
    check_weights(load_model(path, device="cpu"), by_transformers(path, monkeypatch)[0], "the cat it was")


@pytest.mark.slow
@pytest.mark.parametrize("pre", ["gpt-2", "llama-bpe", "qwen2"])
def test_texts_are_cut_as_transformers_cuts_them(pre, tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "mine.gguf", partial(bytes_vocabulary, pre=pre))
    ours, theirs = GgufFile(path).tokenizer(100), by_transformers(path, monkeypatch)[1]
    for text in TEXTS:
        assert list(ours.encode(text).ids) == theirs(text)["input_ids"]


@pytest.mark.slow
def test_pieces_with_scores_are_joined_as_transformers_joins_them(tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "mine.gguf", pieces_vocabulary, max_position_embeddings=120)
    model, (theirs, tokenizer) = load_model(path, device="cpu"), by_transformers(path, monkeypatch)
    for text in TEXTS:
        assert list(model.tokenizer.encode(text).ids) == tokenizer(text)["input_ids"]
    assert [piece.text for piece in model.tokenizer.encode("the animal").pieces] == ["<s>", " the", " animal"]
    check_weights(model, theirs, TEXTS[0])


@pytest.mark.parametrize(
    ("pre", "text", "pieces"),
    [
        ("smollm", "it 1234", ["it", " ", "1", "2", "3", "4"]),
        ("default", "it'1234", ["it", "'", "123", "4"]),
        ("gpt-2", "it 1234", ["it", " 1234"]),
    ],
)
def test_digits_are_cut_as_the_file_says(pre, text, pieces, tmp_path):
    """By llama.cpp's expressions for these names, with which transformers does not agree."""
    joined = ["i t", "1 2", "3 4", "2 4", "12 3", "12 34", "Ġ 1234"]
    path = write_gguf(tmp_path / "mine.gguf", partial(bytes_vocabulary, pre=pre, merges=joined))
    assert [piece.text for piece in GgufFile(path).tokenizer(20).encode(text).pieces] == pieces


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return write_gguf(
        tmp_path_factory.mktemp("small") / "small.gguf", num_hidden_layers=1, intermediate_size=8
    )


def test_a_folder_with_one_gguf_file_and_its_sums_is_that_model(small, tmp_path):
    path = shutil.copy(small, tmp_path / "mine.gguf")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    model = load_model(tmp_path, device="cpu")
    assert (model.title, model.digest, dict(model.files), model.pinned) == (
        "mine", digest, {"mine.gguf": digest}, False,
    )  # fmt: skip
    (tmp_path / "SHA256SUMS").write_text(f"{digest}  mine.gguf\n")
    assert load_model(path, device="cpu", shared=False).pinned
    with path.open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\1")
    with pytest.raises(ModelError, match=r"mine\.gguf"):
        load_model(path, device="cpu", shared=False)
    assert load_model(path, device="cpu", trained=False).digest == "untrained, seed 0"


def test_two_files_in_a_folder_and_a_file_that_is_not_there_are_refused(small, tmp_path):
    for name in ("a.gguf", "b.gguf"):
        shutil.copy(small, tmp_path / name)
    for name in (tmp_path, tmp_path / "c.gguf", "c.gguf"):
        with pytest.raises(HeadScopeError) as problem:
            load_model(name, device="cpu")
        assert not isinstance(problem.value, Unavailable)  # the hub was not asked


@pytest.mark.parametrize(
    ("named", "options"),
    [
        ("abacus", {"arch": "abacus"}),
        ("rotary", {"settings": [("llama.rope.scaling.type", "yarn")]}),
        ("rotary", {"settings": [("llama.rope.dimension_count", 8)]}),
        ("deepseek-llm", {"vocabulary": partial(bytes_vocabulary, pre="deepseek-llm")}),
        ("W_q", {"settings": [("llama.attention.key_length", 8)]}),
    ],
)  # fmt: skip
def test_another_kind_of_model_is_refused_in_a_sentence(named, options, tmp_path):
    path = write_gguf(tmp_path / "mine.gguf", **options)
    with pytest.raises(ModelError, match="mine") as problem:
        load_model(path, device="cpu")
    assert named in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1), value=st.integers(0, 255), cut=st.booleans())
def test_a_file_that_was_cut_or_changed_is_read_or_refused(small, tmp_path, where, value, cut):
    """Cut it cannot be read; of a changed byte nothing else than a digest may know."""
    content = bytearray(small.read_bytes())
    place = int(where * (len(content) - 1))
    if cut:
        del content[place:]
    else:
        content[place] = value
    path = tmp_path / "changed.gguf"
    path.write_bytes(content)
    try:
        load_model(path, device="cpu", shared=False)
    except ModelError as problem:
        assert "changed" in str(problem)  # noqa: PT017 - of some files alone
        assert "\n" not in str(problem)  # noqa: PT017
    else:
        assert not cut


@pytest.mark.slow
def test_smollm2s_tokens_are_those_of_transformers(smollm2):
    """But for signs such as ½, which transformers leaves with the space before them and SmolLM2 does not."""
    gguf = pytest.importorskip("transformers.integrations.gguf")
    architecture, parts, _ = gguf.get_gguf_tokenizer(str(decoder_file()))
    theirs = gguf.convert_gguf_tokenizer(architecture, parts)[0]
    for text in TEXTS:
        assert list(smollm2.tokenizer.encode(text).ids) == theirs.encode(text).ids
