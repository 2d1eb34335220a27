"""A server that starts anew, or another replica: the browser still knows what its reader typed."""

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from benchmarks.wire import socket_to, until_over
from pages.parts.frame.state import RECONNECTED

OLD, NEW = "The old sentence was here before.", "A new sentence is typed after the restart."


def visit(app, page, query, typed=None):
    """One fresh session that begins with what a browser has: its link, and the boxes' texts by their ids."""
    asked = BackMsg()
    asked.rerun_script.query_string = query
    asked.rerun_script.page_name = page
    for name, text in (typed or {}).items():
        state = asked.rerun_script.widget_states.widgets.add()
        state.id, state.string_value = name, text
    boxes, said, link = {}, [], ""
    with socket_to(app.url) as stream:
        stream.send(asked.SerializeToString())
        for answer in until_over(stream):
            element = answer.delta.new_element
            if answer.WhichOneof("type") == "page_info_changed":
                link = answer.page_info_changed.query_string
            if element.WhichOneof("type") == "text_input":
                boxes[element.text_input.id] = element.text_input
            if element.WhichOneof("type") == "html":
                said.append(element.html.body)
    return boxes, " ".join(said), link


def box_of(boxes, key):
    return next(name for name in boxes if name.endswith(f"-{key}"))


@pytest.mark.slow
@pytest.mark.parametrize("page", [pytest.param("", marks=pytest.mark.slow), "compare", "inside"])
def test_the_first_sentence_after_a_restart_is_the_one_shown(app_server, page):
    query = f"text={OLD.replace(' ', '+')}"
    boxes, said, _ = visit(app_server, page, query)
    name = box_of(boxes, "text")
    assert boxes[name].value == OLD
    assert RECONNECTED not in said
    boxes, said, link = visit(app_server, page, query, {name: NEW})
    assert boxes[name].value == NEW
    assert RECONNECTED in said
    assert NEW.replace(" ", "+") in link
    assert OLD.replace(" ", "+") not in link
