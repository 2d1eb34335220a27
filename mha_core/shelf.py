"""The shelf: the models that a reader can choose by name."""

from dataclasses import dataclass

from mha_core.embedded import CLASSROOM, CLASSROOM_FOLDERS, DECODER, EMBEDDED, TWIN, is_trained


@dataclass(frozen=True)
class ShelfEntry:
    """A model that a reader can choose: its name for `load_model`, words about it, and what has to be fetched."""

    name: str
    title: str
    description: str
    embedded: bool
    megabytes: int = 0  # of its weights on the hub


SHELF = (
    ShelfEntry(
        EMBEDDED, "MiniLM", "all-MiniLM-L6-v2: 6 layers x 12 heads, English; built in.", embedded=True
    ),
    ShelfEntry(
        DECODER,
        "SmolLM2 135M, 4-bit",
        "SmolLM2-135M-Instruct: 30 layers x 9 heads on 3 key-value heads, English; predicts the next token.",
        embedded=True,
    ),
    ShelfEntry(
        CLASSROOM,
        "Classroom",
        "2 layers x 4 heads, trained by this project on a small English; predicts [MASK]; `it` moves with its meaning.",
        embedded=True,
    ),
    ShelfEntry(
        TWIN,
        "Classroom, twin",
        "The same task without the window of layer 1: the same answers, and no head that shows them.",
        embedded=True,
    ),
    ShelfEntry(
        "bert-base-uncased",
        "BERT base",
        "12 layers x 12 heads, English; predicts [MASK].",
        embedded=False,
        megabytes=440,
    ),
    ShelfEntry(
        "bert-large-uncased",
        "BERT large",
        "24 layers x 16 heads, English; predicts [MASK].",
        embedded=False,
        megabytes=1340,
    ),
    ShelfEntry(
        "bert-base-cased",
        "BERT base, cased",
        "12 layers x 12 heads, English with capitals.",
        embedded=False,
        megabytes=436,
    ),
    ShelfEntry(
        "bert-base-multilingual-cased",
        "BERT multilingual",
        "12 layers x 12 heads, 104 languages.",
        embedded=False,
        megabytes=714,
    ),
)


def shelf() -> tuple[ShelfEntry, ...]:
    """The models to choose from; the embedded one first. Of the classroom's, those that have been trained."""
    return tuple(entry for entry in SHELF if entry.name not in CLASSROOM_FOLDERS or is_trained(entry.name))
