"""A reader's own corpus: what is cut is said, spans are where the tokens are, and no step holds up a page."""

import json
import time

import once
import pytest

from mha_core import cli
from mha_core.corpus import Lines, PronounCase, Reading, read_gap
from mha_core.errors import InputError
from mha_core.heads import studies
from mha_core.heads.coreference import choice_case
from mha_core.heads.corpus_run import KIND_OF, run
from pages.parts.specialization.corpus_work import as_json

HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref"


def choice(text: str) -> PronounCase:
    at = text.index("Anna")
    spans = [(at + 27, at + 30), (at, at + 4), (at + 13, at + 18)]
    assert [text[a:b] for a, b in spans] == ["she", "Anna", "Laura"]
    return PronounCase(text, spans[0], (spans[1], spans[2]), 0)


SENTENCE = "Anna thanked Laura because she had sent the parcel."


@pytest.mark.parametrize("text", [f"[CLS] {SENTENCE}", f" [CLS]{SENTENCE} [SEP]", f"[CLS][SEP] {SENTENCE}"])
def test_spans_that_do_not_select_their_words_are_refused(text, model):
    with pytest.raises(InputError, match="the tokens at the place of 'she' spell"):
        choice_case(choice(text), model.tokenizer)


@pytest.mark.parametrize(
    "text", [SENTENCE, f"  {SENTENCE}", f"\u00e9 \U0001f600 {SENTENCE} [SEP]", f"x [SEP] {SENTENCE}"]
)
def test_the_pieces_of_a_choice_spell_its_words(text, model):
    try:
        found = choice_case(choice(text), model.tokenizer)
    except InputError:
        assert text.startswith("x [SEP]"), "a text that is read as a pair holds other places"
        return
    spelled = [
        "".join(found.tokens.text[p.start : p.end] for p in (found.tokens.pieces[i] for i in pieces))
        for pieces in (found.pronoun, *found.candidates)
    ]
    assert spelled == ["she", "Anna", "Laura"]


def test_rows_of_650_kb_take_no_second_and_can_be_stopped_between(model):
    long = "Ann saw Sue when she left. " + "word " * 130_000
    row = f"1\t{long}\tshe\t17\tAnn\t0\tTRUE\tSue\t8\tFALSE"
    steps, last = 0, time.process_time()
    started = last
    for _ in run("\n".join([HEADER, row, row, row]).encode(), KIND_OF["tsv"], model, 100):
        assert time.process_time() - last < 1.0
        steps, last = steps + 1, time.process_time()
    assert steps >= 1
    assert time.process_time() - started < 2.0


def test_many_long_rows_are_read_in_slices(model, monkeypatch):
    monkeypatch.setattr("mha_core.heads.corpus_run.PAUSE", -1.0)
    texts = "\n".join(["Rain falls.", *["\u200b"] * 20, "Snow falls."]).encode()
    parts = list(run(texts, KIND_OF["txt"], model, 100))
    assert len(parts) > 2 * 20
    assert parts[-1].result.n == 2
    assert parts[-1].result.reading.n_skipped == 20


def test_long_texts_are_run_few_at_a_time(model, monkeypatch):
    ran = []
    monkeypatch.setattr("mha_core.heads.corpus_run.CorpusResult.add", lambda self, items: ran.append(items))
    text = "\n".join(["word " * 300] * 6 + ["Rain falls."] * 20)
    list(run(text.encode(), KIND_OF["txt"], model, 100))
    assert all(sum(len(item.tokens) for item in items) <= 1024 and len(items) <= 16 for items in ran)
    assert sum(map(len, ran)) == 26


def test_a_window_of_a_long_text_is_the_mentions_and_what_fits_around_them(model):
    text = "word " * 1500 + SENTENCE + " word" * 1500
    found = choice_case(choice(text), model.tokenizer)
    assert found.is_cut
    assert 100 < len(found.tokens) <= model.max_tokens
    assert not choice_case(choice(SENTENCE), model.tokenizer).is_cut
    apart = PronounCase("Ann saw Sue. " + "word " * 3000 + "she left.", (15013, 15016), ((0, 3), (8, 11)), 0)
    assert apart.text[15013:15016] == "she"
    with pytest.raises(InputError, match="further apart than the model can read"):
        choice_case(apart, model.tokenizer)


@pytest.fixture
def long_sentence(tmp_path):
    """A sentence of 999 words, every one the dependent of the word before it."""
    rows = [f"{i}\tword\t_\t_\t_\t_\t{i - 1}\t{'dep' if i > 1 else 'root'}\t_\t_" for i in range(1, 1000)]
    path = tmp_path / "long.conllu"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.long
def test_dependents_beyond_the_models_limit_are_counted_and_said(long_sentence, capsys, tmp_path, model):
    code = cli.main(["heads", "relations", str(long_sentence), "--out", str(tmp_path / "x.json")])
    printed = capsys.readouterr()
    found = json.loads((tmp_path / "x.json").read_text())
    assert (code, found["n_cut"]) == (0, 1)
    (total, dep) = found["rows"]
    assert (total["relation"], dep["relation"]) == ("all", "dep")
    assert (dep["n"], dep["n_cut"]) == (508, 998 - 508), "510 words fit, the last of them may be cut"
    note = "1 text is longer than the 512 tokens that MiniLM reads; what is beyond is not counted, 490 dependents"
    assert note in printed.err
    assert note in printed.out
    *_, last = run(long_sentence.read_bytes(), KIND_OF["conllu"], model, 10)
    on_page = json.loads(as_json(last.result, last.result.rows(), finished=True))
    assert (on_page["n_cut"], on_page["n_dependents_cut"]) == (1, 490)


@pytest.mark.long
def test_a_profile_of_a_cut_text_says_so(long_sentence, capsys, monkeypatch):
    study = once.findings().study  # made before what makes it is replaced
    monkeypatch.setattr(studies, "study_builtin", lambda *_, **__: study)
    assert cli.main(["heads", "profile", str(long_sentence)]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["n_cut"] == 1
    assert "1 text is longer than the 512 tokens" in printed.err


def test_pronouns_that_are_not_used_are_said(capsys, tmp_path):
    row = f"1\t{SENTENCE}\tshe\t27\tAnna\t0\tTRUE\tLaura\t13\tFALSE"
    (tmp_path / "a.tsv").write_text("\n".join([HEADER, row, row.replace("FALSE", "TRUE")]))
    assert cli.main(["heads", "coreference", str(tmp_path / "a.tsv")]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["unused"] == 1
    assert "Not used: 1 pronoun that has not exactly one right candidate." in printed.err
    reading = Reading()
    assert len(list(read_gap(Lines(tmp_path / "a.tsv"), reading))) == 1
