"""What stands beside a conclusion: what tells related words, and real text on the same job. No Streamlit here.

In: a sheet, and those of real text. Out: a sentence or two.
"""

from collections.abc import Sequence

from mha_core.embedded import EMBEDDED
from mha_core.heads.verdicts.measured import APART, RELATED, RELATED_BY
from mha_core.wording import head_name, percent
from pages.parts.specialization.sheets import Sheet, counterpart, word_said


def related_by(sheet: Sheet, model: str) -> str:
    """What tells that two words are related, since no head may."""
    if sheet.table is not None:
        return (
            "The pairs of nouns were chosen by hand. Each noun is the related one in two sentences and the other one "
            "in two, and first in half of them: frequency and place are right in half of the cases."
        )
    circle = (
        "These heads read the same embeddings, so a head that matches like with like is right by it: for MiniLM this "
        "says where such a head looks, not that it knows what words mean"
        if model.split("@")[0] == EMBEDDED
        else "These embeddings are another model's, so the heads are not asked for what they were given"
    )
    if sheet.key.endswith(APART):
        circle += ". Apart: neither word depends on the other in the tree, nor stands beside it"
    return (
        f"Related is told by no head but by the {RELATED_BY} ({RELATED} at least, which one pair of words in a hundred "
        f"has). {circle}. Forms of one word are no candidates."
    )


def on_real_text(sheet: Sheet, real: Sequence[Sheet]) -> str:
    """What becomes on real text of a conclusion from the built-in sentences; empty where it was not asked the same."""
    there = None if sheet.table is None else counterpart(sheet, real)
    if there is None or there.again:
        return ""
    word = word_said(there, str(there.words[sheet.best]))
    # Over all cases, both of them: what the best reaches where it was not chosen stands beside no other head's score.
    best = (
        "and is the best there too"
        if there.best == sheet.best
        else f"the best is {head_name(there.best)} with {percent(there.score)}"
    )
    # Of rest real text is asked by the mass, and of one special token.
    asks = f" and asks “{there.question}”" if there.kind.key == "separator" else ""
    return (
        f"On real text, which counts{asks}, head {head_name(sheet.best)} reaches "
        f"{percent(float(there.heads[sheet.best]))} (verdict: {word}), {best}, and the strongest simple rule reaches "
        f"{percent(there.rule)}."
    )
