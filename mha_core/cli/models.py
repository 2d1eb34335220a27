"""`headscope models`: the models to choose from."""

import argparse

from mha_core.cli.arguments import Commands, add_command, output_options
from mha_core.cli.output import CommandOutput, write_output
from mha_core.models.model_list import listed_models

OTHERS = (
    "Also: any BERT, DistilBERT, ELECTRA, RoBERTa, XLM-R, GPT-2 or Llama checkpoint in safetensors, by folder or "
    "Hugging Face id, and Llama GGUF files; transformers runs other architectures. Of the first five also the head for "
    "sequence classification, with its labels. Add --untrained for random weights."
)


def add_models_parser(commands: Commands) -> None:
    """Add the command `models`."""
    add_command(commands, "models", "list the models", _run, output_options())


def _run(options: argparse.Namespace) -> None:
    import pandas as pd

    columns = ["name", "title", "embedded", "description"]
    frame = pd.DataFrame({name: getattr(model, name) for name in columns} for model in listed_models())
    write_output(options, CommandOutput(frame, {}, f"{OTHERS}\n\n"))
