"""`headscope trace TEXT`, `next TEXT` and `why TEXT`: a text's attention, its next tokens, the score of one link."""

import argparse
from typing import TYPE_CHECKING

from mha_core.causal.logit_lens import LIMIT, logit_lens
from mha_core.causal.why import score_attribution
from mha_core.cli.arguments import (
    NOTE,
    Commands,
    add_command,
    encode,
    load_chosen_model,
    model_options,
    number_from,
    output_options,
    read_text,
    read_texts,
    text_options,
    warn_if_cut,
)
from mha_core.cli.output import CommandOutput, answer_texts, output_format, write_output
from mha_core.display_names import count_noun
from mha_core.errors import InputError
from mha_core.models.hf_layers import PARTS
from mha_core.models.model import Model
from mha_core.models.model_list import DECODER, EMBEDDED
from mha_core.models.prediction import predict_next
from mha_core.models.trace import trace
from mha_core.record.export import described, model_of, weights_data
from mha_core.record.grid import Grid
from mha_core.record.links import largest_weights
from mha_core.record.record import AttentionRecord
from mha_core.record.summary import layers_without

if TYPE_CHECKING:
    import pandas as pd


def add_trace_parser(commands: Commands) -> None:
    """Add the command `trace`."""
    parents = text_options("the sentence"), model_options(EMBEDDED), output_options()
    text = "show the attention of every head for a sentence"
    add = add_command(commands, "trace", text, _run_trace, *parents, epilog=NOTE).add_argument
    add("--pair", metavar="TEXT", help="second sentence; for an encoder-decoder, the decoder's text")
    text = "attention of an encoder-decoder: encoder, decoder or cross (%(default)s)"
    add("--attention", choices=PARTS, default=PARTS[0], help=text)
    add("--words", action="store_true", help="merge tokens to whole words")
    add("--layer", type=int, help="show one layer")
    add("--head", type=int, help="show one head of --layer")
    text = "rank heads by attention from this token (it#2: the second)"
    add("--from", dest="source", metavar="WORD", help=text)
    add("--to", dest="target", metavar="WORD", help="rank heads by attention to this token")
    add("--top", type=number_from(0), default=10, help="number of heads to list (%(default)s; 0 for all)")


def _run_trace(options: argparse.Namespace) -> None:
    for name, text in (("--from", options.source), ("--to", options.target), ("--pair", options.pair)):
        if text is not None and not text.strip():
            raise InputError(f"{name} is empty. Give a text, or leave it out.")
    if options.target and not options.source:
        raise InputError("--to needs --from, the token that looks.")
    texts = read_texts(options)
    if len(texts) > 1 and options.pair is not None:
        raise InputError("--pair works with one sentence, not with --file.")
    model = load_chosen_model(options)
    form = output_format(options, "table" if len(texts) == 1 else "jsonl")
    answer_texts(options, texts, lambda text: _traced(text, model, options, form))


def _traced(text: str, model: Model, options: argparse.Namespace, form: str) -> CommandOutput:
    """Trace a text. In JSON the weights are arrays: a row for each would be ten times as long."""
    record = trace(text, model, pair=options.pair, part=options.attention)
    warn_if_cut(record.tokens, model)
    _check_head(options, record)
    grid = record.grid(words=options.words)
    if options.source:
        ranked = _chosen(grid.rank(options.source, options.target), options)
        link = {"from": options.source, "to": options.target}
        return CommandOutput(ranked.head(options.top or len(ranked)), described(record, grid) | link)
    if form in ("json", "jsonl"):
        layers, heads = (
            slice(None) if number is None else slice(number - 1, number)
            for number in (options.layer, options.head)
        )
        return CommandOutput(None, weights_data(record, grid, layers, heads))
    if form == "csv":
        return CommandOutput(_chosen(grid.to_frame(), options), {})
    return CommandOutput(None, {"text": text}, *_table_of_trace(record, grid, options))


def _check_head(options: argparse.Namespace, record: AttentionRecord) -> None:
    """Raise InputError for a layer or head that the model does not have."""
    sizes = (("layer", options.layer, record.n_layers), ("head", options.head, record.n_heads))
    for name, number, count in sizes:
        if number is not None and not 1 <= number <= count:
            raise InputError(f"Unknown {name} {number}. This model has {name}s 1 to {count}.")
    if options.head is not None and options.layer is None:
        raise InputError("--head needs --layer: head numbers start again in every layer.")


def _chosen(frame: "pd.DataFrame", options: argparse.Namespace) -> "pd.DataFrame":
    """Return the rows of --layer and --head; where `head` is its name, by its number."""
    by_head = "head_in_layer" if "head_in_layer" in frame else "head"
    for axis, number in (("layer", options.layer), (by_head, options.head)):
        frame = frame if number is None else frame[frame[axis] == number]
    return frame


def _table_of_trace(
    record: AttentionRecord, grid: Grid, options: argparse.Namespace
) -> tuple[str, "pd.DataFrame"]:
    """Return the heading and table: one head's matrix, or every head's largest weight."""
    model, tokens = record.model, record.tokens
    heading = (
        f"{model.title}: {count_noun(model.n_layers, 'layer')} x {count_noun(model.n_heads, 'head')}, "
        f"{count_noun(len(tokens), 'token')}, {count_noun(len(tokens.words), 'word')}\n"
    )
    if options.head is not None:
        name = f"{options.layer}-{options.head}"
        return f"{heading}Head {name}\n", grid[name].to_frame().rename_axis("looks at →", columns=None)
    without = layers_without(record)
    heading += f"No attention weights: {without}.\n" if without else ""
    return f"{heading}The largest weight of every head:\n", _chosen(largest_weights(grid), options)


def add_next_parser(commands: Commands) -> None:
    """Add the command `next`."""
    parents = text_options("the text to go on with"), model_options(DECODER), output_options()
    text = "show the likeliest next tokens of a text"
    add = add_command(commands, "next", text, _run_next, *parents).add_argument
    text = "number of tokens to list (%(default)s)"
    add("--top", type=number_from(1), default=10, help=text)
    add("--lens", action="store_true", help="list what each layer would predict (logit lens)")


def _run_next(options: argparse.Namespace) -> None:
    texts, model = read_texts(options), load_chosen_model(options)
    answer = _next_by_layer if options.lens else _next_tokens
    answer_texts(options, texts, lambda text: answer(text, model, options.top))


def _next_tokens(text: str, model: Model, top: int) -> CommandOutput:
    import pandas as pd

    tokens = predict_next(encode(text, model), model, k=top)
    frame = pd.DataFrame(
        {
            "text": text,
            "rank": range(1, len(tokens) + 1),
            "token": [token.text for token in tokens],
            "id": [token.id for token in tokens],
            "probability": [token.probability for token in tokens],
            "logit": [token.logit for token in tokens],
        }
    )
    table = frame[["probability"]].assign(token=frame["token"].map(repr))
    return CommandOutput(frame, {"model": model_of(model.info), "text": text}, table=table)


def _next_by_layer(text: str, model: Model, top: int) -> CommandOutput:
    """Return the next tokens by layer; the table for people has a line a layer."""
    lens = logit_lens(encode(text, model), model, k=top)
    (layer,) = lens.attrs["stable_from"].values()
    tokens = lens["token"].map(repr).groupby(lens["layer"]).agg(list)
    first = lens[lens["rank"] == 1][["layer", "probability"]]
    table = first.assign(token=[each[0] for each in tokens], then=[each[1:4] for each in tokens])
    heading = f"{tokens.iloc[-1][0]} stays first from layer {layer} of {model.n_layers} on. {LIMIT}\n"
    frame = lens.drop(columns="position")
    frame.insert(0, "text", text)
    about = {"model": model_of(model.info), "text": text, "stable_from": layer}
    return CommandOutput(frame, about, heading, table)


def add_why_parser(commands: Commands) -> None:
    """Add the command `why`."""
    parents = model_options(DECODER), output_options()
    text = "why a head looks there: what one link's score is made of, on its query and on its key side"
    add = add_command(commands, "why", text, _run_why, *parents, epilog=NOTE).add_argument
    add("text", metavar="TEXT", help="the sentence; - reads standard input")
    add("--head", required=True, metavar="HEAD", help="the head, from 1: 19-7")
    text = "the token that looks (urs#2: the second; #20: the 20th token, special ones counted)"
    add("--from", dest="source", required=True, metavar="WORD", help=text)
    add("--to", dest="target", required=True, metavar="WORD", help="the token it looks at")
    text = "parts of each side in a table (%(default)s; 0 for all)"
    add("--top", type=number_from(0), default=10, help=text)


def _run_why(options: argparse.Namespace) -> None:
    model = load_chosen_model(options)
    tokens = encode(read_text(options.text), model)
    parts = score_attribution(tokens, model, head=options.head, query=options.source, key=options.target)
    weight, score = parts.attrs["weight"], parts.attrs["score"]
    heading = (
        f"Head {options.head} looks from '{options.source}' to '{options.target}' ({weight:.0%}). "
        f"The score is {score:.3f} above the mean of its keys; the shares of each side sum to 1.\n"
    )
    link = {"head": options.head, "from": options.source, "to": options.target}
    about = {"model": model_of(model.info), "text": tokens.text, **link, "weight": weight, "score": score}
    frame = parts[["side", "part", "layer", "head", "score", "share"]]
    table = frame.groupby("side").head(options.top or len(frame))
    write_output(options, CommandOutput(frame, about, heading, table))
