"""`python -m mha_core heads distances`: how far apart the words of a relation stand, here and in a treebank."""

import argparse
from pathlib import Path

from mha_core.errors import InputError
from mha_core.heads.answers import Answer, add_answer, give
from mha_core.heads.corpora import Lines, read_conllu
from mha_core.heads.distances import apart, of_builtin, of_treebank, reference, table
from mha_core.load import load_model


def add_distances_parser(questions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `heads distances` to the command line."""
    text = "how far apart the words of a relation stand, in the built-in sentences and in a treebank"
    parser = questions.add_parser("distances", help=text, description=f"Find out {text}.")
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="?",
        help="a CoNLL-U treebank (UD English EWT without it)",
    )
    parser.add_argument("--model", default="minilm", help="the model whose tokenizer counts the words")
    add_answer(parser)


def run(args: argparse.Namespace) -> int:
    """Write both. Raises InputError."""
    ours = of_builtin(load_model(args.model).tokenizer)
    corpus = reference().corpus if args.file is None else args.file.name
    theirs = reference().distances if args.file is None else of_treebank(read_conllu(Lines(args.file)))
    if args.file is not None and not any(theirs[relation].total() for relation in ours):
        raise InputError(f"There is nothing in {corpus} to measure.")
    rows = [
        {
            "relation": relation,
            "builtin": {str(place): n for place, n in sorted(ours[relation].items())},
            "treebank": {str(place): n for place, n in sorted(theirs[relation].items())},
            "apart": apart(ours[relation], theirs[relation]),
        }
        for relation in ours
    ]
    cells = [
        {
            "relation": relation,
            "distance": place,
            "builtin": ours[relation][place],
            "treebank": theirs[relation][place],
        }
        for relation in ours
        for place in sorted(ours[relation].keys() | theirs[relation].keys())
    ]
    head = f"Words from the dependent to its head (+: later). Built-in sentences beside {corpus}."
    lines = [head, *table(ours, theirs), ""]
    give(args, Answer({"treebank": corpus, "rows": rows}, rows, lambda: "\n".join(lines), cells))
    return 0
