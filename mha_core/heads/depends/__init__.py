"""Which earlier heads a head depends on."""

from mha_core.heads.depends.questions import Choice, Question, Relation
from mha_core.heads.depends.table import WAYS, Depends, Upstream, Way

__all__ = ["WAYS", "Choice", "Depends", "Question", "Relation", "Upstream", "Way"]
