"""The toy model's page as one file: code, style, typeface, model and numbers inside, for any browser, from any disk.

In: the worker's files by name, the models they are of, and texts. Out: the page's text.
"""

import base64
from collections.abc import Mapping, Sequence

from mha_core.draw.static_site.page import page_html
from mha_core.models.model import Model


def single_html(files: Mapping[str, bytes], models: Mapping[str, Model], texts: Sequence[str]) -> str:
    """Return index.html with everything inside; `files`: what the worker would fetch, models.json among them."""
    inside = {name: base64.b64encode(content).decode() for name, content in files.items()}
    return page_html(models, texts, {}, inside)
