"""The same ten tasks with HeadScope, BertViz and TransformerLens: lines of code, and seconds.

    python benchmarks/tasks.py [--write docs/tasks.md]

Every line that is counted is run, on the same models: the embedded MiniLM, a GPT-2 and a T5 with random weights (the
time does not depend on what they learnt). What loads the models is not counted, and neither are the tasks' imports'
seconds. Seconds are those of the processor, the best of three runs after a first, on one thread. A package that is not
installed is said to be missing.
"""

import argparse
import contextlib
import datetime
import importlib
import io
import os
import shutil
import sys
import tempfile
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

TOOLS = {"HeadScope": "mha_core", "BertViz": "bertviz", "TransformerLens": "transformer_lens"}
PACKAGES = {"BertViz": "bertviz", "TransformerLens": "transformer_lens"}
RUNS = 3
NAMES = {
    "TEXT": "The animal didn't cross the street because it was too tired.",
    "SOURCE": "the cat sat",
    "TARGET": "it is the cat",
    "A": "the cat sat on it",
    "B": "the dog sat on it",
    "TREEBANK": "treebank.conllu",
}
# What every tool is given: models that are loaded.
SETUP = {
    "HeadScope": """
from mha_core import from_transformers, load_model
model, decoder, t5 = load_model(), load_model(GPT2), from_transformers(hf_t5, fast)
""",
    "BertViz": """
from transformers import AutoModel, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(MINILM)
bert = AutoModel.from_pretrained(MINILM, attn_implementation="eager")
from bertviz.transformers_neuron_view import BertModel, BertTokenizer
old, words = BertModel.from_pretrained(OLD), BertTokenizer.from_pretrained(OLD)
""",
    "TransformerLens": """
from transformer_lens import TransformerBridge
from transformers import AutoModelForMaskedLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(MINILM)
hf_bert = AutoModelForMaskedLM.from_pretrained(MINILM, attn_implementation="eager")
bert = TransformerBridge.boot_transformers(MINILM, hf_model=hf_bert, tokenizer=tokenizer, device="cpu")
decoder = TransformerBridge.boot_transformers(GPT2, hf_model=hf_gpt2, tokenizer=fast, device="cpu")
t5 = TransformerBridge.boot_transformers(T5, hf_model=hf_t5, tokenizer=fast, device="cpu")
""",
}
DRAWS = (
    "BertViz has three views and nothing that computes with heads: `head_view`, `model_view`, `neuron_view`."
)
NO_PICTURE = "no picture in the package; its tutorials draw with another one, CircuitsVis"
# A task: what it is, and for every tool its code, or why there is none.
TASKS = [
    (
        "All weights of a sentence",
        {
            "HeadScope": """
from mha_core import trace
weights = trace(TEXT, model).weights
""",
            "BertViz": """
inputs = tokenizer(TEXT, return_tensors="pt")
weights = bert(**inputs, output_attentions=True).attentions
""",
            "TransformerLens": """
_, cache = bert.run_with_cache(TEXT)
weights = [cache["pattern", layer] for layer in range(bert.cfg.n_layers)]
""",
        },
    ),
    (
        "One head as a picture in a notebook",
        {
            "HeadScope": """
from mha_core import show, trace
picture = show(trace(TEXT, model), head="4-2")._repr_html_()
""",
            "BertViz": """
from bertviz import head_view
inputs = tokenizer(TEXT, return_tensors="pt")
weights = bert(**inputs, output_attentions=True).attentions
tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
picture = head_view(weights, tokens, layer=3, heads=[1], html_action="return").data
""",
            "TransformerLens": NO_PICTURE,
        },
    ),
    (
        "All heads at once",
        {
            "HeadScope": """
from mha_core import trace
picture = trace(TEXT, model)._repr_html_()
""",
            "BertViz": """
from bertviz import model_view
inputs = tokenizer(TEXT, return_tensors="pt")
weights = bert(**inputs, output_attentions=True).attentions
tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
picture = model_view(weights, tokens, html_action="return").data
""",
            "TransformerLens": NO_PICTURE,
        },
    ),
    (
        "Queries, keys and scores of a layer",
        {
            "HeadScope": """
from mha_core import layer_details
inside = layer_details(TEXT, model, 3)
found = inside.q, inside.k, inside.scores
""",
            "BertViz": """
from bertviz.neuron_view import get_attention
found = get_attention(old, "bert", words, TEXT, include_queries_and_keys=True)
""",
            "TransformerLens": """
_, cache = bert.run_with_cache(TEXT)
found = cache["q", 3], cache["k", 3], cache["attn_scores", 3]
""",
        },
    ),
    (
        "Cross-attention of an encoder-decoder",
        {
            "HeadScope": """
found = t5(SOURCE, target=TARGET).cross
picture = found._repr_html_()
""",
            "BertViz": """
from bertviz import model_view
inputs, written = fast(SOURCE, return_tensors="pt"), fast(TARGET, return_tensors="pt")
out = hf_t5(**inputs, decoder_input_ids=written["input_ids"], output_attentions=True)
picture = model_view(
    encoder_attention=out.encoder_attentions,
    decoder_attention=out.decoder_attentions,
    cross_attention=out.cross_attentions,
    encoder_tokens=fast.convert_ids_to_tokens(inputs["input_ids"][0]),
    decoder_tokens=fast.convert_ids_to_tokens(written["input_ids"][0]),
    html_action="return",
).data
""",
            "TransformerLens": """
inputs, written = fast(SOURCE, return_tensors="pt"), fast(TARGET, return_tensors="pt")
_, cache = t5.run_with_cache(inputs["input_ids"], decoder_input=written["input_ids"])
found = [cache[name] for name in cache if "cross_attn" in name and name.endswith("hook_pattern")]
assert found
""",
        },
    ),
    (
        "The head that links two words",
        {
            "HeadScope": """
from mha_core import trace
best = trace(TEXT, model).rank("it", "animal")[0].name
""",
            "BertViz": DRAWS,
            "TransformerLens": """
import torch
_, cache = bert.run_with_cache(TEXT)
tokens = bert.to_str_tokens(TEXT)
q, k = tokens.index("it"), tokens.index("animal")
to = torch.stack([cache["pattern", layer][0, :, q, k] for layer in range(bert.cfg.n_layers)])
layer, head = divmod(to.argmax().item(), bert.cfg.n_heads)
best = f"{layer + 1}-{head + 1}"
""",
        },
    ),
    (
        "Take a head away: the next token",
        {
            "HeadScope": """
from mha_core.experiments import ablate, next_words
without = ablate(A, decoder, "2-3")
best = next_words(without.tokens, decoder, without.interventions, k=1)[0].id
""",
            "BertViz": DRAWS,
            "TransformerLens": """
def without(z, hook):
    z[:, :, 2] = 0
    return z
logits = decoder.run_with_hooks(A, prepend_bos=False, fwd_hooks=[("blocks.1.attn.hook_z", without)])
best = logits[0, -1].argmax().item()
""",
        },
    ),
    (
        "Patch a head's output from another text",
        {
            "HeadScope": """
from mha_core.experiments import next_words, patch
patched = patch(B, A, decoder, "2-3")
best = next_words(patched.tokens, decoder, patched.interventions, k=1)[0].id
""",
            "BertViz": DRAWS,
            "TransformerLens": """
_, cache = decoder.run_with_cache(B, prepend_bos=False)
def patched(z, hook):
    z[:, :, 2] = cache["z", 1][:, :, 2]
    return z
logits = decoder.run_with_hooks(A, prepend_bos=False, fwd_hooks=[("blocks.1.attn.hook_z", patched)])
best = logits[0, -1].argmax().item()
""",
        },
    ),
    (
        "The head for a relation of a treebank, against the best fixed offset",
        {
            "HeadScope": """
from mha_core.corpus import Lines, read_conllu
from mha_core.heads.studies import study_relations
table, _ = study_relations(read_conllu(Lines(TREEBANK)), model)
best = next(score for score in table.scores() if score.relation == "det")
""",
            "BertViz": DRAWS,
            "TransformerLens": "reads no treebank, knows no baseline; `detect_head` scores a pattern made by hand",
        },
    ),
    (
        "A figure as SVG without a browser",
        {
            "HeadScope": """
from mha_core import trace
from mha_core.figures import Design, figure
svg = figure(trace(TEXT, model).grid(), Design("matrix", heads=((3, 1),)))
""",
            "BertViz": "its views are JavaScript, drawn by a browser",
            "TransformerLens": NO_PICTURE,
        },
    ),
]
SAME = {"best"}  # what must come out the same wherever two tools give it


def lines_of(code):
    """How many lines a person writes."""
    return sum(bool(line.strip()) for line in code.splitlines())


def place(folder):
    """Models and texts, as every tool finds them."""
    from decoder_folders import byte_tokenizer, write_decoder
    from transformers import (
        AutoTokenizer,
        GPT2Config,
        GPT2LMHeadModel,
        PreTrainedTokenizerFast,
        T5Config,
        T5ForConditionalGeneration,
    )

    from mha_core.embedded import embedded_folder

    torch.manual_seed(0)
    torch.set_num_threads(1)
    sizes = {"n_embd": 192, "n_layer": 6, "n_head": 6, "n_positions": 128, "vocab_size": 262}
    gpt2 = GPT2LMHeadModel(
        GPT2Config(**sizes, bos_token_id=261, eos_token_id=261, attn_implementation="eager")
    ).eval()
    write_decoder(folder / "gpt2", gpt2, byte_tokenizer())
    config = T5Config(
        vocab_size=262, d_model=64, d_kv=16, d_ff=128, num_layers=4, num_heads=4, decoder_start_token_id=0,
        attn_implementation="eager",
    )  # fmt: skip
    t5 = T5ForConditionalGeneration(config).eval()
    t5.save_pretrained(folder / "t5")
    end = "<|endoftext|>"
    fast = PreTrainedTokenizerFast(
        tokenizer_object=byte_tokenizer(), eos_token=end, bos_token=end, pad_token=end
    )
    for name in ("gpt2", "t5"):
        fast.save_pretrained(folder / name)
    fast = AutoTokenizer.from_pretrained(folder / "gpt2")
    write_treebank(folder / "treebank.conllu")
    old = shutil.copytree(embedded_folder(), folder / "old")  # the layout that BertViz's own BERT reads
    torch.save(load_file(old / "model.safetensors"), old / "pytorch_model.bin")
    paths = {
        "MINILM": str(embedded_folder()),
        "GPT2": str(folder / "gpt2"),
        "T5": str(folder / "t5"),
        "OLD": str(old),
    }
    return (
        NAMES | paths | {"TREEBANK": folder / "treebank.conllu", "hf_gpt2": gpt2, "hf_t5": t5, "fast": fast}
    )


def write_treebank(path):
    """Forty sentences whose every word has its head."""
    rows = []
    for i in range(40):
        words = [
            ("the", 2 + i % 3, "det"),
            *[("old", 2 + i % 3, "amod")] * (i % 3),
            ("dog", 3 + i % 3, "nsubj"),
        ]
        words.append(("slept", 0, "root"))
        rows += [
            f"{n}\t{w}\t_\t_\t_\t_\t{head}\t{name}\t_\t_" for n, (w, head, name) in enumerate(words, 1)
        ] + [""]
    path.write_text("\n".join(rows), encoding="utf-8")


def ran(code, names):
    """The best seconds of a task's code, and what it found."""
    best, found = float("inf"), {}
    for turn in range(RUNS + 1):
        found = dict(names)
        with contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
            began = time.process_time()
            exec(code, found)  # noqa: S102 - the lines above
            seconds = time.process_time() - began
        best = min(best, seconds) if turn else best
    return best, found


def missing(tool):
    """Why a tool cannot be asked, or an empty text."""
    try:
        importlib.import_module(TOOLS[tool])
    except ImportError as problem:
        return f"not installed here ({problem})"
    return ""


def table(folder):
    """The page: a table, then the lines of every task side by side."""
    names, cells, rows = place(folder), {}, []
    absent = {tool: missing(tool) for tool in TOOLS}
    places = {}
    for tool in TOOLS:
        if not absent[tool]:
            places[tool] = dict(names)
            exec(SETUP[tool], places[tool])  # noqa: S102 - the lines above
    for title, codes in TASKS:
        found = {}
        for tool, code in codes.items():
            print(f"{title}: {tool}", file=sys.stderr)
            if "\n" not in code:
                cells[title, tool] = "—"
            elif absent[tool]:
                cells[title, tool] = absent[tool]
            else:
                try:
                    seconds, found[tool] = ran(code, places[tool])
                    cells[title, tool] = f"{lines_of(code)} lines, {1000 * seconds:,.1f} ms"
                except (
                    ImportError,
                    OSError,
                    RuntimeError,
                    TypeError,
                    ValueError,
                    KeyError,
                    AttributeError,
                ) as problem:
                    first = str(problem).strip().splitlines()[0] if str(problem).strip() else ""
                    cells[title, tool] = (
                        f"{lines_of(code)} lines; fails: {type(problem).__name__} {first[:90]}"
                    )
        answers = {one["best"] for one in found.values() if isinstance(one.get("best"), int | str)}
        if len(answers) > 1:
            raise SystemExit(f"{title}: the tools disagree, {answers}")
        rows.append(f"| {title} | " + " | ".join(cells[title, tool] for tool in TOOLS) + " |")
    return page(rows, cells, absent)


def page(rows, cells, absent):
    """The measured rows as a chapter of the handbook."""
    versions = [f"{tool} {_version(tool)}" for tool in TOOLS if not absent[tool]]
    with_those = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    today = datetime.datetime.now(tz=datetime.UTC).date()
    text = [
        "# The same ten tasks", "",
        f"Lines of code, and milliseconds of the processor, the best of {RUNS} runs on one thread: "
        f"{', '.join(versions)}, with "
        f"{with_those}, {today}. `python benchmarks/tasks.py --write docs/tasks.md` measures it again. Loading a model "
        "is not counted; the models are the same for all: the embedded MiniLM (6 layers x 12 heads), a GPT-2 of 6 "
        "layers and a T5 of 4 with random weights. Where two tools name a head or a token, the script holds that it "
        "is the same one. The milliseconds of a picture are those until its HTML or SVG is there.", "",
        "| task | " + " | ".join(TOOLS) + " |", "|---|" + "---|" * len(TOOLS), *rows, "",
        "A dash: there is no way in that package, for the reason that stands below.",
    ]  # fmt: skip
    for title, codes in TASKS:
        text += ["", f"## {title}"]
        for tool, code in codes.items():
            if "\n" in code:
                text += ["", f"**{tool}**, {cells[title, tool]}", "", "```python", code.strip(), "```"]
            else:
                text += ["", f"**{tool}**: {code.rstrip('.')}."]
    return "\n".join(text) + "\n"


def _version(tool):
    try:
        return version(PACKAGES.get(tool, "headscope"))
    except PackageNotFoundError:
        return str(importlib.import_module(TOOLS[tool]).__version__)


def main():
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, help="the page to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        found = table(Path(folder))
    if options.write:
        options.write.write_text(found, encoding="utf-8")
    else:
        print(found)


if __name__ == "__main__":
    main()
