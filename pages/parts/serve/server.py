"""How the app is served: the model is loaded and proved before the first visitor, behind a guard.

`/ready` answers `ready` once the embedded model has passed its test, and 503 with a sentence where it has not.
"""

import ctypes
import gc
import importlib
import logging
import os
import sys
import traceback
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache as once
from typing import Any

import anyio.to_thread
import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

import mha_core
from mha_core.cli.app import ATLAS, CHECKPOINTS, HUB, ROLES, is_loopback_only
from mha_core.engine.device import use_one_thread
from mha_core.models.model_list import EMBEDDED
from pages.parts.frame import head_facts
from pages.parts.frame.loading import self_test
from pages.parts.frame.pages import PAGES
from pages.parts.frame.request import own_checkpoints
from pages.parts.picture import attention_view, shared
from pages.parts.serve.guard import Guard, UnknownPage

LOG = logging.getLogger("streamlit.headscope")
SWITCHES = (HUB, "HEADSCOPE_ALLOW_ANY_MODEL", "HEADSCOPE_ALLOW_FOLDERS")


def settings() -> dict[str, Any]:
    """Return the arguments of `st.App` besides the script: the guard, our own routes, the work before the start."""
    problems = ["the model is being loaded"]
    check_switches()
    readers = (
        (ROLES, head_facts.own_tables),
        (ATLAS, head_facts.own_atlases),
        (CHECKPOINTS, own_checkpoints),
    )
    for variable, read in readers:
        try:
            read()
        except mha_core.HeadScopeError as error:
            raise SystemExit(f"{variable}: {error}") from None

    @asynccontextmanager
    async def lifespan(_app: st.App) -> AsyncIterator[dict[str, Any]]:
        if not os.environ.get(HUB, "").strip():
            os.environ[HUB] = "1" if is_loopback_only(st.get_option("server.address")) else "0"
        problems[:] = await anyio.to_thread.run_sync(warm_up)
        yield {}

    async def ready(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("; ".join(problems) or "ready", 503 if problems else 200)

    async def shared_file(request: Request) -> Response:
        file = shared.files().get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("not found", 404)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}  # its name has its digest
        return Response(file.content, media_type=file.kind, headers=headers)

    routes = [Route("/ready", ready), Route(f"/{shared.FOLDER}/{{name}}", shared_file)]
    return {
        "middleware": [Middleware(Guard), Middleware(UnknownPage)],
        "routes": routes,
        "lifespan": lifespan,
    }


def check_switches(environment: Mapping[str, str] = os.environ) -> None:
    """Raises SystemExit for a switch that is neither 1 nor 0; they are read later, when somebody needs them."""
    for name in SWITCHES:
        value = environment.get(name, "").strip()
        if value not in ("", "0", "1"):
            raise SystemExit(f"{name} is '{value[:40]}'; it takes 1 or 0.")


def warm_up() -> list[str]:
    """Load and prove the embedded model, import what the pages will; the problems, a sentence each."""
    make_discreet()
    spare_the_machine()
    problems = []
    try:
        self_test(mha_core.load_model())
    except mha_core.HeadScopeError as error:
        LOG.error("The embedded model cannot be used: %s", error)
        problems.append(str(error))
    for page in PAGES:
        importlib.import_module(f"pages.{page.name}")
    attention_view.warm()
    if not problems:  # behind the pages: the first visitor's heads have their roles
        head_facts.roles_of(EMBEDDED)
    # A full garbage collection holds every reader up; what is here now stays, and it need not look at that again.
    gc.collect()
    gc.freeze()
    return problems


def spare_the_machine() -> None:
    """A thread for each computation, short turns, and free memory given back."""
    if "OMP_NUM_THREADS" not in os.environ:
        # A class shares the processor: with one thread each, more of them are served.
        use_one_thread()
    sys.setswitchinterval(0.001)  # seconds; 0.005 by itself
    with suppress(OSError, AttributeError, TypeError):  # glibc keeps what is free; it saved a class 60 MB
        limit = ctypes.CDLL(None).mallopt
        limit(-8, 2)  # M_ARENA_MAX: threads share two heaps
        limit(-3, 7 << 19)  # M_MMAP_THRESHOLD: larger blocks go back as soon as they are freed
        limit(-1, 1 << 24)  # M_TRIM_THRESHOLD: what may stay free at the end of the heap


@once
def make_discreet() -> None:
    """Have logs say where an error came from and of which kind, never its message: it may repeat a reader's text."""
    make = logging.getLogRecordFactory()

    def discreet(*values: Any, **named: Any) -> logging.LogRecord:
        record = make(*values, **named)
        if str(record.msg).startswith("Session with id"):  # whoever knows it could take the session over
            record.msg, record.args = "A session was taken up again", ()
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            record.exc_text = "".join([*traceback.format_tb(trace), kind.__name__])
            record.exc_info = None
        return record

    logging.setLogRecordFactory(discreet)
