"""Explore and Compare with the embedded decoder, opened by a link: what they say is what the core computed."""

import numpy as np
import pytest
from visit import TIRED, WIDE, drawn, open_page, picture, plain, said, tables

from mha_core import trace
from mha_core.heads.measures import importance
from mha_core.heads.notices import to_first
from mha_core.wording import head_name, percent

pytestmark = pytest.mark.slow  # a page of the app on the embedded decoder

IT, TOO, CHANGED = 8, 10, 11


@pytest.mark.long
def test_compare_says_what_a_decoder_cannot_know_and_which_words_to_look_from(smollm2):
    a, b = (trace(text, smollm2).weights for text in (TIRED, WIDE))
    assert np.array_equal(a[:, :, :CHANGED], b[:, :, :CHANGED])
    at = open_page("pages/compare.py", model="smollm2", text=TIRED, text2=WIDE, pin=str(IT), head="14-9")
    (finding,) = said(at, "finding")
    assert "Up to too every row is the same in A and B, number for number" in finding
    assert "The first word that can differ is tired in A and wide in B." in finding
    moved = np.abs(a - b).sum(-1) / 2
    for rank in range(4):
        layer, head = np.unravel_index(np.argsort(-moved[:, :, CHANGED], axis=None)[rank], moved.shape[:2])
        assert f"{head_name((layer, head))} ({percent(moved[layer, head, CHANGED])} moved)" in finding
    assert "The row of it is the same in both, in all 270 heads" in "\n".join(said(at, "note"))
    assert "prefer another candidate" not in "\n".join(said(at, "note"))
    means = moved.mean((0, 1))
    assert [offer[0] for offer in picture(at)["offers"]] == sorted((11, 12), key=lambda q: -means[q])
    assert picture(at)["offers"][0][1] == f"tired / wide · {percent(means[11])} moved"
    button = next(b for b in at.button if b.key == "look-from-11")
    button.click()
    at.run()
    assert not at.exception
    assert picture(at)["selection"]["pins"] == [CHANGED]
    assert "is the same in both" not in "\n".join(said(at, "note"))


def test_compare_tells_a_measure_of_layers_by_layers(smollm2):
    at = open_page(
        "pages/compare.py", model="smollm2", text=TIRED, text2=WIDE, pin=str(IT), measure="rollout"
    )
    a, b = (
        importance(trace(text, smollm2).tokens, smollm2, "rollout").weights[:, 0, CHANGED].astype(np.float64)
        for text in (TIRED, WIDE)
    )
    moved = np.abs(a - b).sum(-1) / 2
    most = ", ".join(f"layer {at + 1} ({percent(moved[at])} moved)" for at in np.argsort(-moved)[:4])
    assert f"Its rows differ most in {most}." in said(at, "finding")[0]
    notes = "\n".join(said(at, "note"))
    assert "The row of it is the same in both, in all 30 layers: it stands before" in notes
    assert "(how much of its attention moved, mean of all layers):" in notes


@pytest.mark.long
def test_compare_tells_a_measure_of_all_layers_together_by_one_number_a_side(smollm2):
    at = open_page(
        "pages/compare.py", model="smollm2", text=TIRED, text2=WIDE, pin=str(CHANGED), measure="gradient"
    )
    a, b = (
        importance(trace(text, smollm2).tokens, smollm2, "gradient").weights[0, 0].astype(np.float64)
        for text in (TIRED, WIDE)
    )
    moved = percent(np.abs(a - b)[CHANGED].sum() / 2)
    assert tables(at)["All layers together"] == [
        ["Candidate", "A", "B"],
        *(
            [word, percent(a[CHANGED, key]), percent(b[CHANGED, key])]
            for word, key in (("animal", 1), ("street", 6))
        ),
    ]
    ((head, row),) = [rows for caption, rows in tables(at).items() if caption.startswith("How far")]
    assert (head[:2], row[:2]) == (["Layers", "Moved"], ["all layers", moved])
    told = " ".join([*tables(at), *(plain(e.proto.body) for e in at.get("html") if "<h2>" in e.proto.body)])
    assert "Did all layers together change their mind about “tired”?" in told
    assert "All layers together do not change their mind." in said(at, "note")


def test_explore_draws_the_mask_and_counts_the_heads_that_rest_on_the_first_token(smollm2):
    record = trace(TIRED, smollm2)
    at = open_page(model="smollm2", text=TIRED, head="19-9", pin=str(IT))
    weights = drawn(at)
    assert np.abs(weights - record.weights).max() < 1e-5
    shares = to_first(record)
    why = "\n".join(said(at, "why"))
    assert f"{percent(shares[18, 8])} of the attention of head 19-9 rests on the first token, The" in why
    assert f"that is so in {(shares > 0.5).sum()} of 270 heads" in why
    assert "Head 19-9 shares its keys and values with 19-7 and 19-8" in why
    assert "[CLS]" not in why
