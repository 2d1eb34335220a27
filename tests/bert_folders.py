"""Random BERT checkpoints in folders, written by transformers, with the embedded model's tokenizer beside them."""

import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import load_file, save_file

from mha_core.models.model_list import embedded_folder as found_folder

SIZES = {
    "vocab_size": 30522,
    "hidden_size": 15,
    "num_hidden_layers": 3,
    "num_attention_heads": 5,
    "intermediate_size": 19,
    "max_position_embeddings": 37,
}


@cache
def embedded_folder() -> Path:
    """The embedded model's folder, whose ninety megabytes are compared with their digests once."""
    return found_folder()


def bert_tokenizer(kind=None, **options):
    """The embedded model's tokenizer as transformers' own, or as a `kind` of it."""
    import transformers

    names = {f"{role}_token": f"[{role.upper()}]" for role in ("cls", "sep", "pad", "unk", "mask")}
    kind = kind or transformers.PreTrainedTokenizerFast
    return kind(tokenizer_file=str(embedded_folder() / "tokenizer.json"), **names | options)


def with_random_weights(theirs):
    """A transformers model with random weights, biases and norms included."""
    with torch.no_grad():
        for name, parameter in theirs.eval().named_parameters():
            parameter.normal_(std=0.3)
            if ("norm" in name.lower() and name.endswith("weight")) or "ln_" in name:
                parameter.add_(1.0)
    return theirs


def random_bert(kind="BertModel", seed=0, **sizes):
    """A BERT of transformers with random weights and eager attention."""
    import transformers

    config = transformers.BertConfig(**{**SIZES, **sizes}, attn_implementation="eager")
    torch.manual_seed(seed)
    return with_random_weights(getattr(transformers, kind)(config))


def write(folder, theirs=None, tokenizer=("tokenizer.json",), **options):
    """The model in a folder of its own, as its maker would publish it; without one the same small BERT each time."""
    if theirs is None and not options:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in _small_bert().items():
            (folder / name).write_bytes(content)
    else:
        theirs = theirs or random_bert()
        theirs.save_pretrained(folder, **options)
    for name in tokenizer:
        shutil.copy(embedded_folder() / name, folder)
    return theirs


@cache
def _small_bert() -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        random_bert().save_pretrained(folder)
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def change_config(folder, **changes):
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v is not ...}))


def change_weights(folder, change):
    """Rewrite the weights through `change`, a function from a dict of tensors to another."""
    path = folder / "model.safetensors"
    save_file({k: v.contiguous() for k, v in change(load_file(path)).items()}, path, {"format": "pt"})
