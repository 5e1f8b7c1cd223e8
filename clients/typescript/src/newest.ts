/** What is known of a stream: always the newest pose, never a queue of old ones. */
import { decode, type Pose, type Skeleton } from "./messages.js";

export class Newest {
  skeleton: Skeleton | null = null;
  pose: Pose | null = null;
  rig: Record<string, unknown> | null = null;
  status: Record<string, unknown> | null = null;
  events: string[] = [];
  /** Poses lost on the way, by their numbers, and messages that could not be read. */
  missed = 0;
  malformed = 0;
  #onPose: (skeleton: Skeleton, pose: Pose) => void;

  constructor(onPose: (skeleton: Skeleton, pose: Pose) => void = () => {}) {
    this.#onPose = onPose;
  }

  /** Take one message as it came. */
  take(payload: Uint8Array): void {
    let message;
    try {
      message = decode(payload);
    } catch {
      this.malformed += 1;
      return;
    }
    const { topic, content } = message;
    if (topic === "skeleton") this.skeleton = content;
    else if (topic === "pose") this.#count(content);
    else if (topic === "event") this.events = [...this.events.slice(-99), String(content.text)];
    else if (topic === "rig") this.rig = content;
    else this.status = content;
  }

  #count(pose: Pose): void {
    if (this.pose && this.pose.session === pose.session) this.missed += Math.max(0, pose.seq - this.pose.seq - 1);
    this.pose = pose;
    if (this.skeleton && this.skeleton.hash === pose.hash) this.#onPose(this.skeleton, pose);
  }
}
