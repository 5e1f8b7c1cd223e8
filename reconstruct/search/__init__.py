"""The nearest poses of a database (Chai & Hodgins 2005, section 5).

In: a subject and a `PoseTable` (`index.search_index`), then a `Query` for every frame (`walk.PoseSearch.nearest`). Out: rows of
the `Examples`, nearest first, and their squared distances.

Other folders import examples, index, lists, nearest, walk.
"""
