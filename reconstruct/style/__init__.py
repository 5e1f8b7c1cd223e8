"""The style of a motion: a scaled Gaussian process latent variable model of its poses (Grochow et al. 2004), learned and used."""
