"""Records of a run: all weights of a text, between tokens or words, ranked, compared and exported."""
