"""Search, solver and labels, landmarks and dictionaries against other libraries and known truth."""
