"""The lines of torch that compute each screen, with the user's changes in them. No Streamlit here.

In: a run. Out: lines and remarks. All lines one after the other are a program that runs: it needs x (1, n, d_model),
the layer's W_q, W_k, W_v, W_o as torch.nn.Linear, and cos and sin (n, d_k / 2) where positions rotate.
"""

import math

from mha_core import LayerActivations
from mha_core.engine.edits import CellEdit

Line = tuple[str, str]
MASKED = 'masked_fill(~allowed, float("-inf"))'


def screen_lines(run: LayerActivations, screen: str) -> list[Line]:
    """Return the lines of a screen; its last line adds the layer's input, for which the program has no name."""
    lines = _steps(run).get(screen, [])
    if screen == "output":
        lines.append(
            (
                "x = " + ("x_before_the_norm + output" if run.is_pre_norm else "layer_norm(x + output)"),
                "the residual",
            )
        )
    return lines


def program(run: LayerActivations) -> list[Line]:
    """Return all of it, from x to the output."""
    return [line for lines in _steps(run).values() for line in lines]


def _steps(run: LayerActivations) -> dict[str, list[Line]]:
    """Return the lines of each step in order, by the screen that shows it."""
    sizes, n = run.projections, run.n
    h, keys, d_k, d_v = sizes.n_heads, sizes.n_kv_heads, sizes.d_k, sizes.d_v
    shapes = (("q", h, d_k), ("k", keys, d_k), ("v", keys, d_v))
    repeat = f"k, v = (part.repeat_interleave({h // keys}, dim=1) for part in (k, v))"
    empty = ("weights = weights.nan_to_num()", "a row that may look at nothing")
    return {
        "qkv": projection_lines(run),
        "heads": [
            (f"{name} = {name}.view(1, {n}, {count}, {width}).transpose(1, 2)", f"(1, {count}, {n}, {width})")
            for name, count, width in shapes
        ],
        "rotation": [line for name in ("qk" if run.rotary else "") for line in _rotation(name)],
        "scores": [
            *([(repeat, "shared keys")] if keys < h else []),
            ("scores = q @ k.transpose(-2, -1)", f"(1, {h}, {n}, {run.n_keys})"),
        ],
        "scaled": _score_lines(run),
        "weights": [
            ("weights = scores.softmax(dim=-1)", "rows add up to one"),
            *([empty] if _has_empty_row(run) else []),
        ],
        "z": [("z = weights @ v", f"(1, {h}, {n}, {d_v})")],
        "w_o": [(f"z = z.transpose(1, 2).reshape(1, {n}, {h * d_v})", "side by side")],
        "output": [("output = W_o(z)", f"(1, {n}, {sizes.d_model})")],
    }


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


def _rotation(name: str) -> list[Line]:
    """Rotate queries or keys by their positions."""
    turned = f"{name} = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)"
    return [(f"a, b = {name}.chunk(2, dim=-1)", f"the two halves of {name}"), (turned, "")]


def _score_lines(run: LayerActivations) -> list[Line]:
    """Divide, warm, replace and mask scores, as on the page."""
    edits, mask = run.edits, mask_lines(run)
    lines = (
        [(f"scores = scores / {run.projections.d_k} ** 0.5", "by the root of d_k")] if edits.scaled else []
    )
    if edits.temperature != 1:
        lines.append((f"scores = scores / {edits.temperature:g}", "temperature"))
    for edit in edits.scores:
        lines.append((f"scores[0, {edit.head}, {edit.query}, {edit.key}] = {edit.value:.7g}", "typed by you"))
    return [*lines, *mask, *([(f"scores = scores.{MASKED}", "")] if mask else [])]


def mask_lines(run: LayerActivations) -> list[Line]:
    """Say which token may look where; nothing where every token sees every other."""
    lines = list[Line]()
    if run.is_causal or run.edits.causal:
        lines.append(("allowed = allowed.tril()", "only back"))
    if run.window is not None:
        lines.append((f"allowed = allowed.tril({run.window}).triu(-{run.window})", "only near"))
    if run.edits.hidden_keys:
        lines.append((f"allowed[:, {list(run.edits.hidden_keys)}] = False", "hidden tokens"))
    return [_all_allowed(run), *lines] if lines else []


def _all_allowed(run: LayerActivations) -> Line:
    return f"allowed = torch.ones({run.n}, {run.n_keys}, dtype=torch.bool)", ""


def _has_empty_row(run: LayerActivations) -> bool:
    return not run.allowed.any(axis=1).all()


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
    is_masked, mask = bool(mask_lines(run)), ""
    if is_masked or run.edits.scores:
        lines.append((f"mask = torch.zeros({h}, {run.n}, {run.n_keys})", "added to the scores"))
        lines += [(f"mask = mask.{MASKED}", "")] if is_masked else []
        lines += _typed_scores(run)
        mask = ", attn_mask=mask"
    return [*lines, (f"theirs, their_weights = layer(x, x, x{mask}, average_attn_weights=False)", "")]


def function_lines(run: LayerActivations) -> list[Line]:
    """Compare with torch's attention function, for layers that torch's own layer cannot be; follows `program`."""
    sizes = run.projections
    grouped = ", enable_gqa=True" if sizes.n_kv_heads < sizes.n_heads else ""
    call = f"F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1 / {run.divisor:.7g}{grouped})"
    repeated = (f"mask = mask.repeat({sizes.n_heads}, 1, 1)", "one mask per head")
    return [
        *([] if mask_lines(run) else [_all_allowed(run)]),
        (f"mask = torch.zeros(allowed.shape).{MASKED}", ""),
        *([repeated] if run.edits.scores else []),
        *_typed_scores(run),
        (f"z = {call}", ""),
        ("theirs = W_o(z.transpose(1, 2).flatten(2))", ""),
    ]


def _typed_scores(run: LayerActivations) -> list[Line]:
    """Add to a mask what turns the layer's scores into those that were typed."""
    lines = []
    for edit in run.edits.scores:
        before = float(run.raw(edit.head)[edit.query, edit.key] / run.divisor)
        place = f"mask[{edit.head}, {edit.query}, {edit.key}]"
        lines.append((f"{place} += {edit.value - before:.7g}", "typed by you"))
    return lines


def difference_line(run: LayerActivations) -> str:
    """Return the difference of the two over the tokens that see any key: of the others torch gives NaN."""
    rows = "[:, allowed.any(dim=1)]" if _has_empty_row(run) else ""
    return f"(theirs - output){rows}.abs().max()"
