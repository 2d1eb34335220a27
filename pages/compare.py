"""Compare: the same picture twice, and what changed for one word between the two."""

from pages.parts.explore import comparison, moments
from pages.parts.frame import shell
from pages.parts.serve import cache

with shell.page(
    "Compare",
    question="What changes when one word does?",
    lead="Two runs, side by side: change a word, take away the training, or take another model, and see which heads "
    "notice.",
    comparison=True,
) as asked:
    request = moments.asked(asked)
    sides = [side for side in (request, request.other) if side]
    records = [record for side in sides if (record := shell.or_show_error(cache.record, side))]
    if len(records) == len(sides):
        comparison.picture(sides, records)
