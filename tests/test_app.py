"""The pages without a browser: what a link opens, what is said about a bad one, and that the text always stays."""

import html
import re
import time

import pytest
from visit import TIRED, asked_by_links, bodies, link, open_page, picture, run, said

from mha_core import Unavailable, load_model
from mha_core.cli.app import is_loopback_only
from pages.parts.frame import loading

TEXTS = (
    "x",
    "\x00\x07\x1b[31m control \u202e right to left \u200b zero",
    "مرحبا بالعالم، هذا اختبار.",
    "👩‍👩‍👧‍👦 🇫🇷 1️⃣ family",
    "e\u0301" * 50,
    pytest.param("word " * 700, marks=pytest.mark.slow),
    "[CLS] [SEP] [MASK] typed",
    "\ufffd \ufffe \U000e0041 alone",
    "![x](http://evil.example/x.png) [y](javascript:alert(1))",
    "</p><iframe srcdoc='<script>top.hacked=1</script>'></iframe>",
    "`</bdi><b>bold</b>` :material/home: $$x$$",
)


def test_each_bad_value_in_a_link_falls_back_with_one_notice():
    at = open_page(head="٤-٢", pin="77", unit=f"__proto__{'x' * 999}")
    assert said(at, "notice") == [
        f"Unknown unit “__proto__{'x' * 30}…” in the link. Showing “pieces”.",
        "This model has no head “٤-٢” (6 layers × 12 heads). Showing 4-2.",
        "The link points at pin “77”; this sentence has positions 0 to 15.",
    ]
    assert picture(at)["selection"]["head"] == [3, 1]


@pytest.mark.parametrize(
    ("page", "model", "switch"),
    [
        ("app.py", "nobody/xyz", "ANY_MODEL"),
        ("app.py", "../../etc/passwd", "FOLDERS"),
        *((f"pages/{page}.py", "gpt2", "ANY_MODEL") for page in ("compare", "roles", "inside", "learn")),
    ],
)
def test_a_model_that_is_not_offered_is_said_with_those_that_are(page, model, switch):
    at = open_page(page, model=model)
    (sentence,) = said(at, "notice")
    assert all(name in sentence for name in (model, "MiniLM", "SmolLM2", f"HEADSCOPE_ALLOW_{switch}=1"))
    assert link(at)["model"] == model, "the link still says what was asked for"


@pytest.mark.parametrize(
    ("page", "keys", "more"),
    [
        ("app.py", "unit weights specials measure attention", {}),
        ("pages/compare.py", "against", {}),
        pytest.param(
            "pages/compare.py", "model2", {"against": "model", "model": "classroom"}, marks=pytest.mark.slow
        ),
        ("pages/roles.py", "part", {}),
        ("pages/roles.py", "feature", {"part": "atlas"}),
        ("pages/inside.py", "part at", {}),
        ("pages/inside.py", "groups", {"part": "Variants", "at": "gqa"}),
        ("pages/learn.py", "show step", {}),
        ("pages/training.py", "train left limit seed", {}),
    ],
)
def test_an_option_that_does_not_exist_is_said_once_and_stays_in_the_address(page, keys, more):
    wrong = {key: f"no-{key}" for key in keys.split()}
    app = open_page(page, **wrong, **more)
    for key, value in wrong.items():
        assert sum(f"“{value}”" in sentence for sentence in said(app, "notice")) == 1
        assert link(app)[key] == value


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:24])
def test_any_text_is_drawn_and_stays_in_the_box_and_is_never_markup(text):
    at = open_page(text=text, unit="words", head=text, model=text, pin="1")
    assert at.text_input(key="text").value == text
    assert not said(at, "problem")
    assert picture(at)
    assert not re.search("<(script|img|iframe|b)[ >]", "".join(bodies(at)))
    assert not at.markdown, "Markdown fetches images from anywhere"


def test_a_text_that_cannot_be_taken_gets_one_sentence_and_stays_and_the_next_works():
    wrong = {
        "\x00\x01": "The sentence is empty. Type a word.",
        "y" * 100_000: "The text has 100,000 characters and HeadScope takes 4,000 at most; shorten it.",
        "": "The sentence is empty. Type a word.",
    }
    app = open_page(text="\x00\x01")
    for text, sentence in wrong.items():
        app.text_input(key="text").set_value(text).run()
        assert said(app, "problem") == [sentence]
        assert app.text_input(key="text").value == text
        assert ">pronoun</a>" in "".join(bodies(app)), "an example to go on with"
    app.text_input(key="text").set_value("Back again.").run()
    assert not said(app, "problem")
    assert picture(app)


def test_a_hub_model_without_a_network_is_one_quick_sentence(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    start = time.monotonic()
    at = open_page(model="bert-large-uncased")
    at.button(key="fetch-it-model").click().run()
    assert time.monotonic() - start < 15
    (sentence,) = said(at, "problem")
    assert "cannot be reached" in sentence
    assert at.text_input(key="text").value == TIRED


def test_a_hub_model_is_fetched_only_after_its_reader_has_agreed(monkeypatch):
    names = []

    def load(name, trained=True, **_options):
        names.append(name)
        return load_model("minilm", trained=trained)

    monkeypatch.setattr(loading, "load_model", load)
    at = open_page(model="bert-base-uncased")
    (sentence,) = said(at, "notice")
    assert sentence.endswith("BERT base is a 440 MB download from Hugging Face.")
    assert set(names) == {"minilm"}
    at.button(key="fetch-it-model").click().run()
    assert "bert-base-uncased" in names
    assert not said(at, "notice")
    at.selectbox(key="model-chosen").set_value("bert-large-uncased")
    run(at).button(key="fetch-it-model").click()
    run(at).selectbox(key="model-chosen").set_value("bert-base-uncased")
    assert not said(run(at), "notice"), "what was agreed to once is not asked again"


def test_a_download_that_is_declined_leaves_the_other_model_as_it_was():
    at = open_page("pages/compare.py", model="classroom", model2="bert-large-uncased", against="model")
    assert "BERT large is a 1,340 MB download" in said(at, "notice")[0]
    at.button(key="fetch-not-model2").click()
    run(at)
    assert not [button for button in at.button if str(button.key).startswith("fetch")]
    values = [at.selectbox(key=f"{key}-chosen").value for key in ("model", "model2")]
    assert values == ["classroom", "minilm"]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["pages/roles.py", "pages/compare.py"])
def test_a_link_to_the_same_sentence_has_its_model_and_weights(page):
    text, query = "The dog ran because it was tired .", {"model": "classroom", "weights": "untrained"}
    at = open_page(page, text=text, text2=text.replace("tired", "wide"), head="2-2", **query)
    at.session_state["changes-box"] = True
    run(at)
    cells = [cell for frame in at.dataframe for cell in frame.value.iloc[0] if str(cell).startswith("./")]
    links = asked_by_links("".join([*bodies(at), *(f'<a href="{html.escape(cell)}">' for cell in cells)]))
    links = [each for each in links if each.get("text") == [text]]
    assert links
    for each in links:
        assert {key: each[key] for key in query} == {key: [value] for key, value in query.items()}


def test_what_was_not_agreed_to_is_not_fetched_by_another_way():
    with pytest.raises(Unavailable, match=r"BERT large is a 1,340 MB download"):
        loading.named_model("bert-large-uncased")


@pytest.mark.parametrize(("address", "alone"), [
    ("localhost", True), ("127.0.0.1", True), ("::1", True), ("::", False), ("192.168.1.7", False), (None, False),
    ("class.example", False),
])  # fmt: skip
def test_a_server_that_others_reach_is_known_by_its_address(address, alone):
    assert is_loopback_only(address) is alone


def test_a_forged_control_is_not_believed():
    at = open_page()
    at.session_state["weights"] = "../../etc/passwd"
    assert run(at).get("popover")[0].proto.popover.label == "MiniLM"


def test_a_measure_is_drawn_only_if_this_model_has_it():
    at = open_page(text=TIRED, measure="gradient")
    (problem,) = said(at, "problem")
    assert "predicts no word" in problem
    assert picture(at)["measures"]["chosen"] == "raw"
    offered = [key for key, _ in picture(at)["measures"]["offered"]]
    assert offered == ["raw", "value", "residual", "rollout"], "only what this model can do"
