"""Checks of an installed HeadScope, in the Python that runs this file: `python -P tests/installed.py [NAME ...]`.

Each is a function without arguments that fails by an AssertionError or the exception of what went wrong. They use no
file of a checkout and no pytest, and are started in an empty folder.
"""

import contextlib
import io
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import traceback
import urllib.request
import warnings
from importlib import metadata
from pathlib import Path

SENTENCE = "The animal didn't cross the street because it was too tired."
BY_HAND = 0.677  # how much head 4-2 looks from "it" to "animal", as the README's picture has shown it from the start


def the_command() -> list[str]:
    """The script that pip wrote, beside the Python that runs it."""
    return [str(Path(sys.executable).parent / "headscope")]


def said(*arguments: str, given: str = "") -> str:
    """What the command prints with these arguments and this standard input."""
    done = subprocess.run(
        [*the_command(), *arguments], check=False, input=given, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


def lies_outside_a_checkout() -> None:
    import mha_core

    package = Path(mha_core.__file__).parent
    assert not (package.parent / "pyproject.toml").exists(), package
    assert said("--version") == f"HeadScope {metadata.version('headscope')}\n"


def every_file_compiles_without_a_warning() -> None:
    import mha_core

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for file in sorted(Path(mha_core.__file__).parent.rglob("*.py")):
            compile(file.read_bytes(), str(file), "exec", dont_inherit=True)


def weights_are_those_of_transformers() -> None:
    """Every head of every layer, on the embedded model's own files."""
    import numpy as np
    import torch
    from transformers import AutoTokenizer, BertModel

    import mha_core
    from mha_core.embedded import embedded_folder

    folder = embedded_folder()
    theirs = BertModel.from_pretrained(folder, attn_implementation="eager", local_files_only=True).eval()
    ids = AutoTokenizer.from_pretrained(folder, local_files_only=True)(SENTENCE, return_tensors="pt")
    with torch.no_grad():
        expected = torch.stack(theirs(**ids, output_attentions=True).attentions)[:, 0].numpy()
    ours = mha_core.trace(SENTENCE, mha_core.load_model()).weights
    assert float(np.abs(ours - expected).max()) < 1e-5


def a_record_is_a_frame_and_pickles() -> None:
    import mha_core

    record = mha_core.trace(SENTENCE, mha_core.load_model())
    frame = record["4-2"].to_frame()
    assert abs(float(frame.loc["it", "animal"]) - BY_HAND) < 0.0006
    assert (pickle.loads(pickle.dumps(record)).weights == record.weights).all()  # noqa: S301 - our own bytes


def the_command_composes() -> None:
    ranked = said("trace", SENTENCE, "--from", "it", "--to", "animal", "--top", "1")
    assert "4-2" in ranked, ranked
    assert f"{100 * BY_HAND:.1f}" in ranked, ranked
    lines = said("trace", "-", "--format", "jsonl", given=f"{SENTENCE}\nIt is.\n").splitlines()
    assert [json.loads(line)["text"] for line in lines] == [SENTENCE, "It is."]
    assert "minilm" in said("models")


def the_app_answers() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    log = Path("app.log")
    with log.open("wb") as out:
        app = subprocess.Popen(
            [*the_command(), "app", "--no-browser", "--port", str(port)],
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        for _ in range(1200):
            assert app.poll() is None, log.read_text()[-500:]
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://localhost:{port}/ready") as answer,
            ):
                assert answer.read() == b"ready"
                break
            time.sleep(0.1)
        else:
            raise AssertionError(f"it did not get ready: {log.read_text()[-500:]}")
        with urllib.request.urlopen(f"http://localhost:{port}/specialization") as page:
            assert b"/static/js/" in page.read()
    finally:
        os.killpg(app.pid, signal.SIGTERM)
        app.wait(20)


CHECKS = (
    lies_outside_a_checkout,
    every_file_compiles_without_a_warning,
    weights_are_those_of_transformers,
    a_record_is_a_frame_and_pickles,
    the_command_composes,
    the_app_answers,
)


def main() -> int:
    """Print one line of JSON: what the Python and its torch are, and what each check said; 1 if one failed."""
    found: dict[str, str] = {}
    for check in [one for one in CHECKS if not sys.argv[1:] or one.__name__ in sys.argv[1:]]:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                check()
            found[check.__name__] = ""
        except Exception:  # noqa: BLE001 - whatever went wrong is the answer
            found[check.__name__] = traceback.format_exc(limit=-1)[-800:]
    version = ".".join(map(str, sys.version_info[:3]))
    sys.stdout.write(
        json.dumps({"python": version, "torch": metadata.version("torch"), "checks": found}) + "\n"
    )
    return any(found.values())


if __name__ == "__main__":
    raise SystemExit(main())
