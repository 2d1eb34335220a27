"""The lines of torch that do what each step shows, with the reader's changes in them. No Streamlit here.

In: a run, and a head. Out: lines and remarks. All steps' lines one after the other are a program that runs: it needs x
(1, n, d_model), the layer's W_q, W_k, W_v, W_o as torch.nn.Linear, and cos and sin (n, d_k / 2) where positions rotate.
"""

import math

from mha_core import LayerRun

Line = tuple[str, str]


def projection_lines(run: LayerRun) -> list[Line]:
    """X read three times, with changed weights put in first."""
    used, n = run.projections, run.n
    lines: list[Line] = []
    for cell in run.edits.cells:
        per_head = cell.matrix in ("W_q", "W_o")
        head = cell.head if per_head else used.kv_head(cell.head)
        if cell.matrix == "W_o":
            place = f"{cell.column}, {head * used.d_v + cell.row}"
        else:
            place = f"{head * (used.d_v if cell.matrix == 'W_v' else used.d_k) + cell.column}, {cell.row}"
        lines.append((f"{cell.matrix}.weight.data[{place}] = {cell.value:.7g}", "changed by you"))
    wide = f"(1, {n}, {used.n_heads * used.d_k})"
    return [*lines, ("q, k, v = W_q(x), W_k(x), W_v(x)", wide)]


def head_lines(run: LayerRun) -> list[Line]:
    """Cut into heads."""
    used, n = run.projections, run.n
    shapes = (
        ("q", used.n_heads, used.d_k),
        ("k", used.n_kv_heads, used.d_k),
        ("v", used.n_kv_heads, used.d_v),
    )
    return [
        (f"{name} = {name}.view(1, {n}, {h}, {width}).transpose(1, 2)", f"(1, {h}, {n}, {width})")
        for name, h, width in shapes
    ]


def rotation_lines(run: LayerRun) -> list[Line]:
    """Queries and keys turned by their positions; nothing where a model does not."""
    if run.rotary is None:
        return []
    return [
        line
        for name in "qk"
        for line in (
            (f"a, b = {name}.chunk(2, dim=-1)", f"the two halves of {name}"),
            (f"{name} = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)", ""),
        )
    ]


def product_lines(run: LayerRun) -> list[Line]:
    """Every query times every key."""
    used, n = run.projections, run.n
    shared = used.n_heads // used.n_kv_heads
    repeat = (
        [(f"k, v = (part.repeat_interleave({shared}, dim=1) for part in (k, v))", "shared keys")]
        if shared > 1
        else []
    )
    return [*repeat, ("scores = q @ k.transpose(-2, -1)", f"(1, {used.n_heads}, {n}, {run.n_keys})")]


def score_lines(run: LayerRun) -> list[Line]:
    """Divided, warmed, typed over and masked: as the page shows it."""
    edits = run.edits
    lines: list[Line] = []
    if edits.scaled:
        lines.append((f"scores = scores / {run.projections.d_k} ** 0.5", "by the root of d_k"))
    if edits.temperature != 1:
        lines.append((f"scores = scores / {edits.temperature:g}", "temperature"))
    lines += [
        (f"scores[0, {edit.head}, {edit.query}, {edit.key}] = {edit.value:.7g}", "typed by you")
        for edit in edits.scores
    ]
    mask = mask_lines(run)
    return [*lines, *mask, *([('scores = scores.masked_fill(~allowed, float("-inf"))', "")] if mask else [])]


def mask_lines(run: LayerRun) -> list[Line]:
    """Which token may look where; nothing where every token sees every other."""
    edits, lines = run.edits, list[Line]()
    if run.is_causal or edits.causal:
        lines.append(("allowed = allowed.tril()", "only back"))
    if run.window is not None:
        lines.append((f"allowed = allowed.tril({run.window}).triu(-{run.window})", "only near"))
    if edits.hidden_keys:
        lines.append((f"allowed[:, {list(edits.hidden_keys)}] = False", "hidden tokens"))
    first = (f"allowed = torch.ones({run.n}, {run.n_keys}, dtype=torch.bool)", "")
    return [first, *lines] if lines else []


def weight_lines(run: LayerRun) -> list[Line]:
    """The softmax of every row."""
    empty = not run.allowed.any(axis=1).all()
    lines: list[Line] = [("weights = scores.softmax(dim=-1)", "rows add up to one")]
    return [*lines, ("weights = weights.nan_to_num()", "a row that may look at nothing")] if empty else lines


def mixing_lines(run: LayerRun) -> list[Line]:
    """The weights times the values."""
    used = run.projections
    return [("z = weights @ v", f"(1, {used.n_heads}, {run.n}, {used.d_v})")]


def output_lines(run: LayerRun) -> list[Line]:
    """All heads side by side, and mixed."""
    used = run.projections
    return [
        (f"z = z.transpose(1, 2).reshape(1, {run.n}, {used.n_heads * used.d_v})", "side by side"),
        ("output = W_o(z)", f"(1, {run.n}, {used.d_model})"),
    ]


def program(run: LayerRun) -> list[Line]:
    """All of it, from x to the output."""
    steps = (
        projection_lines, head_lines, rotation_lines, product_lines, score_lines, weight_lines, mixing_lines,
        output_lines,
    )  # fmt: skip
    return [line for step in steps for line in step(run)]


def comparison_lines(run: LayerRun) -> list[Line]:
    """What the layer is compared with, torch's own layer, with the same changes; it follows `program`, which says what
    is allowed."""
    used, edits = run.projections, run.edits
    d, h = used.d_model, used.n_heads
    lines: list[Line] = [
        (f"layer = torch.nn.MultiheadAttention({d}, {h}, batch_first=True)", "with these weights in it")
    ]
    if not math.isclose(run.divisor, math.sqrt(used.d_k)):
        factor = f"{used.d_k} ** 0.5 / {run.divisor:.7g}"
        lines += [
            (f"layer.in_proj_weight.data[:{d}] *= {factor}", "it always divides by the root of d_k"),
            (f"layer.in_proj_bias.data[:{d}] *= {factor}", ""),
        ]
    masked = mask_lines(run)
    if masked or edits.scores:
        lines.append((f"mask = torch.zeros({h}, {run.n}, {run.n_keys})", "added to the scores"))
        lines += [("mask = mask.masked_fill(~allowed, float('-inf'))", "")] if masked else []
        lines += [
            (
                f"mask[{e.head}, {e.query}, {e.key}] += {e.value - _before(run, e.head, e.query, e.key):.7g}",
                "typed by you",
            )
            for e in edits.scores
        ]
    given = "x, x, x, attn_mask=mask" if masked or edits.scores else "x, x, x"
    return [*lines, (f"theirs, their_weights = layer({given}, average_attn_weights=False)", "")]


def _before(run: LayerRun, head: int, query: int, key: int) -> float:
    """A score as the layer has it without what was typed."""
    return float(run.raw(head)[query, key] / run.divisor)


def difference_line(run: LayerRun) -> str:
    """How far the two are apart, over the tokens that may look somewhere: of the others torch says that it is no
    number."""
    empty = not run.allowed.any(axis=1).all()
    return f"(theirs - output){'[:, allowed.any(dim=1)]' if empty else ''}.abs().max()"


def function_lines(run: LayerRun) -> list[Line]:
    """torch's attention function, for layers that torch's own layer cannot be; it follows `program`."""
    grouped = ", enable_gqa=True" if run.projections.n_kv_heads < run.projections.n_heads else ""
    every = (
        [] if mask_lines(run) else [(f"allowed = torch.ones({run.n}, {run.n_keys}, dtype=torch.bool)", "")]
    )
    lines: list[Line] = [
        *every,
        ("mask = torch.zeros(allowed.shape).masked_fill(~allowed, float('-inf'))", ""),
    ]
    if run.edits.scores:
        lines.append((f"mask = mask.repeat({run.projections.n_heads}, 1, 1)", "one mask per head"))
    lines += [
        (
            f"mask[{e.head}, {e.query}, {e.key}] += {e.value - _before(run, e.head, e.query, e.key):.7g}",
            "typed by you",
        )
        for e in run.edits.scores
    ]
    scale = f"1 / {run.divisor:.7g}"
    return [
        *lines,
        (f"z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale={scale}{grouped})", ""),
        ("theirs = W_o(z.transpose(1, 2).flatten(2))", ""),
    ]
