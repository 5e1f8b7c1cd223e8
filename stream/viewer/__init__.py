"""The viewer: a page that shows the live stream or recordings.

In: a feed of one or two tracks (`feed`, `takes`). Out: a viser page (`app`) with a 3D scene (scene/), panels (panels/) and the
tuning of the cameras (tuning/); requests to the publisher (`requests`).

Other folders import app, feed, requests, takes.
"""
