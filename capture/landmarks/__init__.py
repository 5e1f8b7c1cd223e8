"""From a frame to the landmarks of the body in it, by the networks of BlazePose (Bazarevsky et al. 2020).

In: a picture, and where the body was in the one before. Out: `Landmarks`, None where nobody is found. The networks' weights are
no part of duocap: `weights` names them, and knows whether they are there.

Other folders import detector, network, pacing, region, weights.
"""
