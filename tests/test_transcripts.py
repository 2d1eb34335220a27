"""Pages as readers open them say what they said when they were last read, and hand out the same files.

What is right on them is held elsewhere, against the engine; here whatever changes is noticed (transcripts.py).
"""

import base64
import json
import os
import re
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from transcripts import FOLDER, differences, flat, lines_of
from visit import TIRED, WIDE, link, run, unopened

from mha_core.cli import main
from pages.parts.frame.controls import MENU
from pages.parts.serve import cache

KEEP = "KEEP_TRANSCRIPTS"
DOG = "The old dog barked because it saw a cat."
MARY = "When Mary and John went to the store, John gave a drink to"
BOOK = "Maria gave the book to her sister."
BIG = "The dog barked because the big one saw a black cat."
OTHER = MARY.replace("John gave", "Mary gave")
MEASURES = ("value", "rollout", "residual")
WALKED = (
    *("sentence", "x", "qkv", "heads", "scores", "scaled", "weights", "z", "row", "w_o", "output", "parts"),
    *("gone", "torch"),
)
ROTATED = ("x", "heads", "rotation", "distance", "scaled", "weights", "row", "parts", "torch")
BY_HAND = ("x", "qkv", "scores", "scaled", "weights", "z", "output")
STEPS = ("budget", "rows", "asking", "softmax", "split", "claim", "tells", "summary")
# The boxes of each page; of one model alone where they hold much.
BOXES = {
    "app": ("heatmap", "take", "moment-courses"),
    "specialization": ("sortable", "real-rest", "card-all"),
    "atlas": ("ask-box",),
    "training": ("training-take", "held-out"),
}
CLOSED = (
    "jobs map",
    "jobs untrained",
    "jobs by text",
    "jobs by place",
    "explore figure",
    "explore figure largest",
    "atlas head",
)
PRESSED = ("begin-every", "begin-patch")  # not what takes a minute
# Links to pages; boxes that a page opens with are open, and what is behind a button is computed.
READ = {
    "explore": "app",
    "explore words": f"app?text={DOG}&unit=words&specials=hidden&head=3-5&pin=5&to=2&least=10",
    "explore pair": f"app?text={BOOK}&pair=She had read it.&head=2-3&pin=3&to=5&specials=renormalised&tab=lines",
    **{f"explore {of}": f"app?text={TIRED}&measure={of}&head=4-2&pin=10&to=2" for of in MEASURES},
    "explore untrained": f"app?text={TIRED}&weights=untrained&head=2-7&pin=8&to=3",
    "explore classroom": f"app?model=classroom&text={TIRED}&head=2-1&pin=7&to=1",
    "explore moment": f"app?model=classroom&text={WIDE}&moment=400&head=1-3&pin=7",
    "explore twin": f"app?model=classroom-twin&text={WIDE}&head=2-2&pin=7",
    "explore decoder": f"app?model=smollm2&text={MARY}&head=14-9&pin=10&to=3",
    "explore decoder residual": f"app?model=smollm2&text={DOG}&measure=residual&head=12-1&pin=5&to=5",
    "explore decoder measure": f"app?model=smollm2&text={DOG}&measure=value&unit=words&head=3-2&pin=5&to=2",
    "explore figure": f"app?text={TIRED}&pin=10&figure=matrix_4-2,5-7,1-3_each_17_8_white_words_full",
    "explore figure largest": f"app?text={TIRED}&figure=bars_4-2,5-7_each_17_8_white_words_largest",
    "explore arcs": f"app?text={DOG}&pin=6&figure=arcs_3-1_each_8.5_8_white_pieces_largest",
    "compare": "compare?head=4-2&pin=10&to=2",
    "compare lengths": f"compare?text={DOG}&text2={BIG}&head=2-4&pin=4&to=3&unit=words",
    "compare weights": f"compare?text={TIRED}&against=weights&head=3-3&pin=6&specials=hidden",
    "compare models": f"compare?text={TIRED}&against=model&model2=classroom&pin=10&to=2",
    "compare value": f"compare?text={TIRED}&text2={WIDE}&measure=value&head=5-1&pin=13&to=9",
    "compare rollout": f"compare?text={TIRED}&text2={WIDE}&measure=rollout&pin=10",
    "compare moments": f"compare?model=classroom&text={TIRED}&text2={WIDE}&moment=600&head=2-1&pin=7",
    "compare decoder": f"compare?model=smollm2&text={MARY}&text2={OTHER}&head=13-5&pin=14&to=3",
    "jobs": "specialization",
    "jobs map": "specialization?by=role&head=4-2&as=map",
    "jobs untrained": "specialization?weights=untrained&by=job:previous&head=1-2",
    "jobs by text": "specialization?by=real:det&head=2-9",
    "jobs by place": "specialization?by=place:entropy&head=6-1",
    "jobs classroom": "specialization?model=classroom&head=2-1",
    "jobs decoder": "specialization?model=smollm2&head=3-2",
    "atlas": "atlas",
    "atlas head": "atlas?head=4-2&which=Typical&x=entropy&y=previous&colour=layer",
    "atlas decoder": "atlas?model=smollm2&head=12-4",
    "atlas asked": f"atlas?ask={DOG}&looks=6: it&seen=3: dog&head=2-3",
    "switch": f"experiment?model=minilm&text={TIRED}&off=6-6,2-3",
    "switch decoder": f"experiment?text={MARY}&off=3-1,6-6&set=2",
    "which matter": f"experiment?model=minilm&text={TIRED}&try=Which matter?",
    "which matter decoder": "experiment?text=The keys to the cabinet&word=is&rival=are&try=Which matter?",
    "decided": f"experiment?model=minilm&text={TIRED}&try=Where is it decided?&from={WIDE}",
    "decided tokens": f"experiment?text={MARY}&map=layers and tokens&try=Where is it decided?",
    "selective": "experiment?model=minilm&try=Selective?",
    "selective decoder": "experiment?try=Selective?",
    "how many": "experiment?model=minilm&try=How many can go?",
    "how many decoder": "experiment?try=How many can go?",
    "ready names": "experiment?ready=names&try=Ready-made",
    "ready key": "experiment?ready=key&try=Ready-made",
    "ready six": "experiment?ready=six&try=Ready-made",
    **{f"inside {at}": f"inside?text={TIRED}&head=4-2&pin=10&at={at}&matrices=true" for at in WALKED},
    **{f"inside decoder {at}": f"inside?model=smollm2&text={DOG}&head=3-5&pin=6&at={at}" for at in ROTATED},
    "inside warm": f"inside?text={DOG}&head=2-3&pin=6&at=weights&temperature=2&causal=true&divide=false",
    **{f"by hand {at}": f"inside?part=By hand&at={at}" for at in BY_HAND},
    "many": f"inside?part=One head or many&text={TIRED}&head=4-2&pin=10",
    "many hulls": f"inside?part=One head or many&text={TIRED}&head=4-2&pin=10&at=hulls",
    "variants": f"inside?part=Variants&text={TIRED}&head=4-2&groups=4&pin=10",
    "variants decoder": f"inside?part=Variants&model=smollm2&text={DOG}&head=3-2",
    "sizes": "inside?part=Sizes and costs",
    "sizes own": "inside?part=Sizes and costs&n=300&d=512&h=8&layers=3&kv=2",
    **{f"lesson {step}": f"learn?text={TIRED}&head=4-2&pin=10&step={step}" for step in STEPS},
    "quiz": "learn?show=Quiz",
    "glossary": "learn?show=Glossary",
    "references": "learn?show=References",
    "for teachers": "learn?show=For teachers",
    "training": "training",
    "training picture": "training?train=Where does it look?",
}


@pytest.fixture
def handed_out(monkeypatch) -> list[str]:
    """What buttons hand out as files, as lines."""
    found: list[str] = []
    button = st.download_button

    def offered(label: str, data: Any, file_name: str = "", mime: str = "", **more: Any) -> Any:
        content = data() if callable(data) else data
        if isinstance(content, bytes):
            content = content.decode("utf-8", "replace")
        found.extend(flat({"label": label, "name": file_name, "type": mime, "content": content}, "file"))
        if inside := re.search(r'<script type="application/json" id="data">(.*?)</script>', content, re.S):
            page = json.loads(inside[1])
            ids = [record["id"] for record in page["records"]]  # which hang on the last bit of a number
            found.append(f"page shows records {[ids.index(one) for one in page['view'].pop('records')]}")
            for name in ("records", "view"):
                found.extend(flat(unpacked(page[name]), f"page.{name}"))
        return button(label, data, file_name, mime, **more)

    monkeypatch.setattr(st, "download_button", offered)
    return found


def unpacked(value: Any) -> Any:
    """What a page that works offline holds, columns of numbers as arrays."""
    if isinstance(value, dict) and value.keys() == {"type", "base64"}:
        return np.frombuffer(base64.b64decode(value["base64"]), value["type"])
    if isinstance(value, dict):
        return {key: unpacked(one) for key, one in value.items() if key != "id"}
    return [unpacked(one) for one in value] if isinstance(value, list) else value


def opened(name: str) -> AppTest:
    """The page, when everything on it is there."""
    page, _, asked = READ[name].partition("?")
    query = dict(one.split("=", 1) for one in asked.split("&") if one)
    for model, trained in models_of(page, query):
        if model != "smollm2":
            cache.findings(model, trained)
        else:  # a minute of work, which nobody has asked for here
            cache.STORE.forget(cache._findings_key(cache.named_model(model, trained)))
    at = unopened("app.py" if page == "app" else f"pages/{page}.py", **query)
    at.session_state[MENU] = True
    for box in BOXES.get(page, ()) if name not in CLOSED else ():
        at.session_state[box] = True
    run(at)
    for button in [button for button in at.button if button.key in PRESSED]:
        button.click()
        run(at)
    return finished(at)


def models_of(page: str, query: dict[str, str]) -> list[tuple[str, bool]]:
    """The models whose heads' jobs a page names, trained or not."""
    first = "smollm2" if page == "experiment" and query.get("ready") != "six" else "minilm"
    model, trained = query.get("model", first), query.get("weights") != "untrained"
    if page == "compare":
        both = query.get("against") == "weights"
        return [(model, trained), (query.get("model2", model), trained != both)]
    return [(model, trained), (model, not trained)] if page == "specialization" else [(model, trained)]


def finished(at: AppTest) -> AppTest:
    """The page once the work on it is done."""
    for _ in range(400):
        if not working(at):
            return at
        run(at)
    pytest.fail("the work on the page does not end")


def working(at: AppTest) -> bool:
    return any(button.label == "Stop" for button in at.button) or bool(at.get("progress"))


# One or two of every page, which take next to no time; all of them are read with the long tests.
SHORT = """explore words, compare lengths, jobs map, atlas head, switch, inside weights, inside parts, by hand scores,
variants, sizes own, lesson split, quiz"""
EVER = re.split(r",\s", SHORT)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in EVER else pytest.param(name, marks=pytest.mark.long) for name in READ]
)
def test_a_page_says_what_it_said(name: str, handed_out: list[str], request: pytest.FixtureRequest) -> None:
    page, _, asked = READ[name].partition("?")
    if "model=smollm2" in asked or (
        page == "experiment" and "model=" not in asked and "ready=six" not in asked
    ):
        request.getfixturevalue("smollm2")
    at = opened(name)
    handed_out.clear()
    run(at)  # with its files
    hold(name, [f"{key}={value}" for key, value in sorted(link(at).items())] + lines_of(at) + handed_out)


def hold(name: str, now: list[str]) -> None:
    """What is said now is what is kept under this name; or keep it, where that is asked for."""
    file = FOLDER / f"{name.replace(' ', '-')}.txt"
    if os.environ.get(KEEP):
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(now) + "\n", encoding="utf-8")
    changed = differences(now, file.read_text(encoding="utf-8").splitlines())
    assert not changed, "\n".join([f"{file.name} says otherwise:", *changed[:40]])


def test_whatever_is_kept_is_read_by_a_test():
    asked = {name.replace(" ", "-") for name in (*READ, *(f"command {name}" for name in COMMANDS))}
    kept = {file.stem for file in FOLDER.glob("*.txt") if not file.stem.startswith("browser-")}
    assert kept == asked


NOUNS = ("dog", "girl", "farmer", "teacher", "bird", "river")
# Of each word of a sentence: the word, its part of speech, its head, the relation to it.
TREE = (
    ("The", "DET", 3, "det"),
    ("{old}", "ADJ", 3, "amod"),
    ("{dog}", "NOUN", 4, "nsubj"),
    ("{saw}", "VERB", 0, "root"),
    ("her", "PRON", 6, "nmod:poss"),
    ("{cat}", "NOUN", 4, "obj"),
    ("near", "ADP", 9, "case"),
    ("a", "DET", 9, "det"),
    ("{house}", "NOUN", 4, "obl"),
    (".", "PUNCT", 4, "punct"),
)


def sentences() -> list[dict[str, str]]:
    """The words of forty sentences of one shape."""
    return [
        {
            "old": ("old", "small", "clever", "young")[i % 4],
            "dog": NOUNS[i % 6],
            "saw": ("saw", "followed", "painted", "heard", "liked")[i % 5],
            "cat": NOUNS[(i * 5 + 1 + i % 2) % 6],
            "house": ("house", "lake", "garden")[i % 3],
        }
        for i in range(40)
    ]


@pytest.fixture
def files(tmp_path, monkeypatch) -> None:
    """A treebank, pairs of names and a text, in the folder in which the commands run."""
    monkeypatch.chdir(tmp_path)
    rows, names, lines = [], ["\t".join(GAP)], []
    for i, words in enumerate(sentences()):
        told = [(word.format(**words), *more) for word, *more in TREE]
        rows += [
            f"# sent_id = {i}",
            *(
                "\t".join([str(n), word, word.lower(), tag, "_", "_", str(head), relation, "_", "_"])
                for n, (word, tag, head, relation) in enumerate(told, 1)
            ),
            "",
        ]
        she, he = ("she", "he")[i % 2], ("Peter", "Martin", "George")[i % 3]
        text = f"Anna met {he} at the {words['house']} because {she} liked the {words['dog']}."
        at = (str(text.index(f" {she} ") + 1), str(text.index("Anna")), str(text.index(he)))
        right = ("TRUE", "FALSE") if i % 2 == 0 else ("FALSE", "TRUE")
        names.append(
            "\t".join([f"own-{i}", text, she, at[0], "Anna", at[1], right[0], he, at[2], right[1], "none"])
        )
        lines.append(" ".join(word for word, *_ in told[:-1]) + ".")
    (tmp_path / "tree.conllu").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "gap.tsv").write_text("\n".join(names) + "\n", encoding="utf-8")
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


CASES = (  # what is kept, what is said now, and whether that is the same
    ("it looks at animal (67.7 %)", "it looks at animal (67.8 %)", True),
    ("it looks at animal (67.7 %)", "it looks at animal (67.9 %)", False),
    ("it looks at animal (67.7 %)", "animal looks at it (67.7 %)", False),
    ("rank 1 of 72", "rank 2 of 72", False),
    ("difference −3.41", "difference 3.41", False),
    ("weights = 0.123456, 0.2", "weights = 0.12346, 0.2", True),
    ("weights = 0.123456, 0.2", "weights = 0.2, 0.123456", False),
    ("1.4e-06", "8.3e-06", True),
    ("1.4e-06", "8.3e-04", False),
)


@pytest.mark.parametrize(("kept", "now", "alike"), CASES)
def test_a_number_may_differ_in_its_last_place_and_nothing_else(kept, now, alike):
    assert (not differences([now], [kept])) is alike


def test_lines_that_are_missing_new_or_elsewhere_are_named():
    assert differences(["a", "b 0.21"], ["a", "b 0.2", "c"]) == ["- b 0.2", "- c", "+ b 0.21"]
    assert differences(["a", "c", "b"], ["a", "b", "c"]) == ["- b", "+ c", "- c", "+ b"]


def test_sums_change_where_rows_and_columns_or_two_values_change_places():
    weights = np.random.default_rng(3).dirichlet(np.ones(9), (2, 3, 9)).astype(np.float32)
    (kept,) = flat(weights, "weights")
    assert not differences(flat(weights + 1e-7, "weights"), [kept])
    for other in (weights.swapaxes(2, 3), weights[:, ::-1], weights[::-1], -weights, weights * 100):
        assert differences(flat(other, "weights"), [kept])


GAP = (
    "ID",
    "Text",
    "Pronoun",
    "Pronoun-offset",
    "A",
    "A-offset",
    "A-coref",
    "B",
    "B-offset",
    "B-coref",
    "URL",
)
COMMANDS = {
    "trace": ["trace", TIRED, "--format", "json"],
    "trace csv": ["trace", DOG, "--words", "--format", "csv"],
    "trace table": ["trace", TIRED, "--from", "it"],
    "trace to": ["trace", TIRED, "--from", "it", "--to", "animal", "--top", "4"],
    "trace pair": ["trace", "It rained.", "--pair", "They stayed.", "--layer", "2", "--head", "3"],
    "trace classroom": ["trace", TIRED, "--model", "classroom", "--from", "it", "--format", "json"],
    "next": ["next", MARY, "--top", "7"],
    "next json": ["next", DOG[:-1], "--top", "5", "--format", "json"],
    "relations": ["heads", "relations", "tree.conllu", "--all"],
    "relations json": ["heads", "relations", "tree.conllu", "--format", "json"],
    "coreference": ["heads", "coreference", "gap.tsv"],
    "coreference json": ["heads", "coreference", "gap.tsv", "--format", "json", "--untrained"],
    "coreference own": ["heads", "coreference", "--format", "csv"],
    "profile": ["heads", "profile", "text.txt"],
    "profile json": ["heads", "profile", "tree.conllu", "--format", "json"],
    "similarity": ["heads", "similarity", "text.txt"],
    "similarity json": ["heads", "similarity", "text.txt", "--format", "json"],
    "verdicts": ["heads", "verdicts", "--corpus", "tree.conllu", "gap.tsv"],
    "verdicts json": ["heads", "verdicts", "--corpus", "tree.conllu", "gap.tsv", "--format", "json"],
    "depends": ["heads", "depends", "tree.conllu", "--head", "3-9", "--relation", "det", "--limit", "10"],
    "depends mean": [
        "heads",
        "depends",
        "tree.conllu",
        "--head",
        "4-2",
        "--relation",
        "nsubj",
        "--reverse",
        "--way",
        "mean",
        "--limit",
        "10",
        "--format",
        "json",
    ],
    "distances": ["heads", "distances", "tree.conllu"],
    "atlas": ["heads", "atlas", "--text", "text.txt"],
    "atlas csv": ["heads", "atlas", "--text", "text.txt", "--format", "csv"],
    "ablate": ["ablate", TIRED, "--heads", "6-6,2-3", "--model", "minilm"],
    "ablate every": ["ablate", DOG, "--every", "--model", "minilm", "--format", "json"],
    "ablate next": [
        "ablate",
        MARY,
        "--heads",
        "14-9,3-1",
        "--target",
        " Mary",
        "--against",
        " John",
        "--factor",
        "0.5",
    ],
    "ablate mean": ["ablate", TIRED, "--heads", "5-7", "--mean", "--model", "minilm", "--format", "json"],
    "patch": ["patch", TIRED, WIDE, "--every", "heads", "--model", "minilm", "--format", "json"],
    "patch layers": [
        "patch",
        MARY,
        MARY.replace("John gave", "Mary gave"),
        "--every",
        "layers",
        "--format",
        "json",
    ],
    "learn jobs": ["learn", "jobs", "--heads", "2", "--seed", "4", "--steps", "20", "--format", "json"],
    "learn induction": ["learn", "induction", "--steps", "10", "--format", "json"],
    "evaluate": ["learn", "evaluate", "classroom", "--format", "json"],
}


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_said(name: str, files: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMANDS[name]) == 0
    said = capsys.readouterr().out
    data = json.loads(said) if "json" in COMMANDS[name] else None
    hold(
        f"command {name}",
        said.splitlines() if data is None and said.count("\n") < 400 else list(flat(data or said, "out")),
    )
