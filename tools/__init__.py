"""The command line, one room for each job, and the processes they start.

Other folders import export.
"""
