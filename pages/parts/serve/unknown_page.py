"""An address that is no page is answered with 404 and the pages that there are; Streamlit would open the first page.

In: requests of browsers that open a page. Out: that answer, or Streamlit's.
"""

import html

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pages.parts.frame.page_text import quoted, visible
from pages.parts.frame.pages import PAGES
from pages.parts.picture import shared

NO_PAGES = ("_stcore", "app", "component", "media", "ready", "static", shared.FOLDER)
STYLE = "body{font:1.1rem/1.5 Georgia,serif;max-width:36rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}"


class UnknownPage:
    """ASGI middleware in front of Streamlit."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an unknown page; hand everything else on."""
        opens = scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", "")
        answer = HTMLResponse(body(scope["path"]), 404) if opens and not is_page(scope["path"]) else self.app
        await answer(scope, receive, send)


def is_page(path: str) -> bool:
    """Return whether a path is a page of the app, or an address that is of no page at all."""
    name = path.strip("/").removeprefix(str(st.get_option("server.baseUrlPath")).strip("/")).strip("/")
    return name in {"", *(page.name for page in PAGES)} or name.split("/")[0] in NO_PAGES or "." in name


def body(path: str) -> str:
    """Return the page that says so, with links to all pages."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    home = f"/{base}/" if base else "/"
    links = " · ".join(
        f'<a href="{home}{page.address.removeprefix("./")}">{html.escape(page.title)}</a>' for page in PAGES
    )
    name = html.escape(quoted(visible(path)))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>No such page · HeadScope</title><style>{STYLE}</style><h1>No such page</h1>"
        f"<p>HeadScope has no page {name}. Choose one of these:</p><p>{links}</p>"
    )
