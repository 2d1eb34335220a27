"""A reader's own corpus as long work, and its rows as a person reads them. No Streamlit here.

In: the bytes of a file and a model. Out: an iterator of `Part`s whose result is a `CorpusResult` (mha_core's
corpus_run.py, which the command line uses too). Broken lines are left out and named; a file that is not text at all
ends the work with a sentence.
"""

from mha_core import InputError, Model, export
from mha_core.experiments import Part
from mha_core.heads import corpus_run
from mha_core.heads.corpus_run import CorpusKind, CorpusResult
from mha_core.heads.rows import Row
from mha_core.heads.verdict import thin
from mha_core.wording import counted, head_name, percent
from pages.parts.serve.jobs import Parts

MAX_BYTES = 2 * 1024 * 1024
MAX_ITEMS = 5_000


def kind_of(file_name: str, data: bytes) -> CorpusKind:
    """What the file is by its ending. Raises InputError for another ending, an empty file, or one that is too big."""
    kind = corpus_run.kind_of(file_name)
    if not data.strip():
        raise InputError("The file is empty.")
    if len(data) > MAX_BYTES:
        raise InputError(f"The file has {len(data):,} bytes; {MAX_BYTES:,} are taken at most.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4096]:
        raise InputError("The file is not UTF-8 text; save it as UTF-8 and bring it again.")
    return kind


def start(data: bytes, kind: CorpusKind, model: Model) -> Parts[CorpusResult]:
    """Measure a file; every step is some sentences further."""
    for part in corpus_run.run(data, kind, model, MAX_ITEMS):
        yield Part(part.fraction, part.result.n, part.result)


def verdict(row: Row) -> str:
    """What a row of the result allows one to say, in a few words."""
    if thin(row["n"]):
        return f"thin evidence: {counted(row['n'], 'case')}"
    if "relation" in row:
        if row["beats_offset"]:
            return "beats its offset"
        is_above = row["verdict"] == "unsure"
        return f"could be luck, as the best of {row['tried']:,}" if is_above else "no better than its offset"
    if "direction" in row:
        return "above every simple rule" if row["resolves"] else row["because"]
    if _nowhere(row):
        return "no head looks there"
    base = row["baseline"]
    # For an entropy, looking everywhere is the most there can be, and no rule to beat.
    return (
        ""
        if base is None or _is_entropy(row) or row["value"] > base
        else "no more than by looking everywhere"
    )


def _is_entropy(row: Row) -> bool:
    return bool(row.get("unit") == "nats")


def _nowhere(row: Row) -> bool:
    """Whether even the highest share is shown as nothing."""
    return not _is_entropy(row) and percent(row["value"]) == percent(0.0)


def shown(row: Row) -> dict[str, str]:
    """One row as a person reads it."""
    if "relation" in row:
        return _relation(row)
    return _choice(row) if "direction" in row else _measure(row)


def _head(row: Row) -> str:
    return head_name((row["layer"] - 1, row["head"] - 1))


def _right(row: Row) -> dict[str, str]:
    return {
        "Right": percent(row["accuracy"]),
        "95 % interval": f"{percent(row['ci_low'])} to {percent(row['ci_high'])}",
        "n": f"{row['n']:,}",
    }


def _relation(row: Row) -> dict[str, str]:
    return {
        "Relation": str(row["relation"]),
        "Direction": row["direction"].replace("->", " → "),
        "Best head": _head(row),
        **_right(row),
        "Best fixed offset": f"{percent(row['offset_accuracy'])} ({row['offset']:+d})",
        "Held out": "" if row["held_out"] is None else percent(row["held_out"]),
        "As good": ", ".join(row["equals"][1:4]) + (" …" if len(row["equals"]) > 4 else ""),
        "": verdict(row),
    }


def _choice(row: Row) -> dict[str, str]:
    return {
        "Direction": row["direction"].replace("->", " → "),
        "Head": _head(row),
        **_right(row),
        "Baseline": f"{percent(row['baseline'])} ({row['baseline_rule']})",
        "From other words' rows": percent(row["control"]),
        **({"Flips": percent(row["flip"]), "Pairs": f"{row['pairs']:,}"} if "flip" in row else {}),
        "": verdict(row),
    }


def _measure(row: Row) -> dict[str, str]:
    number = (lambda v: f"{v:.2f}") if _is_entropy(row) else percent
    return {
        "Measure": row["measure"],
        "Highest in": "" if _nowhere(row) else _head(row) + _with_others(row.get("tied", 0)),
        "Value": number(row["value"]),
        "If it looked everywhere": "" if row["baseline"] is None else number(row["baseline"]),
        "n": f"{row['n']:,}",
        "": verdict(row),
    }


def _with_others(tied: int) -> str:
    return f" and {tied} more" if tied else ""


def as_csv(rows: list[Row]) -> str:
    """The rows as CSV."""
    return export.csv_of(rows)


def as_json(result: CorpusResult, rows: list[Row], finished: bool) -> str:
    """The rows with what they were measured on."""
    content = {
        "model": export.model_of(result.model.info),
        "kind": result.kind.ending,
        "n": result.n,
        "finished": finished and not result.is_part,
        "n_cut": result.n_cut,
        "n_dependents_cut": result.n_dependents_cut,
        "left_out": result.reading.n_skipped,
        "unused": result.reading.n_unused,
        "answer_comes_later": result.n_later,
        "rows": rows,
    }
    return export.json_of(content)
