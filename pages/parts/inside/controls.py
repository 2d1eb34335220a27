"""Controls whose value is a URL parameter, also while another screen is drawn.

Streamlit takes the parameter of a control bound by `bind="query-params"` out of the URL once it is not drawn; these
count on other screens, too. In: a parameter or a scene. Out: controls on the page.
"""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from mha_core.display_names import visible
from mha_core.layer.worked import W_O_CHOICES
from pages.parts.frame import url_params
from pages.parts.frame.option_row import follow_url, say_unknown
from pages.parts.inside.changes import change_link
from pages.parts.inside.scene import WalkState

Change = Callable[[Mapping[str, str | None]], None]


def linked(
    control: Callable[..., Any],
    label: str,
    key: str,
    value: object,
    *,
    first: object = None,
    change: Change = url_params.change,
    as_text: Callable[[Any], str] = str,
    **look: Any,
) -> None:
    """Draw a control with this value; a choice goes to the URL's `key`, but for `first`, which stands for none."""

    def write(chosen: Any) -> None:
        change({key: None if chosen in (None, first) else as_text(chosen)})

    follow_url(control, label, f"inside-{key}", value, write, **look)


def switch(label: str, key: str, *, first: bool, change: Change = url_params.change) -> None:
    """Draw a toggle."""
    value = is_on(key, first=first)
    linked(st.toggle, label, key, value, first=first, change=change, as_text=lambda on: str(on).lower())


def is_on(key: str, *, first: bool) -> bool:
    """Return whether the URL has a toggle on."""
    return {"true": True, "false": False}.get(url_params.params().get(key, "").lower(), first)


def score_changes(scene: WalkState) -> None:
    """Draw what can be changed between the products and the softmax of a real layer."""
    if scene.small:
        return
    edits, labels = scene.run.edits, scene.labels
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
        # The session keeps what names an option, and the whole scene would be in it: labels alone.
        linked(
            st.multiselect, "Mask tokens", "unseen", list(edits.hidden_keys), change=change_link,
            as_text=lambda keys: ",".join(str(key + 1) for key in sorted(keys)), options=range(len(labels)),
            format_func=lambda i: f"{i + 1} · {visible(labels[i])}", placeholder="none",
        )  # fmt: skip


def projection_matrices(scene: WalkState) -> None:
    """Draw whether matrices are shown; in the worked example, whether Q, K and V share one."""
    if scene.small:
        switch("Same W for Q, K, V", "same", first=True)
    else:
        switch("Show W", "matrices", first=False)


def output_matrix(scene: WalkState) -> None:
    """Draw whether W_o is shown; in the worked example, which one it is."""
    if not scene.small:
        switch("Show W", "matrices", first=False)
        return
    first, *_ = options = tuple(W_O_CHOICES)
    say_unknown("output", options, first)
    value = url_params.page_part("output", options)
    linked(st.selectbox, "W_o", "output", value, first=first, options=options, width=200)


def ablated_heads(scene: WalkState) -> None:
    """Draw a choice of heads to ablate."""
    names = [scene.heads[h] for h in scene.ablated]
    linked(
        st.pills, "Ablate heads", "gone", names, as_text=",".join, options=scene.heads, selection_mode="multi"
    )
