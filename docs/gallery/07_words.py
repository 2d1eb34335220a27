"""Word pieces, and words
What `tokenization` is cut into, and the same weights between words: summed over the pieces looked at, averaged
over those that look (Clark et al. 2019)."""

from mha_core import load_model, trace
from mha_core.figures import Design, figure

record = trace("Tokenizers split unbelievable words.", load_model())
figures = [figure(record.grid(words), Design("matrix", heads=((2, 8),), width=9)) for words in (False, True)]
