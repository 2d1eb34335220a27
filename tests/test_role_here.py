"""What a head is called, and what it does in the sentence at hand: every number is counted again by hand."""

import re
from dataclasses import replace

import numpy as np
import pytest

from mha_core import ModelInfo, Record, trace
from mha_core.heads.role_here import in_this_sentence, role_said
from mha_core.heads.roles import Role, real_roles
from mha_core.heads.verdicts.shipped import read_evidence
from tests.heads_by_hand import looking, tokens_of

WORDS = ["lamp", "red", "lamp", "new"]


def record(matrix: np.ndarray, words=WORDS) -> Record:
    info = ModelInfo("m", "M", True, 1, 1, 3, 3, 10, 64, "digest")
    return Record(info, tokens_of(words), matrix.astype(np.float32)[None, None])


def decoder(matrix: list[list[float]]) -> Record:
    """The words alone, without special tokens, each of which sees what stands before it."""
    tokens = tokens_of(WORDS)
    info = ModelInfo("m", "M", True, 1, 1, 3, 3, 10, 64, "digest", is_causal=True)
    own = replace(tokens, pieces=tokens.pieces[1:-1], words=())
    return Record(info, own, np.array(matrix, dtype=np.float32)[None, None])


def role(key: str, label: str, detail: str = "") -> Role:
    return Role("x", label, key, 0.9, 0.1, 100, "Right in 90.0 %.", detail, "a treebank")


def test_a_resting_head_that_does_not_rest_here_is_said_to_do_something_else():
    resting = role("separator", "looks at [CLS]")
    here = record(looking(6, dict.fromkeys(range(6), 0), 0.8))
    assert role_said(here, (0, 0), resting) == (
        "Head 1-1 is called “looks at [CLS]”. Right in 90.0 %. "
        "In this sentence it does so too: words send 80.0 % of their attention to [CLS]."
    )
    away = record(looking(6, dict.fromkeys(range(6), 0), 0.3))
    assert role_said(away, (0, 0), resting) == (
        "Here head 1-1 does less of what it is called by: words send 30.0 % of their attention to [CLS]. "
        "Over many sentences it is called “looks at [CLS]”. Right in 90.0 %."
    )
    other = role_said(record(looking(6, dict.fromkeys(range(6), 1), 0.9)), (0, 0), resting)
    assert other.startswith("Here head 1-1 does something else than what it is called by: words send 2.0 %")


def test_a_head_that_rests_on_punctuation_is_not_told_where_there_is_none():
    resting = role("separator", "looks at punctuation")
    none = in_this_sentence(record(looking(6, {}, 0.8)), (0, 0), resting)
    assert (none.says, none.does) == ("This sentence has no punctuation.", None)
    words = looking(6, dict.fromkeys((0, 1, 2, 3, 5), 4), 0.8)  # what the mark itself looks at does not count
    some = in_this_sentence(record(words, [*WORDS[:3], "."]), (0, 0), resting)
    assert (some.says, some.does) == ("words send 80.0 % of their attention to punctuation", True)


def test_half_of_it_is_enough_and_half_of_that_is_less():
    resting = role("separator", "looks at [CLS]")
    for share, does, less in ((0.5, True, True), (0.25, False, True), (0.125, False, False)):
        found = in_this_sentence(record(looking(6, dict.fromkeys(range(6), 0), share)), (0, 0), resting)
        assert (found.does, found.half) == (does, less), share


def test_the_row_of_cls_itself_does_not_count():
    matrix = looking(6, dict.fromkeys(range(1, 5), 5), 0.9)
    matrix[0] = np.eye(6)[0]
    assert in_this_sentence(record(matrix), (0, 0), role("separator", "looks at [CLS]")).does is False


def test_a_head_of_a_place_is_counted_where_the_sentence_reaches_that_far():
    before = role("positional", "previous token", "-1")
    matrix = looking(6, {2: 1, 3: 2, 4: 0}, 0.8)
    found = in_this_sentence(record(matrix), (0, 0), before)
    assert (found.says, found.does) == ("66.7 % of the tokens look most there", True)
    far = in_this_sentence(record(matrix), (0, 0), role("positional", "9 tokens back", "-9"))
    assert (far.says, far.does) == ("No token of this sentence has another at that distance.", None)


def test_the_first_token_of_a_decoder_can_only_look_at_itself_and_does_not_count():
    here = decoder([[1, 0, 0, 0], [0.9, 0.1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    found = in_this_sentence(here, (0, 0), role("positional", "itself", "0"))
    assert (found.says, found.does) == ("66.7 % of the tokens look most there", True)


def test_a_decoders_head_rests_on_the_first_token_and_its_own_row_does_not_count():
    here = decoder([[1, 0, 0, 0], [0.9, 0.1, 0, 0], [0.5, 0, 0.5, 0], [0.7, 0, 0, 0.3]])
    found = in_this_sentence(here, (0, 0), role("sink", "rests on the first token"))
    assert (found.says, found.does) == ("words send 70.0 % of their attention to the first token", True)


def test_copies_are_those_of_this_sentence():
    copy = role("copy", "earlier copy")
    assert in_this_sentence(record(looking(6, {3: 1}, 0.8)), (0, 0), copy).does is True
    other = in_this_sentence(record(looking(6, {3: 2}, 0.8)), (0, 0), copy)
    assert (other.says, other.does) == ("0 of 1 repeated word looks most at the earlier copy", False)
    none = record(looking(6, {}, 0.8), ["one", "two", "six", "ten"])
    assert in_this_sentence(none, (0, 0), copy).does is None


def test_what_only_a_tree_could_tell_is_not_told():
    found = role_said(record(looking(6, {})), (0, 0), role("syntactic", "determiner → the next noun"))
    assert found.endswith("Whether it finds the right word here, the sentence itself does not say.")


@pytest.mark.parametrize(
    "text",
    ["The old man looked at the sea.", "Stop!", "The lamp fell, and a new lamp was bought by the baker."],
)
def test_no_notice_of_the_embedded_model_is_false_here(model, text):
    here = trace(text, model)
    own = np.array([not piece.special for piece in here.tokens.pieces])
    words = own & np.array([piece.bare not in ".,;:?!" for piece in here.tokens.pieces])
    checked = 0
    for head, given in real_roles(read_evidence("minilm")).items():
        said = role_said(here, head, given)
        if given.label != "looks at [CLS]":
            continue
        mass = float(here.weights[head][words][:, 0].mean())
        number = float(re.search(r"send ([\d.]+) %", said)[1]) / 100
        assert number == pytest.approx(mass, abs=0.0006)
        assert said.startswith("Here head") == (mass < 0.5)
        checked += 1
    assert checked >= 8
