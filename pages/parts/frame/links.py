"""Addresses inside the app: a page and what is to be seen there. No Streamlit here."""

from collections.abc import Mapping
from urllib.parse import urlencode

from mha_core.models.model_list import EMBEDDED
from pages.parts.frame.pages import page_called

NEW_LINE = "↵"  # as a box of one line shows it


def link_to(title: str, params: Mapping[str, str]) -> str:
    """The address of a page from any other page; parameters without a value are left out."""
    return with_params(page_called(title).address, params)


def model_in_link(name: str) -> str:
    """What a link says of the model: nothing where it is the one that a page opens with."""
    return "" if name == EMBEDDED else name


def with_params(address: str, params: Mapping[str, str]) -> str:
    """An address with its parameters; those without a value are left out."""
    query = urlencode({key: value.replace("\n", NEW_LINE) for key, value in params.items() if value})
    return f"{address}?{query}" if query else address
