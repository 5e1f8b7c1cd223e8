"""From pixels to labelled points.

In: cameras, videos, simulated cameras (sources/). Each camera's process (process/) tells foreground (background/) and
markers (detection/) and sends `Blobs`. Out: `Views` of one moment (timing/), matched and triangulated `Points`
and labelled `MarkerFrame`s (stereo/).

Other folders import clock, notices, packets, rate.
"""
