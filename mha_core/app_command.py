"""`headscope app`: the web app from wherever the package lies.

In: options. Out: this process becomes Streamlit's server, in the folder that holds app.py and its settings.
"""

import argparse
import os
import sys
from importlib.util import find_spec
from typing import Any

from mha_core.errors import Unavailable
from mha_core.resources import home


def add_app_parser(commands: Any) -> None:
    """The command `app` and its options."""
    parser = commands.add_parser(
        "app", help="start the web app and print its address", description="Start the web app."
    )
    parser.add_argument("--port", type=int, metavar="N", help="the port (8501, or the next free one)")
    parser.add_argument(
        "--address",
        default="localhost",
        help="who is listened to: localhost, or 0.0.0.0 for everybody who reaches this machine (%(default)s)",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.set_defaults(run=_run)


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
    os.chdir(home())
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    os.execv(started[0], started)  # noqa: S606 - our own interpreter
