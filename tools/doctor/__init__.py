"""What hinders a run on this machine."""
