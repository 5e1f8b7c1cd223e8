"""The neighbour graph of a database: which poses are alike (Chai & Hodgins 2005, eq. 4).

In: the poses and clips of a database. Out: a `Graph` (neighbours), built or extended while a file is written (build).

Other folders import build, neighbours.
"""
