"""Forces of motions, and motions made physically sound: what `duocap physics` does with files.

Other folders import clean.
"""
