"""`headscope completion bash|zsh`: a script for the shell that completes commands, options and their choices."""

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from mha_core.shelf import shelf

ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
SCRIPT = """_headscope() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" place="" words="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$place ${{COMP_WORDS[i]}}" in
            {places}) place="${{place:+$place }}${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$place:$previous" in
{choices}
        *:--out|*:--file|*:--text|*:--corpus) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    esac
    case "$place" in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _headscope headscope
"""


def add_completion_parser(commands: Any, build: Callable[[], argparse.ArgumentParser]) -> None:
    """The command `completion`."""
    parser = commands.add_parser(
        "completion", help='completion for the shell: eval "$(headscope completion bash)"'
    )
    parser.add_argument("shell", choices=("bash", "zsh"), help="for which shell")
    parser.set_defaults(run=partial(_run, build))


def _run(build: Callable[[], argparse.ArgumentParser], options: argparse.Namespace) -> int:
    sys.stdout.write((ZSH if options.shell == "zsh" else "") + script(build()))
    return 0


def script(parser: argparse.ArgumentParser) -> str:
    """The function for bash, which zsh takes as well."""
    words, choices = dict[str, list[str]](), list[tuple[str, str, list[str]]]()
    _walk(parser, "", words, choices)
    places = "|".join(_quoted(f" {place}" if " " not in place else place) for place in words if place)
    names = [entry.name for entry in shelf()]
    options = [(f"{_quoted(place)}:{option}", found) for place, option, found in choices]
    lines = [
        f'        {pattern}) COMPREPLY=($(compgen -W "{" ".join(found)}" -- "$cur")); return ;;'
        for pattern, found in [*options, ("*:--model", names)]
    ]
    cases = [f'        {_quoted(place)}) words="{" ".join(found)}" ;;' for place, found in words.items()]
    return SCRIPT.format(places=places, choices="\n".join(lines), words="\n".join(cases))


def _walk(
    parser: argparse.ArgumentParser,
    place: str,
    words: dict[str, list[str]],
    choices: list[tuple[str, str, list[str]]],
) -> None:
    """What can stand at every place of the command line, and after every option that has choices."""
    known = words.setdefault(place, [])
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                known.append(name)
                _walk(inner, f"{place} {name}".strip(), words, choices)
            continue
        known += [option for option in action.option_strings if option.startswith("--")]
        if action.choices and not action.option_strings:
            known += [str(choice) for choice in action.choices]
        elif action.choices:
            found = [str(choice) for choice in action.choices]
            choices += [(place, option, found) for option in action.option_strings]


def _quoted(text: str) -> str:
    """A text as a pattern of the shell's that stands for itself."""
    return f'"{text}"' if re.search(r"\s", text) or not text else text
