"""Print the left hand's place and how old the pose is: python print_poses.py [tcp://HOST:PORT]."""

import sys

from duocap_client import Client

SILENT_S = 2.5  # a stream says something each second

address = sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:5570"
with Client(address) as client:
    while True:
        pose = client.latest(SILENT_S)
        if pose is None or client.skeleton is None:
            print(f"no poses from {address}: is duocap running, and is this the address that it prints?", file=sys.stderr)
            continue
        x, y, z = client.skeleton.joint_positions(pose)["leftHand"]
        age_ms = (pose.t_publish_ns - pose.t_capture_ns) / 1e6
        print(f"{pose.seq:6d} {pose.state:9s} left hand {x:6.2f} {y:6.2f} {z:6.2f} m,", end=" ")
        print(f"{age_ms:4.1f} ms old, {client.n_missed} missed")
