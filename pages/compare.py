"""Compare: the same picture twice, and what changed for one word between the two."""

from functools import partial

from pages.parts.explore import comparison
from pages.parts.frame import shell
from pages.parts.picture.attention_view import compare_view
from pages.parts.serve import cache

with shell.page(
    "Compare",
    question="What changes when one word does?",
    lead="Two runs through the same eyes: change a word, take away the training, or take another model, and see "
    "which heads notice.",
    comparison=True,
) as request:
    records = [shell.attempt(cache.record, side) for side in (request, request.other) if side]
    if None not in records:
        a, b = records
        grids = [
            shell.attempt(cache.grid, side, record)
            for side, record in zip((request, request.other), records, strict=True)
        ]
        if None in grids:
            grids = [record.grid(request.words, request.specials) for record in records]
        if comparison.both_have_words(grids):
            chosen = compare_view(
                grids[0],
                a.tokens,
                grids[1],
                b.tokens,
                titles=comparison.titles(a, b),
                selection=shell.selection(request, grids[0].weights.shape, grids[0].labels),
                present=request.present,
                key="compare",
                on_change=partial(shell.follow, "compare"),
            )
            shell.keep(chosen)
            comparison.below(request, *grids, chosen)
