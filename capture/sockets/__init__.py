"""Sockets between processes and machines: addresses, keys, and blobs as bytes.

Other folders import endpoints, keys, wire.
"""
