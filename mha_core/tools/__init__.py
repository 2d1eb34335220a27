"""Commands that make the files which come with the program."""
