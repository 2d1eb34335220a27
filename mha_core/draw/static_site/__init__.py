"""A page without a server: Explore and Compare as files, whose models the user's browser computes."""
