"""Detection in images against OpenCV's functions, and the delays of network cameras."""
