"""VMC: poses as OSC over UDP, for avatars. In: the published messages (output). Out: datagrams (composer, sender).

Other folders import output, sender.
"""
