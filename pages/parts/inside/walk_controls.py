"""The controls of the walk: what can be changed in a layer, shown beside it, or chosen in the worked example.

In: a scene. Out: controls on the page; their values are in the URL.
"""

import streamlit as st

from mha_core.layer.worked import W_O_CHOICES
from pages.parts.frame.page_text import visible
from pages.parts.inside import link_controls
from pages.parts.inside.changes import change_link
from pages.parts.inside.link_controls import linked, switch
from pages.parts.inside.rotation import pair_field
from pages.parts.inside.scene import WalkState


def changes(scene: WalkState) -> None:
    """Draw what can be changed between the products and the softmax of a real layer."""
    if scene.small:
        return
    edits, labels = scene.now.edits, scene.labels
    with st.container(key="inside-switches", gap="xsmall"):
        with st.container(horizontal=True, gap="small"):
            switch(f"Divide by √{scene.sizes.d_k}", "divide", first=True, change=change_link)
            if scene.plain.is_causal:
                st.toggle("Causal mask", True, disabled=True, key="causal-fixed")
            else:
                switch("Causal mask", "causal", first=False, change=change_link)
        linked(
            st.slider, "Temperature", "temperature", edits.temperature, first=1.0, change=change_link,
            as_text="{:g}".format, min_value=0.1, max_value=5.0, step=0.1,
        )  # fmt: skip
        # What names an option is kept with the session, and the whole scene would be with it: labels alone.
        linked(
            st.multiselect, "Mask tokens", "unseen", list(edits.hidden_keys), change=change_link,
            as_text=lambda keys: ",".join(str(key + 1) for key in sorted(keys)), options=range(len(labels)),
            format_func=lambda i: f"{i + 1} · {visible(labels[i])}", placeholder="none",
        )  # fmt: skip


def matrices(scene: WalkState) -> None:
    """Draw whether matrices are shown; in the worked example, whether Q, K and V share one."""
    if scene.small:
        switch("Same W for Q, K, V", "same", first=True)
    else:
        switch("Show W", "matrices", first=False)


def output_matrix(scene: WalkState) -> None:
    """Draw whether W_o is shown; in the worked example, which one it is."""
    if scene.small:
        link_controls.choice("W_o", "output", tuple(W_O_CHOICES), 200)
    else:
        switch("Show W", "matrices", first=False)


def pair(scene: WalkState) -> None:
    """Draw which pair of numbers is turned by hand."""
    if scene.now.rotary is not None:
        link_controls.number_fields([pair_field(scene.now.rotary)])
