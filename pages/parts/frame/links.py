"""Addresses inside the app: a page and what is to be seen there. No Streamlit here."""

from collections.abc import Mapping
from urllib.parse import urlencode

from mha_core.models.model_list import EMBEDDED
from pages.parts.frame.pages import page_called
from pages.parts.frame.request import Request

NEW_LINE = "↵"  # as a box of one line shows it


def link_to(title: str, params: Mapping[str, str]) -> str:
    """Return the address of a page from any other page; parameters without a value are left out."""
    return with_params(page_called(title).address, params)


def model_in_link(name: str) -> str:
    """Return the model in a link: "" for the one that a page opens with."""
    return "" if name == EMBEDDED else name


def with_params(address: str, params: Mapping[str, str]) -> str:
    """Return an address with its parameters; those without a value are left out."""
    query = urlencode({key: value.replace("\n", NEW_LINE) for key, value in params.items() if value})
    return f"{address}?{query}" if query else address


def params_of(request: Request) -> dict[str, str]:
    """Return all parameters of a link to a request, also those that are the default today."""
    return {
        "text": request.text,
        "pair": request.pair or "",
        "model": request.model,
        "weights": "trained" if request.trained else "untrained",
        "unit": request.unit,
        "specials": request.specials,
        "measure": request.measure,
        **({} if request.attention == "encoder" else {"attention": request.attention}),
    }


def params_of_both(a: Request, b: Request, against: str) -> dict[str, str]:
    """Return those of a link to a comparison; `against` as the URL has it, for B may be what A is."""
    other = {"model": {"model2": b.model}, "sentence": {"text2": b.text}}.get(against, {})
    return {**params_of(a), "against": against, **other}
