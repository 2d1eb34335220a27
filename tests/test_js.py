"""The component's pure functions, tested in JavaScript: node runs tests/js without any npm package."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_components_own_tests_pass_in_node():
    node = shutil.which("node")
    if node is None:
        absent = pytest.fail if os.environ.get("REQUIRE_NODE") == "1" else pytest.skip
        absent("no node found: install it (`apt-get install nodejs`) to run the JavaScript tests")
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "js").glob("*.test.*js"))
    assert files, "tests/js holds no *.test.js or *.test.mjs"
    # All in one process: `node --test` starts one for each file, which takes six times as long.
    script = "".join(f'import "./{file}";\n' for file in files)
    command = [node, "--input-type=module", "--eval", script]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(re.search(r"^(?:#|ℹ) tests (\d+)$", done.stdout, re.MULTILINE)[1]) > len(files)
