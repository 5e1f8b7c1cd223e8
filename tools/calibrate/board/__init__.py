"""A board in recordings: pictures and films of one camera or two in (`sources`), moments that show the board out (`found`).

Other folders import sources.
"""
