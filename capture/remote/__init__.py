"""A camera on another machine: its node, the desk that admits it, its clock."""
