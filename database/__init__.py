"""Motion data: skeleton, kinematics, readers, cleaning, built-in motions, the database file."""
