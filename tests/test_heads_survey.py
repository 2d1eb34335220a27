"""The stream of texts through the model: the same numbers in any batches, stoppable, and in little memory."""

import tracemalloc
from dataclasses import astuple, replace

import numpy as np
import once
import pytest
import torch

from mha_core import trace_tokens
from mha_core.corpus import PronounCase, Reading, Sentence
from mha_core.errors import InputError
from mha_core.heads import studies
from mha_core.heads import survey as survey_module
from mha_core.heads.builtin import GOLD, BuiltIn, builtin_items, read_builtin
from mha_core.heads.coreference import ChoiceCase
from mha_core.heads.items import choice_items, text_items
from mha_core.heads.positions import PositionSums
from mha_core.heads.relations import RelationCases, RelationCounts, relation_cases
from mha_core.heads.studies import (
    study_ablation,
    study_corpus,
    study_relations,
    study_similarity,
)
from mha_core.heads.survey import Options, TextItem, every_item, survey, was_cut

SENTENCES = [
    Sentence(("The", "dog", "barked", "."), (1, 2, -1, 2), ("det", "nsubj", "root", "punct"), "", 1),
    Sentence(("Stop",), (-1,), ("root",), "", 2),
    Sentence(
        ("The", "old", "cat", "watched", "a", "sparrow", "quietly"),
        (2, 2, 3, -1, 5, 3, 3),
        ("det", "amod", "nsubj", "root", "det", "obj", "advmod"),
        "",
        3,
    ),
    Sentence(("I", "know", "him"), (1, -1, 1), ("nsubj", "root", "obj"), "", 4),
]


class Keep:
    """A measure that keeps what it is given."""

    def __init__(self):
        self.seen = []

    def add(self, weights, item):
        self.seen.append((weights.copy(), item))


def test_a_text_counts_as_cut_where_the_model_or_its_reader_left_out_some(model):
    long = TextItem(model.tokenizer.encode("word " * 600))
    short = TextItem(model.tokenizer.encode("a word"))
    none = np.array([1])
    window = ChoiceCase(short.tokens, none, (none, none), 0, None, (), is_cut=True)
    assert [was_cut(one) for one in (long, short, window, replace(window, is_cut=False))] == [
        True,
        False,
        True,
        False,
    ]


@pytest.fixture(scope="module")
def items(model):
    return [relation_cases(sentence, model.tokenizer) for sentence in SENTENCES]


@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_batches_change_nothing_because_padding_is_masked(model, items, batch_size):
    keep = Keep()
    assert survey(items, model, [(keep, every_item)], Options(batch_size)).n_texts == 4
    assert {id(item) for _, item in keep.seen} == {id(item) for item in items}
    for weights, item in keep.seen:
        np.testing.assert_allclose(weights, trace_tokens(item.tokens, model).weights, atol=2e-5)


def test_attention_is_that_of_a_model_without_dropout(model, items):
    first, second = Keep(), Keep()
    survey(items, model, [(first, every_item), (second, every_item)])
    survey(items, model, [(second, every_item)])
    for a, b in zip(first.seen, second.seen[4:], strict=True):
        np.testing.assert_array_equal(a[0], b[0])


def test_a_measure_gets_only_its_items(model, items):
    keep, counts = Keep(), RelationCounts(model.n_layers, model.n_heads)
    mixed = [*items, TextItem(model.tokenizer.encode("No tree here."))]
    survey(
        mixed,
        model,
        [(counts, lambda i: isinstance(i, RelationCases)), (keep, lambda i: isinstance(i, TextItem))],
    )
    assert counts.n_sentences == 4
    assert len(keep.seen) == 1


def test_a_limit_reads_no_further(model):
    def flood():
        for i in range(10**9):
            assert i < 10, "read on after the limit"
            yield TextItem(model.tokenizer.encode("Rain falls."))

    assert survey(flood(), model, [], Options(limit=7)).n_texts == 7


def test_a_survey_can_be_stopped_and_keeps_what_it_has(model, items):
    keep = Keep()
    done = survey(items, model, [(keep, every_item)], Options(stop=lambda: len(keep.seen) == 2))
    assert (done.n_texts, done.stopped) == (2, True)
    assert len(keep.seen) == 2
    table, done = study_relations(SENTENCES, model, Options(batch_size=1, stop=lambda: True))
    assert done.stopped
    assert table.n_sentences == 1


def test_progress_is_told_with_an_estimate(model, monkeypatch):
    monkeypatch.setattr(survey_module, "REPORT_EVERY", 0.0)
    told = []
    texts = [TextItem(model.tokenizer.encode("Rain falls."))] * 40
    survey(texts, model, [], Options(batch_size=10, progress=told.append, fraction=lambda: 0.5))
    assert [p.done for p in told] == [10, 20, 30, 40, 40]
    assert [p.fraction for p in told] == pytest.approx([0.125, 0.25, 0.375, 0.5, 1.0])
    assert told[0].remaining == pytest.approx(7 * told[0].seconds)
    assert told[-1].remaining == 0
    told.clear()
    survey(texts, model, [], Options(batch_size=10, progress=told.append))
    assert told[0].remaining is None
    told.clear()
    survey(texts, model, [], Options(batch_size=10, limit=40, progress=told.append))
    assert told[1].fraction == pytest.approx(0.5)


def test_a_batch_of_nothing_is_refused(model, items):
    with pytest.raises(InputError, match="A batch of 0 texts"):
        survey(items, model, [], Options(batch_size=0))


def test_long_texts_go_in_smaller_batches(model, monkeypatch):
    sizes = []
    real = survey_module.trace_many

    def noting(tokens, model, *, batch_size):
        sizes.append(batch_size)
        return real(tokens, model, batch_size=batch_size)

    monkeypatch.setattr(survey_module, "trace_many", noting)
    monkeypatch.setattr(survey_module, "MAX_CELLS", 72 * 60**2)
    texts = [TextItem(model.tokenizer.encode("word " * n)) for n in (28, 28, 28, 28, 58, 118)]
    survey(texts, model, [])
    assert sizes == [1, 1, 4]


@pytest.mark.long
def test_memory_does_not_grow_with_the_corpus(model, monkeypatch):
    monkeypatch.setattr(survey_module, "WINDOW_PIECES", 250)

    def peak(n: int) -> int:
        sentences = (SENTENCES[i % 4] for i in range(n))
        tracemalloc.start()
        study_relations(sentences, model)
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    small = peak(100)
    assert peak(400) < 1.3 * small


# As Universal Dependencies has them: who depends on whom.
TRIPLES = {
    ("det", "determiner", "noun"),
    ("nsubj", "subject", "verb"),
    ("obj", "object", "verb"),
    ("nmod:poss", "possessor", "possessed"),
    ("amod", "adjective", "noun"),
    ("case", "preposition", "noun"),
}


def test_every_builtin_sentence_gives_an_item(model):
    sentences = read_builtin()
    found = list(builtin_items(sentences, model.tokenizer))
    assert len(found) == len(sentences) >= 200
    for sentence, item in zip(sentences, found, strict=True):
        if sentence.role == "syntax":
            assert isinstance(item, RelationCases)
            assert {(relation, *names) for relation, *names in GOLD.values()} == TRIPLES
            assert item.relations == tuple(GOLD[job][0] for job in sentence.gold)
            for i, (job, spans) in enumerate(sentence.gold.items()):
                for name, place in zip(GOLD[job][1:], (item.dependents[i], item.heads[i]), strict=True):
                    start, end = spans[name]
                    assert sentence.text[start:end] in item.tokens.words[int(place)].text
        elif sentence.choice:
            assert isinstance(item, ChoiceCase)


def test_builtin_sentences_may_lie_elsewhere_and_must_be_what_they_are(tmp_path, model):
    path = tmp_path / "own.json"
    path.write_text('[{"id": "1", "role": "plain", "text": "Rain falls."}]')
    (only,) = read_builtin(path)
    assert (only.text, only.choice) == ("Rain falls.", None)
    path.write_text('[{"id": "1"}]')
    with pytest.raises(InputError, match=r"own.json is not a list of sentences"):
        read_builtin(path)


@pytest.fixture(scope="module")
def builtin():
    return once.findings().study


def test_the_builtin_sentences_show_the_known_specialists(builtin):
    """1-3 looks back, 2-9 ahead, 2-4 finds antecedents by gender and number (reference notes in the README)."""
    assert builtin.roles[0][2].label == "previous token"
    assert builtin.roles[1][8].label == "next token"
    assert builtin.roles[1][3].key == "agreement"
    assert builtin.roles[1][1].key == "copy"
    assert builtin.tables.agreement.accuracy[0, 1, 3] > 0.85
    assert 0.3 < builtin.tables.coreference.accuracy[0, 1, 3] < 0.65


def test_no_role_is_given_under_its_baseline(builtin):
    given = [role for row in builtin.roles for role in row if role]
    assert given
    assert all(role.score > role.baseline and role.n >= 20 and role.evidence for role in given)


def test_on_balanced_choices_simple_rules_are_at_chance(builtin):
    assert set(builtin.tables.coreference.baselines.values()) == {0.5}


@pytest.mark.slow
def test_an_untrained_model_has_no_specialists():
    keys = {role.key for row in once.findings(trained=False).study.roles for role in row}
    assert keys == {"none"}


@pytest.mark.slow
def test_a_corpus_takes_from_the_builtin_sentences_what_it_cannot_tell(model, builtin, monkeypatch):
    asked = []
    monkeypatch.setattr(studies, "study_builtin", lambda *given, **_: asked.append(given) or builtin)
    sentences = [(i, sentence.text) for i, sentence in enumerate(read_builtin()[:40])]
    found = study_corpus(lambda: text_items(sentences, model.tokenizer), model)
    assert found.done.n_texts == found.tables.positions.n_texts == 40
    assert [given[0] for given in asked] == [model]
    assert found.tables.relations is builtin.tables.relations
    assert found.tables.agreement is builtin.tables.agreement


def test_a_treebank_keeps_its_own_relations(model, items, builtin, monkeypatch):
    monkeypatch.setattr(studies, "study_builtin", lambda *_, **__: builtin)
    found = study_corpus(lambda: items, model)
    assert found.tables.relations.n_sentences == 4
    assert study_corpus(lambda: items, model, options=Options(limit=2)).done.n_texts == 2
    assert set(found.tables.relations.names) == {"all", "det", "amod", "nsubj", "obj", "advmod", "punct"}


def test_with_a_limit_no_token_is_rare_or_frequent_by_what_lies_beyond_it(model):
    texts = [(1, "Rain falls here."), (2, "Snow falls now."), (3, "Rain and snow and now."), (4, "Rain.")]
    options = Options(limit=2)
    part = studies._study(lambda: text_items(texts, model.tokenizer), model, options, False).tables.copies
    alone = studies._study(lambda: text_items(texts[:2], model.tokenizer), model, None, False).tables.copies
    for found, wanted in zip(astuple(part), astuple(alone), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert (part.n_texts, part.n_rare) == (2, 6), "of four tokens one is the rarest"


def test_the_head_of_a_span_of_several_words_is_its_last(model):
    text = "She fed the old dog."
    sentence = BuiltIn("1", "object", None, text, {"object": (8, 19), "verb": (4, 7)}, None)
    (item,) = builtin_items((sentence,), model.tokenizer)
    words = [word.text for word in item.tokens.words]
    assert (words[int(item.dependents[0])], words[int(item.heads[0])]) == ("dog", "fed")


def test_what_cannot_be_read_whole_is_refused_or_skipped(model):
    far = "Ann left. " + "filler words go here " * 300 + "Then she met Susan."
    choices = [
        PronounCase(far, (len(far) - 14, len(far) - 11), ((0, 3), (len(far) - 6, len(far) - 1)), 0, None, 7)
    ]
    with pytest.raises(InputError, match=r"Line 7: the mentions are further apart"):
        list(choice_items(choices, model.tokenizer))
    reading = Reading("skip")
    assert list(choice_items(choices, model.tokenizer, reading)) == []
    assert reading.n_skipped == 1
    for reading in (Reading("refuse"), Reading("skip")):
        assert list(text_items([(3, "\u200b")], model.tokenizer, reading)) == []
        assert reading.notes[0].startswith("Line 3: ")


def test_ablations_over_texts_can_be_stopped(model):
    found = study_ablation(["Rain falls.", "Snow melts.", "Wind blows."], model, Options(limit=2))
    assert found.n_texts == 2
    assert study_ablation(["Rain falls."] * 5, model, Options(stop=lambda: True)).n_texts == 1


def test_similarity_of_a_corpus_is_symmetric(model, items):
    table, done = study_similarity(items, model)
    assert done.n_texts == 4
    np.testing.assert_array_equal(table.distance, table.distance.T)


def pieces_under(tokens, span):
    return tuple(i for i, p in enumerate(tokens.pieces) if not p.special and span[0] <= p.start < span[1])


def merged(matrix, tokens):
    """Attention between words by the definition: to a word the sum, from it the mean over its pieces."""
    spans = [(word.first, word.stop) for word in tokens.words]
    return np.array([[matrix[a:b, c:d].sum(1).mean() for c, d in spans] for a, b in spans])


def examples(builtin, job, head):
    """Three that are right, with the most on their target first; and of those that are wrong the worst."""
    table = builtin.tables.jobs[job]
    good, bad = table.examples(*head), table.examples(*head, 1, right=False)
    assert [shown.right for shown in good + bad] == [True] * 3 + [False] * len(bad)
    assert len({shown.sample.family for shown in good}) == 3
    return good + bad


@pytest.mark.slow
def test_examples_of_agreement_show_where_a_head_works_and_where_it_fails(model, builtin):
    found = examples(builtin, "agreement", (1, 3))
    assert len(found) == 4
    for shown in found:
        choice, tokens = shown.sample.sentence.choice, shown.sample.tokens
        right = choice.candidates[choice.answer]
        assert (shown.query, shown.target) == (
            pieces_under(tokens, choice.pronoun),
            pieces_under(tokens, right),
        )
        weights = trace_tokens(tokens, model).weights[1, 3]
        one, other = (weights[shown.query[0], pieces_under(tokens, span)].sum() for span in choice.candidates)
        given, refused = (one, other) if choice.answer == 0 else (other, one)
        assert shown.right == (given > refused)
        assert shown.share == pytest.approx(given / (given + refused), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("job", "head"), [("determiner", (3, 1)), ("determiner, back", (3, 8))])
def test_examples_of_a_relation_show_the_gold_and_its_weight(model, builtin, job, head):
    found = examples(builtin, job, head)
    assert len(found) == 4
    for shown in found:
        tokens, spans = shown.sample.tokens, shown.sample.sentence.gold["determiner"]
        ends = [pieces_under(tokens, spans[name]) for name in ("determiner", "noun")]
        back = job.endswith("back")
        assert [shown.query, shown.target] == (ends[::-1] if back else ends)
        words = merged(trace_tokens(tokens, model).weights[head], tokens)
        dependent, governor = (
            next(i for i, word in enumerate(tokens.words) if word.first <= pieces[0] < word.stop)
            for pieces in ends
        )
        line = words[:, dependent] if back else words[dependent]
        others = [i for i in range(len(words)) if i != dependent]
        assert shown.right == (max(others, key=lambda i, line=line: line[i]) == governor)
        assert shown.share == pytest.approx(line[governor], abs=1e-4)
    assert found[0].share >= found[1].share >= found[2].share


@pytest.mark.slow
def test_examples_of_a_place_show_the_token_at_that_distance(model, builtin):
    for shown in examples(builtin, "previous", (0, 2)):
        weights = trace_tokens(shown.sample.tokens, model).weights[0, 2]
        rows = range(2, len(weights) - 1)  # the first word has no token of its own before it
        ((query,), (seen,)) = shown.query, shown.target
        assert query in rows
        assert seen == query - 1
        if shown.right:
            assert weights[query].argmax() == seen
            assert weights[query, seen] == pytest.approx(max(weights[i, i - 1] for i in rows), abs=1e-4)
        assert shown.share == pytest.approx(np.mean([weights[i, i - 1] for i in rows]), abs=1e-4)


@pytest.mark.slow
def test_examples_of_copies_show_the_same_word_earlier(model, builtin):
    for shown in examples(builtin, "copy", (1, 1)):
        tokens = shown.sample.tokens
        later, earlier = ([tokens.pieces[i] for i in ends] for ends in (shown.query, shown.target))
        text = [tokens.text[ends[0].start : ends[-1].end].lower() for ends in (later, earlier)]
        assert text[0] == text[1]
        assert shown.target[-1] < shown.query[0]
        weights = trace_tokens(tokens, model).weights[1, 1, list(shown.query)].mean(0)
        peak = 1 + weights[1 : shown.query[0]].argmax()
        assert shown.right == (peak in shown.target)


@pytest.mark.long
@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_the_sums_are_the_same_with_any_number_of_threads_and_these_are_given_back(model, threads):
    before = torch.get_num_threads()
    items = [TextItem(model.tokenizer.encode("word " * (2 + i % 7))) for i in range(40)]
    alone = PositionSums(model.n_layers, model.n_heads)
    for item in items:
        alone.add(trace_tokens(item.tokens, model).weights, item)
    try:
        torch.set_num_threads(threads)
        sums = PositionSums(model.n_layers, model.n_heads)
        done = survey(items, model, [(sums, every_item)], Options(batch_size=3))
        np.testing.assert_allclose(sums.result()["entropy"], alone.result()["entropy"], atol=1e-5)
        assert torch.get_num_threads() == threads
        stopped = survey(items, model, [(sums, every_item)], Options(batch_size=3, stop=lambda: True))
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert (done.n_texts, stopped.stopped) == (40, True)
