"""Sparse pose dictionaries (Lai et al. 2012): poses as sums of few atoms, in Euclidean space.

In: joint positions. Out: a dictionary; from it and a part of a pose, or a corrupted one, the whole pose. Pure.

Other folders import body, dictionary, learn, model, train.
"""
