"""Commands for those who maintain HeadScope."""
