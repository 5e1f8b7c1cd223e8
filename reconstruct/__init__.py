"""From labelled markers to poses: root, nearest poses, local model, Levenberg-Marquardt, the step."""
