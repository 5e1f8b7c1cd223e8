/** Forward kinematics: from local rotations to places and orientations in the world. */
import type { Pose, Quaternion, Skeleton, Vector } from "./messages.js";

export interface Transform {
  position_m: Vector;
  rotation: Quaternion;
}

/** The rotation b followed by a. */
export function product([ax, ay, az, aw]: Quaternion, [bx, by, bz, bw]: Quaternion): Quaternion {
  return [
    aw * bx + ax * bw + ay * bz - az * by,
    aw * by - ax * bz + ay * bw + az * bx,
    aw * bz + ax * by - ay * bx + az * bw,
    aw * bw - ax * bx - ay * by - az * bz,
  ];
}

/** A vector turned: v + 2 w (u x v) + 2 u x (u x v), u the vector part of q. */
export function rotated([x, y, z, w]: Quaternion, [vx, vy, vz]: Vector): Vector {
  const tx = 2 * (y * vz - z * vy);
  const ty = 2 * (z * vx - x * vz);
  const tz = 2 * (x * vy - y * vx);
  return [vx + w * tx + y * tz - z * ty, vy + w * ty + z * tx - x * tz, vz + w * tz + x * ty - y * tx];
}

/** Every joint by name: G_j = G_parent L_j, p_j = p_parent + G_parent offset_j. */
export function jointTransforms(skeleton: Skeleton, pose: Pose): Map<string, Transform> {
  if (pose.hash !== skeleton.hash || pose.rotations.length !== skeleton.names.length) {
    throw new Error(`the pose belongs to skeleton ${pose.hash}, this is ${skeleton.hash}; wait for the new skeleton`);
  }
  const placed: Transform[] = [];
  skeleton.parents.forEach((parent, joint) => {
    const local = pose.rotations[joint]!;
    if (parent < 0) {
      placed.push({ position_m: pose.root_m, rotation: local });
      return;
    }
    const { position_m: [x, y, z], rotation } = placed[parent]!;
    const [dx, dy, dz] = rotated(rotation, skeleton.offsets_m[joint]!);
    placed.push({ position_m: [x + dx, y + dy, z + dz], rotation: product(rotation, local) });
  });
  return new Map(skeleton.names.map((name, joint) => [name, placed[joint]!]));
}
