"""Files a reader brings → sentences and choices, one at a time: CoNLL-U, GAP's TSV, pairs in JSON, plain text, JSON
lines with texts or links; .gz too, from a path or from any address that fsspec reads.

Every reader is a generator over `Lines`, so a file of any size is read in constant memory; JSON alone is read whole,
up to MAX_JSON characters. A broken line is named by its number: the `Reading` that the caller passes says whether it
ends the reading ("refuse") or leaves out the sentence it stands in ("skip").
"""

from mha_core.heads.corpora.choices import PronounCase, Span
from mha_core.heads.corpora.conllu import Sentence, read_conllu
from mha_core.heads.corpora.gap import read_gap
from mha_core.heads.corpora.lines import MAX_LINE, Lines, addresses, name_of
from mha_core.heads.corpora.links import LinkedText, has_links, read_links
from mha_core.heads.corpora.pairs import read_pairs
from mha_core.heads.corpora.plain import read_json_lines, read_text, refuse_table
from mha_core.heads.corpora.reading import Reading

__all__ = [
    "MAX_LINE",
    "Lines",
    "LinkedText",
    "PronounCase",
    "Reading",
    "Sentence",
    "Span",
    "addresses",
    "has_links",
    "name_of",
    "read_conllu",
    "read_gap",
    "read_json_lines",
    "read_links",
    "read_pairs",
    "read_text",
    "refuse_table",
]
