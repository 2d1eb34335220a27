"""`headscope atlas`: what every head does over a text, a row for each head and feature or for each example of a head.

Stopped by Ctrl-C (exit code 130), it writes what was read by then.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mha_core.cli.arguments import Commands, add_command, load_chosen_model, model_options, output_options
from mha_core.cli.output import CommandOutput, warn, write_output
from mha_core.cli.process import STOPPED, Stop, interruptible
from mha_core.cli.shards import compute_parts, refuse_empty, shard_options
from mha_core.display_names import Head, count_noun, head_name
from mha_core.heads.atlas.collect import Collection
from mha_core.heads.atlas.describe import sentences
from mha_core.heads.atlas.passages import own_passages, read_passages
from mha_core.heads.atlas.shipped import Shipped, read_shipped, write_atlas
from mha_core.heads.atlas.statistics import AtlasStatistics
from mha_core.heads.atlas.table import Atlas, atlas
from mha_core.heads.corpora import name_of
from mha_core.heads.survey import Options, Progress
from mha_core.models.model import Model
from mha_core.record.export import model_of
from mha_core.record.grid import head_from_name

N_EXAMPLES = 8  # of a head in the table
MAX_NAMED = 6  # files by name


def add_atlas_parser(commands: Commands) -> None:
    """Add the command `atlas`."""
    text = "find what every head does in ordinary text, and list its top examples"
    corpus = "your text, one passage per line, or .jsonl (default: the corpus of HeadScope)"
    parents = shard_options(corpus), model_options("minilm"), output_options()
    parser = add_command(
        commands, "atlas", text, interruptible(_run), *parents, description=f"{text.capitalize()}."
    )
    parser.add_argument("--head", help="show one head with its examples, such as 24-4")
    parser.add_argument("--progress", action="store_true", help="show progress")


def _run(options: argparse.Namespace, stop: Stop) -> int | None:
    survey = Options(stop=stop, progress=_show_progress if options.progress else None)
    if options.part or options.engine:
        return compute_parts("atlas", options, survey)
    refuse_empty(AtlasStatistics.empty_files(options.shards))
    model = load_chosen_model(options)
    head = None if options.head is None else head_from_name(options.head, model.n_layers, model.n_heads)
    result = _atlas(options, model, survey)
    is_stopped = stop()
    corpus = ", ".join(map(name_of, options.shards)) or "the project's own passages"
    about = {"model": model_of(model.info), "text": corpus}
    write_output(options, atlas_output(result, about, model.title, head))
    if is_stopped:
        warn(
            f"Stopped after {count_noun(result.n_passages, 'passage')}; the numbers are those of what was read."
        )
    return STOPPED if is_stopped else 0


def _atlas(options: argparse.Namespace, model: Model, survey: Options) -> Atlas:
    """Return the shipped atlas, or that of the text up to the stop."""
    stop = survey.stop or (lambda: False)
    if options.shards:
        statistics = AtlasStatistics.start(model, options.shards)
        for number in statistics.lines:
            statistics.add(number, survey)
            if stop():
                break
        return statistics.result()
    shipped = read_shipped(options.model, model.digest) if model.trained else None
    if shipped is not None:
        return shipped.atlas
    collection = Collection(model.n_layers, model.n_heads, model.info.visibility)
    for batch in read_passages(own_passages(), model):
        for passage in batch:
            collection.add(*passage)
        if stop():
            break
    return atlas(collection)


def _show_progress(progress: Progress) -> None:
    warn(count_noun(progress.done, "passage"))


def merged_atlas_output(statistics: AtlasStatistics, head: str | None, file: Path | None) -> CommandOutput:
    """Return the output of merged parts, of all heads or of the one with this name; `file`: written for the app."""
    about, result = statistics.about, statistics.result()
    names = about["shards"]
    text = ", ".join(names) if len(names) <= MAX_NAMED else f"{len(names)} files, {names[0]} to {names[-1]}"
    if file is not None:
        weights = "" if about["trained"] else " --untrained"
        command = f"headscope atlas {' '.join(about['shards'])} --model {about['model']}{weights}"
        origin = about["model"], about["digest"], text, command
        write_atlas(Shipped(result, *origin, trained=about["trained"]), file)
    chosen = None if head is None else head_from_name(head, *about["shape"])
    return atlas_output(result, {"model": about, "text": text}, about["model"], chosen)


def atlas_output(
    result: Atlas, about: Mapping[str, Any], title: str, head: Head | None = None
) -> CommandOutput:
    """Return the output of an atlas, or of one head of it; `about` is added to its JSON."""
    output = _of_all(result, title) if head is None else _of_head(result.only(head))
    return output._replace(about={**about, **output.about})


def _of_all(result: Atlas, title: str) -> CommandOutput:
    """Return a row for each head and feature, with the examples beside them."""
    about = result.to_data()
    del about["descriptions"]  # they are the rows
    heading = (
        f"{result.n_described} of {count_noun(len(result.heads), 'head')} described, {result.n_by_content} by more "
        f"than a position. {title}, {count_noun(result.n_passages, 'passage')}, "
        f"{count_noun(result.n_tokens, 'token')}.\n"
        "share of the n top examples, its 95 % interval, and how many times the baseline it is (lift)\n"
    )
    return CommandOutput(result.descriptions(), about, heading)


def _of_head(result: Atlas) -> CommandOutput:
    """Return a row for each example of one head, with its description beside them."""
    frame, about, (entry,) = result.to_frame(), result.to_data(), result.heads
    del about["examples"]  # they are the rows
    lines: Sequence[str] = (
        f"Head {head_name(entry.head)}",
        *sentences(entry.description),
        f"Its largest weight is on an attention sink in {100 * entry.sink:.0f}% of rows.",
    )
    columns = ["query_text", "key_text", "weight", "output_norm", "passage", "raises", "lowers"]
    table = frame.loc[frame.kind == "top", columns].head(N_EXAMPLES)
    return CommandOutput(frame, about, "\n".join(lines) + "\n", table.loc[:, table.astype(bool).any()])
