"""The operating page is true: what it names exists, what exists is there, and its files are well formed."""

import os
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from pages.parts.serve.limits import Limits, setting

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
SETTING = re.compile(r"HEADSCOPE_[A-Z_]+[A-Z]")


def test_every_setting_is_on_the_page_with_its_default():
    table = {name: row for row in PAGE.splitlines() if row.startswith("| `") for name in SETTING.findall(row)}
    for field in fields(Limits):
        name = setting(field.name)
        assert name in table
        names = SETTING.findall(table[name])
        assert table[name].split("|")[2].split(",")[names.index(name)].strip() == str(field.default), name


def test_every_setting_that_the_code_reads_is_on_the_page_and_the_other_way_round():
    read = {setting(field.name) for field in fields(Limits)}
    for path in [*(ROOT / "pages").rglob("*.py"), *(ROOT / "mha_core").rglob("*.py")]:
        read |= set(SETTING.findall(path.read_text(encoding="utf-8")))
    for what in re.findall(
        r'allowed\("([A-Z_]+)"',
        "".join(path.read_text(encoding="utf-8") for path in (ROOT / "pages").rglob("*.py")),
    ):
        read.add(f"HEADSCOPE_ALLOW_{what}")
    told = set(SETTING.findall(PAGE))
    assert told == read - {"HEADSCOPE_ALLOW"}
    readme = set(SETTING.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    assert readme <= told | {"HEADSCOPE_UPLOAD"}


def test_what_the_page_names_is_there():
    for name in re.findall(r"`((?:docs|tests|benchmarks)/[\w./]+)`", PAGE):
        assert (ROOT / name).is_file(), name
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["browser"]["serverAddress"] == "localhost"  # or the start asks an address outside
    assert settings["server"]["disconnectedSessionTTL"] == 60  # "for a minute after the connection is lost"


def test_the_files_for_several_replicas_are_well_formed():
    yaml = pytest.importorskip("yaml")
    compose = yaml.safe_load((ROOT / "docs" / "compose.yaml").read_text(encoding="utf-8"))
    services = compose["services"]
    replicas = [name for name in services if name != "proxy"]
    assert len(replicas) == 2
    rules = compose["configs"]["caddyfile"]["content"]
    assert all(f"{name}:8501" in rules for name in replicas)
    assert "lb_policy cookie" in rules
    assert all(services[name]["read_only"] for name in replicas)
    assert os.path.normpath(ROOT / "docs" / services[replicas[0]]["build"]) == str(ROOT)
    deployment, service = yaml.safe_load_all((ROOT / "docs" / "kubernetes.yaml").read_text(encoding="utf-8"))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/ready"
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert service["spec"]["sessionAffinity"] == "ClientIP"
