"""The relations of Universal Dependencies in words: a dependent, and the word that it depends on."""

NAMES = {
    "nsubj": ("subject", "verb"), "nsubj:pass": ("passive subject", "verb"), "csubj": ("clausal subject", "verb"),
    "obj": ("object", "verb"), "iobj": ("indirect object", "verb"), "obl": ("oblique", "verb"),
    "obl:unmarked": ("bare oblique", "verb"), "xcomp": ("open complement", "verb"),
    "ccomp": ("clausal complement", "verb"), "advcl": ("adverbial clause", "verb"),
    "advmod": ("adverb", "word"), "aux": ("auxiliary", "verb"), "aux:pass": ("passive auxiliary", "verb"),
    "cop": ("copula", "predicate"), "mark": ("subordinator", "verb"), "expl": ("expletive", "verb"),
    "compound:prt": ("particle", "verb"), "discourse": ("interjection", "word"), "vocative": ("vocative", "verb"),
    "det": ("determiner", "noun"), "amod": ("adjective", "noun"), "case": ("preposition", "noun"),
    "nmod": ("modifying noun", "noun"), "nmod:poss": ("possessor", "noun"), "nmod:unmarked": ("bare modifier", "noun"),
    "nummod": ("number", "noun"), "compound": ("compound part", "noun"), "flat": ("later name", "first name"),
    "appos": ("apposition", "noun"), "acl": ("clause", "noun"), "acl:relcl": ("relative clause", "noun"),
    "conj": ("conjunct", "first conjunct"), "cc": ("conjunction", "conjunct"),
    "parataxis": ("side clause", "main verb"), "list": ("list item", "first item"),
    "fixed": ("fixed part", "first part"),
}  # fmt: skip


def named(relation: str) -> tuple[str, str]:
    """Return the dependent and its head in words; of a relation that has none here, its own name."""
    return NAMES.get(relation, (f"“{relation}” dependent", "head word"))
