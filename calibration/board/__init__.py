"""Calibration boards: what is printed on them, and their corners found in pictures.

In: a board as text (pattern), pictures. Out: a PDF to print (pdf), a `BoardView` of each picture (find, views), and where there
is none, why (diagnosis).

Other folders import diagnosis, find, pattern, pdf, views.
"""
