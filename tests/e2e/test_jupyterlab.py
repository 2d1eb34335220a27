"""`mha_core.show` in a real JupyterLab: a notebook is run, and what its cells draw is the record's.

JupyterLab is none of the project's packages. The test takes the Python that JUPYTERLAB_PYTHON names, or this one.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
import pytest
from drawn import SHADE, Picture, percent

from mha_core import record_of

PYTHON = os.environ.get("JUPYTERLAB_PYTHON", sys.executable)
ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(
        subprocess.run([PYTHON, "-c", "import jupyterlab"], capture_output=True, check=False).returncode != 0,
        reason="needs JupyterLab: pip install jupyterlab somewhere and name its Python in JUPYTERLAB_PYTHON",
    ),
]
TOKENS = ["It's", "a", "small", "sentence", "."]
CELLS = (
    "import numpy as np\nfrom mha_core import record_of, show\n"
    "weights = [np.random.default_rng(i).dirichlet(np.full(5, 0.3), (2, 3, 5)) for i in range(2)]\n"
    f"record, other = (record_of(each, {TOKENS!r}) for each in weights)\n"
    "show(record, head='1-2', word='small')",
    "show(record, other, head='2-3')",
    "record",
)
CELL = ".jp-Notebook-cell[data-windowed-list-index='{}']"
SCROLL = "cell => { jupyterapp.shell.currentWidget.content.scrollToItem(cell, 'start') }"


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab that serves a folder with one notebook."""
    cells = [
        {"cell_type": "code", "id": f"cell-{i}", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
        for i, text in enumerate(CELLS)
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    work = tmp_path / "work"
    work.mkdir()
    (work / "attention.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "--port": port, "--ServerApp.port_retries": 0, "--ServerApp.root_dir": work, "--IdentityProvider.token": "",
        "--LabApp.expose_app_in_browser": True, "--LabApp.news_url": "",
        "--LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
    }  # fmt: skip
    command = [PYTHON, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"{name}={value}" for name, value in options.items()]
    kept = {f"JUPYTER_{kind}_DIR": str(tmp_path / kind.lower()) for kind in ("RUNTIME", "CONFIG", "DATA")}
    env = {
        **os.environ,
        **kept,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=work, env=env, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(300):
                try:
                    urlopen(f"{address}/api", timeout=5).close()  # noqa: S310 - our own server
                    break
                except (URLError, OSError):
                    time.sleep(0.3)
            yield address
        finally:
            server.terminate()
            server.wait(30)


def framed(page, cell):
    """The frame under a cell, in sight, with its picture drawn; cells that are out of sight are not on the page."""
    page.evaluate(SCROLL, cell)
    boxes = page.locator(f"{CELL.format(cell)} iframe")
    boxes.wait_for(timeout=60_000)
    found = boxes.element_handle().content_frame()
    found.wait_for_selector(".headscope[data-record]", timeout=60_000)
    return found


def test_a_notebooks_cells_draw_their_records_in_both_themes(lab, chromium):
    records = [
        record_of(np.random.default_rng(i).dirichlet(np.full(5, 0.3), (2, 3, 5)), TOKENS) for i in range(2)
    ]
    page = chromium.new_page(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{lab}/lab/tree/attention.ipynb?reset")
    page.wait_for_selector(".jp-Notebook-cell", timeout=120_000)
    page.wait_for_function("globalThis.jupyterapp")
    execute = "([name, given]) => { globalThis.jupyterapp.commands.execute(name, given) }"
    page.evaluate("globalThis.jupyterapp.restored.then(() => true)")
    session = "jupyterapp.shell.currentWidget.sessionContext.session?.kernel"
    page.wait_for_function(
        f"{session}?.status === 'idle' && {session}.connectionStatus === 'connected'", timeout=60_000
    )
    page.evaluate(execute, ["notebook:run-all-cells", {}])
    for theme, dark in (("JupyterLab Dark", True), ("JupyterLab Light", False)):
        page.evaluate(execute, ["apputils:change-theme", {"theme": theme}])
        frame = framed(page, 0)
        frame.wait_for_function(
            f"document.documentElement.dataset.scheme === '{'dark' if dark else 'light'}'"
        )
        picture = Picture(frame).settle()
        assert (sum(picture.paper) < 150) == dark
        assert np.abs(picture.weights(5) - records[0].weights[0, 1]).max() < SHADE
        best = int(records[0].weights[0, 1, 2].argmax())
        assert picture.labels()[best] == percent(records[0].weights[0, 1, 2, best])
        frame.wait_for_function("Math.abs(innerHeight - document.body.scrollHeight) < 3")
        if shots := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(shots) / f"jupyterlab-{'dark' if dark else 'light'}.png")
        said = framed(page, 1).locator("p.inwords").first.get_attribute("data-said")
        assert said.startswith("Head 2-3")
    page.evaluate(SCROLL, 2)
    alone = page.locator(CELL.format(2))
    assert "2 layers x 3 heads" in alone.locator("table").inner_text()
    assert alone.locator("svg[role=img]").count() == 1
    assert [url for url in asked if not url.startswith((lab, "data:", "blob:", "about:"))] == []
    page.close()
