"""The walk as a table of screens, from the sentence to torch, for the worked example and for a real layer alike.

In: a scene. Out: the screens that it has.
"""

from pages.parts.inside import controls, pictures, rotation, words
from pages.parts.inside import shown_code as torch
from pages.parts.inside.scene import WalkState, format_error, parity_of
from pages.parts.inside.screens import Screen, code


def _bias(scene: WalkState) -> str:
    return "" if scene.sizes.b_o is None else " + b_o"


def torch_program(scene: WalkState) -> None:
    """Write the layer in torch, its comparison with torch's own, and their difference."""
    run, parity = scene.run, parity_of(scene)
    compared = torch.function_lines if parity.weights is None else torch.comparison_lines
    lines = [*torch.program(run), *compared(run)]
    if parity.rows:
        lines.append((torch.difference_line(run), format_error(parity.output)))
    code(*lines)


SCREENS = (
    Screen("sentence", "Tokens", "sentence", words.sentence, picture=pictures.sentence),
    Screen("x", "The input X", "x", words.x, array="X", picture=pictures.x),
    Screen(
        "qkv", "Projections: query, key, value", "qkv", words.qkv, array="Q", picture=pictures.qkv,
        formula=words.projection_formula, controls=controls.projection_matrices,
    ),
    Screen("heads", "Split into heads", "qkv", words.heads, array="Q-all", picture=pictures.heads),
    Screen(
        "rotation", "Rotary positions", "qkv", rotation.rotation_words, picture=rotation.rotation,
        formula=rotation.angle_formula,
    ),
    Screen(
        "distance", "Scores depend on distance", "qkv", rotation.distance_words, picture=rotation.turned_by_hand,
        formula=rotation.MATRIX, controls=rotation.pair_control, below=rotation.distance_charts,
    ),
    Screen("scores", "Dot products: Q Kᵀ", "scores", words.scores, array="raw", formula=r"Q K^\top", columns=3),
    Screen(
        "scaled", "Scores: scaled and masked", "scores", words.scaled, array="scores", picture=pictures.scaled,
        formula=r"\frac{QK^\top}{\sqrt{d_k}} + M", controls=controls.score_changes, columns=3,
    ),
    Screen(
        "weights", "Softmax: attention weights", "weights", words.weights, array="weights", picture=pictures.weights,
        formula=r"A = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right)",
    ),
    Screen(
        "z", "Head output", "z",
        "A row of Z, the [[context|head output]], is a weighted mean: each value times its attention weight, added up.",
        array="z", picture=pictures.z, formula=r"z_i = \sum_j a_{ij}\, v_j",
    ),
    Screen(
        "row", "One token, step by step", "z",
        "The row of {token}: its q with each k, their dot product, the score, the weight, and the weighted value. "
        "The last column adds up to z.",
        picture=lambda board, scene: [pictures.follow_block(board, scene, pictures.ROWS)],
        formula=r"z_i = \sum_j \mathrm{softmax}_j\!\left(\tfrac{q_i \cdot k_j}{\sqrt{d_k}}\right) v_j",
    ),
    Screen(
        "w_o", "Concatenate the heads", "w_o", words.concatenated, array="Z", picture=pictures.concatenated,
        formula=r"Z = \mathrm{Concat}(z_1, \dots, z_h)",
    ),
    Screen(
        "output", "Output projection", "output", words.output, array="output", picture=pictures.output,
        formula=lambda scene: r"\mathrm{output} = Z\,W_o" + _bias(scene), controls=controls.output_matrix,
    ),
    Screen(
        "parts", "Contribution of each head", "output", words.parts, array="parts", picture=pictures.parts,
        formula=lambda scene: r"\mathrm{output} = \sum_{i=1}^{h} z_i\,W_o^{(i)}" + _bias(scene),
    ),
    Screen(
        "gone", "Zero ablation", "output", words.ablated, picture=pictures.ablated, controls=controls.ablated_heads,
    ),
    Screen("torch", "The same in PyTorch", "output", words.parity, below=torch_program),
)  # fmt: skip


def walk_screens(scene: WalkState) -> list[Screen]:
    """Return the screens of a scene: with rotation where positions rotate, ablation where there is a layer to judge."""
    left_out = [] if scene.plain.rotary is not None else ["rotation", "distance"]
    left_out += ["gone"] if scene.small else []
    return [screen for screen in SCREENS if screen.key not in left_out]
