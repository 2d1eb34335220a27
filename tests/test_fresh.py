"""A fresh environment: `pip install .` and `pip install -e .` there, and then one line of everything, far from here.

The environment has a site-packages of its own that holds HeadScope alone; what it rests on is read from this one's.
"""

import json
import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow

# One line each: what a person would write, and what must be true of it.
LINES = {
    "it is the package": "Path(mha_core.__file__).parent == Path(PLACE)",
    "a record": "record.weights.shape == (6, 12, 13, 13)",
    "one head as a frame": "record['4-2'].to_frame().shape == (13, 13)",
    "all heads as a frame": "len(record.to_frame()) == 6 * 12 * 13 * 13",
    "heads ranked for a link": "record.rank('it', 'cat')[0].name == '6-12'",
    "a head taken away": "abs(ablate(TEXT, model, '4-2').weights - record.weights)[4:].max() > 0.01",
    "a head patched": "patch(TEXT.replace('cat', 'dog'), TEXT, model, '4-2').weights.shape == record.weights.shape",
    "a hook": "trace(TEXT, model, hook=lambda *_: None).weights.shape == record.weights.shape",
    "many sentences": "[w.shape[-1] for w in trace_many(['It rained.', 'It is.'], model)] == [5, 5]",
    "a layer from torch": "MultiHeadAttention.from_torch(torch.nn.MultiheadAttention(8, 2)).n_heads == 2",
    "arrays of one's own": "record_of([[[[1.0]]]], ['x'])['1-1'].weights.item() == 1",
    "a figure as SVG": "'<svg' in figure(record.grid(), Design('arcs', heads=((3, 1),)))",
    "a picture for a notebook": "'<iframe' in show(record)._repr_html_()",
    "pickled": "(pickle.loads(pickle.dumps(record)).weights == record.weights).all()",
    "in a terminal": "len(repr(record).splitlines()) == 5",
    "the shelf": "'minilm' in [one.name for one in shelf()]",
    "heads by a relation, as they come with the program": "len(read_evidence('minilm').entries) > 20",
}
SCRIPT = """
import json, pickle, sys
from pathlib import Path
import torch
import mha_core
from mha_core import MultiHeadAttention, load_model, record_of, shelf, show, trace, trace_many
from mha_core.experiments import ablate, patch
from mha_core.figures import Design, figure
from mha_core.heads.verdicts.shipped import read_evidence
PLACE, LINES = json.loads(sys.argv[1])
TEXT = "The cat sat on the mat because it was tired."
model = load_model()
record = trace(TEXT, model)
print(json.dumps([name for name, line in LINES.items() if not eval(line)]))
"""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """Its Python, in an empty folder."""
    folder = tmp_path_factory.mktemp("fresh") / "env"
    venv.create(folder, with_pip=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "rests_on.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "bin" / "python", site


def called(command, folder):
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PIP_REQUIRE_VIRTUALENV")
    }
    env |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.long
def test_pip_install_gives_everything_in_one_line(fresh, tmp_path):
    python, site = fresh
    alone = ["--no-deps", "--no-build-isolation", "--no-index"]
    called([python, "-m", "pip", "install", "-q", *alone, "."], ROOT)
    asked = json.dumps([str(site / "mha_core"), LINES])
    assert json.loads(called([python, "-P", "-c", SCRIPT, asked], tmp_path)) == []
    command = python.parent / "headscope"
    assert called([command, "--version"], tmp_path).startswith("HeadScope ")
    ranked = called([command, "trace", "The cat sat.", "--from", "cat", "--format", "csv"], tmp_path)
    assert ranked.splitlines()[0] == "layer,head,key,key_text,weight"


@pytest.mark.long
@pytest.mark.network
def test_an_editable_install_is_the_checkout_itself(fresh, tmp_path):
    python, _ = fresh
    try:  # what builds it, and `editables`, come from the index
        called([python, "-m", "pip", "install", "-q", "--no-deps", "--retries", "0", "-e", "."], ROOT)
    except AssertionError as problem:
        if "No matching distribution" in str(problem) or "Could not find a version" in str(problem):
            pytest.skip("no index of packages answers")
        raise
    found = called(
        [python, "-P", "-c", "import mha_core; print(mha_core.__file__, mha_core.shelf()[0].name)"], tmp_path
    )
    assert found.split() == [str(ROOT / "mha_core" / "__init__.py"), "minilm"]
