"""The commands around live cameras and their stream."""
