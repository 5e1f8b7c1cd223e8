"""Local models of the nearest poses (Chai & Hodgins 2005): a Gaussian or a PCA, and the motion around them.

Other folders import pca.
"""
