"""Learning a style from poses (Grochow et al. 2004, section 5.1 and appendix B).

In: `TrainingPoses`, a skeleton and `LearnOptions`. Out: a `Style` (`train.learn`).

Other folders import active_set, latent, methods, objective, train.
"""
