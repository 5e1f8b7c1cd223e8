/** What the stream says: metres, nanoseconds, quaternions x y z w, right-handed, Y up. */
import { decode as unpack } from "@msgpack/msgpack";

export type Vector = [number, number, number];
export type Quaternion = [number, number, number, number];

/** The skeleton of all poses with the same hash; parents come before their children, the root's is -1. */
export interface Skeleton {
  hash: string;
  names: string[];
  parents: number[];
  offsets_m: Vector[];
  humanoid: Record<string, string>;
  subject: string;
}

/** A marker: place as the pose has it; residual [m] and place as measured where two cameras saw it or more; which did. */
export interface Marker {
  name: string;
  xyz: Vector;
  residual: number | null;
  cameras: number[];
  measured?: Vector | null;
}

/** One pose: local rotations from the rest pose, the root's in the world. */
export interface Pose {
  hash: string;
  session: string;
  seq: number;
  t_capture_ns: number;
  t_publish_ns: number;
  state: "tracking" | "coasting" | "lost";
  root_m: Vector;
  rotations: Quaternion[];
  joint_source: Uint8Array;
  confidence: number[];
  contacts: string[];
  markers: Marker[];
  latency_ns: Record<string, number>;
}

export type Message =
  | { topic: "skeleton"; content: Skeleton }
  | { topic: "pose"; content: Pose }
  | { topic: "rig" | "status" | "event"; content: Record<string, unknown> };

export class MalformedMessageError extends Error {}

/** Read one message of the stream: topic, space, msgpack map. Throws MalformedMessageError. */
export function decode(payload: Uint8Array): Message {
  const space = payload.indexOf(0x20);
  const topic = new TextDecoder().decode(payload.subarray(0, Math.max(space, 0)));
  let content: Record<string, any>;
  try {
    content = unpack(payload.subarray(space + 1)) as Record<string, any>;
  } catch (error) {
    throw new MalformedMessageError(`not msgpack: ${error}`);
  }
  if (typeof content !== "object" || content === null || content.schema !== 1) {
    throw new MalformedMessageError(`schema ${content?.schema}, this client reads 1`);
  }
  switch (topic) {
    case "skeleton":
      return { topic, content: checkedSkeleton(content as Skeleton) };
    case "pose":
      return { topic, content: pose(content) };
    case "rig":
    case "status":
    case "event":
      return { topic, content };
    default:
      throw new MalformedMessageError(`unknown topic ${topic.slice(0, 20)}`);
  }
}

function checkedSkeleton(skeleton: Skeleton): Skeleton {
  const { names, parents, offsets_m } = skeleton;
  const fits = [names, parents, offsets_m].every((list) => Array.isArray(list) && list.length === names.length);
  if (!fits || !parents.every((parent, joint) => parent >= -1 && parent < joint) || !offsets_m.every(isVector)) {
    throw new MalformedMessageError("a skeleton whose parts do not fit together");
  }
  return skeleton;
}

function pose(content: Record<string, any>): Pose {
  const rotations = floats(content.rotations_xyzw);
  const confidence = floats(content.confidence);
  if (rotations.length !== 4 * confidence.length || !isVector(content.root_m) || !Array.isArray(content.markers)) {
    throw new MalformedMessageError("a pose whose parts do not fit together");
  }
  const { rotations_xyzw: _packed, ...rest } = content;
  const quaternions = confidence.map((_, j) => rotations.slice(4 * j, 4 * j + 4) as Quaternion);
  return { ...rest, rotations: quaternions, confidence } as Pose;
}

/** Packed little-endian float32; the bytes may begin anywhere in a buffer, so a Float32Array cannot be laid over them. */
function floats(bytes: unknown): number[] {
  if (!(bytes instanceof Uint8Array) || bytes.length % 4) {
    throw new MalformedMessageError("expected packed float32");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

function isVector(value: unknown): value is Vector {
  return Array.isArray(value) && value.length === 3 && value.every((number) => Number.isFinite(number));
}
