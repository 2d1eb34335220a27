"""`python -m mha_core heads distances`: how far apart the words of a relation stand, here and in a treebank."""

import argparse
import sys
from pathlib import Path

from mha_core import export
from mha_core.console import UNUSABLE
from mha_core.corpus import Lines, read_conllu
from mha_core.errors import HeadScopeError
from mha_core.heads.distances import apart, of_builtin, of_treebank, reference, table
from mha_core.models import load_model


def add_distances_parser(questions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `heads distances` to the command line."""
    text = "how far apart the words of a relation stand, in the built-in sentences and in a treebank"
    parser = questions.add_parser("distances", help=text, description=f"Find out {text}.")
    parser.add_argument(
        "file", metavar="FILE", type=Path, nargs="?", help="a CoNLL-U treebank (UD English EWT without it)"
    )
    parser.add_argument("--model", default="minilm", help="the model whose tokenizer counts the words")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="table or json (table)")


def run(args: argparse.Namespace) -> int:
    """Write both; errors are one sentence on stderr and exit code 2."""
    try:
        ours = of_builtin(load_model(args.model).tokenizer)
        corpus = reference().corpus if args.file is None else args.file.name
        theirs = reference().distances if args.file is None else of_treebank(read_conllu(Lines(args.file)))
    except HeadScopeError as flaw:
        sys.stderr.write(f"{flaw}\n")
        return UNUSABLE
    if args.format == "table":
        head = f"Words from the dependent to its head (+: later). Built-in sentences beside {corpus}."
        sys.stdout.write("\n".join([head, *table(ours, theirs)]) + "\n")
        return 0
    rows = [
        {
            "relation": relation,
            "builtin": {str(place): n for place, n in sorted(ours[relation].items())},
            "treebank": {str(place): n for place, n in sorted(theirs[relation].items())},
            "apart": apart(ours[relation], theirs[relation]),
        }
        for relation in ours
    ]
    sys.stdout.write(export.json_of({"treebank": corpus, "rows": rows}, indent=1))
    return 0
