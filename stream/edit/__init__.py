"""Edits of recorded takes; none of them changes the recording it is made from.

In: a `Recording` and an edit, which is plain data. Out: another `Recording`, held in memory until it is written to a new file.
Start with `edits`; `motion` changes poses, `files` renames, deletes and brings back.

Other folders import edits, files, motion.
"""
