"""Sockets between processes and machines: addresses, keys, and blobs as bytes."""
