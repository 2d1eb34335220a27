"""HeadScope: `streamlit run app.py` finds the server here, which runs pages/parts/main.py for every reader."""

from pathlib import Path

import streamlit as st

from pages.parts.serve import server

app = st.App(Path(__file__).parent / "pages" / "parts" / "main.py", **server.settings())
