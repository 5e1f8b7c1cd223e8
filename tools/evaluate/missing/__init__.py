"""Missing markers: errors of them and of the pose, with and without a learned style; labels of markers that return."""
