"""Specialization: which head does which job, with the evidence, on built-in sentences and on the reader's own."""

from pages.parts.frame import shell
from pages.parts.specialization import view

with shell.page(
    "Specialization",
    question="Which head does which job?",
    lead="Each head is tried on sentences with a known answer. It counts as a specialist only where it beats the best "
    "simple rule, even after allowing for the luck of being the best of many.",
    sentence=False,
) as request:
    view.style()
    found = shell.or_show_error(view.find, request)
    if found:
        view.sections(found, request)
