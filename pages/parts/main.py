"""What runs for a reader: the page that the address names.

It stands in a folder without a `pages` beside it: Streamlit would run those by itself on a fresh server. The pages are
drawn here, not by `st.Page.run`, so that a control of the frame is the same one on every page.
"""

import streamlit as st

from pages import compare, experiment, explore, inside, learn, roles, training
from pages.parts.frame import shell
from pages.parts.frame.menu import entries
from pages.parts.frame.pages import PAGES

MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (compare, experiment, explore, inside, learn, roles, training)
}

here = st.navigation(entries(tuple(str(MODULES[page.name].__file__) for page in PAGES)), position="hidden")
MODULES[here.url_path or "explore"].draw()
shell.foot()
