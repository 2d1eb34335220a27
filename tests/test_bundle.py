"""Each component's script is one text: only what its entry needs, without imports, every module in its own scope."""

import re
import shutil
import subprocess

import pytest

from mha_core.draw import bundle as bundling
from mha_core.draw.bundle import SCRIPTS, bundle, modules_of

ENTRIES = ("library", "standalone", "tiles", "experiment", "memory", "widget", "static/page", "static/worker")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the browser's side")


def test_every_script_is_in_some_bundle():
    needed = {module for entry in ENTRIES for module in modules_of(SCRIPTS / f"{entry}.js")}
    assert set(SCRIPTS.rglob("*.js")) == {module for module in needed if module.suffix == ".js"}


@needs_node
def test_names_stay_in_their_module_and_imports_may_be_renamed(tmp_path, monkeypatch):
    monkeypatch.setattr(bundling, "SCRIPTS", tmp_path)
    monkeypatch.setattr(bundling, "ASSETS", tmp_path)
    (tmp_path / "data.json").write_text('{"n": 2}')
    (tmp_path / "a.js").write_text(
        'import data from "./data.json" with { type: "json" };\n'
        "const own = 20;\nexport const both = own + data.n;\n"
    )
    (tmp_path / "entry.js").write_text(
        'import {\n  both as theirs,\n} from "./a.js";\nconst own = 1;\n'
        "export default function answer() {\n  return own + theirs;\n}\n"
    )
    run = """
      const source = encodeURIComponent(process.argv[1]);
      console.log((await import(`data:text/javascript,${source}`)).default());
    """
    command = ["node", "--input-type=module", "-e", run, bundle("entry")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "23\n", done.stderr


def test_modules_that_import_each_other_are_refused(tmp_path):
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\nexport const a = 1;\n')
    (tmp_path / "b.js").write_text('import { a } from "./a.js";\nexport const b = 1;\n')
    with pytest.raises(ValueError, match=r"a\.js imports itself through b\.js"):
        modules_of(tmp_path / "a.js")


def test_no_text_is_ever_drawn_as_markup():
    for script in SCRIPTS.rglob("*.js"):
        source = script.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", source), script.name
