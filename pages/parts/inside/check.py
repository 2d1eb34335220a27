"""The last screen of the walk: whether torch computes the same, with everything the reader changed.

In: a scene. Out: a filled stage.
"""

from mha_core.wording import counted
from pages.parts.inside.scene import Scene, code, format_error, parity_of
from pages.parts.inside.shown_code import comparison_lines, difference_line, function_lines, program
from pages.parts.inside.stage import Stage, say


def equal(scene: Scene, stage: Stage) -> None:
    """torch's own layer on the same X, weights, positions and mask."""
    found, now = parity_of(scene), scene.now
    rotated = " with rotary positions" if now.rotary else ""
    changed = ", with your changes" if now.edits.any else ""
    if not found.rows:
        say(
            stage.words,
            "Every token is masked, so there is nothing to compare: PyTorch gives NaN, this layer 0.",
            "verdict",
        )
    else:
        whom = (
            counted(now.n, "token")
            if found.rows == now.n
            else f"the {found.rows} of {now.n} tokens that see any key"
        )
        say(
            stage.words,
            f"Equal to `{found.against}`{rotated} within **{format_error(found.output)}** for {whom}{changed}.",
            "verdict",
        )
        if found.weights is not None:
            heads = scene.sizes.n_heads
            say(
                stage.words,
                f"Attention weights of {counted(heads, 'head')}: equal within {format_error(found.weights)}.",
            )
    own = found.weights is not None
    lines = [*program(now), *(comparison_lines(now) if own else function_lines(now))]
    if found.rows:
        lines.append((difference_line(now), format_error(found.output)))
    stage.below = lambda: code(*lines)
