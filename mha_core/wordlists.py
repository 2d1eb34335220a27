"""Closed lists of words, fixed before any head was looked at. The browser is sent those that it needs."""
# ruff: noqa: SIM905 - a list of words reads better as text

# Function words: a second "the" is no sign of copying. The list is short on purpose.
FUNCTION_WORDS = frozenset(
    """
    a about after all also an and any are as at be because been before being but by can could did do does doing down
    during each few for from had has have having he her here hers him his how i if in into is it its just me more most
    my no nor not now of off on once only or other our out over own same she should so some such than that the their
    them then there these they this those through to too under until up very was we were what when where which while who
    whom why will with would you your
    """.split()
)
# Of the third person: their meaning lies elsewhere in the text.
PRONOUNS = frozenset("it she he they him them itself herself himself themselves".split())
POSSESSIVES = frozenset("my your his her its our their".split())
DETERMINERS = frozenset("the a an this that these those every each another some any no".split())
PREPOSITIONS = frozenset(
    "of in on at by for with from into onto over under about between through against during within without across "
    "behind above below near".split()
)
AUXILIARIES = frozenset(
    "am is are was were be been being have has had having do does did will would shall should can could may might "
    "must".split()
)
CLAUSE_OPENERS = frozenset(
    "if that when because while who which what how where why although though since unless whether until before after "
    "as so".split()
)
