"""A body posed by its handles: the document, its history and file, what a model is asked, motion, pictures; page/: the page."""
