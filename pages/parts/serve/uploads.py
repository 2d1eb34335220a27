"""The room that readers' files take up in this process, one reader's and all together.

In: the session that an upload names. Out: whether there is room for it. A file counts from the moment it begins to
arrive: of sixty that come at once none is here yet.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pages.parts.serve import streamlit_private
from pages.parts.serve.limits import Limits


class Uploads:
    """Files that are here, which Streamlit keeps, and files that are on their way."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.on_their_way: Counter[str] = Counter()

    def are_full(self, session: str) -> bool:
        """Whether this reader, or all who are here, hold as much as they may; who has left gives up the room."""
        stored = streamlit_private.uploads()
        coming = self.on_their_way.total() * streamlit_private.upload_bytes()
        most = self.limits.upload_mb * 1024**2
        if held(stored) + coming >= most:
            for left in [one for one in list(stored) if not streamlit_private.is_connected(one)]:
                streamlit_private.forget_uploads(left)
        of_this_one = len(stored.get(session, ())) + self.on_their_way[session]
        return of_this_one >= self.limits.files_per_session or held(stored) + coming >= most

    @contextmanager
    def arriving(self, session: str) -> Iterator[None]:
        """While a file of this reader is on its way."""
        self.on_their_way[session] += 1
        try:
            yield
        finally:
            self.on_their_way[session] -= 1
            self.on_their_way += Counter()  # forgets those who have none


def held(stored: dict[str, dict[str, Any]]) -> int:
    """Bytes of all uploads."""
    return sum(len(file.data) for files in list(stored.values()) for file in list(files.values()))
