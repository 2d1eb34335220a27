"""Ten sockets of one client that asks without a pause, on a server that runs: how many runs go before a reader's.

The guard's pace and the turns of pages each are enough for that: it fails where both are gone.
"""

import statistics
import time

import pytest
from thirteen.house import Reader, flooding, sentence, wait_until

SENTENCES = 8


@pytest.mark.long
def test_a_flood_of_ten_sockets_goes_before_no_reader(fresh_server):
    app, before = fresh_server(), []
    with flooding(app, 10) as runs, Reader(app) as reader:
        reader.run()
        for turn in range(SENTENCES):
            time.sleep(1)
            text, had = sentence("flooded", turn), runs()
            assert reader.run(text).shows(text)
            before.append(runs() - had)
        # The flood is served as well, at whatever pace this machine has: nobody would go before one that has ended.
        wait_until(lambda: runs() > 10 + SENTENCES)
    # One that is under way, and one that is counted late: in the order in which they came it would be all ten.
    assert statistics.median(before) <= 2, before
    assert sum(before) <= 4 * SENTENCES, before
