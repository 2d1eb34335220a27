"""What a run wrote into the link is not taken back by what the browser asked for before it heard of it.

Every request says the browser's address, and the next run begins with that. A page that works on something for a second
asks for its progress meanwhile, and a reader presses two things in a row: such a request comes with the address from
before, and a page would forget what was just chosen.
"""

import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlencode
from weakref import WeakKeyDictionary

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.query_params import QueryParams
from streamlit.runtime.state.session_state_proxy import get_session_state

ON_ITS_WAY = 3.0  # seconds after a change in which a request may still come from before it


def parts() -> dict[str, bool]:
    """What is needed of Streamlit here, by name, and whether it is there."""
    return {
        "QueryParams._send_query_param_msg": hasattr(QueryParams, "_send_query_param_msg"),
        "ScriptRunContext.reset(query_string)": {"query_string", "page_script_hash", "is_history_navigation"}
        <= set(ScriptRunContext.reset.__code__.co_varnames),
        "ScriptRunContext.pages_manager": "pages_manager" in ScriptRunContext.__annotations__,
    }


@dataclass
class Link:
    """A session's link as its page has it, and what it was before, as far as the browser may not know better.

    `untold`: the page has what the reader changed in a link from before as well, and the browser does not: what it was
    told last took the place of its own.
    """

    page: str
    said: str = ""
    before: list[str] = field(default_factory=list)  # the last one first
    when: float = 0.0
    untold: bool = False

    def write(self, before: str, said: str, now: float) -> None:
        """Note that the page changed it."""
        self.before = [before, *(one for one in self.before if one not in (before, said))]
        self.said, self.when = said, now

    def meant(self, asked: str, now: float) -> str:
        """The link that a request means which names this one; one that was heard of ends what was before."""
        if now - self.when < ON_ITS_WAY:
            for before in self.before:
                if asked == before:
                    return self.said
                together = merged(before, asked, self.said)
                if together is not None:
                    self.before += [asked, self.said]
                    self.said, self.untold = together, True
                    return together
        self.before.clear()
        return asked


def merged(before: str, asked: str, said: str) -> str | None:
    """What a reader asked for who knew the link before, in the link that the page has said since; None where nobody
    who knew that would ask so."""
    knew, wants, has = (parse_qs(link, keep_blank_values=True) for link in (before, asked, said))
    changed = {key for key in knew.keys() | has.keys() if knew.get(key) != has.get(key)}
    if not changed or any(wants.get(key) != knew.get(key) for key in changed):
        return None
    wants = {key: value for key, value in wants.items() if key not in changed}
    return urlencode(wants | {key: has[key] for key in has if key in changed}, doseq=True)


_LINKS: WeakKeyDictionary[Any, Link] = WeakKeyDictionary()  # a session has one manager of its pages


@cache
def keep_links() -> None:
    """From now on; before the first visitor, and before runs wait for their turns."""
    send, reset = QueryParams._send_query_param_msg, ScriptRunContext.reset

    def send_query_param_msg(params: QueryParams) -> None:
        ctx = get_script_run_ctx()
        before = ctx.query_string if ctx else ""
        send(params)
        if ctx is None:
            return
        link = _LINKS.get(ctx.pages_manager)
        if ctx.query_string != before:
            if link is None or link.page != ctx.page_script_hash:
                link = _LINKS[ctx.pages_manager] = Link(ctx.page_script_hash)
            link.write(before, ctx.query_string, time.monotonic())
        if link is not None:
            link.untold = False

    def begin(
        ctx: ScriptRunContext, query_string: str = "", page_script_hash: str = "", **named: Any
    ) -> None:
        link = _LINKS.get(ctx.pages_manager)
        if link is not None:
            if named.get("is_history_navigation") or link.page != page_script_hash:
                del _LINKS[ctx.pages_manager]
            else:
                query_string = link.meant(query_string, time.monotonic())
        reset(ctx, query_string=query_string, page_script_hash=page_script_hash, **named)

    QueryParams._send_query_param_msg = send_query_param_msg  # type: ignore[method-assign, assignment]
    ScriptRunContext.reset = begin  # type: ignore[method-assign, assignment]


def tell_what_was_merged() -> None:
    """Have the browser's address say what the page's link says, where a request on its way made that another one."""
    ctx = get_script_run_ctx(suppress_warning=True)
    link = _LINKS.get(ctx.pages_manager) if ctx else None
    if link is not None and link.untold:
        with get_session_state().query_params() as params:
            params._send_query_param_msg()
