"""Text as typed, cut into tokens and words, with the characters that each of them covers."""
