"""What the screens of the walk say, a function a screen.

In: a scene. Out: paragraphs; in one that is plain text, {token} is the followed token.
"""

import numpy as np

from mha_core import Projections
from mha_core.display_names import count_noun, head_name, percent
from mha_core.draw.text import listed
from mha_core.layer import ablate_in_layer, shares, spread
from pages.parts.inside.scene import WalkState, format_error, parity_of
from pages.parts.inside.written_sums import written_row
from pages.parts.picture.tiles import Block, paragraph

Words = list[str | Block]


def sentence(scene: WalkState) -> Words:
    """Say how many tokens there are, and where the followed one looks most."""
    weights = scene.weights
    best, name = int(weights.argmax()), head_name(scene.head)
    if scene.small:
        opening = (
            "Attention on paper: two [[token|tokens]] of four numbers, two [[head|heads]] of two. Click a number to "
            "see how it arises; edit X or any matrix."
        )
    elif scene.run.n == 1:
        opening = "Your sentence is **one** [[token]]: {token}."
    else:
        opening = (
            f"Your sentence becomes **{scene.run.n}** [[token|tokens]]. We follow {{token}}; click another token to "
            "change."
        )
    if weights.any():
        question = (
            f"Head {name} (L{scene.head[0]}H{scene.h}, counted from 0) gives {{best}} **{percent(weights[best])}** of "
            "the attention from {token}. Where does that number come from?"
        )
    else:
        which = " that {token} could look at" if scene.run.allowed.any() else ""
        question = f"Every token{which} is masked."
    names = {"token": scene.token, "best": scene.labels[best]}
    return [opening, paragraph(question, "verdict", **names)]


def x(scene: WalkState) -> Words:
    """Say what the rows are that attention is given."""
    embedding = "its embedding" if scene.run.rotary else "its embedding plus its position"
    start = embedding if scene.head[0] == 0 else f"the output of layer {scene.head[0]}"
    text = (
        "X has one row of four numbers per token, chosen to keep the sums small."
        if scene.small
        else f"X has one row of {scene.sizes.d_model} numbers per [[token]]: {start}. All tokens enter [[layer]] "
        f"{scene.head[0] + 1} at once."
    )
    if not scene.plain.is_pre_norm:
        return [text]
    norm = f"{scene.title} normalises before attention (pre\u2011LN): X is the layer's normalised input."
    return [text, norm]


def qkv(scene: WalkState) -> Words:
    """Say what query, key and value are, and where the matrices come from."""
    source = "chosen by hand." if scene.small else "learned." if scene.trained else "drawn at random."
    words: Words = [
        f"Head {scene.h + 1} projects each row of X, {scene.sizes.d_model} numbers, to three of {scene.sizes.d_k}. "
        "The [[query]] asks what it looks for, the [[key]] what it matches, the [[value]] what it passes on. The "
        f"matrices were {source}"
    ]
    if scene.small:
        which = f"W{scene.h + 1}" if scene.together else f"W_q{scene.h + 1}"
        text = f"Zeros in {which} drop out, so the query of {{token}} is **{written_row(scene, 'Q', scene.query)}**."
        words.append(text)
    return words


def projection_formula(scene: WalkState) -> str:
    """Return Q, K and V in LaTeX, each with its bias if there is one."""
    bias = {name: f" + b_{name}" if getattr(scene.sizes, f"b_{name}") is not None else "" for name in "qkv"}
    return r",\; ".join(rf"{name.upper()} = XW_{name}{bias[name]}" for name in "qkv")


def heads(scene: WalkState) -> Words:
    """Say how a product is cut into heads, and which of them share keys."""
    sizes = scene.sizes
    h, d, d_k = sizes.W_q.shape
    split = f"Each query is reshaped for {h} heads, without arithmetic: **{h * d_k} → {h} × {d_k}**."
    whole = f"This layer has one head, so nothing is split: **{h * d_k} → 1 × {d_k}**."
    joined = f"W_o joins the heads again: **{h} × {sizes.d_v} → {d}**."
    return [f"{split if h > 1 else whole} {joined}", *_shared_keys(sizes, scene.h)]


def _shared_keys(sizes: Projections, h: int) -> list[str]:
    """Say with whom a head (from 0) shares its keys and values, and what that saves; nothing where it shares none."""
    if sizes.n_kv_heads == sizes.n_heads:
        return []
    group = listed([str(i + 1) for i in sizes.group(h)])
    narrow, wide = sizes.n_kv_heads * sizes.d_k, sizes.n_heads * sizes.d_k
    return [
        f"Query heads **{group}** share K and V: {sizes.n_heads} query heads, "
        f"{count_noun(sizes.n_kv_heads, 'key and value head')} ([[GQA|grouped-query attention]]). Each token keeps "
        f"{narrow} numbers of K and of V instead of {wide}."
    ]


def scores(scene: WalkState) -> Words:
    """Say what a dot product of query and key means."""
    hatched = f" {scene.title} is causal: later tokens are hatched." if scene.run.is_causal else ""
    text = (
        "Take the dot product of every query with every key. Large means a good match. Row looks at column."
    )
    return [paragraph(text + hatched)]


def scaled(scene: WalkState) -> Words:
    """Say what the division does to the variance of these very scores, and what is masked."""
    plain, d_k = scene.plain, scene.sizes.d_k
    after, before = (spread(scene.run.raw(scene.h), by, plain.allowed) for by in (np.sqrt(d_k), 1.0))
    mask = "A [[mask]] removes tokens, such as [[padding]] or [[causal|future tokens]]."
    if plain.is_causal:
        mask += f" {scene.title} always masks the future (hatched)."
    if plain.window is not None:
        mask += f" Layer {scene.head[0] + 1} of {scene.title} sees only {count_noun(plain.window, 'token')} each way."
    return [
        f"Divide by √{d_k} ([[scaling]]): the variance of these scores drops from **{before.variance:.1f}** to "
        f"**{after.variance:.1f}**. The mean largest weight of a row drops from **{percent(before.largest)}** to "
        f"**{percent(after.largest)}**. If one weight takes everything, gradients vanish and training stalls.",
        mask,
    ]


def weights(scene: WalkState) -> Words:
    """Say where the followed token looks most, and what rows sum to."""
    run, visible = scene.run, scene.weights
    best = int(visible.argmax())
    which = " that it could look at" if run.allowed.any() else ""
    text = (
        f"{{token}} looks most at {{best}}: **{percent(visible[best])}**."
        if visible.any()
        else f"{{token}} looks at nothing: every token{which} is masked."
    )
    sums = run.weights[scene.h].sum(axis=-1)
    low, high = percent(sums.min()), percent(sums.max())
    total = f"Each row sums to {low}." if low == high else f"Rows sum to {low} to {high}."
    return [
        "[[softmax|Softmax]] turns each row of scores into attention [[weight|weights]]: e to the power of each "
        "score, divided by their sum.",
        paragraph(text, "verdict", token=scene.token, best=scene.labels[best]),
        total + ("" if scene.small else " Edit a score and watch the weights change."),
    ]


def concatenated(scene: WalkState) -> Words:
    """Say how wide all heads are side by side."""
    h, d_v, _ = scene.sizes.W_o.shape
    return [
        f"[[concatenation|Concatenate]] the outputs of {count_noun(h, 'head')}: **{h} × {d_v} → {h * d_v}** numbers "
        f"per token. Each head keeps its own columns; the frame marks head {scene.h + 1}."
    ]


def output(scene: WalkState) -> Words:
    """Say what W_o does."""
    return [
        f"[[W_o]] mixes all heads and returns to {scene.sizes.d_model} numbers per token, so that the layer's "
        "input can be added ([[residual]])."
    ]


def parts(scene: WalkState) -> Words:
    """Say what the output of the followed token is a sum of."""
    bias = "" if scene.sizes.b_o is None else " plus b_o"
    length = shares(scene.run, scene.query).output_norm
    return [
        f"The output is a sum of one contribution per head{bias}. For {{token}} its length is "
        f"**{length:.3f}**. A negative share points the other way ([[cosine]])."
    ]


def ablated(scene: WalkState) -> Words:
    """Say how much of the followed token's output is left without the chosen heads."""
    words: Words = [
        "[[ablation|Zero-ablate]] heads: their rows of W_o become zero. This is one layer; Experiment shows what later "
        "layers do."
    ]
    if scene.ablated:
        before = scene.run.output[scene.query]
        after = ablate_in_layer(scene.run, scene.ablated)[scene.query]
        lengths = float(np.linalg.norm(before)), float(np.linalg.norm(after))
        cosine = float(before @ after) / (lengths[0] * lengths[1] or 1.0)
        names = ", ".join(scene.heads[h] for h in scene.ablated)
        left = percent(lengths[1] / (lengths[0] or 1.0))
        text = f"Without {names} the output of {{token}} keeps **{left}** of its length (cosine **{cosine:.2f}**)."
        words.append(paragraph(text, "verdict", token=scene.token))
    return words


def parity(scene: WalkState) -> Words:
    """Say how far PyTorch is from this layer, with everything that the user changed."""
    parity, run = parity_of(scene), scene.run
    if not parity.rows:
        text = "Every token is masked, so there is nothing to compare: PyTorch gives NaN, this layer 0."
        return [paragraph(text, "verdict")]
    tokens = (
        count_noun(run.n, "token")
        if parity.rows == run.n
        else f"the {parity.rows} of {run.n} tokens that see any key"
    )
    rotated = " with rotary positions" if run.rotary else ""
    changed = ", with your changes" if run.edits.any else ""
    error = format_error(parity.output)
    text = f"Equal to `{parity.against}`{rotated} within **{error}** for {tokens}{changed}."
    words: Words = [paragraph(text, "verdict")]
    if parity.weights is not None:
        n_heads, error = count_noun(scene.sizes.n_heads, "head"), format_error(parity.weights)
        words.append(f"Attention weights of {n_heads}: equal within {error}.")
    return words
