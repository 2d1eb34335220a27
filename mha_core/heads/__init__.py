"""What each head does: weights in, one question a file out. See the files for definitions and sources."""
