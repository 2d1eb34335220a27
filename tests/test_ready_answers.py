"""What a ready experiment comes to, in a sentence, drawn from numbers that are chosen here so that it can be known."""

import numpy as np
import pytest

from mha_core.experiments import Effects
from pages.parts.experiment import answers

DRAWS = (2.0, 3.0, 4.0)


def bars(answer: answers.Answer) -> list[tuple[str, float, str]]:
    return [(bar.name, pytest.approx(bar.value), bar.text) for bar in answer.bars]


def test_repetition_rests_on_heads_only_if_no_draw_did_as_much_harm():
    said = answers.repetition([(4, 1), (2, 0)], 0.5, 4.5, DRAWS, 8)
    assert said.said == (
        "The loss on the second copy is 0.50 nats a token. Without the 2 heads that do most induction it is 4.50; "
        "without 2 random others 3.00 (median of 3 draws, 2.00 to 4.00): more than in any draw, so going on with a "
        "text that was seen once rests on these heads."
    )
    assert bars(said) == [
        ("as it is", 0.5, "0.50"),
        ("without 5-2, 3-1", 4.5, "4.50"),
        ("without 2 others, the median draw", 3.0, "3.00"),
        ("without 2 others, the worst draw", 4.0, "4.00"),
    ]
    for without, below in ((4.0, 2), (2.5, 1), (1.0, 0)):
        other = answers.repetition([(0, 0)], 0.5, without, DRAWS, 8).said
        assert other.endswith(f"more than in {below} of the draws, so these heads are not alone in it."), (
            other
        )


def test_of_uneven_draws_the_median_is_said_and_drawn():
    answer = answers.repetition([(0, 0)], 0.5, 9.0, (2.0, 3.0, 7.0), 8)
    assert "random others 3.00 (median of 3 draws, 2.00 to 7.00)" in answer.said
    assert bars(answer)[2] == ("without 1 others, the median draw", 3.0, "3.00")


@pytest.mark.parametrize(
    ("without", "meaning"),
    [
        (1.99, "less harm than as many others do, but not none."),
        (2.0, "no less harm than others do: resting is not all they do, or the model needs what they add."),
    ],
)
def test_heads_that_rest_do_less_harm_only_if_every_draw_did_more(without, meaning):
    said = answers.sink(120, [(0, 1), (3, 2)], 1.5, without, 1.75, DRAWS, 900, "It rained.")
    assert said.said == (
        "In 2 of 120 heads the first token takes more than half of the attention. Without them the loss on ordinary "
        f"text goes from 1.50 to {without:.2f}, with their mean output instead to 1.75; without 2 random others it is "
        f"2.00 to 4.00 (3 draws): {meaning}"
    )
    assert [bar[0] for bar in bars(said)][1:3] == [
        "without the 2 that rest there",
        "with their mean output instead",
    ]
    assert [bar.value for bar in said.bars] == [1.5, without, 1.75, 3.0, 4.0]
    assert said.link == {"text": "It rained.", "off": "1-2,4-3"}


def effects(after: list[list[float]]) -> Effects:
    """Of four heads: the logit difference without each, and two probabilities that say which head it was."""
    numbers = np.zeros((2, 2, 3))
    numbers[..., 0] = after
    numbers[..., 1] = [[0.11, 0.12], [0.21, 0.22]]
    return Effects(("difference", "p", "q"), (2.0, 0.6, 0.1), numbers)


def test_of_two_words_it_is_said_how_many_heads_decide_and_which_one_most():
    said = answers.next_word(effects([[1.5, -1.0], [4.5, 2.0]]), "The cat", " sat", " ran", named=2)
    assert said.said == (
        "` sat` gets 60.0 %, ` ran` 10.0 %. One of 4 heads, taken away alone, makes ` ran` the likelier one; 1-2 "
        "matters most: without it the logit difference goes from 2.00 to −1.00, and ` sat` from 60.0 % to 12.0 %."
    )
    assert bars(said) == [
        ("as it is", 2.0, "2.00"),
        ("without 1-2", -1.0, "−1.00"),
        ("without 2-1", 4.5, "4.50"),
    ]
    assert said.link == {"text": "The cat", "off": "1-2", "word": " sat"}
    none = answers.next_word(effects([[1.5, 0.0], [4.5, 2.0]]), "x", "a", "b").said
    assert "None of 4 heads, taken away alone, make `b`" in none, "a tie turns nothing"
    two = answers.next_word(effects([[-1.5, -0.1], [1.0, 2.0]]), "x", "a", "b").said
    assert "2 of 4 heads, taken away alone, make `b`" in two


def test_of_an_embedding_it_is_said_where_a_head_stands_and_how_many_of_the_last_layer_come_first():
    cosines = np.array([[0.99, 0.98], [0.97, 0.9999]])
    said = answers.embedding(cosines, 40, (1, 0), "A text")
    assert said.said == (
        "Without 2-1 the embedding keeps a cosine of 0.970 with what it was: the most of all 4 heads. 1 of the 2 that "
        "turn it most stand in the last layer, which nothing above can make good; 2-2 turns it least (0.9999)."
    )
    assert [bar[:1] + bar[2:] for bar in bars(said)] == [
        ("without 2-1", "0.970"),
        ("without 1-2", "0.980"),
        ("without 1-1", "0.990"),
        ("without 2-2", "1.000"),
    ]
    assert [bar.value for bar in said.bars] == pytest.approx([0.03, 0.02, 0.01, 0.0001])
    third = answers.embedding(cosines, 40, (0, 0), "A text")
    assert "a cosine of 0.990 with what it was: number 3 of all 4 heads." in third.said
    assert third.link["off"] == "1-1"
