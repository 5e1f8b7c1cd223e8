"""Files that open elsewhere: BVH, TRC, C3D, CSV, GLB and VRMA, all made from a take."""
