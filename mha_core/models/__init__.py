"""Models ready to trace: found, fetched, loaded into the engine or run by transformers."""
