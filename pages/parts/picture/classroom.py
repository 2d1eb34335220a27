"""The classroom's model in words: what its tasks ask, and what a weight proves."""

# What each task of the grammar asks.
ASKED = {
    "because": "what “it” is",
    "names": "a name again",
    "gender": "she or he",
    "agreement": "one or many",
    "repeated": "a noun again",
}
WHAT_IT_PROVES = (
    "The same task, the same texts, the same answers; in one model a head points at the right noun, in the other none "
    "does. A large weight shows where a head looks and what it can fetch there. It does not prove that the answer "
    "rests on it, and its absence does not prove that the model does not know. What a head is worth shows when "
    "it is gone."
)
