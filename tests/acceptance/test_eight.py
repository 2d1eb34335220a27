"""Eight people at once on one server, each with their own sentences, some with another model: none sees another's."""

import re

import pytest

import mha_core

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PEOPLE = {
    "quokka": "minilm",
    "axolotl": "classroom",
    "narwhal": "minilm",
    "okapi": "minilm",
    "wombat": "minilm",
    "lemur": "classroom",
    "gecko": "minilm",
    "tapir": "minilm",
}
SENTENCES = (
    "Because she was hungry, Anna gave the {} some bread.",
    "Peter saw the old {}, and then it ran away from him.",
)
# All that a page holds, also what only a shadow root, a tooltip or a box holds.
EVERYTHING = """() => {
  const of = (root) => [root.innerHTML ?? "", ...Array.from(root.querySelectorAll("*")).flatMap((e) =>
    [e.value ?? "", ...(e.shadowRoot ? of(e.shadowRoot) : [])])];
  return of(document.documentElement).join(" ") + location.href + document.title;
}"""
SENTENCE = re.compile(r"^Head (\d+)-(\d+) looks from “?([\w[\]]+)”? to “?([\w[\],.]+?)”? \(([\d.]+)%")
CELL = re.compile(r"^(.+) looks at (.+): ([\d.]+)%$")


def assert_shown(percent: str, weight: float) -> None:
    """A share on the screen is that weight, to the digit that is written."""
    digits = len(percent.partition(".")[2])
    assert float(percent) == pytest.approx(100 * weight, abs=0.5 * 10**-digits + 0.01)


def seen(person, text: re.Pattern[str]) -> list[str]:
    return [one.inner_text() for one in person.page.get_by_text(text).all() if one.is_visible()]


def check(person, text: str, model) -> None:
    """The sentence under the picture and three cells of the matrix are what the engine computes for this text."""
    grid = mha_core.trace(text, model).grid()
    names = [unit.bare for unit in grid.units]
    said = seen(person, SENTENCE)[0]
    layer, head, who, to, percent = SENTENCE.match(said).groups()
    assert {who, to} <= set(names), said
    rows = grid.weights[int(layer) - 1, int(head) - 1]
    assert_shown(percent, rows[names.index(who), names.index(to)])
    matrix = person.page.get_by_role("application", name="as a matrix")
    for _ in range(3):
        matrix.press("ArrowRight")
        query, key, percent = CELL.match(seen(person, CELL)[0]).groups()
        assert_shown(percent, rows[names.index(query), names.index(key)])


def test_eight_people_at_once_see_their_own_words_and_numbers_alone(reader, model):
    models = {"minilm": model, "classroom": mha_core.load_model("classroom", device="cpu")}
    people = {marker: reader(None, fresh=True) for marker in PEOPLE}
    for marker, person in people.items():
        person.page.goto(f"{person.base}/?model={PEOPLE[marker]}", wait_until="commit")
    for sentence in SENTENCES:
        for person in people.values():
            person.settled()
        for marker, person in people.items():
            box = person.page.get_by_label("Your sentence", exact=True)
            box.fill(sentence.format(marker))
            box.press("Enter")
    for marker, person in people.items():
        text = SENTENCES[-1].format(marker)
        # The picture draws when it has time, which may be after the page stands still.
        person.page.get_by_label("word by word").filter(has_text=text).wait_for(timeout=60_000)
        check(person.settled(), text, models[PEOPLE[marker]])
        everything = person.page.evaluate(EVERYTHING).lower()
        assert {other for other in PEOPLE if other in everything} == {marker}
