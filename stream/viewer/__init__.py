"""The viewer in the browser: one more subscriber of the stream, or a player of recordings."""
