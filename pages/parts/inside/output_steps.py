"""The last screens of the walk: all heads side by side, mixed to the output, and the output as a sum of parts.

In: a scene. Out: a filled stage.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mha_core.inside import shares
from mha_core.wording import counted, head_name
from pages.parts.frame import state
from pages.parts.frame.page_text import visible
from pages.parts.inside.ablation import heads_gone
from pages.parts.inside.scene import Scene
from pages.parts.inside.selectable import LABELS, heads_of
from pages.parts.inside.shown_code import output_lines
from pages.parts.inside.stage import ROOM, Stage, changed_table, high_of, say, table
from pages.parts.picture.tiles import column, row


def side_by_side(scene: Scene, stage: Stage) -> None:
    """Concat: every head keeps to its own columns."""
    now, sizes = scene.now, scene.sizes
    h, d_v, _ = sizes.W_o.shape
    say(
        stage.words,
        f"[[concatenation|Concatenate]] the outputs of {counted(h, 'head')}: **{h} × {d_v} → {h * d_v}** numbers per "
        f"token. Each head keeps its own columns; the frame marks head {scene.h + 1}.",
    )
    stage.latex = r"Z = \mathrm{Concat}(z_1, \dots, z_h)"
    stage.lines = output_lines(now)[:1]
    wide = min(2.0, 680 / (h * d_v))
    stage.picture.add(
        *changed_table(
            stage.picture, scene, "Z", now.concatenated, scene.plain.concatenated, "Z", note="[z₁ | z₂ | … ]",
            cuts=[d_v * i for i in range(1, h)], slice=[scene.h * d_v, (scene.h + 1) * d_v], wide=wide,
            high=high_of(now.n, ROOM * 0.6), hue="z",
        )
    )  # fmt: skip
    if not scene.small:
        stage.picture.add(
            heads_of(
                scene,
                stage.picture.sheets("z", now.context, chosen=scene.h),
                "figure",
            )
        )


def output(scene: Scene, stage: Stage) -> None:
    """W_o mixes: every number of the output draws on all heads."""
    now, sizes = scene.now, scene.sizes
    _, d_v, d = sizes.W_o.shape
    plus = "" if sizes.b_o is None else " + b_o"
    say(
        stage.words,
        f"[[W_o]] mixes all heads and returns to {d} numbers per token, so that the layer's input can be added "
        "([[residual]]).",
    )
    stage.latex = r"\mathrm{output} = Z\,W_o" + plus
    stage.lines = [
        *output_lines(now)[1:],
        (
            "x = x_before_the_norm + output" if now.is_pre_norm else "x = layer_norm(x + output)",
            "the residual",
        ),
    ]
    wide = min(2.0, 680 / d)
    shown = changed_table(
        stage.picture, scene, "output", now.output, scene.plain.output, "output", note=f"= Z W_o{plus}", wide=wide,
        high=high_of(now.n, ROOM * (0.36 if scene.changed else 0.6)),
    )  # fmt: skip
    big = sizes.W_o.reshape(-1, d)
    if scene.small:
        z = table(stage.picture, scene, "Z", now.concatenated, "Z", cells=False, hue="z", note="[z₁ | z₂]")
        w = table(stage.picture, scene, "W_o", big, "W_o", cells=False, rows=None)
        stage.picture.add(row(column(z, *shown), w))
        return
    stage.picture.add(*shown)
    if scene.with_matrices:
        note = f"the {d_v} rows of head {scene.h + 1}: its z times these is its contribution"
        stage.picture.add(
            table(stage.picture, scene, "W_o", sizes.W_o[scene.h], "W_o", note=note, rows=None,
                  high=max(1.0, 130 / d_v), wide=wide)
        )  # fmt: skip


def parts(scene: Scene, stage: Stage) -> None:
    """The output of the followed token as a sum: one part per head, and b_o where there is one."""
    now, sizes, i = scene.now, scene.sizes, scene.query
    h, _, d = sizes.W_o.shape
    found = shares(now, i)
    lines = {f"{scene.head[0] + 1}-{j + 1}": now.contributions[j, i] for j in range(h)}
    if sizes.b_o is not None:
        lines["b_o"] = sizes.b_o
    lines["output"] = now.output[i]
    with_bias = "" if sizes.b_o is None else " plus b_o"
    say(
        stage.words,
        f"The output is a sum of one contribution per head{with_bias}. For {{token}} its length is "
        f"**{found.output_norm:.3f}**. A negative share points the other way ([[cosine]]).",
        token=scene.token,
    )
    stage.latex = r"\mathrm{output} = \sum_{i=1}^{h} z_i\,W_o^{(i)}" + ("" if sizes.b_o is None else " + b_o")
    drawn = stage.picture.matrix(
        "contributions", np.stack(list(lines.values())), id="parts", legend=False, cells=True,
        note="each head, b_o, output" if with_bias else "each head, output",
        rows=list(lines), high=14 if h <= 20 else 6, wide=min(40.0, 300 / d),
    )  # fmt: skip
    stage.picture.add(heads_of(scene, drawn, LABELS))
    stage.controls = lambda: head_table(scene, "inside-parts", _open_head)


def _open_head(name: str) -> None:
    state.change({"head": name, "cell": None})


def gone(scene: Scene, stage: Stage) -> None:
    """The mix with heads gone."""
    say(
        stage.words,
        "[[ablation|Zero-ablate]] heads: their rows of W_o become zero. This is one layer; Experiment shows what later "
        "layers do.",
    )
    stage.below = lambda: heads_gone(scene)


def head_table(scene: Scene, key: str, choose: Callable[[str], None]) -> None:
    """Draw what every head adds to the output of the followed token; `choose` is told the head of a pressed row."""
    table = contributions(scene)
    longest = float(table["length"].max()) or 1.0
    key = f"{key}-{scene.head[1]}"  # another head, another row is marked
    st.dataframe(
        table,
        hide_index=True,
        column_config={
            "length": st.column_config.ProgressColumn(
                format="%.3f", min_value=0, max_value=longest, width=120
            ),
            "share": st.column_config.NumberColumn(format="percent"),
            "cosine": st.column_config.NumberColumn(format="%.2f"),
        },
        on_select=partial(_row_pressed, key, table["head"].tolist()[: scene.sizes.n_heads], choose),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [scene.h]}},
        height="content",
        row_height=26,
        key=key,
        alt=f"Contribution of each head to the output of {visible(scene.token)}",
    )


def _row_pressed(key: str, names: Sequence[str], choose: Callable[[str], None]) -> None:
    rows = (st.session_state.get(key) or {}).get("selection", {}).get("rows", [])
    if rows and 0 <= rows[0] < len(names):
        choose(names[rows[0]])


def contributions(scene: Scene) -> pd.DataFrame:
    """Return length, share and cosine of what each head, and b_o, adds to the output of the followed token."""
    found = shares(scene.now, scene.query)
    names = [head_name((scene.head[0], i)) for i in range(len(found.norms))]
    columns = {"head": names, "length": found.norms, "share": found.share, "cosine": found.cosine}
    table = pd.DataFrame(columns)
    if scene.sizes.b_o is not None:
        table.loc[len(table)] = ["b_o", float(np.linalg.norm(scene.sizes.b_o)), found.bias_share, np.nan]
    return table
