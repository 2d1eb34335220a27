"""Inside: one head's whole calculation, from X to the output, with the reader's own sentence."""

from pages.parts import cache, shell
from pages.parts.inside_view import walk_view

request = shell.page(
    "Inside",
    question="How does a head come to its weights?",
    lead="Every number here is computed now, from your sentence, with this model’s own weights.",
)
record = shell.attempt(cache.record, request)
if record is not None:
    walk_view(request, record)
