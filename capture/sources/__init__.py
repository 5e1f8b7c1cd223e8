"""Where frames come from: files, webcams, network cameras, simulated cameras; all behind one protocol.

Other folders import jpeg, recorded_times, source.
"""
