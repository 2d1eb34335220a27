"""How the app is served: the model is loaded and proved before the first visitor, behind a guard.

`streamlit run app.py` finds `app = st.App(__file__, **server.settings())` there and serves that. `/ready`
answers `ready` once the embedded model has passed its test, and 503 with a sentence where it has not.
"""

import gc
import importlib
import logging
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import anyio.to_thread
import numpy as np
import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

import mha_core
from mha_core.device import use_one_thread
from mha_core.shelf import EMBEDDED
from pages.parts.picture import attention_view, shared
from pages.parts.serve import (
    cache,
    streamlit_controls,
    streamlit_links,
    streamlit_loop,
    streamlit_names,
    streamlit_private,
    streamlit_state,
)
from pages.parts.serve.forged import ignore_forged_values
from pages.parts.serve.freeing import free_at_once, hand_back
from pages.parts.serve.guard import Guard
from pages.parts.serve.limits import check_the_rest, limits, origins
from pages.parts.serve.logs import log_threads, make_discreet

PARTS = Path(__file__).parents[1]
LOG = logging.getLogger("streamlit.headscope")
HUB = "HEADSCOPE_ALLOW_HUB"
EVERYWHERE = (None, "", "0.0.0.0", "::")  # noqa: S104 - compared, not listened on
CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))  # of Docker and of Podman
FILES_OPEN = 65_536
SWITCH = 0.001  # seconds after which a thread in Python lets another one go on; 0.005 by itself
KEPT_FOR_A_YEAR = "public, max-age=31536000, immutable"  # names have the digest of what they name
SELF_TEST_SENTENCE = "The animal didn't cross the street because it was too tired."
SELF_TEST_HEAD = (3, 1)  # head 4-2
SELF_TEST_WEIGHT = 0.677  # from `it` to `animal`


def settings() -> dict[str, Any]:
    """What `st.App` needs besides the script: the guard, the route `/ready`, the work before the start."""
    problems = ["the model is being loaded"]
    guarded = Middleware(Guard, limits=limits(), origins=origins())
    check_the_rest()
    raise_file_limit()

    @asynccontextmanager
    async def lifespan(_app: st.App) -> AsyncIterator[dict[str, Any]]:
        # Who serves others says which models they may have fetched; at home the reader is the owner.
        if not os.environ.get(HUB, "").strip():
            os.environ[HUB] = "1" if is_alone(st.get_option("server.address")) else "0"
        log_threads()
        problems[:] = await anyio.to_thread.run_sync(warm_up)
        sys.stdout.write(others_say())
        sys.stdout.flush()
        open_a_browser()
        yield {}

    async def ready(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("; ".join(problems) or "ready", 503 if problems else 200)

    async def shared_file(request: Request) -> Response:
        file = shared.files().get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("not found", 404)
        return Response(file.content, media_type=file.kind, headers={"Cache-Control": KEPT_FOR_A_YEAR})

    routes = [Route("/ready", ready), Route(f"/{shared.FOLDER}/{{name}}", shared_file)]
    return {"middleware": [guarded], "routes": routes, "lifespan": lifespan}


def is_alone(address: str | None) -> bool:
    """Whether nobody but this machine can reach a server that listens at this address."""
    try:
        return address == "localhost" or ip_address(address or "").is_loopback
    except ValueError:
        return False


def own_address() -> str:
    """The address of the pages on this machine."""
    address = st.get_option("server.address")
    if address in (*EVERYWHERE, "127.0.0.1", "::1"):
        address = "localhost"
    return streamlit_private.address_at(f"[{address}]" if ":" in address else address)


def open_a_browser() -> None:
    """Open the first page in a browser, unless none is wanted, or nobody sits in front of a screen. For an `st.App`
    Streamlit opens none."""
    if st.get_option("server.headless"):
        return
    if sys.platform.startswith("linux") and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        return
    # In a thread of its own, for what is opened may come back only when it is closed.
    threading.Thread(target=streamlit_private.open_page, args=(own_address(),), daemon=True).start()


def others_say() -> str:
    """The line that tells what others in this network type, where the server listens to them, or that localhost, which
    Streamlit prints, does not lead to it; else nothing."""
    if st.get_option("server.address") not in EVERYWHERE:
        here = own_address()
        return (
            ""
            if here == streamlit_private.address_at("localhost")
            else f"  The server listens at {here} alone.\n\n"
        )
    if any(mark.exists() for mark in CONTAINER):  # its own address leads nowhere from outside
        return ""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
            # Sends nothing: the system says which of its addresses it would use.
            route.connect(("192.0.2.1", 1))
            here = route.getsockname()[0]
    except OSError:
        return ""
    return f"  In this network: {streamlit_private.address_at(here)}\n\n"


def raise_file_limit() -> None:
    """Let this process have as many sockets and files open as the machine allows: 1,024 is a common first value."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES_OPEN if hard == resource.RLIM_INFINITY else min(FILES_OPEN, hard)
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def warm_up() -> list[str]:
    """Load and prove the embedded model, import what the pages will; the problems, a sentence each."""
    if "OMP_NUM_THREADS" not in os.environ:
        # A class shares the processor: with one thread each, more of them are served.
        use_one_thread()
    make_discreet()
    problems = streamlit_private.missing_parts()
    if problems:
        raise SystemExit("\n".join(problems))
    ignore_forged_values()
    streamlit_loop.hand_over_in_parcels()
    streamlit_loop.send_in_bundles()
    streamlit_loop.send_whole_pages()
    streamlit_names.send_names()
    streamlit_private.read_themes_once()
    streamlit_private.copy_places_fast()
    streamlit_links.keep_links()
    streamlit_controls.keep_controls()
    streamlit_private.run_in_turns()
    streamlit_state.ask_for_requests_fast()
    streamlit_state.look_up_single_keys()
    streamlit_private.keep_uploads_in_memory()
    sys.setswitchinterval(SWITCH)
    free_at_once()
    try:
        self_test(mha_core.load_model())
    except mha_core.HeadScopeError as error:
        LOG.error("The embedded model cannot be used: %s", error)
        problems.append(str(error))
    for part in sorted(PARTS.glob("*/*.py")):
        importlib.import_module(f"pages.parts.{part.parent.name}.{part.stem}")
    attention_view.warm()
    if not problems:
        cache.roles_of(EMBEDDED)  # found out behind the pages: the first visitor's heads have their letters
    # A full garbage collection holds every reader up while it looks at all objects there are. Those that are
    # here now stay for good: it need not look at them again.
    gc.collect()
    gc.freeze()
    hand_back()
    return problems


def self_test(model: mha_core.Model) -> None:
    """Run one sentence whose answer is known; a model that gives another one is refused."""
    record = mha_core.trace(SELF_TEST_SENTENCE, model)
    words = [piece.text for piece in record.tokens.pieces]
    found = float(record.weights[SELF_TEST_HEAD][words.index("it"), words.index("animal")])
    rows = record.weights.sum(axis=-1)
    if abs(found - SELF_TEST_WEIGHT) > 1e-3 or not np.allclose(rows, 1, atol=1e-4):
        raise mha_core.ModelError(
            f"{model.title} failed its test: head 4-2 gives {found:.3f} from `it` to `animal` instead of "
            f"{SELF_TEST_WEIGHT}, and the rows sum to {rows.min():.4f} to {rows.max():.4f} instead of 1."
        )
