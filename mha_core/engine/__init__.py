"""Multi-head attention from scratch: layers, stacks of them, caches, and hooks into a run."""
