"""Models of transformers on the pages: most show them; where the inside is needed one sentence says why not."""

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import visit
from bert_folders import embedded_folder
from test_any_model import DECODERS, ENCODERS, HYBRIDS, SEQUENCES, TEXT, random_model

from mha_core import load_model, trace

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder as the hub has it, with weights, settings and a tokenizer, for each of some kinds."""
    names = {f"{kind}_token": f"[{kind.upper()}]" for kind in ("cls", "sep", "pad", "unk", "mask")}
    path = str(embedded_folder() / "tokenizer.json")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=path, **names)
    result = {}
    for kind in ("Albert", "Qwen3Next", "GptOss", "T5"):
        settings = (ENCODERS | DECODERS | {k: s for k, (_, s) in HYBRIDS.items()} | SEQUENCES)[kind]
        folder = tmp_path_factory.mktemp(kind)
        random_model(kind, settings, kind in SEQUENCES).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        result[kind] = folder
    return result


@pytest.fixture(autouse=True)
def folders_allowed(monkeypatch):
    monkeypatch.setenv("HEADSCOPE_ALLOW_FOLDERS", "1")


def test_a_hybrid_opens_in_a_layer_that_attends_and_names_the_others(folders):
    at = visit.open_page(model=str(folders["Qwen3Next"]), text=TEXT, head="1-2")
    (record,) = visit.mounted(at, "record")
    assert (record["layers"], record["heads"]) == (4, 4)
    assert sorted({name.split("-")[0] for name in record["absent"]}) == ["1", "2", "3"]
    assert "layers 1 to 3" in record["without"]
    assert visit.picture(at)["selection"]["head"][0] == 3
    assert "Computed by transformers." in visit.said(at, "note")


def test_a_sink_and_windows_reach_the_picture(folders):
    at = visit.open_page(model=str(folders["GptOss"]), text=TEXT)
    (record,) = visit.mounted(at, "record")
    sink = np.reshape(record["sink"], (4, 4, -1))
    np.testing.assert_allclose(visit.drawn(at).sum(-1) + sink, 1, atol=2e-3)
    near, far = (record["reach"]["kinds"][record["reach"]["of"][layer]] for layer in (0, 1))
    assert [last - first for first, last in near][-1] == 3
    assert [first for first, _ in far] == [0] * len(far)


@pytest.mark.parametrize(
    ("attention", "target"),
    [
        ("encoder", "it slept all day"),
        ("decoder", "it slept all day"),
        ("cross", "it slept all day"),
        ("decoder", None),
    ],
)
def test_an_encoder_decoder_is_switched_between_its_three_and_writes_what_nobody_says(
    attention, target, folders
):
    query = {"pair": target} if target else {}
    at = visit.open_page(model=str(folders["T5"]), text=TEXT, attention=attention, **query)
    (record,) = visit.mounted(at, "record")
    expected = trace(TEXT, load_model(folders["T5"]), target=target, part=attention)
    n_keys = len(expected.key_tokens)
    assert len(record["names"]) == (n_keys + len(expected.tokens) if attention == "cross" else n_keys)
    assert record.get("keys") == (n_keys if attention == "cross" else None)
    np.testing.assert_allclose(np.ravel(record["weights"]) / 65535, expected.weights.ravel(), atol=1e-4)
    assert visit.link(at).get("attention", "encoder") == attention


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("T5", {"attention": "cross", "pair": "it slept all day", "unit": "words"}),
        ("T5", {"attention": "decoder", "pair": "it slept all day"}),
        ("Albert", {"pair": "it slept all day", "specials": "hidden"}),
    ],
)
def test_the_link_and_the_lines_that_are_saved_give_the_same_again(kind, query, folders):
    at = visit.unopened(model=str(folders[kind]), text=TEXT, head="2-1", pin="1", **query)
    at.session_state["save"] = True
    visit.run(at)
    (shown,) = visit.mounted(at, "record")
    link, python = (code.value for code in at.code)
    params = {key: value for key, (value,) in parse_qs(urlsplit(link).query).items()}
    (again,) = visit.mounted(visit.open_page(**params), "record")
    for key in ("names", "model", "digest"):
        assert again[key] == shown[key]
    assert np.array_equal(again["weights"], shown["weights"])
    space: dict[str, object] = {}
    exec(compile(python, "shown", "exec"), space)  # noqa: S102 - the app's own lines are what is tested
    np.testing.assert_allclose(np.ravel(shown["weights"]) / 65535, space["grid"].weights.ravel(), atol=1e-4)


def test_two_sentences_are_compared(folders):
    at = visit.open_page("pages/compare.py", model=str(folders["Albert"]), text=visit.TIRED, text2=visit.WIDE)
    assert len(visit.mounted(at, "record")) == 2
    assert not visit.said(at, "problem")


def test_roles_are_asked_of_its_heads(folders):
    at = visit.open_page("pages/roles.py", model=str(folders["Albert"]))
    assert not visit.said(at, "problem")
    assert visit.said(at, "role-finding")
    assert set(at.dataframe[0].value["corpus"]) == {"the built-in sentences"}


@pytest.mark.parametrize("page", ["pages/inside.py", "pages/experiment.py", "pages/learn.py"])
def test_where_the_inside_is_needed_one_sentence_says_why_there_is_nothing(page, folders):
    at = visit.open_page(page, model=str(folders["Albert"]), text=TEXT)
    (problem,) = visit.said(at, "problem")
    assert "transformers" in problem
