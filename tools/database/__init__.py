"""Databases of published motion: got, built and made the default of all commands.

In: what is published where (`published`), a mirror and archives on disk. Out: a database in the data folder of the user (`get`),
and which one the commands use (`installed`). `download` is the only part with sockets;
`shared` has workers (`tools.cluster`) build the files of a database.

Other folders import installed.
"""
