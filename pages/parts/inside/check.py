"""The last screen of the walk: whether torch computes the same, with everything the reader changed.

In: a scene. Out: a filled stage.
"""

from pages.parts.inside.scene import Scene, code, format_error, parity_of
from pages.parts.inside.shown_code import comparison_lines, difference_line, function_lines, program
from pages.parts.inside.stage import Stage, say


def equal(scene: Scene, stage: Stage) -> None:
    """torch's own layer on the same X, weights, positions and mask."""
    found, now = parity_of(scene), scene.now
    rotated = ", its rotation multiplied as complex numbers" if now.rotary else ""
    changed = ", with your changes" if now.edits.any else ""
    if not found.rows:
        say(
            stage.words,
            "There is nothing to compare: every token is hidden, so no row has anything to look at. torch says “not a "
            "number” there; this layer says 0.",
            "verdict",
        )
    else:
        whom = (
            (f"all {now.n} tokens" if now.n > 1 else "the one token")
            if found.rows == now.n
            else f"the {found.rows} of {now.n} tokens that may look somewhere"
        )
        say(
            stage.words,
            f"Equal to `{found.against}`{rotated} within **{format_error(found.output)}**, for {whom} of "
            f"{'the example' if scene.small else 'this sentence'}{changed}, computed just now.",
            "verdict",
        )
        if found.weights is not None:
            heads = scene.sizes.n_heads
            say(
                stage.words,
                f"Its attention weights and ours{f', all {heads} heads' if heads > 1 else ''}: within "
                f"{format_error(found.weights)}.",
            )
    say(
        stage.words,
        "Beside it stands the whole way from X to the output in torch, as the page shows it, and then torch's own "
        "layer with "
        "the same changes.",
    )
    own = found.weights is not None
    lines = [*program(now), *(comparison_lines(now) if own else function_lines(now))]
    if found.rows:
        lines.append((difference_line(now), format_error(found.output)))
    stage.below = lambda: code(*lines)
