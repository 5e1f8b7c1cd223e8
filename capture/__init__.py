"""From pixels to labelled markers: sources, background, blobs, matching, triangulation, labels."""
