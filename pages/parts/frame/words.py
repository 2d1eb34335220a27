"""The words that a model knows, where it reads no others. In: the chosen models' tokenizers. Out: a list to open."""

from collections.abc import Sequence

import streamlit as st

from mha_core.tokens import Tokenizer
from pages.parts.frame.prose import say


def known(readers: Sequence[Tokenizer]) -> None:
    """Offer the words of every model that reads no others."""
    lists = {reader.known_words for reader in readers if reader.known_words is not None}
    for words in sorted(lists):
        with st.popover(f"The {len(words)} words it knows", type="tertiary"):
            say(" ".join(words))
