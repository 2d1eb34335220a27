"""The command line: what it writes, in every format, and one sentence with exit code 2 for what it cannot do."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bert_folders import write

from mha_core import layouts, trace
from mha_core.cli import main
from mha_core.export import csv_of, safe_cell

CLASSIC = "The animal didn't cross the street because it was too tired."
ROOT = Path(__file__).parent.parent


@pytest.fixture
def run(capsys):
    """Run a command in this process: (exit code, what it wrote, what it said on stderr)."""

    def command(*arguments):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code
        return (code, *capsys.readouterr())

    return command


def process(*arguments, stdin=None, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "mha_core", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "HF_HUB_OFFLINE": "1", **environment},
    )


# Formats


def test_the_json_has_the_weights_by_layer_head_query_and_key(run, model):
    code, out, err = run("trace", CLASSIC, "--format", "json")
    content = json.loads(out)
    assert (code, err) == (0, "")
    assert {"model", "tokens", "words", "n_layers", "n_heads", "weights"} <= set(content)
    assert (content["model"], content["n_layers"], content["n_heads"]) == ("minilm", 6, 12)
    assert content["tokens"][:7] == ["[CLS]", "the", "animal", "didn", "'", "t", "cross"]
    assert content["words"][:3] == ["The", "animal", "didn't"]
    weights = np.array(content["weights"], dtype=np.float32)
    np.testing.assert_array_equal(weights, trace(CLASSIC, model).weights)
    assert content["weights"][3][1][content["tokens"].index("it")][2] == pytest.approx(0.677, abs=5e-4)


def test_the_json_of_one_head_is_that_head_alone_and_says_which(run, model):
    _, out, _ = run("trace", CLASSIC, "--format", "json", "--layer", "4", "--head", "2", "--words")
    content = json.loads(out)
    assert (content["layers"], content["heads"]) == ([4], [2])
    assert content["units"][3] == "didn't"
    np.testing.assert_array_equal(
        np.array(content["weights"], dtype=np.float32),
        trace(CLASSIC, model).grid(words=True).weights[3:4, 1:2],
    )


def test_the_json_of_a_pair_has_both_texts_and_their_segments(run):
    _, out, _ = run("trace", "It was tired.", "--pair", "The animal.", "--format", "json")
    content = json.loads(out)
    assert (content["text"], content["pair"]) == ("It was tired.", "The animal.")
    assert content["segments"] == [0] * 6 + [1] * 4
    assert content["word_of_token"] == [None, 0, 1, 2, 3, None, 4, 5, 6, None]


@pytest.mark.slow
def test_the_npz_is_read_without_pickle_and_holds_the_same(run, model, tmp_path):
    code, out, err = run("trace", CLASSIC, "--format", "npz", "--out", str(tmp_path / "x.npz"))
    assert (code, out, err) == (0, "", "")
    with np.load(tmp_path / "x.npz", allow_pickle=False) as content:
        np.testing.assert_array_equal(content["weights"], trace(CLASSIC, model).weights)
        assert content["tokens"][8] == "street"
        assert content["words"][2] == "didn't"
        assert content["model"] == "minilm"
        assert content["trained"]
        assert (content["layers"].tolist(), content["heads"].tolist()) == ([*range(1, 7)], [*range(1, 13)])
    run("trace", "It rained.", "--untrained", "--out", str(tmp_path / "random.npz"))
    with np.load(tmp_path / "random.npz", allow_pickle=False) as content:
        assert not content["trained"], "random weights are not taken for trained ones"
    run("trace", "tiredness", "--out", str(tmp_path / "split.npz"))
    with np.load(tmp_path / "split.npz", allow_pickle=False) as content:
        assert content["units"].tolist() == ["[CLS]", "tired", "##ness", "[SEP]"]
    run("trace", "tiredness", "--words", "--out", str(tmp_path / "words.npz"))
    with np.load(tmp_path / "words.npz", allow_pickle=False) as content:
        assert content["units"].tolist() == ["[CLS]", "tiredness", "[SEP]"]
        assert content["weights"].shape == (6, 12, 3, 3)
    run("trace", CLASSIC, "--layer", "4", "--head", "2", "--out", str(tmp_path / "one.npz"))
    with np.load(tmp_path / "one.npz", allow_pickle=False) as content:
        np.testing.assert_array_equal(content["weights"], trace(CLASSIC, model).weights[3:4, 1:2])
        assert (content["layers"].tolist(), content["heads"].tolist()) == ([4], [2])


def test_the_csv_has_a_line_for_every_link(run, model):
    _, out, _ = run("trace", "It rained.", "--layer", "2", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    weights = trace("It rained.", model).weights[1]
    assert len(rows) == 12 * 25
    row = rows[(7 * 5 + 1) * 5 + 2]
    assert (row["layer"], row["head"], row["query"], row["key"]) == ("2", "8", "1", "2")
    assert (row["query_text"], row["key_text"]) == ("It", "rained")
    assert float(row["weight"]) == pytest.approx(weights[7, 1, 2], rel=1e-4)


def test_the_csv_of_a_ranking_says_where_each_head_looks_most(run, model):
    _, out, _ = run("trace", CLASSIC, "--from", "it", "--top", "0", "--format", "csv")
    rows, grid = list(csv.DictReader(io.StringIO(out))), trace(CLASSIC, model).grid()
    assert len(rows) == 72
    for row in rows:
        given = grid.weights[int(row["layer"]) - 1, int(row["head"]) - 1, 10]
        assert (int(row["key"]), row["key_text"]) == (given.argmax(), grid.labels[int(given.argmax())])
        assert float(row["weight"]) == pytest.approx(given.max(), rel=1e-4)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", " =", "\n@"])
def test_a_cell_that_would_start_a_formula_is_text(start):
    assert safe_cell(start + "1+1") == "'" + start + "1+1"
    assert safe_cell("a=1") == "a=1"


def test_a_list_that_would_start_a_formula_is_text():
    assert csv_of([{"heads": ["=1-1", "1-2"], "n": 3}]) == "heads,n\n'=1-1 1-2,3\n"


def test_a_row_may_have_columns_that_the_first_one_lacks():
    assert csv_of([{"a": 1}, {"a": 2, "b": "x"}]) == "a,b\n1,\n2,x\n"


def test_tokens_that_would_start_a_formula_are_text_in_the_csv(run):
    for more in ((), ("--from", "x")):
        _, out, _ = run("trace", "= + - @ x", "--format", "csv", "--layer", "1", "--top", "0", *more)
        cells = {row["key_text"] for row in csv.DictReader(io.StringIO(out))}
        assert not {cell for cell in cells if cell.startswith(("=", "+", "-", "@"))}
    _, out, _ = run("trace", "= + - @ x", "--format", "csv", "--layer", "1", "--head", "1")
    assert {"'=", "'+", "'-", "'@", "x"} <= {row["query_text"] for row in csv.DictReader(io.StringIO(out))}


def test_the_table_of_one_head_shows_its_rows_in_percent(run):
    _, out, _ = run("trace", CLASSIC, "--layer", "4", "--head", "2")
    (row,) = [line.split() for line in out.splitlines() if line.split()[:1] == ["it"]]
    assert row[3] == "67.7"
    _, whole, _ = run("trace", CLASSIC)
    assert len(whole.splitlines()) == 2 + 72


def test_the_table_of_one_layer_names_its_own_heads_and_their_strongest_link(run, model):
    _, out, _ = run("trace", CLASSIC, "--layer", "4")
    lines = out.splitlines()[2:]
    grid = trace(CLASSIC, model).grid()
    assert [line.split()[0] for line in lines] == [f"4-{head}" for head in range(1, 13)]
    for head, line in enumerate(lines):
        matrix = grid.weights[3, head]
        links = [(float(matrix[q, k]), q, k) for q in range(16) for k in range(16)]
        weight, query, key = max(links, key=lambda link: link[0])
        assert line.split(" % ")[0].split()[-1] == f"{100 * weight:.1f}"
        assert line.endswith(f"  {grid.labels[query]} → {grid.labels[key]}")


# Ranking


def test_from_and_to_list_the_heads_by_their_weight_strongest_first(run, model):
    _, out, _ = run("trace", CLASSIC, "--from", "it", "--to", "animal", "--format", "json", "--top", "0")
    ranking = json.loads(out)["ranking"]
    assert (ranking[0]["layer"], ranking[0]["head"]) == (4, 2)
    assert ranking[0]["weight"] == pytest.approx(0.677, abs=5e-4)
    assert len(ranking) == 72
    assert [r["weight"] for r in ranking] == sorted((r["weight"] for r in ranking), reverse=True)
    weights = trace(CLASSIC, model).weights
    assert all(r["weight"] == weights[r["layer"] - 1, r["head"] - 1, 10, 2] for r in ranking)


def test_a_bar_is_as_long_as_the_weight_thirty_signs_are_all(run, model):
    weights = trace(CLASSIC, model).weights[:, :, 10, 2]
    _, *lines = run("trace", CLASSIC, "--from", "it", "--to", "animal", "--top", "3")[1].splitlines()
    assert [line.count("█") for line in lines] == [
        round(30 * w) for w in sorted(weights.ravel().tolist())[:-4:-1]
    ]


def test_from_alone_names_what_each_head_looks_at_most(run, model):
    _, out, _ = run("trace", CLASSIC, "--from", "it", "--format", "json", "--top", "7")
    ranking = json.loads(out)["ranking"]
    weights = trace(CLASSIC, model).weights
    assert len(ranking) == 7
    for r in ranking:
        row = weights[r["layer"] - 1, r["head"] - 1, 10]
        assert (r["position"], r["weight"]) == (row.argmax(), row.max())


def test_a_ranking_keeps_to_the_layer_and_head_asked_for(run):
    _, out, _ = run("trace", CLASSIC, "--from", "it", "--layer", "5", "--top", "0")
    assert [line.split()[0].split("-")[0] for line in out.splitlines()[1:]] == ["5"] * 12
    _, few, _ = run("trace", CLASSIC, "--from", "it", "--layer", "5", "--top", "3")
    assert few.splitlines() == out.splitlines()[:4], (
        "three of this layer's, however strong those of others are"
    )
    _, out, _ = run("trace", CLASSIC, "--from", "it", "--to", "animal", "--layer", "4", "--head", "2")
    assert out.splitlines()[1].split()[:3] == ["4-2", "67.7", "%"]
    assert len(out.splitlines()) == 2


def test_the_second_of_two_equal_words_is_named_with_its_number(run, model):
    _, out, _ = run("trace", CLASSIC, "--from", "the#2", "--to", "street", "--format", "json")
    top = json.loads(out)["ranking"][0]
    assert top["weight"] == trace(CLASSIC, model).weights[top["layer"] - 1, top["head"] - 1, 7, 8]


def test_words_can_be_named_where_words_are_shown(run):
    code, out, _ = run("trace", CLASSIC, "--words", "--from", "didn't", "--to", "animal")
    assert code == 0
    assert "animal" in out


# Refusals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("trace", ""), "The sentence is empty"),
        (("trace", "x", "--layer", "7"), "There is no layer 7; this model has layers 1 to 6"),
        (("trace", "x", "--layer", "0"), "There is no layer 0"),
        (("trace", "x", "--layer", "1", "--head", "13"), "There is no head 13; this model has heads 1 to 12"),
        (("trace", "x", "--head", "2"), "A head was given without its layer"),
        (("trace", "x", "--from", "cat"), "'cat' is not in the sentence; its tokens are: [CLS] x [SEP]"),
        (("trace", "x", "--from", "x#2"), "'x' stands once in the sentence, so there is no number 2."),
        (("trace", "x x", "--from", "x#3"), "'x' stands 2 times in the sentence"),
        (("trace", "x", "--to", "x"), "--to says where to look and needs --from"),
        (("trace", "x", "--from", "x", "--top", "-1"), "-1 heads cannot be listed"),
        (("trace", "x", "--format", "npz"), "NPZ is binary"),
        (
            ("trace", "x", "--format", "json", "--out", "/nowhere/at/all"),
            "'/nowhere/at/all' cannot be written",
        ),
        (("trace", "x", "--model", "no such model"), "There is no model 'no such model'"),
        (("trace", "x", "--model", "/etc"), "'etc' has no config.json"),
        (("trace", "x", "--device", "tpu"), "There is no device 'tpu'"),
        (("trace", "x", "--precision", "int8"), "There is no precision 'int8'"),
        (("trace", "x", "--format", "xml"), "invalid choice: 'xml'"),
        (("trace", "x", "--layer", "four"), "invalid int value: 'four'"),
        (("trace",), "Give a text, or - for standard input, or --file FILE."),
        ((), "required: COMMAND"),
        (("sing",), "invalid choice: 'sing'"),
    ],
)
def test_bad_input_is_one_sentence_on_stderr_and_exit_code_2(arguments, message, run, model):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert err.endswith(".\n")


@pytest.mark.slow
def test_a_text_that_was_cut_says_how_many_tokens_were_left_out(run):
    code, out, err = run("trace", "word " * 600, "--layer", "1", "--from", "[CLS]")
    assert code == 0
    assert "looks at" in out
    assert err == "The text is longer than the 512 tokens that MiniLM takes; 90 tokens were left out.\n"


# Other models, and the process as a whole


def test_the_models_are_listed_with_the_embedded_one_first(run):
    code, out, _ = run("models")
    assert code == 0
    assert out.startswith("minilm ")
    assert "bert-base-uncased" in out


def test_every_model_says_whether_it_is_embedded(run):
    lines = {line.split()[0]: line for line in run("models")[1].splitlines()}
    assert " embedded " in lines["minilm"]
    assert " from the hub " in lines["bert-base-uncased"]
    assert " embedded " not in lines["bert-base-uncased"]


def test_the_models_come_with_how_their_matrices_lie_on_this_processor(run, monkeypatch):
    monkeypatch.setattr(layouts, "chosen", lambda: "panels")
    monkeypatch.delenv(layouts.LAYOUT_VARIABLE, raising=False)
    assert run("models")[1].endswith("panels of columns; a decoder's matrices in panels of columns.\n")
    monkeypatch.setenv(layouts.LAYOUT_VARIABLE, "rows")
    found = json.loads(run("models", "--format", "json")[1])["layout"]
    assert found == {"encoders": "rows", "decoders": "rows"}
    monkeypatch.setenv(layouts.LAYOUT_VARIABLE, "pillars")
    code, _, err = run("models")
    assert code != 0
    assert "HEADSCOPE_LAYOUT is 'pillars'" in err


@pytest.mark.slow
def test_a_folder_and_the_untrained_twin_are_models_too(run, tmp_path):
    write(tmp_path / "bert")
    for more, trained in (((), True), (("--untrained",), False)):
        code, out, _ = run("trace", "x y", "--model", str(tmp_path / "bert"), "--format", "json", *more)
        content = json.loads(out)
        assert (code, content["n_layers"], content["n_heads"], content["trained"]) == (0, 3, 5, trained)


def test_the_help_says_how_layers_heads_and_positions_are_numbered(run):
    code, out, _ = run("trace", "--help")
    assert code == 0
    assert "4-2 is layer 4, head 2" in " ".join(out.split())
    assert "are from 0" in " ".join(out.split())


@pytest.mark.long
def test_as_a_process_it_writes_the_ranking_and_nothing_else():
    done = process("trace", CLASSIC, "--from", "it", "--to", "animal")
    out, err = done.communicate(timeout=120)
    assert (done.returncode, err) == (0, b"")
    assert out.decode().splitlines()[1].startswith("   4-2   67.7 %  animal")


@pytest.mark.long
def test_as_a_process_it_refuses_without_a_traceback():
    done = process("trace", "x", "--model", "bert-base-cased", HF_HUB_CACHE="/nowhere")
    out, err = done.communicate(timeout=120)
    assert (done.returncode, out) == (2, b"")
    assert err.decode().count("\n") == 1
    assert b"Traceback" not in err


@pytest.mark.long
def test_a_reader_who_closes_the_pipe_early_hears_no_complaint():
    running = process("trace", CLASSIC, "--format", "json")
    running.stdout.close()
    err = running.stderr.read()
    running.stderr.close()
    assert (running.wait(120), err) == (0, b"")


@pytest.mark.long
def test_a_terminal_that_knows_only_ascii_gets_the_rest_spelled_out():
    done = process("trace", "naïve", "--layer", "1", PYTHONIOENCODING="ascii")
    out, err = done.communicate(timeout=120)
    assert (done.returncode, err) == (0, b"")
    assert rb"na\xefve" in out
