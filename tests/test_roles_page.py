"""The page Roles: no head has a role that its own evidence withdraws, and every number is the table's."""

import json
import re

import pytest
import visit
from streamlit.testing.v1 import AppTest

from mha_core import InputError, cli
from mha_core.display_names import head_name, percent
from mha_core.heads.part_files import compute_part
from mha_core.heads.questions.base import KIND_OF, KINDS
from mha_core.heads.roles import heads_with
from mha_core.heads.table import read_roles, read_table
from mha_core.heads.verdict_text import head_text
from pages.parts.frame import head_facts
from pages.parts.frame.selection import parse_head
from pages.parts.learn import claims
from pages.parts.roles import card, choice, head_map, role_table
from tests import planted
from tests.test_parts import HEADING, conllu, pronoun

SHIPPED = [table for name in head_facts.SHIPPED if (table := read_roles(name)) is not None]
TABLES = [*SHIPPED, *(table.untrained for table in SHIPPED if table.untrained is not None)]


@pytest.fixture(scope="module")
def table():
    return read_roles("minilm")


def open_page(**query: str) -> AppTest:
    return visit.open_page("pages/roles.py", **query)


def body(page: AppTest) -> str:
    """The markup of the page without what keeps a share or a head's name on one line."""
    return re.sub(r'<span class="hs-whole">(.*?)</span>', r"\1", "\n".join(visit.bodies(page)))


def verdicts(shown: choice.Choice) -> dict[str, str]:
    """The verdict that the map shows of every head."""
    return {f"{row.layer}-{row.head}": row.verdict for row in head_map.scores(shown).itertuples()}


@pytest.mark.slow
@pytest.mark.parametrize("known", TABLES, ids=lambda known: f"{known.model}-{known.trained}")
def test_card_map_list_and_finding_have_the_verdicts_of_the_table(known):
    for answer in known.answers:
        shown, refused = choice.choice(known, {"question": answer.key})
        assert not refused
        assert verdicts(shown) == {head_name(head): str(answer.word[head]) for head in known.heads}
        assert choice.finding(shown).startswith("No head") == ("role" not in answer.word), answer.key
    for kind, n in choice.counts(known).items():
        shown, _ = choice.choice(known, {"role": kind})
        filled = [name for name, word in verdicts(shown).items() if word == "role"]
        assert len(filled) == n
        assert not n or head_name(shown.head) in filled, "the head that is shown first has the role"
    for head in known.heads:
        markup = card.names(known, head, {})
        roles = {KIND_OF[kind].name for kind in choice.counts(known) if head in heads_with(known, kind)}
        assert {kind.name for kind in KINDS if f">{kind.name}<" in markup} == roles


@pytest.mark.slow
@pytest.mark.parametrize("head", ["4-2", "3-10", "1-3", "3-9", "5-1"])
def test_explore_roles_lesson_and_files_say_the_same_of_a_head(table, head):
    text = head_text(table, parse_head(head))
    shown = body(open_page(head=head))
    assert visit.plain(shown).count(text) == 1
    assert any(each.get("off") == [head] for each in visit.asked_by_links(shown)), "Ablate"
    assert visit.picture(visit.open_page(head=head))["usual"]["said"].startswith(text)
    rows = table.to_frame().set_index(["layer", "head"]).loc[tuple(map(int, head.split("-")))]
    assert set(rows["head_verdict"]) == {text}
    if head == "4-2":
        assert text in claims.conclusion()
        answer = table.by_key["antecedent"]
        numbers = answer.score[3, 1], answer.baselines[0].score, answer.right_there[3, 1]
        assert re.findall(r"\d+%", text) == list(map(percent, map(float, numbers)))


def test_a_role_or_question_opens_its_best_head_with_score_n_and_baseline(table):
    page = open_page(role="duplicate")
    answer = max((one for one in table.answers if one.kind == "duplicate"), key=lambda one: one.score.max())
    (finding,) = visit.said(page, "role-finding")
    shares = percent(answer.score.max()), percent(answer.baselines[0].score)
    for part in (head_name(answer.best), f"{answer.n:,}", *shares):
        assert part in finding
    assert f"<h2>Head {head_name(answer.best)} " in body(page)
    questions = page.dataframe[0].value
    assert list(questions["title"]) == [answer.question.title for answer in table.answers]
    assert visit.shown_heads(questions["head"]) == [head_name(answer.best) for answer in table.answers]
    page = open_page(role="syntactic", head="1-1")
    page.selectbox(key="role-question").set_value("amod")
    assert visit.link(visit.run(page)) == {"role": "syntactic", "question": "amod"}
    assert f"<h2>Head {head_name(table.by_key['amod'].best)} " in body(page)


def test_a_head_alone_opens_in_a_role_that_it_has_and_the_next_one_in_the_same(table):
    for head, name in (("1-3", "L0H2"), ("2-9", "L1H8")):
        page = open_page(head=head)
        assert f"<h2>Head {head} <small>· {name}<" in body(page)
        colours, marks = visit.figures(page)[0]["data"]
        layer, number = parse_head(head)
        role = next(one for one in table.answers if one.word[layer, number] == "role")
        lead = 100 * (role.score[layer, number] - role.baselines[0].score)
        assert visit.numbers(colours["z"])[layer, number] == pytest.approx(lead)
        frames = [(shape["x0"], shape["y0"]) for shape in visit.figures(page)[0]["layout"]["shapes"]]
        assert frames.count((number + 0.5, layer + 0.5)) == 2, "outlined for its role, and chosen"
        assert "●" not in marks["text"]
    page.selectbox(key="role-map-head").set_value("4-5")
    assert visit.link(visit.run(page)) == {"head": "4-5", "role": role.kind}
    assert "<h2>Head 4-5 " in body(page)


def test_a_question_and_a_head_show_that_heads_evidence(table):
    answer, head = table.by_key["det"], parse_head("3-2")
    page = open_page(question="det", head="3-2")
    (bar,) = re.findall(r'width:([\d.]+)%"></i><b style="inset-inline-start:([\d.]+)%', body(page))
    shares = [100 * answer.score[head], 100 * answer.baselines[0].score]
    assert list(map(float, bar)) == pytest.approx(shares, abs=0.05), "a bar, and a tick at the baseline"
    page.session_state["role-evidence"] = True
    rows = visit.run(page).dataframe[0].value
    wanted = [
        (answer.score[head], answer.n),
        (answer.baselines[0].score, answer.n),
        (answer.control[head], answer.n),
        (answer.right_there[head], answer.n_baseline_wrong),
        (answer.as_baseline_there[head], answer.n_baseline_wrong),
        (answer.right_where_all_wrong[head], answer.n_all_wrong),
        (answer.chance, answer.n_all_wrong),
    ]
    assert rows["share"].tolist() == pytest.approx([share for share, _ in wanted])
    assert rows["n"].tolist() == [n for _, n in wanted]
    assert rows.loc[0, ["low", "high"]].tolist() == [answer.low[head], answer.high[head]]
    text = body(page)
    assert answer.baselines[0].name in text
    assert f"Control: {answer.question.control}." in text


@pytest.mark.slow
def test_the_table_of_rows_is_of_the_chosen_head_and_question_or_of_the_selected_heads(table):
    shown, _ = choice.choice(table, {"question": "det", "head": "3-2"})
    every = role_table.rows(shown, [])
    assert set(every["head"]) == {head_name(head) for head in table.heads}
    assert set(every[every["head"] != "3-2"]["question"]) == {"det"}
    assert len(every[every["head"] == "3-2"]) == len(table.answers)
    some = role_table.rows(shown, [(0, 0), (5, 11)])
    assert set(some["head"]) == {"1-1", "6-12"}
    assert len(some) == 2 * len(table.answers)
    addresses = role_table.with_links(some, {"model": "x"})["head"]
    links = visit.asked_by_links("".join(f'<a href="{to}">' for to in addresses))
    assert [(one["head"][0], one["question"][0], one["model"][0]) for one in links] == [
        (row.head, row.question, "x") for row in some.itertuples()
    ]


def test_what_does_not_exist_is_said_and_stays_text():
    script = "<script>x</script>"
    page = open_page(head=script, role=script, question=script)
    assert [notice.partition(" “")[0] for notice in visit.said(page, "notice")] == [
        "Unknown head", "Unknown question", "Unknown role",
    ]  # fmt: skip
    assert visit.said(page, "role-finding")
    assert "<script>x" not in body(page)


def test_random_weights_show_their_own_numbers():
    page = open_page(weights="untrained", role="previous")
    known = head_facts.known_table("minilm", trained=False)
    assert not known.trained
    shown, _ = choice.choice(known, {"role": "previous"})
    assert visit.said(page, "role-finding") == [choice.finding(shown)]
    for weights, opened in (("untrained", known), ("trained", read_roles("minilm"))):
        first, _ = choice.choice(opened, {})
        assert f"<h2>Head {head_name(first.head)} " in body(open_page(weights=weights))
        assert (first.answer(first.head).word[first.head] == "role") == (weights == "trained")
    assert not choice.counts(known)["previous"], "random weights have no previous-token head"


@pytest.mark.slow
def test_no_two_tables_of_heads_are_saved_under_one_name(monkeypatch):
    names = []
    monkeypatch.setattr(role_table.st, "download_button", lambda _, __, name, **___: names.append(name))
    for query in ({}, {"weights": "untrained"}, {"model": "smollm2"}):
        open_page(**query)
    assert len(names) == len(set(names)) == 6


@pytest.mark.slow
def test_a_model_without_a_table_is_analysed_and_shown():
    page = open_page(model="classroom", role="previous")
    known = head_facts.known_table("classroom")
    assert visit.said(page, "role-finding") == [choice.finding(choice.choice(known, {"role": "previous"})[0])]
    assert set(page.dataframe[0].value["corpus"]) == {"the built-in sentences"}


@pytest.mark.slow
@pytest.mark.usefixtures("few_sentences")
def test_a_merged_table_is_shown_with_what_was_read_and_left_out(tmp_path, monkeypatch, capsys):
    trees = "".join(map(conllu, planted.treebank(60)))
    for i in (1, 2):
        (tmp_path / f"tree-{i}.conllu").write_text(f"1\tbroken\n\n{trees}")
    (tmp_path / "tree-3.tsv").write_text(
        "\n".join([HEADING, *map(pronoun, range(6)), pronoun(6).replace("TRUE", "FALSE"), "x"])
    )
    for i in (1, 2):
        options = {"model": "classroom", "on_error": "skip"}
        compute_part("roles", options, [str(tmp_path / "tree-*")], i, 2, tmp_path / "parts")
    path = tmp_path / "table.json.gz"
    assert cli.main(["merge", str(tmp_path / "parts"), "--table", str(path), "--format", "json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["left_out"], output["unused"]) == (3, 1)
    (trees,) = (corpus for corpus in output["corpora"] if corpus["key"] == "treebank")
    assert (trees["n_texts"], trees["n_left_out"]) == (120, 2)
    monkeypatch.setenv("HEADSCOPE_ROLES", str(path))
    head_facts.own_tables.cache_clear()
    try:
        page = open_page(model="classroom", role="syntactic")
        assert "120 texts, 2 left out" in body(page)
        assert any("tree-*" in one.value for one in page.code)
    finally:
        head_facts.own_tables.cache_clear()
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"table\.json\.gz"):
        read_table(path)
    assert cli.main(["merge", str(tmp_path), "--table", str(path)]) == 2
