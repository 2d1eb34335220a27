"""The classroom's models on the pages: unknown words, the moments of the training, what stands beside a comparison."""

from visit import open_page

from mha_core import load_model, trace
from mha_core.heads.notices import unread
from mha_core.models.toy_checkpoints import CHECKPOINT_STEPS
from pages.parts.explore.checkpoint_slider import at_step, checkpoint_text
from pages.parts.frame.request import Request, model_allowed

CARD = {
    "step": 400, "head": "2-1", "pass": 0.25, "pairs": 400, "interval": [0.2, 0.3], "animate": 0.5, "inanimate": 0.0,
    "answers": {"exact": 0.5, "better": 0.75}, "without_head": {"exact": 0.25, "better": 0.5},
    "pointing": ["2-1", "2-3"], "without_pointing": {"exact": 0.125, "better": 0.75},
}  # fmt: skip


def test_what_it_does_not_know_is_said_and_what_it_knows_is_offered_once():
    model = load_model("classroom", device="cpu")
    (text,) = unread(trace("The zebra didn't cross the street.", model))
    assert text == "1 token is not in the model's vocabulary: the model sees only `[UNK]` there."
    known = model.tokenizer.known_words
    assert {"animal", "street", "wide"} <= set(known)
    assert not set(known) & {"[PAD]", "[UNK]", "[MASK]"}

    app = open_page("pages/compare.py", model="classroom", model2="classroom-twin", against="model")
    labels = [each.proto.popover.label for each in app.get("popover")]
    assert [label for label in labels if "it knows" in label] == [f"The {len(known)} words it knows"]


def test_a_moment_says_how_far_it_is_and_only_moments_of_the_classroom_are_models():
    assert "After 400 steps its best head, 2-1, passes 25% of 400 unseen pairs" in checkpoint_text(CARD)
    assert checkpoint_text(None) == ""
    assert model_allowed("classroom@400")
    assert not model_allowed("minilm@400")
    assert not model_allowed("classroom@../400")


def test_at_a_moment_both_sides_are_the_model_as_it_was_then_and_another_model_is_as_it_is():
    def models_at(step, **other):
        request = at_step(
            Request("a", model="classroom", other=Request(**{"text": "b", "model": "classroom"} | other)),
            step,
        )
        return request.model, request.other.model

    assert models_at(400) == ("classroom@400", "classroom@400")
    assert models_at(400, model="minilm") == ("classroom@400", "minilm")
    assert models_at(0, trained=False) == ("classroom@0", "classroom")
    assert models_at(CHECKPOINT_STEPS[-1]) == ("classroom", "classroom")
    assert models_at(400, text="a", model="classroom@0") == ("classroom@400", "classroom@0"), "one side alone"
