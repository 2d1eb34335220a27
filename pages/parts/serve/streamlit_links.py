"""What a run wrote into the link is not taken back by what the browser asked for before it heard of it.

Every request says the browser's address, and the next run begins with that. A page that works on something for a second
asks for its progress meanwhile, and a reader presses two things in a row: such a request comes with the address from
before, and a page would forget what was just chosen.
"""

import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.query_params import QueryParams

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
    """A session's link as its page wrote it last, and what it was before, as far as the browser may not know better."""

    page: str
    said: str = ""
    before: set[str] = field(default_factory=set)
    when: float = 0.0

    def write(self, before: str, said: str, now: float) -> None:
        """Note that the page changed it."""
        self.before = (self.before | {before}) - {said}
        self.said, self.when = said, now

    def meant(self, asked: str, now: float) -> str:
        """The link that a request means which names this one; one that was heard of ends what was before."""
        if asked in self.before and now - self.when < ON_ITS_WAY:
            return self.said
        self.before.clear()
        return asked


@cache
def keep_links() -> None:
    """From now on; before the first visitor, and before runs wait for their turns."""
    send, reset = QueryParams._send_query_param_msg, ScriptRunContext.reset
    links: WeakKeyDictionary[Any, Link] = WeakKeyDictionary()  # a session has one manager of its pages

    def send_query_param_msg(params: QueryParams) -> None:
        ctx = get_script_run_ctx()
        before = ctx.query_string if ctx else ""
        send(params)
        if ctx and ctx.query_string != before:
            link = links.get(ctx.pages_manager)
            if link is None or link.page != ctx.page_script_hash:
                link = links[ctx.pages_manager] = Link(ctx.page_script_hash)
            link.write(before, ctx.query_string, time.monotonic())

    def begin(
        ctx: ScriptRunContext, query_string: str = "", page_script_hash: str = "", **named: Any
    ) -> None:
        link = links.get(ctx.pages_manager)
        if link is not None:
            if named.get("is_history_navigation") or link.page != page_script_hash:
                del links[ctx.pages_manager]
            else:
                query_string = link.meant(query_string, time.monotonic())
        reset(ctx, query_string=query_string, page_script_hash=page_script_hash, **named)

    QueryParams._send_query_param_msg = send_query_param_msg  # type: ignore[method-assign, assignment]
    ScriptRunContext.reset = begin  # type: ignore[method-assign, assignment]
