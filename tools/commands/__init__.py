"""One module a command: what it is asked, and nothing else."""
