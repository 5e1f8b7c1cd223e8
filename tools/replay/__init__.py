"""A recording through the steps of live capture.

Other folders import take.
"""
