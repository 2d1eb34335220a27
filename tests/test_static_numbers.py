"""The page without a server computes what the engine does: in its graph, in a browser, for every token and word."""

import base64
import hashlib
import json
import random
import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import bert_folders
import gguf
import numpy as np
import once
import pytest
from gguf_files import write_gguf

import mha_core
from mha_core.draw.static_site.build import model_files
from mha_core.draw.static_site.page import service_worker
from mha_core.draw.static_site.vocabulary import vocabulary
from mha_core.models.gguf import GgufFile
from mha_core.models.model_list import decoder_file

ROOT = Path(__file__).parent.parent
CLASSIC = "The animal didn't cross the street because it was too tired."
SENTENCES = [each["text"] for each in json.loads((ROOT / "assets/sentences.json").read_text("utf-8"))]
LINES = json.loads((ROOT / "tests/acceptance/odd_texts.json").read_text("utf-8"))
ODD = [line["text"] * line.get("times", 1) for line in LINES]
CLOSE = 1e-4
# Letters, spaces, ends of words, joiners, accents, flags, special tokens and any other character.
POOLS = [
    [chr(code) for code in range(32, 127)],
    list(" \t\n\r\xa0\u2003\u3000\x85\u180e\u200b\ufeff\u2028"),
    list("'sdtmrevl 123-_.,:"),
    ["\u200d", "\u200c", "\u0301", *"👩👍🏽🇫🇷กअ्1.a", "<|im_end|>", "[SEP]", "##"],
    [*map(chr, (*range(1, 0xD800), *range(0xE000, 0x32000), *range(0xF0000, 0xF1000)))],
]
SHARES = ([6, 2, 2, 2, 3], [1, 1, 6, 1, 0], [0, 1, 1, 4, 1], [3, 1, 1, 1, 8])
TOY = {"model": "toy", "texts": ["The cat sees the dog."]}
PAGE = """<!doctype html><html lang="en"><head><title>A page</title><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval';
worker-src 'self'; connect-src 'self'"></head><body></body></html>"""
ASK = """() => {
  const worker = new Worker("worker.js", { type: "module" }), waiting = new Map();
  const every = (length) => length > 200_000 ? 97 : 1; // a sample of a long text's seventy megabytes
  let last = 0;
  worker.onmessage = ({ data }) => { if (data.progress === undefined) waiting.get(data.id)(data); };
  globalThis.ask = (message) => new Promise((resolve) => {
    waiting.set(++last, (answer) => {
      const { length } = answer.weights ?? [], sample = answer.weights?.filter((_, i) => i % every(length) === 0);
      let text = "";
      for (const byte of new Uint8Array(sample?.buffer ?? [])) text += String.fromCharCode(byte);
      const highest = answer.next?.reduce((a, b) => Math.max(a, b));
      const likeliest = answer.next && [answer.next.indexOf(highest), highest];
      resolve({ ...answer, likeliest, next: null, spellings: null, weights: btoa(text) });
    });
    worker.postMessage({ ...message, id: last });
  });
}"""


def build(folder, **options):
    """A site with an empty page beside its own, whose worker is asked by a test itself."""
    return with_empty_page(mha_core.static_site(folder, **options))


def with_empty_page(place):
    (place / "empty.html").write_text(PAGE)
    return place


@pytest.fixture(scope="module")
def site(static_folder):
    """MiniLM and the toy model."""
    return with_empty_page(static_folder)


@pytest.fixture(scope="module")
def models(model):
    return {"minilm": model, "toy": mha_core.load_model("classroom", device="cpu")}


@pytest.fixture(scope="module")
def small_site():
    """A small BERT of odd sizes, and its folder."""

    def make():
        folder = once.folder / "small-bert"
        bert_folders.write(folder)
        return build(once.folder / "small-site", model=str(folder)), str(folder)

    return once.once("small-site", make)


@pytest.fixture
def open_page(chromium, host):
    """Open a site: its empty page in a profile of its own, and the paths that are asked for."""
    with ExitStack() as contexts:

        def opened(folder):
            files, page = host(folder), contexts.enter_context(chromium.new_context()).new_page()
            page.set_default_timeout(300_000)
            page.goto(f"{files.url}/empty.html")
            page.evaluate(ASK)
            return page, files.requests

        yield opened


def ask(page, **message):
    return page.evaluate("(message) => ask(message)", message)


def expected(tokens, text):
    """The engine's tokens as the worker says them: places in UTF-16 units of the whole text."""
    starts = (text.find(tokens.text), text.rfind(tokens.pair or ""))

    def place(piece, offset):
        return len(text[: starts[piece.segment] + offset].encode("utf-16-le")) // 2 if piece.end else 0

    return [
        {name: getattr(piece, name) for name in ("text", "id", "segment", "mark")}
        | {"start": place(piece, piece.start), "end": place(piece, piece.end)}
        | {"word": -1 if piece.word is None else piece.word, "special": int(piece.special)}
        for piece in tokens.pieces
    ]


def difference(answer, text, model):
    """The largest one to the engine's weights; fails for other tokens."""
    record = mha_core.trace(text, model)
    assert answer["pieces"] == expected(record.tokens, text), ascii(text)
    assert answer["cut"] == record.tokens.n_cut
    weights = np.frombuffer(base64.b64decode(answer["weights"]), np.float32)
    return np.abs(weights - record.weights.ravel()[:: 97 if record.weights.size > 200_000 else 1]).max()


@pytest.mark.slow
def test_the_page_says_of_each_model_what_it_weighs_and_takes(site, models):
    page = (site / "index.html").read_text()
    known = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])["models"]
    listed = json.loads((site / "models.json").read_text())
    for key, model in models.items():
        files = [site / file["name"] for file in listed[key]["files"]]
        assert [file["size"] for file in listed[key]["files"]] == [file.stat().st_size for file in files]
        weight = sum(file.stat().st_size for file in files)
        facts, megabytes = known[model.name], 0 if key == "toy" else round(weight / 1e6)
        assert (facts["megabytes"], listed[key]["bytes"]) == (megabytes, weight)
        assert (facts["most"], listed[key]["limit"]) == (model.max_tokens, model.max_tokens)
        assert facts["digest"] == model.digest[:12]


def test_the_kept_page_has_another_name_where_any_of_its_files_is_another(tmp_path):
    files = {"index.html": b"page", "worker.js": b"work", "models.json": b"list"}
    name = re.compile(r'"headscope-page-(\w+)"')
    changed = [files, *({**files, each: b"other"} for each in files), {**files, "more.js": b""}]
    names = [name.search(service_worker(each))[1] for each in changed]
    assert len(set(names)) == len(changed)
    assert names[0] == name.search(service_worker(dict(files)))[1]
    assert all(f'"{each}"' in service_worker(files) for each in ("./", "worker.js", "models.json"))
    sites = [
        mha_core.static_site(tmp_path / each, model="toy", texts=[f"the {each}"]) for each in ("ox", "cow")
    ]
    written = {name.search((site / "sw.js").read_text())[1] for site in sites}
    assert len(written) == 2, "also where the page is another"


@pytest.mark.slow
@pytest.mark.browser
def test_a_browser_gives_the_engines_tokens_words_and_weights(site, models, open_page):
    page, _ = open_page(site)
    for name, model in models.items():
        # Another text than those of the page, a pair, one that is cut, and letters of other alphabets.
        for text in (*SENTENCES[:: len(SENTENCES) // 6], "a [SEP] b [SEP] c", "word " * 600, *ODD[::60]):
            assert difference(ask(page, text=text, model=name), text, model) < CLOSE
        assert ask(page, text=" \x1c ", model=name)["error"] == "The sentence is empty. Type a word."


# What each text is cut into and how many tokens were too many, or why it is refused.
TOKENS = f"""
import {{ readFileSync }} from "node:fs";
import {{ tokenizerOf }} from "{(ROOT / "assets/js/static/tokens.js").as_uri()}";
const [about, texts] = JSON.parse(readFileSync(0, "utf8")), {{ read }} = tokenizerOf(about);
const pair = ({{ pieces, cut }}) => [pieces, cut];
const tokens = (text) => {{ try {{ return pair(read(text)); }} catch (problem) {{ return problem.message; }} }};
console.log(JSON.stringify(texts.map(tokens)));"""


@pytest.mark.slow
def test_javascript_cuts_odd_and_random_texts_as_the_engine_does(models, smollm2):
    draw, node = random.Random(7), shutil.which("node") or pytest.skip("no node found")  # noqa: S311 - no secret
    pools = [draw.choices(POOLS, draw.choice(SHARES), k=draw.randint(1, 60)) for _ in range(200)]
    texts = [*ODD, *("".join(map(draw.choice, each)) for each in pools), "word " * 300]
    texts.append("a\x06\u0301-0")  # \x06 is no token of SmolLM2
    for model in (*models.values(), smollm2):
        about, tokenizer = vocabulary(model), model.tokenizer
        if model is smollm2:  # at the length that a page reads
            tokenizer = GgufFile(decoder_file()).tokenizer(about["limit"])
        command, content = [node, "--input-type=module", "--eval", TOKENS], json.dumps([about, texts])
        done = subprocess.run(command, input=content, check=True, capture_output=True, text=True)
        for text, result in zip(texts, json.loads(done.stdout), strict=True):
            try:
                tokens = tokenizer.encode(text)
                wanted = [expected(tokens, text), tokens.n_cut]
            except mha_core.InputError as problem:
                wanted = str(problem)
            assert result == wanted, (model.title, ascii(text))


# The matrices of the attention and of the net, and the embeddings.
BLOCKS = {"embed": "Q8_0", "self_attn": "Q4_1", "mlp": "Q8_0", "lm_head": "Q4_1"}


@pytest.fixture
def small_llama(tmp_path):
    """Write a small random Llama as a GGUF file."""
    return lambda **options: write_gguf(
        tmp_path / "small.gguf", **{"kinds": BLOCKS, "intermediate_size": 96} | options
    )


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("name", ["small.gguf", "smollm2"])
def test_a_browser_gives_a_decoders_weights_and_next_token_also_after_a_beginning(
    name, small_llama, open_page, tmp_path, request
):
    if name == "smollm2":
        model, texts = request.getfixturevalue("smollm2"), (CLASSIC, CLASSIC + " In 2024, it slept.")
    else:
        path = small_llama(tie_word_embeddings=True, num_key_value_heads=4)
        tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path, "r+").tensors}
        for row, (scale, minimum) in enumerate([(0, 0.25), (0, 0)]):  # of blocks whose numbers are all alike
            tensors["blk.0.attn_v.weight"].data[row, :4] = np.array([scale, minimum], "<f2").view("u1")
        tensors["blk.0.attn_v.weight"].data.flush()
        model, texts = mha_core.load_model(path), ("the item", "the item is the other", "it is")
    page, _ = open_page(build(tmp_path / "site", model=model, texts=[CLASSIC[:9]]))
    for text in texts:
        answer = ask(page, text=text, model=name)
        assert difference(answer, text, model) < CLOSE
        (following,) = mha_core.predict_next(text, model, k=1)
        assert answer["likeliest"] == [following.id, pytest.approx(following.probability, abs=CLOSE)]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"kinds": BLOCKS | {"self_attn": "Q5_0"}}, "blk.0.attn_q in Q5_0"),
        ({"kinds": {"q_proj": "Q8_0"} | BLOCKS}, "blk.0.attn_q and blk.0.attn_k and blk.0.attn_v"),
        ({"kinds": BLOCKS | {"embed": "Q4_1"}}, "embeddings of 4 bits"),
        ({"attention_bias": True}, "biases"),
    ],
)
def test_another_llama_is_refused_in_a_sentence(options, problem, small_llama, tmp_path):
    with pytest.raises(mha_core.ModelError, match=problem):
        model_files("decoder", mha_core.load_model(small_llama(**options)))


def test_a_page_goes_on_without_a_decoder_that_is_not_installed(tmp_path, monkeypatch):
    toy = mha_core.load_model("classroom", device="cpu")

    def load(name, **_):
        if name == "classroom":
            return toy
        raise mha_core.Unavailable("It is not installed here.")

    monkeypatch.setattr("mha_core.draw.static_site.build.load_model", load)
    with pytest.warns(UserWarning, match="no SmolLM2: It is not installed here"):
        folder = mha_core.static_site(tmp_path / "site", model=["toy", "smollm2"])
    assert set(json.loads((folder / "models.json").read_text())) == {"toy"}
    with pytest.raises(mha_core.Unavailable):
        mha_core.static_site(tmp_path / "other", model="smollm2")


def test_a_decoder_that_is_not_its_file_is_refused(small_llama):
    path = small_llama()
    with pytest.raises(mha_core.ModelError, match="has others"):
        model_files("decoder", mha_core.load_model(path, trained=False))


@pytest.mark.slow
@pytest.mark.browser
def test_any_bert_is_computed_and_its_text_cut_at_its_own_limit(small_site, open_page):
    folder, model = small_site
    page, _ = open_page(folder)
    for text in [CLASSIC, "First " * 40 + "[SEP] second " * 1 + "third " * 20]:
        answer = ask(page, text=text, model="small-bert")
        assert difference(answer, text, mha_core.load_model(model)) < CLOSE
    assert answer["cut"] > 0


@pytest.mark.slow
@pytest.mark.browser
def test_a_damaged_part_is_refused_by_name_and_fetched_anew(small_site, open_page, tmp_path):
    folder = shutil.copytree(small_site[0], tmp_path / "site")
    part = folder / "models/toy/weights-0.bin"
    good = part.read_bytes()
    part.write_bytes(good[:1000] + bytes([good[1000] ^ 1]) + good[1001:])
    page, requests = open_page(folder)
    for message in ({"load": "toy"}, {"text": CLASSIC, "model": "toy"}):
        answer = ask(page, **message)
        assert "models/toy/weights-0.bin is damaged" in answer["error"]
        assert not answer["weights"]
    part.write_bytes(good)
    assert ask(page, load="toy")["ready"] == "toy"

    # Kept for the next visit, unless what is kept is damaged.
    def again():
        del requests[:]
        page.evaluate(ASK)
        assert ask(page, load="toy")["ready"] == "toy"
        return ["weights" in path for path in requests if "models/" in path]

    assert again() == []
    page.evaluate("""async () => {
      const cache = await caches.open("headscope-models");
      for (const one of await cache.keys()) if (one.url.includes("weights")) await cache.put(one, new Response("no"));
    }""")
    assert again() == [True]


@pytest.mark.slow
@pytest.mark.browser
def test_a_page_whose_numbers_are_off_answers_nothing(small_site, open_page, tmp_path):
    folder = shutil.copytree(small_site[0], tmp_path / "site")
    about, listed = folder / "models/toy/model.json", folder / "models.json"
    content = about.read_bytes()
    changed = json.loads(content)
    changed["known"]["rows"][5] += 2 * CLOSE
    about.write_text(json.dumps(changed), "utf-8")
    old, new = hashlib.sha256(content).hexdigest(), hashlib.sha256(about.read_bytes()).hexdigest()
    sizes = json.loads(listed.read_text("utf-8").replace(old, new))
    next(file for file in sizes["toy"]["files"] if file["sha256"] == new)["size"] = about.stat().st_size
    listed.write_text(json.dumps(sizes), "utf-8")
    page, _ = open_page(folder)
    for message in ({"load": "toy"}, {"text": CLASSIC, "model": "toy"}):
        answer = ask(page, **message)
        assert "computes other numbers" in answer["error"]
        assert not answer["weights"]


@pytest.mark.slow
def test_the_same_files_are_written_each_time_and_are_small_enough(site, small_site, tmp_path):
    folder, model = small_site
    again = build(tmp_path / "again", model=model)
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    assert files == [path.relative_to(again) for path in sorted(again.rglob("*")) if path.is_file()]
    assert all((folder / file).read_bytes() == (again / file).read_bytes() for file in files)
    listed = json.loads((site / "models.json").read_bytes())
    assert all(file["size"] <= 16 << 20 for model in listed.values() for file in model["files"])
    runtime = sum(path.stat().st_size for path in (site / "onnxruntime").glob("*.js"))
    assert listed["minilm"]["bytes"] + runtime < 60e6
    assert listed["toy"]["bytes"] < 700_000


def test_what_cannot_be_computed_or_overwritten_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(mha_core.ModelError, match="not 'Toy model, control'"):
        mha_core.static_site(tmp_path / "site", model="classroom-twin")
    (tmp_path / "file").write_text("Dear Ada")
    with pytest.raises(mha_core.InputError, match="is a file"):
        mha_core.static_site(tmp_path / "file", model="toy")


@pytest.fixture(scope="module")
def toy_site(tmp_path_factory):
    return mha_core.static_site(tmp_path_factory.mktemp("toy") / "site", **TOY)


def test_what_an_earlier_page_had_and_this_one_has_not_is_removed(toy_site, tmp_path):
    folder = shutil.copytree(toy_site, tmp_path / "site")
    stale = folder / "old" / "gone.js"
    stale.parent.mkdir()
    stale.write_bytes(b"1")
    written = json.loads((folder / "written.json").read_bytes())
    written["old/gone.js"] = hashlib.sha256(b"1").hexdigest()
    (folder / "written.json").write_text(json.dumps(written))
    mha_core.static_site(folder, **TOY)
    assert not stale.parent.exists()


@pytest.mark.parametrize(
    ("put", "named"),
    [
        (lambda folder: (folder / "models/notes.md").write_text("Dear Ada"), "models/notes.md"),
        (lambda folder: (folder / "link").symlink_to(folder / "index.html"), "link"),
        (lambda folder: (folder / "index.html").write_text("Dear Ada"), "index.html"),
        (lambda folder: (folder / "written.json").unlink(), "index.html"),
        (lambda folder: (folder / "written.json").write_text("[]"), "index.html"),
    ],
)
def test_a_folder_into_which_somebody_else_wrote_is_not_written_again(put, named, toy_site, tmp_path):
    folder = shutil.copytree(toy_site, tmp_path / "site")
    put(folder)
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(mha_core.InputError, match=named):
        mha_core.static_site(folder, **TOY)
    assert files == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
