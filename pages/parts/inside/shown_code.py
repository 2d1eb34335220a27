"""The lines of torch that compute each screen, with the user's changes in them. No Streamlit here.

In: a run. Out: lines and remarks. All lines one after the other are a program that runs: it needs x (1, n, d_model),
the layer's W_q, W_k, W_v, W_o as torch.nn.Linear, and cos and sin (n, d_k / 2) where positions rotate.
"""

import math

from mha_core import LayerActivations
from mha_core.engine.edits import CellEdit

Line = tuple[str, str]
FILL = "masked_fill(~allowed, float('-inf'))"


def projection_lines(run: LayerActivations) -> list[Line]:
    """Project X three times, changed weights put in first."""
    sizes = run.projections
    edits = [
        (f"{cell.matrix}.weight.data[{_place(run, cell)}] = {cell.value:.7g}", "changed by you")
        for cell in run.edits.cells
    ]
    return [*edits, ("q, k, v = W_q(x), W_k(x), W_v(x)", f"(1, {run.n}, {sizes.n_heads * sizes.d_k})")]


def _place(run: LayerActivations, cell: CellEdit) -> str:
    """Return a cell's place in torch's matrix (out, in), which holds all heads."""
    sizes, name = run.projections, cell.matrix
    head = cell.head if name in ("W_q", "W_o") else sizes.kv_head(cell.head)
    start = head * (sizes.d_v if name in ("W_v", "W_o") else sizes.d_k)
    return f"{cell.column}, {start + cell.row}" if name == "W_o" else f"{start + cell.column}, {cell.row}"


def head_lines(run: LayerActivations) -> list[Line]:
    """Cut into heads."""
    sizes, n, keys = run.projections, run.n, run.projections.n_kv_heads
    shapes = (("q", sizes.n_heads, sizes.d_k), ("k", keys, sizes.d_k), ("v", keys, sizes.d_v))
    return [
        (f"{name} = {name}.view(1, {n}, {h}, {width}).transpose(1, 2)", f"(1, {h}, {n}, {width})")
        for name, h, width in shapes
    ]


def rotation_lines(run: LayerActivations) -> list[Line]:
    """Rotate queries and keys by their positions; nothing where a model does not."""
    lines = list[Line]()
    for name in "qk" if run.rotary else "":
        lines.append((f"a, b = {name}.chunk(2, dim=-1)", f"the two halves of {name}"))
        lines.append((f"{name} = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)", ""))
    return lines


def product_lines(run: LayerActivations) -> list[Line]:
    """Multiply every query with every key."""
    n_heads, shared = run.projections.n_heads, run.projections.n_heads // run.projections.n_kv_heads
    repeat = f"k, v = (part.repeat_interleave({shared}, dim=1) for part in (k, v))"
    return [
        *([(repeat, "shared keys")] if shared > 1 else []),
        ("scores = q @ k.transpose(-2, -1)", f"(1, {n_heads}, {run.n}, {run.n_keys})"),
    ]


def score_lines(run: LayerActivations) -> list[Line]:
    """Divide, warm, replace and mask scores, as on the page."""
    edits, mask = run.edits, mask_lines(run)
    root, warm = f"{run.projections.d_k} ** 0.5", f"{edits.temperature:g}"
    return [
        *([(f"scores = scores / {root}", "by the root of d_k")] if edits.scaled else []),
        *([(f"scores = scores / {warm}", "temperature")] if edits.temperature != 1 else []),
        *(
            (f"scores[0, {edit.head}, {edit.query}, {edit.key}] = {edit.value:.7g}", "typed by you")
            for edit in edits.scores
        ),
        *mask,
        *([('scores = scores.masked_fill(~allowed, float("-inf"))', "")] if mask else []),
    ]


def mask_lines(run: LayerActivations) -> list[Line]:
    """Say which token may look where; nothing where every token sees every other."""
    edits, lines = run.edits, list[Line]()
    if run.is_causal or edits.causal:
        lines.append(("allowed = allowed.tril()", "only back"))
    if run.window is not None:
        lines.append((f"allowed = allowed.tril({run.window}).triu(-{run.window})", "only near"))
    if edits.hidden_keys:
        lines.append((f"allowed[:, {list(edits.hidden_keys)}] = False", "hidden tokens"))
    return [_all_allowed(run), *lines] if lines else []


def _all_allowed(run: LayerActivations) -> Line:
    return f"allowed = torch.ones({run.n}, {run.n_keys}, dtype=torch.bool)", ""


def weight_lines(run: LayerActivations) -> list[Line]:
    """Take the softmax of every row."""
    empty = ("weights = weights.nan_to_num()", "a row that may look at nothing")
    return [
        ("weights = scores.softmax(dim=-1)", "rows add up to one"),
        *([empty] if _has_empty_row(run) else []),
    ]


def _has_empty_row(run: LayerActivations) -> bool:
    return not run.allowed.any(axis=1).all()


def mixing_lines(run: LayerActivations) -> list[Line]:
    """Multiply weights and values."""
    return [("z = weights @ v", f"(1, {run.projections.n_heads}, {run.n}, {run.projections.d_v})")]


def concatenation_lines(run: LayerActivations) -> list[Line]:
    """Put all heads side by side."""
    width = run.projections.n_heads * run.projections.d_v
    return [(f"z = z.transpose(1, 2).reshape(1, {run.n}, {width})", "side by side")]


def output_lines(run: LayerActivations) -> list[Line]:
    """Mix the heads."""
    return [("output = W_o(z)", f"(1, {run.n}, {run.projections.d_model})")]


def residual_lines(run: LayerActivations) -> list[Line]:
    """Mix the heads, and add the layer's input."""
    added = "x_before_the_norm + output" if run.is_pre_norm else "layer_norm(x + output)"
    return [*output_lines(run), (f"x = {added}", "the residual")]


def program(run: LayerActivations) -> list[Line]:
    """Return all of it, from x to the output."""
    steps = (
        projection_lines, head_lines, rotation_lines, product_lines, score_lines, weight_lines, mixing_lines,
        concatenation_lines, output_lines,
    )  # fmt: skip
    return [line for step in steps for line in step(run)]


def comparison_lines(run: LayerActivations) -> list[Line]:
    """Compare with torch's own layer under the same changes; follows `program`, which sets `allowed`."""
    d, h, root = run.projections.d_model, run.projections.n_heads, math.sqrt(run.projections.d_k)
    layer = f"layer = torch.nn.MultiheadAttention({d}, {h}, batch_first=True)"
    lines: list[Line] = [(layer, "with these weights in it")]
    if not math.isclose(run.divisor, root):
        factor = f"{run.projections.d_k} ** 0.5 / {run.divisor:.7g}"
        lines += [
            (f"layer.in_proj_weight.data[:{d}] *= {factor}", "it always divides by the root of d_k"),
            (f"layer.in_proj_bias.data[:{d}] *= {factor}", ""),
        ]
    is_masked = bool(mask_lines(run))
    if has_mask := is_masked or bool(run.edits.scores):
        lines.append((f"mask = torch.zeros({h}, {run.n}, {run.n_keys})", "added to the scores"))
        lines += [(f"mask = mask.{FILL}", "")] if is_masked else []
        lines += _typed_scores(run)
    mask = ", attn_mask=mask" if has_mask else ""
    return [*lines, (f"theirs, their_weights = layer(x, x, x{mask}, average_attn_weights=False)", "")]


def _typed_scores(run: LayerActivations) -> list[Line]:
    """Add to a mask what turns the layer's scores into those that were typed."""
    return [
        (
            f"mask[{e.head}, {e.query}, {e.key}] += "
            f"{e.value - float(run.raw(e.head)[e.query, e.key] / run.divisor):.7g}",
            "typed by you",
        )
        for e in run.edits.scores
    ]


def difference_line(run: LayerActivations) -> str:
    """Return the difference of the two over the tokens that see any key: of the others torch gives NaN."""
    rows = "[:, allowed.any(dim=1)]" if _has_empty_row(run) else ""
    return f"(theirs - output){rows}.abs().max()"


def function_lines(run: LayerActivations) -> list[Line]:
    """Compare with torch's attention function, for layers that torch's own layer cannot be; follows `program`."""
    sizes = run.projections
    grouped = ", enable_gqa=True" if sizes.n_kv_heads < sizes.n_heads else ""
    call = f"F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1 / {run.divisor:.7g}{grouped})"
    repeated = (f"mask = mask.repeat({sizes.n_heads}, 1, 1)", "one mask per head")
    return [
        *([] if mask_lines(run) else [_all_allowed(run)]),
        (f"mask = torch.zeros(allowed.shape).{FILL}", ""),
        *([repeated] if run.edits.scores else []),
        *_typed_scores(run),
        (f"z = {call}", ""),
        ("theirs = W_o(z.transpose(1, 2).flatten(2))", ""),
    ]
