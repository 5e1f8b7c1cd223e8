"""A camera on another machine: its node, the server that admits it, its clock.

Other folders import clock_offset, node, server.
"""
