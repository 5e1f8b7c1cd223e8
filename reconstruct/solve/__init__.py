"""The most probable pose for the markers of one frame (Chai & Hodgins 2005, eq. 9)."""
