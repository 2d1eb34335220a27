"""The kinds of models that can be read, found by the model_type of a config.json.

To add a kind: its module with a `Family`, and its line here.
"""

from mha_core.models.families.bert import BERT_KIN
from mha_core.models.families.classroom import CLASSROOM
from mha_core.models.families.family import Family
from mha_core.models.families.gpt2 import GPT2
from mha_core.models.families.llama import LLAMA

FAMILIES: dict[str, Family] = {family.model_type: family for family in (*BERT_KIN, GPT2, LLAMA, CLASSROOM)}

__all__ = ["FAMILIES", "Family"]
