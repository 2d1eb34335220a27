"""The atlas of heads: moments equal transformers' numbers, features are what they say, descriptions need evidence."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mha_core import load_model
from mha_core.heads.atlas import making
from mha_core.heads.atlas.classes import WORDS, classes, opening_marks
from mha_core.heads.atlas.describe import Description, Finding, _describe, _holds, _Lookup, describe
from mha_core.heads.atlas.effects import raised, surprise_without, through_norm
from mha_core.heads.atlas.features import Feature, allowed, features, pair_features
from mha_core.heads.atlas.losses import TOLD, HeadLoss, Loss, losses
from mha_core.heads.atlas.making import one_of_a_register, shuffled
from mha_core.heads.atlas.moments import KEPT, SAMPLED, Moment, Sample, Strongest, half_of, priorities
from mha_core.heads.atlas.reading import MOST_TOKENS, looked_at, passage_tokens, read_passages
from mha_core.heads.atlas.said import NO_DESCRIPTION, label, sentence
from mha_core.heads.atlas.shipped import Control
from mha_core.heads.atlas.sums import LEAST_CHOICE, AtlasSums
from mha_core.heads.atlas.table import Atlas, HeadEntry, Line, atlas, atlas_data
from mha_core.prediction import next_logits
from mha_core.reader import read_reader
from mha_core.trace import run
from tests.bert_folders import random_bert, write
from tests.decoder_folders import random_decoder, write_decoder

LINES = ["it is the moth", "the theme, it", "hit the hen", "then it thaws", "thin tea it is"]
KINDS = [("gpt2", 0), ("llama", 0), ("llama", 1), ("bert", 0)]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def pair(request, tmp_path_factory):
    pytest.importorskip("transformers")
    kind, which = request.param
    folder = tmp_path_factory.mktemp("model")
    theirs = (
        write(folder, random_bert()) if kind == "bert" else write_decoder(folder, random_decoder(kind, which))
    )
    return load_model(str(folder), device="cpu"), theirs


def parts(theirs, layer, states):
    """What transformers' own modules give for a layer: values (n, wide) and W_o (wide, d_model)."""
    kind = theirs.config.model_type
    if kind == "bert":
        block = theirs.encoder.layer[layer].attention
        return block.self.value(states), block.output.dense.weight.T
    if kind == "gpt2":
        block, d = theirs.transformer.h[layer], theirs.config.n_embd
        x = block.ln_1(states)
        return x @ block.attn.c_attn.weight[:, 2 * d :] + block.attn.c_attn.bias[
            2 * d :
        ], block.attn.c_proj.weight
    block = theirs.model.layers[layer]
    return block.self_attn.v_proj(block.input_layernorm(states)), block.self_attn.o_proj.weight.T


def by_hand(theirs, model, tokens):
    """(layer, head, query): the strongest key apart from where heads rest, its weight and what it brings."""
    with torch.no_grad():
        out = theirs(torch.tensor([tokens.ids]), output_attentions=True, output_hidden_states=True)
    found = {}
    special = [piece.special or (model.is_causal and i == 0) for i, piece in enumerate(tokens.pieces)]
    for layer in range(model.n_layers):
        values, W_o = parts(theirs, layer, out.hidden_states[layer][0])
        width = W_o.shape[0] // model.n_heads
        for head in range(model.n_heads):
            kv = head * model.n_kv_heads // model.n_heads
            written = values[:, kv * width : (kv + 1) * width] @ W_o[head * width : (head + 1) * width]
            for query in range(len(tokens)):
                keys = [
                    k for k in range(len(tokens)) if not special[k] and (k <= query or not model.is_causal)
                ]
                if special[query] or not keys:
                    continue
                key = max(keys, key=lambda k: float(out.attentions[layer][0, head, query, k]))
                weight = float(out.attentions[layer][0, head, query, key])
                found[layer, head, query] = (key, weight, weight * float(written[key].detach().norm()))
    return found


@pytest.mark.slow
def test_moments_are_those_of_transformers(pair):
    model, theirs = pair
    tokens = [passage_tokens(line, model) for line in LINES]
    expected = [by_hand(theirs, model, one) for one in tokens]
    for part in read_passages(LINES, model):
        sums = part.sums
    for entry in atlas(sums).heads:
        assert entry.strongest
        for one in (*entry.strongest, *entry.random):
            key, weight, brings = expected[one.passage][*entry.head, one.query]
            assert one.key == key
            assert one.weight == pytest.approx(weight, abs=1e-4)
            assert one.brings == pytest.approx(brings, rel=1e-4, abs=1e-4)
        rows = [
            value[2] for numbers in expected for place, value in numbers.items() if place[:2] == entry.head
        ]
        assert entry.strongest[0].brings == pytest.approx(max(rows), rel=1e-4)


def test_moments_of_a_head_are_sorted_apart_and_two_a_passage(pair):
    model, _ = pair
    for part in read_passages(LINES, model):
        sums = part.sums
    ids = {number: one.tokens.ids for number, one in sums.passages.items()}
    for entry in atlas(sums).heads:
        brings = [one.brings for one in entry.strongest]
        assert brings == sorted(brings, reverse=True)
        pairs = [(ids[one.passage][one.query], ids[one.passage][one.key]) for one in entry.strongest]
        assert len(set(pairs)) == len(pairs)
        where = [one.passage for one in entry.strongest]
        assert max(map(where.count, where)) <= 2


def test_two_runs_merged_are_one_run(pair):
    model, _ = pair
    whole, first, second = (
        list(read_passages(lines, model))[-1].sums for lines in (LINES, LINES[:2], LINES[2:])
    )
    first.merge(second)
    assert first.n_passages == len(LINES)
    assert first.n_tokens == whole.n_tokens == sum(len(passage_tokens(line, model)) for line in LINES)
    for mine, theirs in zip(atlas(first).heads, atlas(whole).heads, strict=True):
        assert [(m.passage, m.query, m.key) for m in mine.strongest] == [
            (m.passage, m.query, m.key) for m in theirs.strongest
        ]
        assert [(m.passage, m.query, m.key) for m in mine.random] == [
            (m.passage, m.query, m.key) for m in theirs.random
        ]
        assert mine.measures == pytest.approx(theirs.measures, abs=1e-5)


def test_random_moments_are_drawn_without_looking_at_what_they_bring(pair):
    model, theirs = pair
    tokens = [passage_tokens(line, model) for line in LINES]
    drawn = [priorities(one, model.n_layers * model.n_heads) for one in tokens]
    counted = [by_hand(theirs, model, one) for one in tokens]
    for part in read_passages(LINES, model):
        sums = part.sums
    for i, entry in enumerate(atlas(sums).heads):
        rows = [
            (float(drawn[number][i, query]), number, query)
            for number, there in enumerate(counted)
            for layer, head, query in there
            if (layer, head) == entry.head
        ]
        assert [(one.passage, one.query) for one in entry.random] == [row[1:] for row in sorted(rows)[:8]]


def test_batches_change_no_number(pair):
    model, _ = pair
    tokens = [passage_tokens(line, model) for line in LINES]
    for alone, together in zip(
        ([looked_at([one], model)[0] for one in tokens]), looked_at(tokens, model), strict=True
    ):
        assert np.allclose(alone[0], together[0], atol=1e-5)
        assert np.allclose(alone[1], together[1], atol=1e-4)


def test_memory_stays_bounded():
    strongest, sample, rng = Strongest(2), Sample(2), np.random.default_rng(0)
    for passage in range(300):
        brings = rng.random((2, 7))
        ids, key = rng.integers(0, 1000, 7), rng.integers(0, 7, (2, 7))
        strongest.add(passage, ids, key, brings, brings)
        sample.add(passage, rng.random((2, 7)), key, brings, brings)
    assert [len(kept) for kept in strongest.of] == [KEPT, KEPT]
    assert sample.rows.shape[1] == SAMPLED


def test_the_strongest_are_kept_whatever_the_order():
    rng = np.random.default_rng(1)
    passages = [(rng.integers(0, 50, 9), rng.integers(0, 9, (1, 9)), rng.random((1, 9))) for _ in range(60)]

    def kept(order):
        strongest = Strongest(1)
        for i in order:
            ids, key, brings = passages[i]
            strongest.add(i, ids, key, brings, brings)
        return strongest.sorted(0)

    assert kept(range(60)) == kept(reversed(range(60)))


def mark(text, key, model):
    tokens = model.tokenizer.encode(text)
    return [
        tokens.spelling(piece) for piece, yes in zip(tokens.pieces, classes(tokens)[key], strict=True) if yes
    ]


@pytest.mark.parametrize(
    ("key", "text", "there"),
    [
        ("joining", "salt and pepper, or sand", ["and", ",", "or"]),
        ("negation", "he did not go, only she", ["not", "only"]),
        ("opening", 'he said "go (now)" and "stay"', ['"', "(", '"']),
        ("number", "on 14 March", ["14"]),
        ("capital", "the Harbour of foxes", ["Harbour"]),
        ("end", "Go. Stay! e.g, no", [".", "!"]),
    ],
)
def test_kinds_of_tokens_by_hand(model, key, text, there):
    assert mark(text, key, model) == there


def test_every_kind_marks_its_own_words_large_or_small_and_no_part_of_another(model):
    text = 'THE island was theirs: "My man won\'t go", SHE said (nobody else in Rome), so If 14 is; Under it, or BUT!'
    assert {key: mark(text, key, model) for key in WORDS} == {
        "determiner": ["THE", "My"],
        "preposition": ["in", "Under"],
        "pronoun": ["SHE", "nobody", "it"],
        "auxiliary": ["was", "is"],
        "clause": ["so", "If"],
        "joining": [",", ",", ",", "or", "BUT"],
        "negation": ["won", "'", "t", "nobody"],
        "number": ["14"],
        "capital": ["THE", "My", "SHE", "Rome", "If", "Under", "BUT"],
        "punctuation": [":", '"', "'", '"', ",", "(", ")", ",", ";", ",", "!"],
        "end": ["!"],
        "comma": [",", ",", ","],
        "opening": ['"', "("],
    }


def test_of_straight_marks_every_second_one_opens():
    assert opening_marks('"a" "b') == [(0, 1), (4, 5)]
    assert opening_marks("it's 'so' [x]") == [(5, 6), (10, 11)]


def true_of(model, text, key):
    tokens = model.tokenizer.encode(text)
    names = [feature.key for feature in features(model.is_causal)]
    of = pair_features(tokens, model.is_causal).of[names.index(key)]
    label = [tokens.spelling(piece) for piece in tokens.pieces]
    return {(label[q], label[k]) for q, k in zip(*np.nonzero(of), strict=True)}


def test_features_of_pairs_by_hand(model):
    assert true_of(model, "the bridge and bridges", "another form") == {
        ("bridge", "bridges"),
        ("bridges", "bridge"),
    }
    assert true_of(model, "bridge or bridge near bridges", "another form") == {
        ("bridge", "bridges"),
        ("bridges", "bridge"),
    }
    assert ("fox", "jumps") in true_of(model, "fox jumps while fox", "after a copy")
    assert true_of(model, "nation and nationalities", "another form") == set(), "six letters of thirteen"
    assert true_of(model, "either go or stay", "pair of joining words") == {("or", "either")}
    assert true_of(model, "or stay either go", "pair of joining words") == set()
    assert true_of(model, "a b a", "same token") == {("a", "a")}
    assert true_of(model, "a b c", "one back") == {("b", "a"), ("c", "b")}


def test_the_second_half_of_a_pair_of_joining_words_looks_at_each_of_its_firsts(model):
    """Every word that stands after one of its first halves looks back at it, and at nothing else."""
    pairs = (
        "either or, whether or, neither nor, both and, between and, if then, when then, from to, such as, as as, "
        "same as, so that, such that, not but, more than, less than, rather than, fewer than, better than, other than"
    )
    for first, second in (pair.split() for pair in pairs.split(", ")):
        found = true_of(model, f"{second} {first} salt {second} sand {first}", "pair of joining words")
        expected = {(second, first)} | ({("as", "as")} if second == "as" else set())
        assert found == expected, (first, second)
    assert true_of(model, "not salt or both", "pair of joining words") == set()


def test_a_position_is_true_of_the_distances_that_its_words_say(model):
    far = set(range(17, 40))
    back = {
        "itself": {0},
        "one back": {1},
        "two back": {2},
        "1 to 3 back": {1, 2, 3},
        "3 to 6 back": {3, 4, 5, 6},
    }
    back |= {"7 to 16 back": set(range(7, 17)), "over 16 back": far}
    on = {"one on": {-1}, "two on": {-2}, "1 to 3 on": {-1, -2, -3}, "3 to 6 on": {-3, -4, -5, -6}}
    on |= {"over 6 on": {-i for i in range(7, 40)}}
    tokens = model.tokenizer.encode(" ".join("abcdefghijklmnopqrstuvwxyz"))
    for is_causal, wanted in ((False, back | on), (True, back)):
        at = [feature.key for feature in features(is_causal) if feature.distance is not None]
        assert at == list(wanted)
        of, can = pair_features(tokens, is_causal).of, allowed(tokens, is_causal)
        for one, key in zip(of, at, strict=False):
            found = {(int(q), int(k)) for q, k in np.argwhere(one)}
            assert found == {(q, k) for q, k in np.argwhere(can).tolist() if q - k in wanted[key]}, key


def test_counts_are_of_what_a_row_may_look_at(model):
    tokens = model.tokenizer.encode("the cat saw the other cat")
    found = pair_features(tokens, False)
    can = allowed(tokens, False)
    assert found.pairs.sum() == can.sum() == 36  # neither [CLS] nor [SEP]
    assert (found.counts.sum(-1) == found.of.sum((1, 2))).all()
    assert allowed(tokens, True)[:, 0].sum() == 0


def invented(model, look, n=140, seed=0):
    """Sums of one head that looks where `look(tokens, query)` says, on invented sentences."""
    rng = np.random.default_rng(seed)
    words = [
        "tree",
        "river",
        "stone",
        "cloud",
        "glass",
        "horse",
        "moon",
        "field",
        "lamp",
        "door",
        "boat",
        "king",
    ]
    words += ["salt", "bread", "not", "only"]
    sums = AtlasSums(1, 1, is_causal=False)
    for _ in range(n):
        tokens = model.tokenizer.encode(" ".join(rng.choice(words, 14)))
        weights = np.full((1, 1, len(tokens), len(tokens)), 1e-3, np.float32)
        for query in range(len(tokens)):
            weights[0, 0, query, look(tokens, query, rng)] = 0.5 + rng.random() / 2
        sums.add(weights, np.ones((1, 1, len(tokens)), np.float32), tokens)
    return sums


def test_passages_that_no_moment_is_of_are_let_go_and_no_others(model, monkeypatch):
    monkeypatch.setattr("mha_core.heads.atlas.moments.KEPT", 3)
    monkeypatch.setattr("mha_core.heads.atlas.moments.SAMPLED", 9)

    def made():
        return invented(model, lambda tokens, query, _: max(query - 1, 1), n=30)

    whole = made()
    monkeypatch.setattr("mha_core.heads.atlas.sums.PRUNE_EVERY", 10)
    pruned = made()
    strongest, halves, sample = (
        {one.passage for kept in of for one in kept}
        for of in (
            [whole.strongest.sorted(0)],
            [half.sorted(0) for half in whole.halves],
            [whole.sample.drawn(0)],
        )
    )
    assert sample - strongest - halves
    assert halves - strongest - sample
    assert set(pruned.passages) == strongest | halves | sample
    assert len(whole.passages) == pruned.n_passages == 30
    assert atlas(pruned).heads == atlas(whole).heads


@pytest.mark.parametrize(
    ("kind", "share", "lift", "holds"),
    [
        ("link", 0.5, 2.0, True),  # half of the moments, and twice as often as elsewhere
        ("link", 0.5, 1.9, False),
        ("from", 0.6, 3.0, True),
        ("from", 0.6, 2.9, False),
        ("to", 0.6, 3.0, True),
        ("position", 0.5, 3.0, True),
        ("position", 0.5, 2.9, False),
        ("position", 0.49, 50.0, False),  # a position is half of the moments or nothing
        (
            "link",
            0.25,
            6.0,
            True,
        ),  # a quarter, if share times lift is as much as of a half three times as often
        ("link", 0.25, 5.9, False),
        ("link", 0.24, 50.0, False),
        ("to", 0.3, 12.0, True),  # one frequent token is what random heads look at, too
        ("to", 0.3, 11.9, False),
    ],
)
def test_a_feature_describes_a_head_only_where_it_is_common_there_and_rarer_elsewhere(
    kind, share, lift, holds
):
    found = Finding(Feature("x", kind, "at x"), share, share / lift, 100)
    assert _holds(found) == holds


KINDS_OF_FEATURES = {
    "at a copy": "link",
    "from a pronoun": "from",
    "to a noun": "to",
    "one back": "position",
    "two back": "position",
}


def described(*halves):
    """What is said of a head with these shares of its moments, (half, feature), a tenth of other pairs having each; the
    first half has 20 moments, the second 24. A moment has one feature, or several where the shares add up to more than
    one."""
    known = [Feature(words, kind, words) for words, kind in KINDS_OF_FEATURES.items()]

    def measured(_, half):
        n, shares = (20, 24)[half], np.array(halves[half])
        marks, at = np.zeros((n, len(shares)), bool), 0
        for i, share in enumerate(shares):
            marks[np.arange(at, at + round(share * n)) % n, i] = True
            at += round(share * n)
        return shares, np.full(len(shares), 0.1), marks

    positions = np.array([one.kind == "position" for one in known])
    found = _describe(SimpleNamespace(features=known, positions=positions, measured=measured), 0)
    return [(one.feature.key, one.share, one.n) for one in found.findings], found.two


def test_findings_are_ordered_where_they_are_found_and_printed_from_the_other_half():
    assert described([0.6, 0.8, 0.7, 0.9, 0], [0.7, 0.65, 0.55, 0.75, 0]) == (
        [
            ("from a pronoun", 0.65, 24),
            ("to a noun", 0.55, 24),
            ("at a copy", 0.7, 24),
            ("one back", 0.75, 24),
        ],
        False,
    )
    assert described([0.6, 0.8, 0, 0, 0], [0.7, 0.15, 0, 0, 0]) == ([("at a copy", 0.7, 24)], False)
    assert described([0.6, 0, 0, 0, 0], [0.15, 0, 0, 0, 0]) == ([], False)


def test_two_things_hold_in_both_halves_and_are_printed_from_the_second():
    assert described([0, 0, 0, 0.4, 0.32], [0, 0, 0, 0.35, 0.45]) == (
        [("two back", 0.45, 24), ("one back", 0.35, 24)],
        True,
    )
    assert described([0, 0, 0, 0.4, 0.32], [0, 0, 0, 0.35, 0.2]) == ([], False)


def test_a_head_that_looks_one_back_is_described_so(model):
    found = describe(invented(model, lambda tokens, query, _: max(query - 1, 1)))[0]
    assert found.findings[0].feature.key == "one back"
    assert found.findings[0].share > 0.8
    assert found.findings[0].lift > 5
    assert not found.by_content


@pytest.mark.slow
def test_a_head_that_looks_at_negations_is_described_so(model):
    def look(tokens, query, rng):
        there = [i for i, piece in enumerate(tokens.pieces) if piece.text in ("not", "only") and i != query]
        return int(rng.choice(there)) if there else query

    found = describe(invented(model, look))[0]
    assert found.by_content
    assert found.findings[0].feature.key == "to negation"


@pytest.mark.slow
def test_a_head_that_looks_anywhere_has_no_description(model):
    sums = invented(model, lambda tokens, query, rng: int(rng.integers(1, len(tokens) - 1)))
    assert describe(sums)[0] == Description()


def test_of_a_short_text_it_is_said_that_there_are_too_few_moments_to_look(model):
    for part in read_passages(LINES[:1], model):
        found = atlas(part.sums).entry((0, 0))
    assert found.description.findings == ()
    assert "too few moments in this text" in sentence(found, "[CLS] or [SEP]")
    assert "none of the fixed features" not in sentence(found, "[CLS] or [SEP]")
    looked = replace(found, description=Description())
    assert "none of the fixed features" in sentence(looked, "[CLS] or [SEP]")


@pytest.mark.slow
def test_two_things_that_exclude_one_another_are_both_said(model):
    def look(tokens, query, rng):
        last = len(tokens) - 2
        return int(rng.choice([query, min(query + 9, last), max(query - 2, 1)], p=[0.4, 0.2, 0.4]))

    found = describe(invented(model, look))[0]
    assert found.two
    assert {one.feature.key for one in found.findings} == {"itself", "two back"}


def test_halves_and_rows_with_a_choice_are_what_descriptions_are_of(model):
    sums = invented(model, lambda tokens, query, _: max(query - 1, 1), n=40)
    for half in (0, 1):
        assert all(half_of(sums.passages[one.passage].tokens) == half for one in sums.halves[half].sorted(0))
    short = AtlasSums(1, 1, is_causal=True)
    tokens = model.tokenizer.encode("one two three")
    short.add(np.full((1, 1, 5, 5), 0.2, np.float32), np.ones((1, 1, 5), np.float32), tokens)
    assert len(tokens) < LEAST_CHOICE
    assert short.strongest.sorted(0)
    assert not short.halves[half_of(tokens)].sorted(0)


def test_a_row_counts_for_a_description_from_as_many_keys_on_as_are_asked_for(model):
    """The rows at 7, 8 and 9 are the strongest; of a decoder's text row 7 can choose among seven keys."""
    tokens = model.tokenizer.encode("one two three four five six seven eight nine ten")
    n, weights = len(tokens), np.zeros((1, 1, 12, 12), np.float32)
    assert (n, LEAST_CHOICE) == (12, 8)
    for query, weight in ((7, 0.9), (8, 0.8), (9, 0.7)):
        weights[0, 0, query, query - 2] = weight
    sums = AtlasSums(1, 1, is_causal=True)
    sums.add(weights, np.ones((1, 1, n), np.float32), tokens)
    half = sums.halves[half_of(tokens)]
    assert [[(one.query, one.key) for one in kept.sorted(0)] for kept in (sums.strongest, half)] == [
        [(7, 5), (8, 6)],
        [(8, 6), (9, 7)],
    ]


def test_long_lines_are_cut_between_words_and_empty_ones_left_out(model):
    tokens = passage_tokens("elephantine " * 90, model)
    assert len(tokens) <= MOST_TOKENS
    assert tokens.text.endswith("elephantine")
    assert passage_tokens("  ", model) is None
    assert passage_tokens("ab", model) is None


def test_a_sentence_says_what_every_share_is_compared_with():
    link = Finding(Feature("same", "link", "at the same word"), 0.6, 0.03, 40)
    place = Finding(Feature("one", "position", "one token back"), 0.5, 0.125, 40)
    entry = HeadEntry((0, 0), Description((link, place)), {"rests": 0.25}, (), (), ())
    assert sentence(entry, "the first token") == (
        "Rests on the first token in 25 % of the rows. When it acts, it looks at the same word (60 % of its 40 "
        "strongest moments, 20 times as often as other pairs as far apart); one token back (50 % of its 40 strongest "
        "moments, 4.0 times as often as the keys these rows could choose)."
    )


def test_a_head_is_called_by_its_first_finding_or_by_both_of_two_things():
    first, second = (
        Finding(Feature(words, "link", f"at {words}"), 0.6, 0.1, 40) for words in ("a copy", "a noun")
    )
    assert label(Description((first, second))) == "a copy"
    assert label(Description((first, second), two=True)) == "two things: a copy; a noun"
    assert label(Description()) == NO_DESCRIPTION


def test_a_sentence_says_two_findings_by_content_and_the_place():
    said = {
        "link": "at the same word",
        "from": "from a pronoun",
        "to": "to a noun",
        "position": "one token back",
    }
    findings = tuple(Finding(Feature(kind, kind, words), 0.6, 0.1, 40) for kind, words in said.items())
    unframed = sentence(HeadEntry((0, 0), Description(findings), {"rests": 0.25}, (), (), ()), "")
    assert unframed.startswith("When it acts, it looks ")
    found = sentence(HeadEntry((0, 0), Description(findings), {"rests": 0.25}, (), (), ()), "the first token")
    assert found == f"Rests on the first token in 25 % of the rows. {unframed}"
    assert [words in found for words in said.values()] == [True, True, False, True]


def test_a_moment_in_the_file_points_at_its_own_passage():
    passages = {number: Line(name, (name, "x"), (0, 2), (1, 3)) for number, name in ((3, "a"), (8, "b"))}
    entry = HeadEntry(
        (0, 1), Description(), {}, (Moment(8, 1, 0, 0.5, 2.0), Moment(3, 1, 0, 0.4, 1.0)), (), ()
    )
    data = atlas_data(Atlas((entry,), passages, 9, 18))
    assert data["passages"] == {"3": ["a", "x"], "8": ["b", "x"]}
    assert [one["passage"] for one in data["heads"][0]["moments"]] == [8, 3]


def test_the_data_are_as_documented(pair):
    model, _ = pair
    for part in read_passages(LINES, model):
        sums = part.sums
    for entry in atlas(sums).heads:
        tenths = [[one.brings for one in tenth] for tenth in entry.tenths if tenth]
        ends = [(min(brings), max(brings)) for brings in tenths]
        assert all(most <= least for (_, most), (least, _) in pairwise(ends)), "the weakest tenth first"
        assert len(tenths) > 2
    data = atlas_data(atlas(sums), (1, 0))
    assert list(data) == ["passages", "heads"]
    (head,) = data["heads"]
    assert list(head) == ["layer", "head", "description", "measures", "moments"]
    assert (head["layer"], head["head"]) == (2, 1)
    one = head["moments"][0]
    assert list(one) == ["passage", "query", "key", "weight", "brings"]
    assert data["passages"][str(one["passage"])][one["query"]]


def decoder(tmp_path, kind, which):
    pytest.importorskip("transformers")
    write_decoder(tmp_path, random_decoder(kind, which))
    return load_model(str(tmp_path), device="cpu")


@pytest.mark.parametrize(("kind", "which"), [("gpt2", 0), ("llama", 1)])
def test_what_is_lost_is_the_gated_runs_loss(tmp_path, kind, which):
    model = decoder(tmp_path, kind, which)
    tokens = model.tokenizer.encode(LINES[0])
    whole, without = surprise_without(tokens, model, 1)
    targets = np.array(tokens.ids[1:])

    def by_gates(gates):
        logits = torch.tensor(np.array(next_logits(tokens, model, gates=gates)))[:-1].log_softmax(-1)
        return logits.gather(-1, torch.tensor(targets)[:, None])[:, 0].numpy()

    assert whole == pytest.approx(by_gates(None), abs=1e-4)
    gates = np.ones((model.n_layers, model.n_heads))
    gates[1, 2] = 0
    assert without[2] == pytest.approx(by_gates(gates), abs=1e-4)


def test_the_tokens_that_lose_most_are_those_whose_probability_falls_most():
    """Eight rare tokens lose nearly all they had, which is little; one loses a fifth, which is more."""
    before = np.array([*[0.02] * TOLD, 0.5])
    after = np.array([*[0.001] * TOLD, 0.4])
    found = HeadLoss()
    found.add(3, np.log(before), np.log(after))
    assert len(found.tokens) == TOLD
    first = found.tokens[0]
    assert (first.passage, first.position) == (3, TOLD + 1)
    assert (first.before, first.after) == (pytest.approx(0.5), pytest.approx(0.4))
    assert found.nats == pytest.approx((TOLD * np.log(20) + np.log(1.25)) / (TOLD + 1))


def test_what_becomes_likelier_without_a_head_is_not_said_to_be_lost():
    """Of six tokens of two short texts two rise and one stays; the other three are listed, whatever room there is."""
    found = HeadLoss()
    found.add(7, np.log([0.5, 0.25, 0.125]), np.log([0.375, 0.5, 0.0625]))
    found.add(2, np.log([0.5, 0.75, 0.125]), np.log([0.5, 0.25, 0.25]))
    listed = [(one.passage, one.position, one.before, one.after) for one in found.tokens]
    assert listed == [
        (2, 2, pytest.approx(0.75), pytest.approx(0.25)),
        (7, 1, pytest.approx(0.5), pytest.approx(0.375)),
        (7, 3, pytest.approx(0.125), pytest.approx(0.0625)),
    ]
    assert found.n == 6
    assert found.nats == pytest.approx(np.log(4 / 3 * 1 / 2 * 2 * 1 * 3 * 1 / 2) / 6)


def test_every_head_of_every_layer_is_taken_away_from_the_states_that_its_layer_reads(monkeypatch):
    """Two layers of two heads; what a token has without a head is made up from passage, layer and head."""
    asked = []

    left = {"short": [0.5, 0.25, 0.125], "long": [0.5, 0.75, 0.25]}

    def without_from(states, text, _model, layer, last):
        asked.append((states, text, layer, last))
        whole = np.full(1, np.log(0.5))
        return whole, np.log([[left[text][layer + head]] for head in range(2)])

    states = lambda texts, _, need_weights: SimpleNamespace(  # noqa: E731
        hidden_states=[f"{texts[0]} {i}" for i in range(3)]
    )
    monkeypatch.setattr("mha_core.heads.atlas.losses.run", states)
    monkeypatch.setattr("mha_core.heads.atlas.losses.without_from", without_from)
    model, passages = SimpleNamespace(n_layers=2, n_heads=2), [(7, "short"), (2, "long")]
    steps = [
        (
            done,
            {
                head: (loss.n, round(float(np.exp(loss.nats)), 6), list(loss.tokens))
                for head, loss in found.items()
            },
        )
        for done, found in losses(passages, model)
    ]
    half = lambda passage, after: Loss(passage, 1, pytest.approx(0.5), pytest.approx(after))  # noqa: E731
    assert steps == [
        (1, {(0, 0): (1, 1.0, []), (0, 1): (1, 2.0, [half(7, 0.25)]), (1, 0): (1, 2.0, [half(7, 0.25)]),
             (1, 1): (1, 4.0, [half(7, 0.125)])}),
        (2, {(0, 0): (2, 1.0, []), (0, 1): (2, round((4 / 3) ** 0.5, 6), [half(7, 0.25)]),
             (1, 0): (2, round((4 / 3) ** 0.5, 6), [half(7, 0.25)]),
             (1, 1): (2, round(8**0.5, 6), [half(7, 0.125), half(2, 0.25)])}),
    ]  # fmt: skip
    assert asked == [
        (f"{text} {layer}", text, layer, f"{text} 2") for text in ("short", "long") for layer in (0, 1)
    ]
    ((_, some),) = losses(passages[:1], model, [1])
    assert list(some) == [(1, 0), (1, 1)]


@pytest.mark.parametrize(("kind", "which"), [("gpt2", 0), ("llama", 0)])
def test_parts_through_the_final_norm_add_up_to_the_scores(tmp_path, kind, which):
    model = decoder(tmp_path, kind, which)
    tokens = model.tokenizer.encode(LINES[1])
    last = run([tokens], model, need_weights=False).hidden_states[-1][0]
    with torch.inference_mode():
        scores = model.next_head(through_norm(last, last, model)).numpy()
    expected = np.array(next_logits(tokens, model))
    bias = getattr(model.encoder.norm, "bias", None)
    if bias is not None:
        expected = expected - model.next_head(bias[None]).detach().numpy()
    assert scores == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("which", [0, 1])
def test_what_a_head_raises_is_its_own_output_through_the_vocabulary(tmp_path, which):
    model = decoder(tmp_path, "llama", which)
    assert model.n_kv_heads == (1, 3)[which], "heads that share their values"
    tokens = model.tokenizer.encode(LINES[0])
    query = len(tokens) - 2
    told = raised(tokens, model, [(2, 1, query)], k=3)[0]
    output = run([tokens], model, details_of=2)
    part = output.details.contributions[0, 1, query]
    last = output.hidden_states[-1][0, query]
    scale = (last.pow(2).mean() + model.encoder.norm.eps).rsqrt()
    with torch.inference_mode():
        scores = model.next_head((part * scale * model.encoder.norm.weight)[None])[0][
            : model.tokenizer.vocab_size
        ]
    scores = scores - scores.mean()
    best = scores.topk(3)
    assert [one.text for one in told] == [model.tokenizer.typed(i) for i in best.indices.tolist()]
    assert [one.logits for one in told] == pytest.approx(best.values.tolist(), abs=1e-4)


def test_what_is_raised_stands_beside_the_moment_that_it_was_raised_at(monkeypatch):
    """Two heads whose moments go back and forth between two passages; the seventh moment is not asked for."""
    asked = []

    def told(tokens, _model, places):
        asked.append((tokens, sorted(places)))
        return [(f"{tokens} {place}",) for place in places]

    places = {(0, 1): (5, 3, 5, 3, 3, 5, 9), (2, 0): (3, 5)}
    entries = tuple(
        HeadEntry(
            head, Description(), {}, tuple(Moment(of, i + 1, 0, 0.5, 9.0 - i) for i, of in enumerate(listed)), (), ()
        )
        for head, listed in places.items()
    )  # fmt: skip
    passages = {number: Line(f"text {number}", (), (), ()) for number in (3, 5, 9)}
    monkeypatch.setattr(making, "raised", told)
    model = SimpleNamespace(tokenizer=SimpleNamespace(encode=lambda text: text))
    found = making.raised_at(Atlas(entries, passages, 10, 100), model)
    assert found == {
        head: tuple((f"text {of} {(*head, i + 1)}",) for i, of in enumerate(listed[:6]))
        for head, listed in places.items()
    }
    assert asked == [
        ("text 5", [(0, 1, 1), (0, 1, 3), (0, 1, 6), (2, 0, 2)]),
        ("text 3", [(0, 1, 2), (0, 1, 4), (0, 1, 5), (2, 0, 1)]),
    ]


@pytest.mark.parametrize("predicts", [True, False])
def test_what_is_shipped_are_the_reader_s_numbers_beside_those_of_both_controls(monkeypatch, predicts):
    """Heads by their descriptions: c by content, p by a position, - without one."""
    of = {"reader": "ccp-", "twin": "p---", "shuffled": "cppp"}
    finding = {kind[0]: Finding(Feature(kind, kind, kind), 0.5, 0.1, 30) for kind in ("position", "content")}

    def atlas_of(sums):
        heads = tuple(
            HeadEntry((0, i), Description((finding[sign],) if sign in finding else ()), {}, (), (), ())
            for i, sign in enumerate(of[sums])
        )
        return Atlas(heads, {}, len(sums), 0)

    def read(lines, model):
        assert list(lines) == ["text of the reader"]
        for n in (1, 2):
            yield SimpleNamespace(n=n, sums=model.sums)

    def lost(passages, _):
        for done in range(1, len(passages) + 1):
            yield done, {(0, 0): f"loss after {done}"}

    loaded, said = [], []
    twin = SimpleNamespace(sums="twin")
    monkeypatch.setattr(making, "read_reader", lambda: [SimpleNamespace(text="text of the reader")])
    monkeypatch.setattr(making, "read_passages", read)
    monkeypatch.setattr(making, "load_model", lambda *given, **how: loaded.append((given, how)) or twin)
    monkeypatch.setattr(making, "atlas", atlas_of)
    monkeypatch.setattr(making, "shuffled", lambda sums, seed: {("reader", 3): "shuffled"}[sums, seed])
    monkeypatch.setattr(making, "raised_at", lambda found, _: {(0, 0): len(found.heads)})
    monkeypatch.setattr(making, "one_of_a_register", lambda _: ["one", "two"])
    monkeypatch.setattr(making, "losses", lost)
    model = SimpleNamespace(
        sums="reader", name="m", device="cpu", digest="abc", next_head="a head" if predicts else None
    )
    made = making.make(model, said.append, seed=3)
    assert loaded == [(("m",), {"trained": False, "device": "cpu"})]
    assert [entry.description.by_content for entry in made.atlas.heads] == [True, True, False, False]
    assert made.controls == {"untrained": Control(1, 0, 4), "shuffled": Control(4, 1, 4)}
    assert made.digest == "abc"
    assert made.raises == ({(0, 0): 4} if predicts else {})
    assert made.losses == ({(0, 0): "loss after 2"} if predicts else {})
    read_twice = [f"{what}: {n} passages" for what in ("reader", "untrained twin") for n in (1, 2)]
    without = [f"what is lost without each head: {n} of 2 passages" for n in (1, 2)]
    assert said == [*read_twice, *(without if predicts else [])]


def test_a_moment_orders_by_what_it_brings():
    assert Moment(0, 1, 0, 0.1, 2.0).order > Moment(0, 1, 0, 0.9, 1.0).order


def test_habits_by_hand(model):
    tokens = model.tokenizer.encode("the cat saw the cat")
    n = len(tokens)
    weights = np.zeros((1, 1, n, n), np.float32)
    weights[0, 0, :, 0] = 0.5
    for query in range(1, n):
        weights[0, 0, query, query - 1 or 1] += 0.5
    sums = AtlasSums(1, 1, is_causal=False)
    sums.add(weights, np.full((1, 1, n), 2.0, np.float32), tokens)
    found = {name: float(values[0]) for name, values in sums.habits.result().items()}
    assert found["rest"] == pytest.approx(0.5)
    assert found["previous"] == pytest.approx(0.5)  # the first word's is [CLS]
    assert found["self"] == pytest.approx(0.1)
    assert found["next"] == 0
    assert found["distance"] == pytest.approx(4 / 5)
    assert found["entropy"] == pytest.approx(np.log(2), abs=1e-5)
    assert found["brings"] == pytest.approx(1.0)
    assert found["after a copy"] == 0
    assert found["rests"] == 1


def test_copies_are_looked_for_in_the_rows_that_have_some(model):
    """Four of the five words have a copy, two an earlier one."""
    tokens = model.tokenizer.encode("the cat saw the cat")
    weights = np.zeros((1, 1, len(tokens), len(tokens)), np.float32)
    for query, key, weight in ((1, 4, 0.2), (4, 1, 0.3), (4, 2, 0.4), (5, 2, 0.7), (5, 3, 0.2)):
        weights[0, 0, query, key] = weight
    weights[0, 0, :, 0] = 1 - weights[0, 0].sum(-1)
    sums = AtlasSums(1, 1, is_causal=False)
    sums.add(weights, np.ones((1, 1, len(tokens)), np.float32), tokens)
    found = sums.habits.result()
    assert float(found["same token"][0]) == pytest.approx((0.2 + 0.3 + 0.7) / 4)
    assert float(found["after a copy"][0]) == pytest.approx((0.4 + 0.2) / 2)


@pytest.mark.long
def test_with_tokens_shuffled_content_vanishes_and_position_stays(model):
    def negations(tokens, query, rng):
        there = [i for i, piece in enumerate(tokens.pieces) if piece.text in ("not", "only") and i != query]
        return int(rng.choice(there)) if there else query

    content = shuffled(invented(model, negations))
    assert not describe(content)[0].by_content
    place = shuffled(invented(model, lambda tokens, query, _: max(query - 1, 1)))
    assert describe(place)[0].findings[0].feature.key == "one back"


def test_shuffled_tokens_are_the_same_ones_and_special_ones_stay(model):
    sums = invented(model, lambda tokens, query, _: query, n=4)
    mixed = shuffled(sums)
    for number, one in sums.passages.items():
        before, after = (list(of.tokens.pieces) for of in (one, mixed.passages[number]))
        assert (after[0], after[-1]) == (before[0], before[-1])
        assert after != before
        assert sorted(piece.start for piece in after) == sorted(piece.start for piece in before)
        found = pair_features(mixed.passages[number].tokens, False)
        np.testing.assert_array_equal(mixed.passages[number].counts, found.counts)


def test_heads_are_taken_away_on_the_first_passage_of_each_of_seven_registers(model):
    passages = read_reader()
    first = {one.register: number for number, one in reversed(list(enumerate(passages)))}
    found = one_of_a_register(model)
    assert [number for number, _ in found] == sorted(first.values())[:7]
    for number, tokens in found:
        assert passages[number].text.startswith(tokens.text)


@pytest.mark.slow
def test_a_description_holds_in_the_other_half_or_is_none(model):
    def look(tokens, query, rng):
        return max(query - 1, 1) if half_of(tokens) == 0 else int(rng.integers(1, len(tokens) - 1))

    assert describe(invented(model, look))[0] == Description()


def test_every_passage_counts_once_in_the_baseline_however_many_moments_are_of_it(model):
    """One back there is a negation in 1 of 3 pairs of the first text and in 1 of 5 of the second."""
    sums = AtlasSums(1, 1, is_causal=False)
    for text in ("tree not lamp door", "moon salt king not boat glass"):
        tokens = model.tokenizer.encode(text)
        n = len(tokens)
        sums.add(np.full((1, 1, n, n), 1 / n, np.float32), np.ones((1, 1, n), np.float32), tokens)
    moments = [Moment(0, 2, 1, 1.0, 1.0), Moment(0, 3, 2, 1.0, 1.0), Moment(1, 2, 1, 1.0, 1.0)]
    names = [feature.key for feature in features(is_causal=False)]
    expected = _Lookup(sums)._expected(moments)
    assert expected[names.index("to negation")] == pytest.approx(2 / 8)
    assert expected[names.index("one back")] == pytest.approx((1 / 4 + 1 / 4 + 1 / 6) / 3)


@pytest.mark.slow
def test_the_baseline_is_that_of_pairs_of_the_same_distance(model):
    """Neighbours are often of one word here: a head that looks one back finds no more of them than any other pair."""
    rng = np.random.default_rng(0)
    words = ["unbelievably", "counterclockwise", "incomprehensibilities", "electroencephalograph"]
    sums = AtlasSums(1, 1, is_causal=False)
    for _ in range(140):
        tokens = model.tokenizer.encode(" ".join(rng.choice(words, 6)))
        weights = np.full((1, 1, len(tokens), len(tokens)), 1e-3, np.float32)
        for query in range(len(tokens)):
            weights[0, 0, query, max(query - 1, 1)] = 0.5 + rng.random() / 2
        sums.add(weights, np.ones((1, 1, len(tokens)), np.float32), tokens)
    found = describe(sums)[0]
    assert "within a word" not in {one.feature.key for one in found.findings}
    assert found.findings[-1].feature.key == "one back"
