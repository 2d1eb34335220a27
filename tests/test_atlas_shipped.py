"""The atlas that comes with the program: it is of this text and these weights; a part is computed again."""

import gzip
import json
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mha_core import InputError, load_model
from mha_core.cli import main
from mha_core.embedded import DECODER_DIGEST, EMBEDDED_DIGESTS
from mha_core.heads.atlas import cli, shipped
from mha_core.heads.atlas.cli import _table, add_atlas_parser
from mha_core.heads.atlas.describe import Description, Finding
from mha_core.heads.atlas.effects import Raised
from mha_core.heads.atlas.features import features
from mha_core.heads.atlas.losses import HeadLoss, Loss
from mha_core.heads.atlas.moments import Moment
from mha_core.heads.atlas.reading import looked_at, passage_tokens, read_passages, split_passages
from mha_core.heads.atlas.said import label, sentence
from mha_core.heads.atlas.shipped import (
    Control,
    Shipped,
    packed,
    read_shipped,
    shipped_file,
    write_shipped,
)
from mha_core.heads.atlas.table import Atlas, HeadEntry, Line, atlas_data
from mha_core.reader import read_reader, reader_digest

DIGESTS = {"minilm": EMBEDDED_DIGESTS["model.safetensors"], "smollm2": DECODER_DIGEST}
AGAIN = 6  # passages


@pytest.fixture(scope="module", params=DIGESTS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def there(name):
    return read_shipped(name, DIGESTS[name])


def test_it_belongs_to_this_text_and_these_weights(name, there):
    data = json.loads(gzip.decompress(shipped_file(name).read_bytes()))
    assert data["text"] == reader_digest()
    assert data["digest"] == DIGESTS[name]
    assert data["command"] == f"python -m mha_core heads atlas --model {name} --ship"
    assert read_shipped(name, "another") is None
    again = json.loads(json.dumps(packed(there, name)))
    assert again["passages"] == data["passages"]
    assert again["heads"] == data["heads"]


def test_it_is_small_and_there_in_a_moment(name):
    assert shipped_file(name).stat().st_size < 700_000
    started = time.process_time()
    read_shipped(name, DIGESTS[name])
    assert time.process_time() - started < 1.0


def test_every_head_is_in_it_with_moments_of_all_kinds(name, there):
    heads = there.atlas.heads
    assert len(heads) == {"minilm": 72, "smollm2": 270}[name]
    assert there.atlas.n_passages == len(read_reader())
    for entry in heads:
        assert 15 <= len(entry.strongest) <= 40
        assert [len(tenth) for tenth in entry.tenths] == [2] * 10
        assert len(entry.random) == 8
        assert label(entry.description)
        assert "%" in sentence(entry, "the first token")


@pytest.mark.slow
def test_moments_of_minilm_come_out_again(model):
    there = read_shipped("minilm").atlas
    texts = [one.text for one in read_reader()][:AGAIN]
    tokens = [passage_tokens(text, model) for text in texts]
    numbers = looked_at(tokens, model)
    checked = 0
    for entry in there.heads:
        for one in (*entry.strongest, *entry.random, *(m for tenth in entry.tenths for m in tenth)):
            if one.passage >= AGAIN:
                continue
            weights, lengths = numbers[one.passage]
            weight = float(weights[*entry.head, one.query, one.key])
            assert one.weight == pytest.approx(weight, rel=1e-3, abs=1e-5)
            assert one.brings == pytest.approx(
                weight * float(lengths[*entry.head, one.key]), rel=1e-3, abs=1e-5
            )
            assert there.passages[one.passage].text == tokens[one.passage].text
            checked += 1
    assert checked > 100


@pytest.mark.slow
def test_moments_of_the_decoder_come_out_again():
    from mha_core import load_model

    used, there = load_model("smollm2"), read_shipped("smollm2").atlas
    tokens = passage_tokens(read_reader()[0].text, used)
    (weights, lengths), checked = looked_at([tokens], used)[0], 0
    for entry in there.heads:
        for one in (*entry.strongest, *entry.random):
            if one.passage == 0:
                weight = float(weights[*entry.head, one.query, one.key])
                assert one.weight == pytest.approx(weight, rel=1e-3, abs=1e-4)
                assert one.brings == pytest.approx(
                    weight * float(lengths[*entry.head, one.key]), rel=1e-3, abs=1e-3
                )
                checked += 1
    assert checked > 10


@pytest.mark.long
def test_measures_of_a_part_are_near_those_of_the_whole(model):
    texts = [one.text for one in read_reader()][::20]
    for part in read_passages(texts, model):
        found = part.sums.habits.result()
    for i, entry in enumerate(read_shipped("minilm").atlas.heads):
        assert entry.measures["rest"] == pytest.approx(float(found["rest"][i]), abs=0.1)


def test_controls_say_that_content_is_not_found_where_there_is_none(name, there):
    for control in there.controls.values():
        assert control.by_content <= control.heads / 20
    assert there.controls["shuffled"].described > there.controls["shuffled"].heads / 5
    assert there.atlas.n_by_content > 3 * max(one.by_content for one in there.controls.values())


def test_the_table_speaks_of_one_head_in_the_singular():
    found, model = read_shipped("minilm").atlas, load_model("minilm")
    none = [entry for entry in found.heads if not entry.description.findings]
    some = [entry for entry in found.heads if entry.description.findings]
    for heads, said in (
        ((none[0],), ". 0 of 1 head has a description, 0 by more"),
        ((none[0], some[0]), ". 1 of 2 heads has a description, "),
        ((none[0], *some[:2]), ". 2 of 3 heads have a description, "),
    ):
        assert said in _table(replace(found, heads=heads), model, None)


def test_what_is_known_of_the_decoder_stands_in_its_atlas():
    there = read_shipped("smollm2").atlas
    expected = {
        (26, 6): "to opening",
        (17, 3): "after a copy",
        (18, 6): "after a copy",
        (23, 3): "from joining",
    }
    expected[25, 6] = "to negation"
    for head, key in expected.items():
        found = {one.feature.key: one for one in there.entry(head).description.findings}
        assert key in found, head
        assert found[key].lift > 3


@pytest.mark.slow
def test_a_decoder_says_what_is_raised_and_lost():
    there = read_shipped("smollm2")
    assert set(there.raises) == {entry.head for entry in there.atlas.heads} == set(there.losses)
    assert all(len(one) == 10 for moments in there.raises.values() for one in moments)
    for loss in there.losses.values():
        assert loss.n > 0
        falls = [one.before - one.after for one in loss.tokens]
        assert falls == sorted(falls, reverse=True)


def test_the_command_line_gives_the_documented_json(capsys):
    assert main(["heads", "atlas", "--head", "3-9", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data) == ["model", "text", "passages", "heads"]
    assert (data["model"]["title"], data["model"]["trained"], data["text"]) == ("MiniLM", True, "the reader")
    (head,) = data["heads"]
    assert (head["layer"], head["head"]) == (3, 9)
    assert all(list(one) == ["feature", "share", "lift", "n"] for one in head["description"])
    brings = [one["brings"] for one in head["moments"]]
    assert brings == sorted(brings, reverse=True)
    assert main(["heads", "atlas", "--head", "9-9"]) == 2
    assert capsys.readouterr().err == "There is no head '9-9'; MiniLM has 6 layers of 12 heads.\n"


def test_a_text_of_ones_own_on_the_command_line(capsys, tmp_path):
    import argparse

    from mha_core.heads.atlas.cli import run

    parser = argparse.ArgumentParser()
    add_atlas_parser(parser.add_subparsers(dest="question"))
    file = tmp_path / "own.txt"
    file.write_text(
        "The old dog slept beside the stove.\n\nNobody had seen the old dog run.\n", encoding="utf-8"
    )
    assert main(["heads", "atlas", "--text", str(file), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["passages"]) == 2
    assert data["text"] == "own.txt"
    assert data["passages"]["0"][1] == "The"
    assert len(data["heads"]) == 72
    assert main(["heads", "atlas", "--text", str(file), "--format", "table"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert lines[0] == ["head", "rests", "does"]
    assert [line[:2] for line in lines[1:]] == [
        [f"{head['layer']}-{head['head']}", f"{100 * head['measures']['rests']:.0f}"]
        for head in data["heads"]
    ]
    file.write_text("\n\n", encoding="utf-8")
    assert main(["heads", "atlas", "--text", str(file)]) == 2
    assert "no passage" in capsys.readouterr().err
    file.write_text("The old dog slept.\n" * 3, encoding="utf-8")
    assert run(parser.parse_args(["atlas", "--text", str(file)]), lambda: True) == 130
    assert "Stopped after 1 passage;" in capsys.readouterr().err


def made_up():
    """Two heads of one layer: the first does two things and costs something, of the second nothing is known."""
    known = {feature.key: feature for feature in features(is_causal=False)}
    findings = Finding(known["to comma"], 0.4, 0.125, 30), Finding(known["one on"], 0.25, 0.015625, 30)
    first, second, third = (
        Moment(4, 3, 1, 0.75, 2.5),
        Moment(9, 2, 2, 0.5, 1.25),
        Moment(4, 1, 3, 0.25, 0.123456789),
    )
    heads = (
        HeadEntry(
            (1, 0), Description(findings, two=True), {"rests": 0.5, "entropy": 1.23456789}, (first, third),
            ((third,), (), (second, first)), (second,),
        ),
        HeadEntry((1, 1), Description(), {"rests": 0.25, "entropy": 2.0}, (second,), ((), (), ()), ()),
    )  # fmt: skip
    passages = {4: Line("a, b", ("a", ",", "b"), (0, 1, 3), (1, 2, 4)), 9: Line("é", ("é",), (0,), (1,))}
    return Shipped(
        Atlas(heads, passages, 11, 123),
        "the digest",
        {"untrained": Control(3, 1, 2), "shuffled": Control(2, 0, 2)},
        {(1, 0): ((Raised("é", 1.5), Raised("b", 0.5)), (Raised("c", 0.25),))},
        {(1, 0): HeadLoss(7, 0.0625, [Loss(9, 2, 0.5, 0.125), Loss(4, 1, 0.25, 0.1875)])},
    )


def test_what_is_written_is_read_again_and_only_for_this_text_and_these_weights(monkeypatch, tmp_path):
    file = tmp_path / "atlas" / "m.json.gz"
    made = made_up()
    monkeypatch.setattr(shipped, "shipped_file", lambda _: file)
    assert read_shipped("m") is None
    write_shipped(made, "some/m", file)
    once = file.read_bytes()
    write_shipped(made, "some/m", file)
    assert file.read_bytes() == once
    assert json.loads(gzip.decompress(once)) == {
        "model": "some/m",
        "digest": "the digest",
        "text": reader_digest(),
        "command": "python -m mha_core heads atlas --model some/m --ship",
        "n_passages": 11,
        "n_tokens": 123,
        "controls": {"untrained": [3, 1, 2], "shuffled": [2, 0, 2]},
        "passages": {
            "4": ["a, b", ["a", ",", "b"], [0, 1, 3], [1, 2, 4]], "9": ["é", ["é"], [0], [1]]
        },
        "heads": [
            {
                "head": [1, 0],
                "two": True,
                "description": [["to comma", 0.4, 0.125, 30], ["one on", 0.25, 0.015625, 30]],
                "measures": {"rests": 0.5, "entropy": 1.2346},
                "strongest": [[4, 3, 1, 0.75, 2.5], [4, 1, 3, 0.25, 0.12346]],
                "tenths": [[[4, 1, 3, 0.25, 0.12346]], [], [[9, 2, 2, 0.5, 1.25], [4, 3, 1, 0.75, 2.5]]],
                "random": [[9, 2, 2, 0.5, 1.25]],
                "raises": [[["é", 1.5], ["b", 0.5]], [["c", 0.25]]],
                "loss": [7, 0.0625, [[9, 2, 0.5, 0.125], [4, 1, 0.25, 0.1875]]],
            },
            {
                "head": [1, 1], "two": False, "description": [], "measures": {"rests": 0.25, "entropy": 2.0},
                "strongest": [[9, 2, 2, 0.5, 1.25]], "tenths": [[], [], []], "random": [], "raises": [], "loss": None,
            },
        ],
    }  # fmt: skip
    again = read_shipped("m", "the digest")
    assert vars(again) == {**vars(made), "atlas": again.atlas}
    short = (Moment(4, 3, 1, 0.75, 2.5), Moment(4, 1, 3, 0.25, 0.12346))
    first, second = made.atlas.heads
    assert again.atlas.heads == (
        replace(
            first, measures={"rests": 0.5, "entropy": 1.2346}, strongest=short,
            tenths=((short[1],), (), first.tenths[2]),
        ),
        second,
    )  # fmt: skip
    assert (again.atlas.passages, again.atlas.n_passages, again.atlas.n_tokens) == (
        made.atlas.passages,
        11,
        123,
    )
    assert read_shipped("m", "another") is None
    monkeypatch.setattr(shipped, "reader_digest", lambda: "another text")
    assert read_shipped("m", "the digest") is None
    assert read_shipped("m") is None


def test_what_leaves_the_program_of_a_head_is_its_own_and_counted_from_one():
    of_first = {
        "layer": 2,
        "head": 1,
        "description": [
            {"feature": "to comma", "share": 0.4, "lift": pytest.approx(3.2), "n": 30},
            {"feature": "one on", "share": 0.25, "lift": pytest.approx(16), "n": 30},
        ],
        "measures": {"rests": 0.5, "entropy": 1.23456789},
        "moments": [
            {"passage": 4, "query": 3, "key": 1, "weight": 0.75, "brings": 2.5},
            {"passage": 4, "query": 1, "key": 3, "weight": 0.25, "brings": 0.123456789},
        ],
    }
    passages = {"4": ["a", ",", "b"], "9": ["é"]}
    assert atlas_data(made_up().atlas, (1, 0)) == {"passages": passages, "heads": [of_first]}
    both = atlas_data(made_up().atlas)["heads"]
    assert both[0] == of_first
    assert [(one["layer"], one["head"], one["description"]) for one in both[1:]] == [(2, 2, [])]


def test_a_head_s_card_says_what_it_does_and_each_moment_from_the_word_that_looks(monkeypatch):
    monkeypatch.setattr(cli, "LINES", 2)
    encoder = SimpleNamespace(is_causal=False, tokenizer=SimpleNamespace(special_names=("[CLS]", "[SEP]")))
    first, second = Moment(4, 2, 1, 0.75, 2.5), Moment(4, 0, 2, 0.254, 1.25)
    found = made_up().atlas
    found = replace(found, heads=(replace(found.heads[0], strongest=(first, second, first)), found.heads[1]))
    does = (
        "When it acts, it does two things: it looks to a comma (40 % of its 30 strongest moments, 3.2 times as often "
        "as other pairs as far apart); and it looks one token further on (25 % of its 30 strongest moments, 16 times "
        "as often as the keys these rows could choose)."
    )
    for model, rests in ((encoder, "[CLS] or [SEP]"), (SimpleNamespace(is_causal=True), "the first token")):
        assert _table(found, model, (1, 0)).splitlines() == [
            f"2-1: Rests on {rests} in 50 % of the rows. {does}",
            "  'b' -> ','  weight 0.75, brings 2.5, passage 4",
            "  'a' -> 'b'  weight 0.25, brings 1.2, passage 4",
        ]


def test_a_head_is_asked_for_by_layer_and_head_from_one_to_the_last():
    model = SimpleNamespace(n_layers=3, n_heads=5, title="A model")
    assert cli._head(None, model) is None
    assert [cli._head(given, model) for given in ("1-1", "3-5", "2-3")] == [(0, 0), (2, 4), (1, 2)]
    for given in ("0-1", "1-0", "4-5", "3-6", "5-3", "3", "3-", "a-1", "²-1", "1-1-1"):
        with pytest.raises(InputError, match=f"There is no head '{given}'; A model has 3 layers of 5 heads"):
            cli._head(given, model)


def test_a_text_of_any_kind_is_split_into_passages():
    text = "One two three. Four five!\n\n" + "Word after word here. " * 40
    found = split_passages(text)
    assert found[0] == "One two three. Four five!"
    assert all(len(one.split()) <= 65 for one in found)
    assert " ".join(found).split() == text.split()
    assert np.diff([len(one.split()) for one in found[1:-1]]).tolist() == [0] * (len(found) - 3)


def test_a_passage_has_as_many_words_as_may_be_and_none_goes_over_a_line_s_end():
    def words(*sizes):
        return " ".join(" ".join(["word"] * (n - 1) + ["end."]) for n in sizes)

    sizes = [30, 35, 1, 30, 36, 70, 65]
    found = split_passages(f"{words(*sizes)}\n\n{words(2)}\n{words(3)}\n")
    assert [len(one.split()) for one in found] == [65, 31, 36, 70, 65, 2, 3]


def test_only_the_trained_model_s_numbers_on_the_reader_are_shipped(monkeypatch):
    from argparse import Namespace

    written = []
    monkeypatch.setattr(cli, "make", lambda model, _: (model, "numbers"))
    monkeypatch.setattr(cli, "write_shipped", lambda *given: written.append(given))
    for text, untrained in (("own.txt", False), (None, True)):
        with pytest.raises(InputError, match="are those of the trained model on the reader"):
            cli._ship(Namespace(text=text, untrained=untrained, progress=False, model="minilm"), "model")
    assert not written
    assert cli._ship(Namespace(text=None, untrained=False, progress=False, model="minilm"), "model") == 0
    assert written == [(("model", "numbers"), "minilm", shipped_file("minilm"))]
