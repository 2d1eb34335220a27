"""The app on another version of Streamlit: `make test-versions` runs this on the oldest and the newest of the range.

Short on purpose: it asks for what depends on Streamlit. The rest of this folder runs on the version that is pinned.
"""

import pytest
from test_flows import CAT, DOG, address, compares, link, press, shows, stands
from test_pages import SAMPLES, opened

pytestmark = [pytest.mark.versions, pytest.mark.browser, pytest.mark.slow]


def test_the_server_is_ready_and_every_page_opens_by_its_own_address(app, reader):
    assert app.get("/ready")[::2] == (200, "ready")
    for path, example in SAMPLES.items():
        for page in {path, example}:
            assert opened(reader(page).page, page) == [], page
    assert "Traceback" not in app.output()


def test_what_was_typed_and_pressed_is_there_again_after_back_and_a_reload(reader):
    person = reader(address(CAT, head="3-2"))
    person.type(DOG)
    shows(person, DOG)
    press(person, person.word("sat"), person.head("6-12"))
    stands(person, DOG, "6-12", "sat")
    before = link(person)
    person.page.reload()
    stands(person.settled(), DOG, "6-12", "sat")
    assert link(person) == before
    press(person, person.page.get_by_role("link", name="Compare", exact=True))
    compares(person, DOG)
    person.page.go_back()
    stands(person, DOG, "6-12", "sat")
    person.page.go_back()
    shows(person, CAT)
    press(person, person.head("5-4"), person.word("cat"))
    stands(person, CAT, "5-4", "cat")
