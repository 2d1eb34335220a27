"""The kinds of models that can be read: one module each, found by the model_type of a config.json.

To add a kind: its module with a `Family`, and its line here.
"""

from mha_core.families.bert import BERT
from mha_core.families.classroom import CLASSROOM
from mha_core.families.distilbert import DISTILBERT
from mha_core.families.electra import ELECTRA
from mha_core.families.family import Family
from mha_core.families.gpt2 import GPT2
from mha_core.families.llama import LLAMA
from mha_core.families.roberta import ROBERTA, XLM_ROBERTA

FAMILIES: dict[str, Family] = {
    family.model_type: family
    for family in (BERT, DISTILBERT, ELECTRA, ROBERTA, XLM_ROBERTA, GPT2, LLAMA, CLASSROOM)
}

__all__ = ["FAMILIES", "Family"]
