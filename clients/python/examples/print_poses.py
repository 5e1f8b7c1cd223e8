"""Print the left hand's place and how old the pose is: python print_poses.py [tcp://HOST:PORT]."""

import sys

from duocap_client import Client

with Client(*sys.argv[1:2]) as client:
    for skeleton, pose in client.poses():
        x, y, z = skeleton.joint_positions(pose)["leftHand"]
        age_ms = (pose.t_publish_ns - pose.t_capture_ns) / 1e6
        print(f"{pose.seq:6d} {pose.state:9s} left hand {x:6.2f} {y:6.2f} {z:6.2f} m,", end=" ")
        print(f"{age_ms:4.1f} ms old, {client.n_missed} missed")
