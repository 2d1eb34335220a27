"""What the server writes down: what its owner needs, nothing of a reader, and not more than a disk can take.

In: the log records of Streamlit, uvicorn and asyncio. Out: the same without the messages of exceptions, which may
repeat a text, without session names, and each kind at most ten times a minute.
"""

import logging
import threading
import time
import traceback

NAMES = ("streamlit", "uvicorn", "asyncio", "tornado")
MINUTE = 60.0
AT_MOST = 10  # records of one place in the code a minute
SESSION = "Session with id"


class Discreet(logging.Filter):
    """Drops and shortens; one for all loggers."""

    def __init__(self) -> None:
        super().__init__()
        self.since = time.monotonic()
        self.seen: dict[tuple[str, int], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written; what it says of an exception is where it came from and of which kind."""
        if record.getMessage().startswith(SESSION):
            return False
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            record.exc_text = "".join([*traceback.format_tb(trace), kind.__name__])
            record.exc_info = None
        now = time.monotonic()
        if now - self.since > MINUTE:
            self.since, self.seen = now, {}
        place = (record.pathname, record.lineno)
        self.seen[place] = self.seen.get(place, 0) + 1
        if self.seen[place] == AT_MOST:
            record.msg, record.args = (
                f"{record.getMessage()} (more of these within the minute are left out)",
                (),
            )
        return self.seen[place] <= AT_MOST


def log_threads() -> None:
    """Have what ends a thread go to the log, too: Python prints it whole, with its message."""

    def log(ended: threading.ExceptHookArgs) -> None:
        if ended.exc_value is not None and ended.exc_type is not SystemExit:
            about = (ended.exc_type, ended.exc_value, ended.exc_traceback)
            logging.getLogger("streamlit.headscope").error("A thread ended", exc_info=about)

    threading.excepthook = log


def make_discreet() -> None:
    """Put the filter before every logger that is there now; once more changes nothing."""
    one = (
        next((f for f in logging.getLogger("streamlit").filters if isinstance(f, Discreet)), None)
        or Discreet()
    )
    for name in [*NAMES, *logging.root.manager.loggerDict]:
        if name.split(".")[0] in NAMES:
            logger = logging.getLogger(name)
            if one not in logger.filters:
                logger.addFilter(one)
