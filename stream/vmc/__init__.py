"""VMC, the Virtual Motion Capture protocol: OSC over UDP beside the stream."""
