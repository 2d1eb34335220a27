"""Why?: a stranger is led from a link to the heads that made it, and back."""

import re
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from axe import complaints
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
DURSLEY = "Mr and Mrs Dursley lived at number four. The owner of the house, Mrs Durs"


def answer(person: Any) -> Any:
    return person.page.get_by_role("region", name="Why?", exact=True)


def press(person: Any, name: str) -> None:
    answer(person).get_by_role("button", name=re.compile(rf"^{name}\b")).first.click()
    person.settled()


def link(person: Any) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(person.page.url).query))


@pytest.mark.parametrize("viewport", [None, {"width": 390, "height": 844}])
def test_three_clicks_lead_to_the_mlp_and_the_heads_that_read_tired(reader, viewport):
    person = reader(**({"viewport": viewport} if viewport else {}))
    expect(answer(person)).to_be_hidden()
    person.page.get_by_role("button", name="Why?", exact=True).click()
    person.settled()
    expect(answer(person)).to_contain_text(
        re.compile(r"4-2 looks at animal\b.*made of MLP 3.*\+1\.94", re.DOTALL)
    )
    press(person, "MLP 3")
    expect(answer(person)).to_contain_text(re.compile(r"MLP 3 needs .*3-2.*tired.*71%", re.DOTALL))
    expect(person.page.locator("text.reason")).to_contain_text("3-2")
    assert not complaints(person.page)
    press(person, "3-2")
    params = link(person)
    assert (params["head"], params["pin"], params["to"]) == ("3-2", "10", "13")
    assert params["why"] == "4-2.10.2,mlp3.query,3-2.10.13"
    expect(answer(person).get_by_role("list", name="The way back")).to_have_text(
        re.compile("4-2.*MLP 3.*3-2")
    )
    person.page.go_back()
    person.settled()
    expect(answer(person)).to_contain_text("MLP 3 needs")
    press(person, "4-2")
    expect(answer(person)).to_contain_text("+1.94")
    person.head("5-5").click()
    person.settled()
    expect(answer(person)).to_be_hidden()
    assert "why" not in link(person)


def test_an_induction_circuit_is_walked_back_by_keyboard_and_opens_from_its_address(reader):
    query = {"text": DURSLEY, "model": "smollm2"}
    person = reader(f"/?{urlencode({**query, 'head': '19-7', 'pin': '19', 'to': '5'})}")
    row = person.page.get_by_role("button", name="Why does head 19-7 look there?")
    row.focus()
    person.page.keyboard.press("Enter")
    person.settled()
    expect(answer(person)).to_contain_text(re.compile(r"19-7 looks at ley.*17-1.*urs.*\+13\.07", re.DOTALL))
    expect(answer(person)).to_be_focused()
    expect(person.page.locator("text.reason")).to_have_text("17-1")
    answer(person).get_by_role("button", name="Without 17-1").press("Enter")
    expect(answer(person)).to_contain_text(re.compile(r"Without 17-1: 100% → 17%"), timeout=60_000)
    answer(person).get_by_role("button", name=re.compile("^17-1")).press("Enter")
    person.settled()
    params = link(person)
    assert params["why"] == "19-7.19.5,17-1.5.4"
    other = reader(f"/?{urlencode({**query, 'why': params['why']})}")
    for each in (person, other):
        expect(answer(each).get_by_role("list", name="The way back")).to_have_text(re.compile("19-7.*17-1"))
        expect(answer(each)).to_contain_text("17-1 looks at urs")
    assert {name: link(other)[name] for name in ("head", "pin", "to")} == {
        "head": "17-1",
        "pin": "5",
        "to": "4",
    }
