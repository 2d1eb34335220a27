"""Training: small models whose heads learn their roles while the user watches."""

import streamlit as st

from mha_core.draw.bundle import ASSETS
from pages.parts.frame import shell
from pages.parts.training import view
from pages.parts.training.parts import PARTS

DRAWINGS = {"jobs": view.jobs_part, "induction": view.induction_part, "picture": view.pronoun_part}


def draw() -> None:
    """Draw the page: what to train, then the chosen part."""
    shell.page(
        "Training",
        question="How do heads get their roles?",
        lead="Train a small model and watch.",
        shown=shell.Shown(sentence=False),
    )
    st.html(ASSETS / "css" / "training.css")
    chosen = shell.part_of("What to train", tuple(PARTS.values()), "train")
    drawings = {title: DRAWINGS[key] for key, title in PARTS.items()}
    drawings.get(chosen, view.jobs_part)()
