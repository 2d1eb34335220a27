"""A user's own checkpoints: their order, what is refused at the start, the slider, and a role over training."""

import gc
import json
import shutil
import sys
import time

import numpy as np
import pytest
from bert_folders import change_config, random_bert, write
from visit import drawn as weights_of
from visit import figures, mounted, numbers, open_page, run, said, small_table

from mha_core import HeadScopeError, Model, cli, load_model, trace
from mha_core.cli import app as cli_app
from mha_core.heads.survey import Options
from mha_core.models import load
from mha_core.models.checkpoint_series import read_series
from pages.parts.explore.checkpoint_slider import at_step
from pages.parts.frame import head_facts
from pages.parts.frame.request import Request, model_allowed, own_checkpoints
from pages.parts.roles.curve import scores_over_training
from pages.parts.serve import store
from pages.parts.serve.store import Store

pytest.importorskip("transformers")
NAMES = ["step-9", "step-10", "step-200"]
TEXT = "The cat sat because it was tired."


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Three random models, and a folder that is no checkpoint."""
    folder = tmp_path_factory.mktemp("training")
    for seed, name in enumerate(NAMES):
        write(folder / name, random_bert("BertForMaskedLM", seed, max_position_embeddings=64))
    (folder / "runs").mkdir()
    return folder


@pytest.fixture
def served(directory, monkeypatch):
    """A server whose owner named the directory, and on which nothing is known."""
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(directory))
    monkeypatch.setattr(store, "STORE", Store(100_000_000))
    own_checkpoints.cache_clear()
    yield directory
    own_checkpoints.cache_clear()


@pytest.fixture(scope="module")
def tables(directory):
    """Small tables of roles, found once, by the digest of their model."""
    models = (load_model(directory / name, shared=False) for name in NAMES)
    return {model.digest: small_table(model, options=Options()) for model in models}


def test_they_come_in_the_order_of_their_numbers(directory):
    series = [(f"checkpoints@{name}", directory / name) for name in NAMES]
    assert list(read_series(directory).items()) == series


def test_later_numbers_of_a_name_order_too_and_the_app_opens_with_the_last(directory, tmp_path, monkeypatch):
    opened = []
    for name in NAMES:
        (tmp_path / f"v2-{name}").symlink_to(directory / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for variable in ("HEADSCOPE_CHECKPOINTS", "HEADSCOPE_ALLOW_HUB"):
        monkeypatch.setenv(variable, "")
    monkeypatch.setattr(cli_app, "serve", lambda *_, model, **__: not opened.append(model))
    assert cli.main(["app", "--checkpoints", str(tmp_path), "--no-browser"]) == 0
    assert [*read_series(tmp_path)] == [f"checkpoints@v2-{name}" for name in NAMES]
    assert opened == ["checkpoints@v2-step-200"]


def other_words(folder):
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] = {f"{word}x": i for word, i in tokenizer["model"]["vocab"].items()}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda folder: change_config(folder, num_hidden_layers=2), "step-200"),
        (lambda folder: change_config(folder, model_type="gpt2", n_embd=15, n_layer=3, n_head=5), "step-200"),
        (other_words, "tokenizer"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json"),
        (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "pickle"),
        (lambda folder: [shutil.rmtree(each) for each in folder.parent.glob("step*")], "no checkpoints"),
        (lambda folder: shutil.rmtree(folder.parent), "cannot be read"),
    ],
)
def test_what_is_no_series_of_one_model_stops_the_start_in_a_sentence(
    damage, says, directory, tmp_path, capsys
):
    copy = shutil.copytree(directory, tmp_path / "copy")
    damage(copy / NAMES[-1])
    with pytest.raises(HeadScopeError, match=says):
        read_series(copy)
    assert cli.main(["app", "--checkpoints", str(copy), "--no-browser"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_other_settings_of_a_tokenizer_s_caller_are_the_same_tokenizer(directory, tmp_path):
    copy = shutil.copytree(directory, tmp_path / "copy")
    path = copy / NAMES[0] / "tokenizer.json"
    padding = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"truncation": padding}))
    assert len(read_series(copy)) == len(NAMES)


@pytest.mark.slow
def test_the_slider_shows_every_checkpoint_and_one_model_stays_in_memory(served, tables, monkeypatch):
    monkeypatch.setattr(head_facts, "find_roles", lambda model, **_: tables[model.digest])
    monkeypatch.setattr(load, "MAX_BYTES", 1)
    (*_, last) = own_checkpoints()
    head_facts.table(last)  # the job that finds it keeps no model
    page = open_page("app.py", model=last, text=TEXT)
    slider = page.select_slider(key="checkpoint")
    assert (list(slider.options), slider.value) == (NAMES, NAMES[-1])
    for name in NAMES:
        page.select_slider(key="checkpoint").set_value(name)
        plain = trace(TEXT, load_model(served / name, shared=False)).weights
        np.testing.assert_allclose(weights_of(run(page)), plain, atol=2e-5)
    gc.collect()
    names = [each.name for each in gc.get_objects() if type(each) is Model]
    assert [name for name in names if name.startswith("checkpoints@")] == [last]
    assert str(served) not in str(mounted(page, "view"))


def test_nothing_else_on_the_server_is_a_checkpoint(served):
    assert model_allowed("checkpoints@step-9")
    assert not any(map(model_allowed, ("checkpoints@runs", "checkpoints@../step-9", str(served / "step-9"))))


def test_two_checkpoints_are_compared_and_one_of_them_moves(served):
    both = Request("a", model="checkpoints@step-200", other=Request("a", model="checkpoints@step-9"))
    moved = at_step(both, "step-10")
    assert [moved.model, moved.other.model] == ["checkpoints@step-10", "checkpoints@step-9"]


@pytest.mark.slow
def test_a_head_s_score_over_training_is_that_of_each_checkpoint(served, tables, monkeypatch):
    monkeypatch.setattr(head_facts, "find_roles", lambda model, **_: tables[model.digest])
    page = open_page("pages/roles.py", model="checkpoints@step-200", role="diffuse", head="3-2")
    page.session_state["role-over-training"] = True
    while len(drawn := figures(run(page))) < 2 or len(numbers(drawn[1]["data"][0]["x"])) < len(NAMES):
        time.sleep(0.05)
    (key,) = {answer.key for table in tables.values() for answer in table.answers if answer.kind == "diffuse"}
    answers = [table.by_key[key] for table in tables.values()]
    assert len({float(answer.score[2, 1]) for answer in answers}) == len(NAMES)
    scores = [answer.score[2, 1] for answer in answers], [answer.baselines[0].score for answer in answers]
    for line, values in zip(drawn[1]["data"], scores, strict=True):
        assert numbers(line["x"]).tolist() == [9, 10, 200]
        assert numbers(line["y"]) == pytest.approx(values, abs=1e-6)
    assert any("at step-9 and" in text for text in said(page, "finding"))
    (command,) = (code.value for code in page.code if code.value.startswith("headscope"))
    assert f"{served.name}/step-200" in command, "the folder, which the command line can load"
    several = {f"run2-{name}": table for name, table in zip(NAMES, tables.values(), strict=True)}
    assert scores_over_training(several, key, (2, 1))["step"].tolist() == [1, 2, 3]
