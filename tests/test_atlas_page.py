"""The atlas on the page: descriptions to press, all heads, one head's examples, and what leaves as a file."""

import html
import re
from urllib.parse import parse_qs

import numpy as np
import pytest
from visit import asked_by_links, bodies, figures, link, numbers, open_page, plain, run, said

from mha_core import InputError
from mha_core.cli import main
from mha_core.display_names import head_name
from mha_core.heads.atlas.shipped import read_atlas, read_shipped
from mha_core.heads.part_files import compute_part
from pages.parts.frame import head_facts


def filled(page):
    """The heads that the map fills, with their shares."""
    colours, _ = figures(page)[0]["data"]
    values = numbers(colours["z"])
    return {
        head_name(place): values[place] for place in np.ndindex(values.shape) if np.isfinite(values[place])
    }


def pressed(page):
    """Where each description leads, with its number of heads."""
    (row,) = (body for body in bodies(page) if "atlas-features" in body)
    links = re.findall(r'<a href="([^"]*)"[^>]*>(.*?) <b>(\d+)</b></a>', row)
    return {html.unescape(name): (html.unescape(to), int(n)) for to, name, n in links}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_heads", "chosen"), [("minilm", 72, "3-9"), ("smollm2", 270, "27-7")])
def test_the_chosen_head_has_its_description_and_examples(name, n_heads, chosen):
    atlas = read_shipped(name).atlas
    entry = next(each for each in atlas.heads if head_name(each.head) == chosen)
    page = open_page("pages/roles.py", part="atlas", model=name, head=chosen)
    text = " ".join(plain(body) for body in bodies(page))
    assert len(numbers(figures(page)[0]["data"][1]["customdata"])) == n_heads
    assert f"Head {chosen} · L" in text
    for finding in entry.description.findings:
        low, high = finding.interval
        assert f"{100 * finding.share:.0f}% of {finding.n}, {100 * low:.0f}–{100 * high:.0f}%" in text
    page.session_state["atlas-typical"] = True
    (top, typical) = (body for body in bodies(run(page)) if "atlas-examples" in body)
    links = asked_by_links("".join(re.findall("<li>.*?</a>", top)))
    assert len(links) == 5
    for query, example in zip(links, entry.top, strict=False):
        assert query["text"] == [atlas.passages[example.passage].text]
        assert query.get("model", ["minilm"]) == [name]
        place = [chosen], [str(example.query)], [str(example.key)]
        assert (query["head"], query["pin"], query["to"]) == place
    assert typical.count("<li>") == 5
    assert top.count("Raises:") == top.count("lowers:") == min(5, len(entry.effects))


@pytest.mark.slow
def test_a_description_that_is_pressed_fills_its_heads_alone():
    page = open_page("pages/roles.py", part="atlas", head="3-9")
    heads = {head_name(each.head): each.description.findings for each in read_shipped("minilm").atlas.heads}
    described = {name for name, findings in heads.items() if findings}
    assert set(filled(page)) == described
    assert [button.proto.label for button in page.get("download_button")] == ["CSV", "JSON"]
    to, n = pressed(page)["previous token"]
    query = {key: value for key, (value,) in parse_qs(to.removeprefix("?")).items()}
    assert query["head"] == "3-9"
    page = open_page("pages/roles.py", **query)
    shares = {
        name: finding.share
        for name, findings in heads.items()
        for finding in findings
        if finding.feature.key == "one back"
    }
    assert filled(page) == pytest.approx(shares)
    assert len(shares) == n
    back, _ = pressed(page)["previous token"]
    assert "feature" not in parse_qs(back)
    page.selectbox(key="atlas-map-head").set_value("1-1")
    assert link(run(page)) == {"part": "atlas", "feature": "one back", "head": "1-1"}
    none = open_page("pages/roles.py", part="atlas", feature="none")
    assert set(filled(none)) == set(heads) - described


def test_an_unknown_head_and_a_model_without_an_atlas_are_said():
    (notice,) = said(open_page("pages/roles.py", part="atlas", head="9-99"), "notice")
    assert "9-99" in notice
    page = open_page("pages/roles.py", part="atlas", model="classroom")
    (notice,) = said(page, "notice")
    assert "atlas --model classroom" in notice
    assert not figures(page)


@pytest.mark.slow
def test_a_merged_atlas_opens_on_the_page_in_place_of_the_shipped_one(tmp_path, monkeypatch):
    (tmp_path / "own-1.txt").write_text("The cat that the dog chased was too tired to go home again.")
    (tmp_path / "own-2.txt").write_text("She said that he had seen it before.")
    parts, file = tmp_path / "parts", tmp_path / "own.json.gz"
    for part in (1, 2):
        compute_part("atlas", {"model": "minilm"}, [str(tmp_path / "own-*")], part, 2, parts)
    assert main(["merge", str(parts), "--table", str(file), "--out", str(tmp_path / "a.csv")]) == 0
    monkeypatch.setenv("HEADSCOPE_ATLAS", str(file))
    head_facts.own_atlases.cache_clear()
    try:
        page = open_page("pages/roles.py", part="atlas", model="minilm")
        text = " ".join(plain(body) for body in bodies(page))
        assert "own-1.txt, own-2.txt" in text
        assert "The cat that the dog" in text
    finally:
        head_facts.own_atlases.cache_clear()
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"own\.json\.gz"):
        read_atlas(file)
