"""Ten series of untidy tables, three periods each, about people who do not exist."""
