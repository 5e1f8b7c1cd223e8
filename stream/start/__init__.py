"""The start page: steps from the cameras to a recorded take, on one server that also shows the other pages as its parts.

In: the steps with what came of them, a form for the one that is open (`form`). Out: a viser page (`page`), the guidance as a
part of it (`part`), drawings of how something is done (`drawings`).

Other folders import drawings, form, page, part.
"""
