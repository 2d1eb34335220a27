"""The box "Next token by layer" (logit lens): the prediction after each layer, as a map of tokens and a table."""

import pandas as pd
import streamlit as st

from mha_core import logit_lens
from mha_core.causal.logit_lens import LIMIT
from mha_core.display_names import percent, visible
from mha_core.draw.figures import charts
from pages.parts.explore.predictions import spelled_token
from pages.parts.explore.tables import box, table
from pages.parts.frame.charts import chart, is_dark
from pages.parts.frame.context import Context
from pages.parts.frame.page_text import say
from pages.parts.serve import cache
from pages.parts.serve.jobs import MODEL

COLUMNS, RANKS = 12, 4  # tokens across, and tokens of a layer in the table


def draw(context: Context, position: int) -> None:
    """Draw the box; its table is about the next token at `position` (from 0), its map about the tokens up to there."""
    opened = box("Next token by layer", "lens")
    if opened is None:
        return
    tokens, model = context.record.tokens, context.model
    positions = range(max(0, position + 1 - COLUMNS), position + 1)

    def make() -> pd.DataFrame:
        with MODEL:
            return logit_lens(tokens, model, positions, RANKS)

    lens = cache.of_run(context.request.run, model, ("lens", position), make)
    lens = lens.assign(token=lens["token"].map(spelled_token))
    here = lens[lens["position"] == position]
    layer, final = lens.attrs["stable_from"][position], here[here["layer"] == model.n_layers].iloc[0]
    first, texts = lens[lens["rank"] == 1], here.groupby("layer")["token"].agg(list)
    shares, words = (first[name].to_numpy().reshape(-1, len(positions)) for name in ("probability", "token"))
    figure = charts.cells(
        shares,
        list(map(str, texts.index)),
        [visible(tokens.pieces[i].bare) for i in positions],
        title="Likeliest next token by layer",
        name="probability",
        row_title="layer",
        column_title="after",
        percent=True,
        texts=words.tolist(),
        dark=is_dark(),
    )
    frame = pd.DataFrame({"Layer": texts.index, "Token": words[:, -1], "Probability": shares[:, -1]})
    frame["Then"] = ["  ".join(each[1:]) for each in texts]
    with opened:
        share = percent(final["probability"])
        say(f"“{final['token']}” ({share}) stays first from layer {layer} of {model.n_layers} on.", "finding")
        say(LIMIT)
        if len(positions) < len(tokens):
            say(f"The map shows {len(positions)} of {len(tokens)} tokens.")
        with st.container(key="lens-wide"):
            chart(figure, lens, key="lens-map")
        table(frame, f"Next token after “{tokens.pieces[position].bare}” by layer", "lens-table")
