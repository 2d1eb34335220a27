"""What a reader takes away: files that hold the numbers, are safe to open, and lead back to the view."""

import csv
import html
import io
import json
import re
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from visit import open_page, run, said

from mha_core import grid_of, load_model, record_of, trace
from mha_core.heads.measures import importance
from mha_core.listing import HeadFilter
from mha_core.output import render
from pages.parts.explore import downloads, export
from pages.parts.frame.request import Request
from pages.parts.frame.selection import Selection, from_params
from pages.parts.picture import figures

TEXT = "The animal didn't cross the street because it was too tired."
VIEW = Selection((3, 1), (10,), 2)


@pytest.fixture(scope="module")
def record(model):
    return trace(TEXT, model)


def test_a_csv_row_is_a_weight_with_both_words(record):
    grid = record.grid()
    rows = list(
        csv.DictReader(
            io.StringIO(export.csv_of(record, grid, Request(TEXT), [(3, 1), (0, 2)], "http://h/?x"))
        )
    )
    assert len(rows) == 2 * 16 * 16
    again = np.array([float(row["weight"]) for row in rows], dtype=np.float32).reshape(2, 16, 16)
    assert np.array_equal(again, np.stack([grid.weights[3, 1], grid.weights[0, 2]]))
    assert (rows[0]["layer"], rows[0]["head"], rows[-1]["layer"], rows[-1]["head"]) == ("4", "2", "1", "3")
    assert (rows[20]["query_text"], rows[20]["key_text"]) == ("The", grid.labels[4])
    assert (rows[20]["query"], rows[20]["key"]) == ("1", "4")
    said = ("measure", "unit", "specials", "normalisation", "model", "digest")
    wanted = ["raw", "pieces", "shown", "rows sum to 1", "MiniLM", record.model.digest[:12]]
    assert all([row[name] for name in said] == wanted for row in rows)
    assert [(rows[0][name], rows[1][name]) for name in ("text", "link")] == [(TEXT, ""), ("http://h/?x", "")]


def test_files_of_random_weights_name_their_seed():
    traced = trace("Hi", load_model(trained=False))
    request = Request("Hi", trained=False)
    row = next(csv.DictReader(io.StringIO(export.csv_of(traced, traced.grid(), request, [(0, 0)], ""))))
    drawn = export.about(traced, traced.grid(), request)
    assert (row["digest"], drawn["digest"]) == ("untrained, seed 0", "untrained, seed 0")


def test_files_of_mixed_heads_name_layers_and_no_head(model):
    traced = trace("The cat saw it.", model)
    selection = Selection((2, 0))
    for measure, place, cells, layer in (
        ("rollout", "layer 3", ["3", ""], 2),
        ("residual", "layer 3", ["3", ""], 2),
    ):
        request = Request("The cat saw it.", measure=measure)
        grid = grid_of(traced.tokens, importance(traced.tokens, model, measure).weights)
        row = next(csv.DictReader(io.StringIO(export.csv_of(traced, grid, request, [(layer, 0)], ""))))
        assert [row["layer"], row["head"]] == cells
        content = json.loads(export.json_of(traced, grid, request, selection, [(layer, 0)]))
        assert (content["head"], content["per"]) == (place, request.per)
        assert (content["layers"], content["heads"]) == ([layer + 1], []), "heads are mixed: none is named"
        assert f"· {place} ·" in export.python_of(request, selection)
        assert not re.search(r"[Hh]ead \d-", export.python_of(request, selection))


def test_files_of_other_numbers_have_other_names():
    base = Request(TEXT)
    others = [
        replace(base, **{name: value})
        for name, value in {
            "text": TEXT + " It slept.", "pair": "x", "model": "smollm2", "trained": False, "unit": "words",
            "specials": "hidden", "measure": "value",
        }.items()
    ]  # fmt: skip
    names = [export.file_name(request, "csv", "head-4-2") for request in (base, *others)]
    assert len(set(names)) == len(names)
    assert re.fullmatch(r"headscope-head-4-2-the-animal-didn-t-cross-the-value-[0-9a-f]{6}\.csv", names[-1])
    assert export.file_name(base, "csv", "head-4-1") != names[0]


def test_the_python_lines_say_that_they_need_headscope_and_what_they_print():
    lines = export.python_of(Request(TEXT, measure="value"), VIEW, "http://h/?x").splitlines()
    assert "where HeadScope is installed" in lines[0]
    assert "head 4-2" in lines[1]
    assert "Value-weighted (attention block only)" in lines[1]
    assert lines[2] == "# http://h/?x"


@pytest.mark.parametrize("word", ["=1+1", "+1", "-1", "@x", "\t=1", "＝1"])
def test_a_spreadsheet_runs_nothing_of_a_csv(model, word):
    traced = trace(f"x {word}", model)
    rows = list(
        csv.reader(io.StringIO(export.csv_of(traced, traced.grid(words=True), Request("x"), [(0, 0)], "")))
    )[1:]
    cells = {cell.strip() for row in rows for cell in (row[3], row[5])}
    assert not {cell for cell in cells if cell[:1] in "=+-@＝"}


def test_the_json_has_all_that_is_needed_to_get_it_again(record, model):
    request = Request(TEXT)
    content = json.loads(export.json_of(record, record.grid(), request, VIEW, [(3, 1)]))
    assert content["model_details"]["digest"] == model.digest
    assert (content["unit"], content["units"][1], content["measure"]) == ("pieces", "The", "raw")
    assert content["text"] == TEXT
    assert content["versions"]["torch"]
    assert (content["layers"], content["heads"], content["head"]) == ([4], [2], "4-2")
    assert np.array_equal(np.array(content["weights"][0][0], dtype=np.float32), record.weights[3, 1])


@pytest.mark.slow
def test_the_page_and_the_command_line_write_one_schema(record):
    grid = record.grid()
    every = [(layer, head) for layer in range(6) for head in range(12)]
    page = json.loads(export.json_of(record, grid, Request(TEXT), VIEW, every))
    line = json.loads(render(record, grid, HeadFilter(), "json"))
    assert {key: page[key] for key in line} == line
    assert set(page) - set(line) == {"measure", "per", "head", "pinned", "to", "link"}
    ours, theirs = (
        list(csv.DictReader(io.StringIO(text)))
        for text in (
            export.csv_of(record, grid, Request(TEXT), every, ""),
            render(record, grid, HeadFilter(), "csv"),
        )
    )
    assert [{name: row[name] for name in theirs[0]} for row in ours] == theirs


@pytest.mark.parametrize("trained", [True, False])
def test_the_json_says_of_which_weights_it_is_and_how_they_are_drawn(trained):
    request = Request(TEXT, "It slept.", trained=trained, unit="words", specials="hidden", measure="value")
    traced = trace(TEXT, load_model(trained=trained), pair="It slept.")
    grid = traced.grid(words=True, specials="hidden")
    content = json.loads(export.json_of(traced, grid, request, Selection((2, 0), (3, 1)), [(2, 1)]))
    assert (content["model"], content["trained"]) == ("minilm", trained)
    assert content["model_details"]["title"] == "MiniLM" + ("" if trained else ", untrained")
    assert (content["n_layers"], content["n_heads"]) == (6, 12)
    assert (content["measure"], content["unit"], content["specials"]) == ("value", "words", "hidden")
    assert content["normalisation"] == "special tokens left out, rows sum to less than 1, shares of the row"
    assert (content["head"], content["pinned"], content["pair"]) == ("3-1", [3, 1], "It slept.")
    assert content["units"][:2] == ["The", "animal"]
    assert (content["layers"], content["heads"]) == ([3], [2])
    assert np.array_equal(np.array(content["weights"], dtype=np.float32), grid.weights[2:3, 1:2])


@pytest.mark.parametrize("pins", [(), (4,), (10, 2, 5)])
def test_the_python_lines_print_every_pinned_row_strongest_first(pins, model, capsys):
    exec(compile(export.python_of(Request(TEXT), Selection((3, 1), pins)), "shown", "exec"), {})  # noqa: S102
    record = trace(TEXT, model)
    labels, wanted = record.grid().labels, []
    for query in pins or (0,):
        row = record.weights[3, 1, query]
        strongest = sorted(range(len(row)), key=lambda key: -row[key])[:5]
        wanted += [f"{labels[query]} looks at {labels[key]}: {100 * row[key]:.1f}%" for key in strongest]
    assert capsys.readouterr().out.splitlines() == wanted


def test_the_python_lines_leave_out_what_a_row_cannot_see(capsys):
    request = Request(TEXT, model="classroom")
    exec(compile(export.python_of(request, Selection((0, 1), (0, 1))), "shown", "exec"), {})  # noqa: S102
    said = [line.split(" looks at ") for line in capsys.readouterr().out.splitlines()]
    labels = trace(TEXT, load_model("classroom")).grid().labels
    # Three words to each side: four are seen from the first place, and five from the second.
    first, second = ({key.split(":")[0] for query, key in said if query == labels[row]} for row in (0, 1))
    assert (first, second) == (set(labels[:4]), set(labels[:5]))


@pytest.mark.parametrize(
    "request_",
    [
        Request(TEXT),
        Request(
            "He said \"hi\" \\ 'there'\n{x}",
            pair="## `y` \u202e",
            trained=False,
            unit="words",
            specials="hidden",
        ),
        Request(TEXT, unit="words", measure="value"),
        Request(TEXT, specials="renormalised"),
        Request(TEXT, specials="renormalised", measure="value"),
    ],
)
def test_the_python_lines_run_and_reach_the_same_grid(request_, model, capsys):
    space: dict = {}
    exec(compile(export.python_of(request_, Selection((3, 1), (1,))), "shown", "exec"), space)  # noqa: S102
    used = load_model(trained=request_.trained)
    traced = trace(request_.text, used, pair=request_.pair)
    drawn = importance(traced.tokens, used, request_.measure).weights
    wanted = grid_of(traced.tokens, drawn, request_.words, request_.specials)
    assert np.array_equal(space["grid"].weights, wanted.weights)
    assert capsys.readouterr().out.startswith(f"{wanted.labels[1]} looks at ")


def test_a_link_leads_back_to_the_view(record):
    grid = record.grid()
    request = Request(TEXT, pair="a&b=c #d", trained=False)
    address = urlsplit(export.link_of("http://localhost/compare", request, VIEW))
    query = {key: values[0] for key, values in parse_qs(address.query).items()}
    assert from_params(query, request, grid.weights.shape, grid.labels) == (VIEW, [])
    assert (query["text"], query["pair"], query["weights"]) == (TEXT, "a&b=c #d", "untrained")


TEXTS = st.text(min_size=1, alphabet=st.characters(exclude_categories=["Cs"]))


@given(
    st.builds(
        Request,
        text=TEXTS,
        pair=st.none() | TEXTS,
        model=st.sampled_from(["minilm", "a/b&c"]),
        trained=st.booleans(),
        unit=st.sampled_from(["pieces", "words"]),
        specials=st.sampled_from(["shown", "hidden", "renormalised"]),
        measure=st.sampled_from(["raw", "value", "residual", "rollout", "gradient"]),
    ),
    st.builds(Selection, st.just((2, 3)), st.sampled_from([(), (1,), (4, 2)]), st.sampled_from([None, 0, 3])),
)
def test_the_link_holds_every_field(request, view):
    query = parse_qs(urlsplit(export.link_of("http://h/", request, view)).query, strict_parsing=True)
    wanted = {
        "text": request.text,
        "pair": request.pair,
        "model": request.model,
        "weights": "trained" if request.trained else "untrained",
        "unit": request.unit,
        "specials": request.specials,
        "measure": request.measure,
        "head": "3-4",
        "pin": ",".join(map(str, view.pins)) or "none",
        "to": None if view.to is None else str(view.to),
    }
    assert query == {key: [value] for key, value in wanted.items() if value is not None}


def taken_away(**query: str):
    at = open_page(**query)
    at.session_state["take"] = True
    return run(at)


def test_what_is_offered_is_of_the_view_on_the_screen():
    at = taken_away(text="The cat saw it.", measure="value", head="2-3", pin="2,4", weights="untrained")
    assert [button.proto.label for button in at.get("download_button")] == [
        "CSV, all 72 heads",
        "JSON, all 72 heads",
        "HTML, works offline",
    ]
    address, lines = [code.value for code in at.code]
    query = parse_qs(urlsplit(address).query)
    assert {key: query[key] for key in ("head", "pin", "measure", "weights")} == {
        "head": ["2-3"], "pin": ["2,4"], "measure": ["value"], "weights": ["untrained"],
    }  # fmt: skip
    assert "grid.weights[1, 2]" in lines
    assert "for query in [2, 4]:" in lines


@pytest.mark.parametrize(
    ("b", "wanted"),
    [
        ({"trained": True}, {"against": "weights"}),
        ({"model": "classroom"}, {"against": "model", "model2": "classroom"}),
        ({}, {"against": "model", "model2": "minilm"}),
        ({"text": "It rained."}, {"against": "sentence", "text2": "It rained."}),
    ],
)
def test_the_link_of_a_comparison_is_that_of_its_first_side_and_how_the_other_differs(b, wanted):
    a = Request("The cat saw it.", trained=False)
    query = export.query_of(a, replace(a, **b), wanted["against"])
    assert {key: query[key] for key in ("text", "model", "weights")} == {
        "text": "The cat saw it.", "model": "minilm", "weights": "untrained",
    }  # fmt: skip
    assert {key: query[key] for key in ("against", "model2", "text2") if key in query} == wanted


@pytest.mark.slow
def test_the_page_to_take_away_holds_the_weights_as_the_engine_has_them(monkeypatch, model):
    kept = {}
    monkeypatch.setattr(downloads, "standalone_html", lambda payload, **_: kept.update(payload) or "")
    taken_away(text="The cat saw it.", head="2-3")
    weights = trace("The cat saw it.", model).weights
    (record,) = kept["records"]
    assert np.array_equal(record["exact"].reshape(weights.shape), weights)


@pytest.mark.slow
def test_the_files_hold_the_chosen_head_alone_where_all_would_be_too_much(monkeypatch):
    at = taken_away(text="The cat saw it.", head="2-3")
    monkeypatch.setattr(downloads, "CELLS_AT_MOST", 72 * 7 * 7)
    (every, *_) = run(at).get("download_button")
    assert every.proto.label == "CSV, all 72 heads"
    assert "headscope-all-the-cat-saw-it" in every.proto.id
    monkeypatch.setattr(downloads, "CELLS_AT_MOST", 72 * 7 * 7 - 1)
    table, numbers, _page = run(at).get("download_button")
    assert (table.proto.label, numbers.proto.label) == ("CSV, head 2-3", "JSON, head 2-3")
    for file in (table, numbers):
        assert "headscope-head-2-3-the-cat-saw-it" in file.proto.id, "the button is called as its file"


def test_the_heatmap_of_the_page_is_the_chosen_head(model):
    at = open_page(text="The cat saw it.", head="2-3")
    assert not at.get("plotly_chart"), "nobody waits for Plotly unasked"
    at.session_state["heatmap"] = True
    (chart,) = run(at).get("plotly_chart")
    z = json.loads(chart.proto.spec)["data"][0]["z"]
    assert np.allclose(z, trace("The cat saw it.", model).weights[1, 2], atol=1e-6)
    assert not said(at, "problem")
    camera = json.loads(chart.proto.config)["toImageButtonOptions"]
    assert (camera["format"], camera["scale"]) == ("svg", 1)
    assert re.fullmatch(r"headscope-head-2-3-the-cat-saw-it-[0-9a-f]{6}", camera["filename"])
    label = at.expander[0].label
    at.query_params["head"] = "3-4"
    assert run(at).expander[0].label == label, "a label that changes closes the box"
    assert len(at.get("plotly_chart")) == 1
    at.session_state["measure"] = "rollout"
    (chart,) = run(at).get("plotly_chart")
    title = json.loads(chart.proto.spec)["layout"]["title"]["text"]
    assert title == "Layer 3, attention rollout: row = query, looks at column = key"


def test_a_file_name_is_plain_letters_whatever_the_text():
    wanted = r"headscope-etc-passwd-b-[0-9a-f]{6}\.csv"
    assert re.fullmatch(wanted, export.file_name(Request("../../etc/passwd <b>"), "csv"))
    assert re.fullmatch(r"headscope-[0-9a-f]{6}\.csv", export.file_name(Request("مرحبا"), "csv"))


def test_the_heatmap_has_one_row_for_each_token_also_for_repeated_ones(record):
    figure = figures.heatmap(record.grid(), (3, 1), dark=False)
    assert figure["data"][0]["z"][10][2] == pytest.approx(float(record.weights[3, 1, 10, 2]))
    assert figure["layout"]["yaxis"]["tickvals"] == list(range(16))
    assert figure["layout"]["yaxis"]["ticktext"][1:3] == ["The", "animal"]
    assert figure["data"][0]["customdata"][10][2] == ["it", "animal"]
    assert figure["layout"]["yaxis"]["autorange"] == "reversed"
    assert figure["data"][0]["colorscale"][0] == (0, "rgb(251, 250, 247)"), "what holds nothing is paper"


def test_the_heatmap_names_tokens_that_look_like_markup_as_they_are():
    tokens = ["<s>", "a<br>b", "&lt;", "</s>"]
    grid = record_of(np.full((1, 1, 4, 4), 0.25), tokens).grid()
    figure = figures.heatmap(grid, (0, 0), dark=False)
    assert [html.unescape(text) for text in figure["layout"]["xaxis"]["ticktext"]] == tokens
    assert not re.search("[<>]", "".join(figure["layout"]["xaxis"]["ticktext"])), (
        "Plotly would take it for its own"
    )
    assert figure["data"][0]["customdata"][0][2] == ["&lt;s&gt;", "&amp;lt;"]


def test_the_heatmap_is_shaded_up_to_the_largest_weight_of_its_own_head(record):
    for head in ((3, 1), (0, 0)):
        figure = figures.heatmap(record.grid(), head, dark=False)
        assert figure["data"][0]["zmax"] == pytest.approx(float(record.weights[head].max()))


def test_of_a_long_text_the_axis_names_the_tokens_at_its_marks():
    labels = [f"w{i}" for i in range(130)]
    axis = figures.heatmap(
        SimpleNamespace(labels=labels, weights=np.full((1, 1, 130, 130), 1 / 130), visible=None),
        (0, 0),
        dark=False,
    )["layout"]["xaxis"]
    assert axis["ticktext"] == [f"w{i}" for i in axis["tickvals"]]
    assert 32 <= len(axis["tickvals"]) <= 64
