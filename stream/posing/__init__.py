"""A body posed by its handles: the document, its history and file, what a model is asked, motion, pictures; page/: the page.

Other folders import document, model, motion, near, picture, publishing, session, session_file.
"""
