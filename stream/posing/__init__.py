"""A body posed by its handles on a page: a document with its history and file, the models that answer, the page itself."""
