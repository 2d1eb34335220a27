"""A language model in one GGUF file (llama.cpp's format): its metadata, its weights as float32, its tokenizer.

Read by memory map and NumPy alone. Nothing in the file is believed before it is checked against the file's length.
"""

from mha_core.gguf.bpe import byte_level_bpe
from mha_core.gguf.container import GgufFile, read_gguf

__all__ = ["GgufFile", "byte_level_bpe", "read_gguf"]
