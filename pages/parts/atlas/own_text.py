"""The reader's own text: paste it or bring a file, see how far it is, stop, and look at it in the same pictures."""

import hashlib
from collections.abc import Iterator

import streamlit as st

from mha_core import InputError, Model
from mha_core.heads.atlas.reading import read_passages, split_passages
from mha_core.heads.atlas.sums import AtlasSums
from mha_core.heads.atlas.table import Atlas, atlas, line_of
from mha_core.wording import Head, counted, head_name
from pages.parts.atlas.lines import word
from pages.parts.atlas.source import OWN
from pages.parts.frame import state
from pages.parts.frame.prose import heading, say
from pages.parts.frame.request import Request
from pages.parts.frame.selection import parse_head
from pages.parts.frame.shell import or_show_error
from pages.parts.serve import cache
from pages.parts.serve.slices import bar, slice_of, time_left
from pages.parts.serve.tasks import BackgroundTask, ReaderControl, Step

MAX_BYTES = 2 * 1024 * 1024
TICK = 0.2
SO_FAR = 3  # moments of the chosen head, while the text is read


def own_text(request: Request, head: Head = (0, 0)) -> None:
    """The section: ask for a text, read it, hand it to the page."""
    heading("Your own text")
    say(
        "Paste some paragraphs or bring a plain text file in UTF-8, up to 2 MB. A thousand words already give most "
        "heads their moments; a description needs some ten thousand. The text stays in this server's memory while you "
        "look at it, and is written nowhere."
    )
    pasted = st.text_area("Your text", key="atlas-text", height=140, max_chars=MAX_BYTES)
    file = st.file_uploader("or a file", type=["txt", "md"], max_upload_size=2, key="atlas-file")
    if st.session_state.get(OWN) is not None:
        st.button("Back to the project's reader", key="atlas-back", on_click=_forget)
    text = or_show_error(_text, pasted, None if file is None else file.getvalue())
    if not text:
        return
    model = or_show_error(cache.named_model, request.model, request.trained)
    if model is None:
        return
    key = ("atlas", hashlib.sha256(text.encode()).hexdigest(), request.model, model.fingerprint)
    job: BackgroundTask[AtlasSums] = cache.task(key, lambda: work(text, model))
    watch = cache.reader_control(key)
    working = watch.running and not job.finished
    st.fragment(_progress, run_every=TICK if working else None)(job, watch, working, head)
    if not working and job.step is not None:
        st.button(
            "Show it in the pictures above",
            key="atlas-show",
            type="primary",
            on_click=_show,
            args=(job, request),
        )


def _text(pasted: str, data: bytes | None) -> str:
    """The reader's text. Raises InputError for a file that is none, is empty, or is too large."""
    if data is None:
        return pasted.strip()
    if len(data) > MAX_BYTES:
        raise InputError(f"The file has {len(data):,} bytes; {MAX_BYTES:,} are taken at most.")
    try:
        text = data.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InputError("The file is not UTF-8 text; save it as UTF-8 and bring it again.") from None
    if not text:
        raise InputError("The file is empty.")
    return text


def work(text: str, model: Model) -> Iterator[Step[AtlasSums]]:
    """Read the text; every step is some passages further. Raises InputError for a text without any."""
    lines = split_passages(text)
    parts = read_passages(lines, model)
    any_read = False
    for part in cache.in_turns(parts):
        any_read = True
        yield Step(part.n / len(lines), part.n, part.sums)
    if not any_read:
        raise InputError("There is no passage of a few words in this text.")


def _progress(job: BackgroundTask[AtlasSums], watch: ReaderControl, was_working: bool, head: Head) -> None:
    with slice_of(job, watch, was_working) as working:
        said = _how_far(job, watch, job.step.n if job.step else 0)
        bar(job, watch, working, said, row="atlas-progress", stop="atlas-stop", go="atlas-go")
        if job.problem:
            say(job.problem, "problem")
        # Another head may be chosen meanwhile, and nothing here is drawn again for it once the text has been read.
        now = parse_head(state.params().get("head", "")) or head
        for line in (job.read(lambda step: _so_far(step.result, now)) if working else None) or []:
            say(line)


def _so_far(sums: AtlasSums, head: Head) -> list[str]:
    """The chosen head's strongest moments in what has been read; none of a head that the model has not."""
    if not (0 <= head[0] < sums.shape[0] and 0 <= head[1] < sums.shape[1]):
        return []
    place = head[0] * sums.shape[1] + head[1]
    lines = []
    for one in sums.strongest.sorted(place)[:SO_FAR]:
        passage = line_of(sums.passages[one.passage].tokens)
        lines.append(
            f"{head_name(head)} so far: `{word(passage, one.query)}` looks at `{word(passage, one.key)}`, weight "
            f"{one.weight:.2f}, brings {one.brings:.1f}"
        )
    return lines


def _how_far(job: BackgroundTask[AtlasSums], watch: ReaderControl, n: int) -> str:
    said = counted(n, "passage")
    if job.finished:
        return f"Done: {said} in {counted(round(job.seconds), 'second')}."
    if not watch.running:
        return f"Stopped after {said}."
    return said + time_left(job)


def _show(job: BackgroundTask[AtlasSums], request: Request) -> None:
    made: Atlas | None = job.read(lambda step: atlas(step.result))
    if made is not None:
        st.session_state[OWN] = ((request.model, request.trained), made)


def _forget() -> None:
    st.session_state.pop(OWN, None)
