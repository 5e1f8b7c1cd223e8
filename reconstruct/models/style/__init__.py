"""Styles: scaled Gaussian process latent variable models of poses (Grochow et al. 2004).

`features`: y(q); `model`: the `Style` and its predictions; `file`: `*.style`; learn/: from poses to a style; synthesis/: from
styles and constraints to poses; `session`, `collect` and `task`: learning during a session, in another process.

Other folders import features, file, model, session, task.
"""
