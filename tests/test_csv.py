"""One CSV: the browser's files have the command line's columns, and guard the same cells against spreadsheets."""

import csv
import io
import itertools
import json
import shutil
import subprocess

import pytest

from mha_core import cli
from mha_core.export import safe_cell
from mha_core.picture.bundle import SCRIPTS

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the browser's side")
BEFORE = ["", " ", "\t", "\r", "\n", "\x00", "\x1f", "\x85", "\u2003", "a"]
CELLS = [before + sign for before, sign in itertools.product(BEFORE, [*"=+-@＝＋－＠,;\"'", "x", ""])]


def browser(call: str, given: object = None) -> str:
    """What the browser's CSV module answers; `given` is what it calls `given`."""
    script = f"""
      import * as csv from "{(SCRIPTS / "csv.js").as_uri()}";
      const given = JSON.parse(process.argv[1]);
      process.stdout.write({call});
    """
    command = ["node", "--input-type=module", "-e", script, json.dumps(given)]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()


def test_the_browser_and_python_guard_the_same_cells():
    found = csv.reader(io.StringIO(browser("csv.csv(given)", [[cell, 1] for cell in CELLS]), newline=""))
    assert list(found) == [[safe_cell(cell), "1"] for cell in CELLS]


def test_a_weight_has_the_command_line_s_columns(capsys, model):
    assert cli.main(["trace", "It rained.", "--format", "csv", "--layer", "1", "--head", "1"]) == 0
    columns = capsys.readouterr().out.splitlines()[0]
    assert browser("csv.WEIGHT_COLUMNS.join()") == columns
