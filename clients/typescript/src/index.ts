/** Hear the poses of a running duocap; for Node over ZeroMQ see ./node.js. */
export { decode, MalformedMessageError } from "./messages.js";
export type { Marker, Message, Pose, Quaternion, Skeleton, Vector } from "./messages.js";
export { jointTransforms, product, rotated } from "./kinematics.js";
export type { Transform } from "./kinematics.js";
export { Newest } from "./newest.js";
export { connect } from "./browser.js";
