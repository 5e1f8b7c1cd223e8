"""The nearest poses of a database (Chai & Hodgins 2005, section 5).

In: a subject and a `PoseTable` (`index.load_search_index`), then a `Query` for every frame (`graph_search.PoseSearch.nearest`).
Out: rows of the `Examples`, nearest first, and their squared distances.

Other folders import examples, exhaustive, graph_search, index, lists.
"""
