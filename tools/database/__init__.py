"""Databases of published motion: got, built and made the default of all commands.

In: what is published where (published), a mirror and archives on disk. Out: a database in the user's data folder (get), and which
one the commands use (library). `download` is the only part with sockets.
"""
