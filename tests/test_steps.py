"""What a step of a reader lets run and send, counted on the wire: a new sentence is not a new page."""

import pytest

from benchmarks.steps import head, reader, sentence

pytestmark = pytest.mark.slow  # a server of its own
PAGE = {"page_config_changed", "navigation"}  # what only a run of the whole page says


def test_a_new_sentence_sends_its_numbers_and_little_else_and_a_head_next_to_nothing(app_server):
    with reader(app_server) as one:
        for text in (
            "The dog saw the cat because it was too old.",
            "The cat saw the dog because it was too old.",
        ):
            one.ask(*sentence(one, text))
            one.hear()
        kinds, weights = {kind for kind, _ in one.sent}, 2 * 72 * 13**2
        assert not kinds & PAGE
        assert len(one.sent) <= 36
        assert sum(size for _, size in one.sent) <= weights + 7_000
        for number in (7, 14):
            one.ask(*head(one, number))
            one.hear()
        kinds = [kind for kind, _ in one.sent]
        assert not set(kinds) & PAGE
        assert "text_input" not in kinds, "only the picture and what is below"
        assert kinds.count("bidi_component") == 1, "the view; the record is there"
        assert sum(size for _, size in one.sent) <= 7_000
