"""The page that needs no server: the same picture, links and files as the app's, computed in the reader's browser."""

import io
import json
import re
import shutil
import subprocess
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from axe import complaints
from gguf_files import write_gguf

from benchmarks.odd_texts import lines, typed
from mha_core import HeadScopeError, load_model, predict_next, static_site, trace
from mha_core.draw.about import about
from mha_core.draw.bundle import SCRIPTS
from mha_core.draw.payload import record_payload
from mha_core.draw.standalone import portable
from mha_core.draw.static_site.page import model_facts, run_of
from mha_core.record.compare import align

UNITS, SPECIALS = ("pieces", "words"), ("shown", "hidden", "renormalised")
REFUSE = (
    "WebAssembly.Memory = class { constructor() { throw new RangeError('could not allocate memory'); } };"
)
# Records from runs, as the page makes them, and which of their weights is furthest from the engine's.
MAKE = """
import { readFileSync } from "node:fs";
import { decodeArrays } from "@@/portable.js";
import { align } from "@@/static/align.js";
import { recordOf } from "@@/static/payload.js";
const { models, runs, pairs } = JSON.parse(readFileSync(0, "utf8"));
const numbers = (payload) => decodeArrays(payload).weights.getChildAt(0).toArray();
const made = runs.map(({ run, expected, unit, specials }) => {
  const record = recordOf({ ...run, weights: numbers(run) }, models[run.model], unit, specials);
  const engine = numbers(expected);
  const furthest = (most, step, i) => Math.max(most, Math.abs(step - engine[i]));
  const off = record.weights.reduce(furthest, engine.length - record.weights.length);
  return { off, ...Object.fromEntries(Object.keys(expected).map((key) => [key, record[key] ?? null])), weights: null };
});
console.log(JSON.stringify({ made, aligned: pairs.map(([a, b]) => align(a, b)) }));
"""


@pytest.mark.slow
def test_the_page_makes_the_payload_that_python_makes_and_aligns_two_texts_as_it_does(model, smollm2):
    node = shutil.which("node") or pytest.skip("needs node to run the browser's side")
    models = {"minilm": model, "toy": load_model("classroom", device="cpu"), "smollm2": smollm2}
    runs = []
    for number, text in enumerate(map(typed, lines()[::4])):
        key = ("minilm", "toy", "minilm", "toy", "smollm2")[number % 5]
        try:
            record = trace(text, models[key])
        except HeadScopeError:
            continue
        if len(record.tokens) > (24 if key == "smollm2" else 60):
            continue
        run = run_of(record, key, text) | portable({"weights": record.weights.ravel()})
        unit, specials = UNITS[number % 2], SPECIALS[number % 3]
        grid = record.grid(unit == "words", specials)
        if not len(grid):
            continue
        payload = record_payload(grid, record.tokens, record.model.title, about=about(record, grid))
        payload.pop("id")
        runs.append({"run": run, "expected": portable(payload), "unit": unit, "specials": specials})
    assert len(runs) > 50
    words = ["the", "cat", "The", "cat", "sat", "on", "mat", ".", "it"]
    draw = np.random.default_rng(0)
    pairs = [
        [[words[i] for i in draw.integers(0, 9, draw.integers(1, 14))] for _ in "AB"] for _ in range(300)
    ]
    facts = {key: model_facts(key, each, 0) | {"roles": []} for key, each in models.items()}
    command = [node, "--input-type=module", "-e", MAKE.replace("@@", SCRIPTS.as_uri())]
    content = json.dumps({"models": facts, "runs": runs, "pairs": pairs})
    done = subprocess.run(command, input=content, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout)
    for result, given in zip(results["made"], runs, strict=True):
        assert result.pop("off") <= 1, given["run"]["text"]  # of 65535: the sums are rounded in another order
        assert result == given["expected"] | {"weights": None}, given["run"]["text"]
    assert results["aligned"] == [[list(pair) for pair in align(*both)] for both in pairs]


def reports(person, sentence):
    person.page.get_by_role("status").filter(has_text=sentence).wait_for(timeout=120_000)
    return person


def saved(person, name):
    if not person.page.locator("#files").is_visible():
        person.page.get_by_text("Save", exact=True).click()
    with person.page.expect_download(timeout=120_000) as coming:
        person.page.locator("#files").get_by_role("button", name=name, exact=True).click()
    return coming.value.path()


@pytest.fixture
def visit(reader, host):
    """`visit(folder, **query)`: a person with a new browser profile on a host of these files."""
    return lambda folder, **query: reader(f"/?{urlencode(query)}" if query else "/", host(folder), fresh=True)


@pytest.mark.browser
def test_a_first_visit_shows_the_classic_and_what_one_word_changes(reader, host, static_folder):
    files = host(static_folder)
    person = reader("/", files, fresh=True).reads("Head 4-2 looks from it to animal .68%")
    person.page.get_by_role("link", name="Change “tired” to “wide”").click()
    person.reads("Head 4-2, from it: animal falls from 68% to 28%")
    assert not complaints(person.page)
    options = person.page.locator("#options")
    person.page.locator("#chosen").click()
    person.page.keyboard.press("Tab")
    person.page.keyboard.press("Escape")
    assert not options.evaluate("(menu) => menu.open")
    assert person.page.locator("#chosen").evaluate("(node) => node.matches(':focus')")
    person.page.get_by_role("link", name="Compare both").click()
    person.reads("it to animal 68% in A, 28% in B")
    reports(person.type("  ", "Sentence B"), "The sentence is empty. Type a word.").reads("28% in B")
    person.page.go_back()
    person.reads("Head 4-2, from it: animal falls from 68% to 28%")
    assert person.page.get_by_role("gridcell").count() == 72
    person.page.get_by_role("textbox").focus()
    person.reaches(person.head("4-2"))
    person.reaches(person.page.get_by_role("button", name="Use the toy model"), "Shift+Tab")
    person.page.keyboard.press("Enter")
    person.reads("Head 2-2").type("The dog chased the cat .").reads("chased → dog 9.%, the strongest of 8")
    reports(person.type("The zebra slept."), "1 token is not in the model's vocabulary")
    paths = {path.partition("?")[0].strip("/") or "index.html" for path in files.requests}
    assert sum((static_folder / path).stat().st_size for path in paths) < 1_500_000


@pytest.mark.browser
def test_a_sentence_of_ones_own_is_the_engines_in_picture_link_and_files(
    reader, host, static_folder, model, tmp_path
):
    text = "Zoë’s 3 kids didn't like unbelievably sour grapes."
    record = trace(text, model)
    grid, number = record.grid(words=True), record.grid(words=True).find
    weights, pin, to = grid.weights[2, 8], number("sour")[0], number("unbelievably")[0]
    link_of_the_app = {"model": "minilm", "weights": "trained", "specials": "shown", "measure": "raw"}
    chosen = {"text": text, "unit": "words", "head": "3-9", "pin": pin, "to": to} | link_of_the_app
    files = host(static_folder)
    person = reader(f"/?{urlencode(chosen)}", files, fresh=True)
    reports(person, "Your own sentences need MiniLM in this browser.")
    person.page.get_by_role("button", name=re.compile("Load MiniLM, 5[0-9] MB")).click()
    person.reads(f"Head 3-9: sour → unbelievably {100 * weights[pin, to]:.0f}%")

    assert not person.page.get_by_role("status").inner_text()
    frame = pd.read_csv(io.BytesIO(saved(person, "CSV").read_bytes()))
    expected = grid.to_frame()
    assert frame.iloc[0][["text", "unit", "model"]].tolist() == [text, "words", "MiniLM"]
    pd.testing.assert_frame_equal(frame[expected.columns], expected, check_dtype=False, atol=1e-4, rtol=0)
    content = json.loads(saved(person, "JSON").read_text("utf-8"))
    np.testing.assert_allclose(content["weights"], grid.weights, atol=1e-4)
    assert (content["units"], content["head"], content["to"]) == (list(grid.labels), "3-9", to)
    assert saved(person, "PNG").read_bytes().startswith(b"\x89PNG")
    assert "unbelievably" in saved(person, "SVG").read_text("utf-8")
    shutil.copy(saved(person, "HTML, works offline"), tmp_path / "saved.html")
    link = person.page.url

    # Without a network: the same link again, and another sentence.
    files.stop()
    person.page.goto(link)
    person.reads("Head 3-9: sour → unbelievably").type("A cat slept because it was tired.").reads("from it")
    person.page.goto((tmp_path / "saved.html").as_uri())
    person.reads(f"Head 3-9: sour → unbelievably {100 * weights[pin, to]:.0f}%")


@pytest.mark.browser
def test_one_file_computes_with_the_toy_model_from_a_disk(reader, tmp_path):
    file = static_site(
        tmp_path / "page.html", model="toy", texts=["The cat saw the dog because it was tired ."]
    )
    toy = load_model("classroom", device="cpu")
    person = reader(None)
    person.page.goto(file.as_uri())
    person.reads("Head 2-2").type("The dog chased the cat .")
    weights = trace("The dog chased the cat .", toy).weights[1, 1]
    person.reads(f"chased → dog {100 * weights[2, 1]:.0f}%, the strongest of 8 heads")
    person.page.get_by_role("link", name="Compare").click()
    person.reads("Change one word").type("The dog chased the cats .", "Sentence B").reads("in A, .* in B")


@pytest.fixture
def decoder(tmp_path):
    """A small decoder of random weights, and its page."""
    kinds = {"embed": "Q8_0", "self_attn": "Q4_1", "mlp": "Q4_1", "lm_head": "Q4_1"}
    path = write_gguf(tmp_path / "small.gguf", kinds=kinds, intermediate_size=64, max_position_embeddings=24)
    model = load_model(path)
    return model, static_site(tmp_path / "site", model=model, texts=["it is"])


@pytest.mark.browser
def test_a_reader_lets_a_decoder_write_and_sees_where_each_new_token_looks(visit, decoder):
    from playwright.sync_api import expect

    model, folder = decoder
    person = reports(visit(folder, unit="pieces"), "For your own sentences:")
    person.page.get_by_role("button", name=re.compile("Load small, [0-9]+ MB")).click()
    tokens = person.page.get_by_role("region", name="Next token")
    text = "it is"
    for warmth in ("1", "0"):
        person.page.get_by_label("Temperature").fill(warmth)
        following = predict_next(text, model, k=model.tokenizer.vocab_size)
        whole = [each for each in following if "\ufffd" not in each.text]
        word = whole[0] if warmth == "0" else next(each for each in whole if each.text.startswith(" "))
        if warmth == "1":
            name = rf"{re.escape(word.text.strip())} {100 * word.probability:.0f}%$"
            tokens.get_by_role("button", name=re.compile(name)).first.click()
        else:
            tokens.get_by_role("button", name="Append one").click()
        before, text = text, text + word.text
        person.page.wait_for_url(lambda url, text=text: f"pin={len(trace(text, model).tokens) - 1}" in url)
        weights = trace(text, model).weights
        content = json.loads(saved(person, "JSON").read_text("utf-8"))
        facts = {"text": text, "causal": True, "pinned": [len(weights[0, 0]) - 1]}
        assert facts.items() <= content.items()
        np.testing.assert_allclose(content["weights"], weights, atol=1e-4)
    person.page.go_back()
    expect(person.page.get_by_role("textbox")).to_have_value(before, timeout=30_000)
    reports(person.type("it " * 30), "The text was cut: this page reads 24 tokens at most")
    tokens.get_by_text("The text is full: this page reads 24 tokens.").wait_for()
    assert not tokens.get_by_role("button", disabled=False).count()
    assert not complaints(person.page)


@pytest.mark.browser
def test_a_browser_without_the_memory_says_so_and_goes_on_with_another_model(visit, decoder):
    _, folder = decoder
    worker = folder / "worker.js"
    worker.write_text(REFUSE + worker.read_text("utf-8"), "utf-8")
    person = visit(folder)
    person.page.get_by_role("button", name=re.compile("Load small")).click()
    reports(person, "This browser has not enough memory for this model.")
    person.page.get_by_role("button", name="Use the toy model").click()
    person.reads("Head 2-2").type("The dog chased the cat .").reads("chased → dog")
    person.page.locator("#chosen").click()
    person.page.get_by_label("Model").select_option(label="small")
    person.page.get_by_role("button", name=re.compile("Load small")).wait_for()
    person.page.locator("#picture").wait_for(state="hidden")  # the toy model's
    assert not person.page.locator("#options").evaluate("(menu) => menu.open")
