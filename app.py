"""The server, which runs pages/parts/main.py for every user. `headscope app` and `streamlit run app.py` serve it."""

from pathlib import Path

import streamlit as st

from pages.parts.serve import server

app = st.App(Path(__file__).parent / "pages" / "parts" / "main.py", **server.settings())
