"""A rig from views of a board: selection of views, lens models, bundle adjustment."""
