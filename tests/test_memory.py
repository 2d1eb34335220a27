"""What the longest texts leave behind in a server that runs."""

import pytest
from thirteen.house import Reader

from benchmarks.wire import megabytes
from mha_core.reader import read_reader

VISITS = 8
WORDS = 480


@pytest.mark.long
def test_visits_to_inside_with_long_texts_leave_little(fresh_server):
    app = fresh_server(HEADSCOPE_STORE_MB="50")
    words = [word for passage in read_reader() for word in passage.text.split()]
    memory = []
    for visit in range(VISITS):
        start = 137 * visit % (len(words) - WORDS)
        text = f"{visit} " + " ".join(words[start : start + WORDS])
        with Reader(app, "inside", text=text[:3_500]) as reader:
            seen = reader.run()
        assert seen.drawn
        assert not seen.raised
        memory.append(megabytes(app.process.pid))
    # What each left was 125 MB, when parts of a page held its record.
    assert memory[-1] - memory[2] < 50 * (VISITS - 3), memory
