"""The logit lens: numbers by transformers' own states, norm and unembedding; what it refuses; the box on Explore."""

from importlib import import_module

import numpy as np
import pytest
import torch
from decoder_folders import shared_model
from visit import open_page, run, said

from mha_core import InputError, logit_lens, predict_next
from mha_core.draw.figures import charts

TEXT, ANIMAL = "the cat it is", "The animal didn't cross the street because it was too"


def by_transformers(theirs, ids):
    """Probabilities of the next token, (layer, position, token)."""
    norm = theirs.transformer.ln_f if hasattr(theirs, "transformer") else theirs.model.norm
    with torch.no_grad():
        output = theirs(torch.tensor([ids]), output_hidden_states=True)
        logits = [*map(theirs.lm_head, map(norm, output.hidden_states[1:-1])), output.logits]
    return torch.cat(logits).softmax(-1)


@pytest.mark.parametrize(("kind", "which"), [("gpt2", 0), ("gpt2", 2), ("llama", 0), ("llama", 1)])
def test_every_layer_predicts_what_transformers_states_do(kind, which, monkeypatch):
    monkeypatch.setattr(import_module("mha_core.causal.logit_lens"), "MAX_ROWS", 3)
    theirs, model = shared_model(kind, which)
    tokens = model.tokenizer.encode(TEXT)
    lens = logit_lens(tokens, model, range(len(tokens)), k=model.tokenizer.vocab_size)
    right = by_transformers(theirs, tokens.ids)[..., : model.tokenizer.largest_id + 1].numpy()
    right /= right.sum(-1, keepdims=True)  # the head has rows that no token names
    whole = np.full_like(right, np.nan)
    whole[lens["layer"] - 1, lens["position"], lens["id"]] = lens["probability"]
    np.testing.assert_allclose(whole, right, atol=1e-5)
    top = right.argmax(-1)
    for position, layer in lens.attrs["stable_from"].items():
        assert (top[layer - 1 :, position] == top[-1, position]).all()
        assert layer == 1 or top[layer - 2, position] != top[-1, position]
    last = lens[(lens["layer"] == model.n_layers) & (lens["position"] == 3) & (lens["rank"] <= 5)]
    own = [(token.id, token.text) for token in predict_next(tokens, model, 3, k=5)]
    assert list(zip(last["id"], last["token"], strict=True)) == own
    assert predict_next(tokens, model, -len(tokens), k=5) == predict_next(tokens, model, 0, k=5)
    with pytest.raises(InputError, match="Unknown position 99"):
        logit_lens(tokens, model, (0, 99))


def test_explore_draws_the_lens_when_its_box_is_opened(smollm2):
    page = open_page(model="smollm2", text=ANIMAL)
    assert not page.get("plotly_chart"), "closed, it costs nothing"
    page.session_state["lens"] = True
    run(page)
    lens = logit_lens(ANIMAL, smollm2, k=4)
    (layer,) = lens.attrs["stable_from"].values()
    assert f"“␣far” (60%) stays first from layer {layer} of 30 on." in said(page, "finding")
    first = lens[lens["rank"] == 1]
    shown = next(frame.value for frame in page.dataframe if "Then" in frame.value)
    assert list(shown["Token"].str.replace("␣", " ")) == list(first["token"])
    np.testing.assert_allclose(shown["Probability"], first["probability"], atol=1e-5)
    assert page.get("plotly_chart")


def test_a_text_in_a_cell_is_whole_under_the_pointer_and_no_markup():
    texts = [["<b>"], ["unbelievably"]]
    words, cells = charts.cells(np.eye(2)[:, :1], ["1", "2"], ["it"], title="", name="", texts=texts).data
    assert list(words.text) == ["&lt;b&gt;", "unbeliev…"]
    assert [row[0][1] for row in cells.customdata] == ["it: &lt;b&gt;", "it: unbelievably"]
