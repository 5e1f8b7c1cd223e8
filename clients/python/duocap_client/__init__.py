"""Hear the poses of a running duocap.

from duocap_client import Client

with Client() as client:
    for skeleton, pose in client.poses():
        print(pose.seq, pose.state, skeleton.joint_positions(pose)["leftHand"])
"""

from duocap_client.client import Client
from duocap_client.messages import MalformedMessageError, Marker, Pose, Skeleton, decode

__all__ = ["Client", "MalformedMessageError", "Marker", "Pose", "Skeleton", "decode"]
