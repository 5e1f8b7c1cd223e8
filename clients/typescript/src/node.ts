/** In Node: straight from the ZeroMQ stream, with the package `zeromq`. */
import { Subscriber } from "zeromq";
import { Newest } from "./newest.js";
import type { Pose, Skeleton } from "./messages.js";

/** CURVE keys of a stream from another machine (`duocap keys`), each 40 characters. */
export interface Keys {
  serverKey: string;
  publicKey: string;
  secretKey: string;
}

/** Hear the stream until the socket is closed. */
export async function listen(
  onPose: (skeleton: Skeleton, pose: Pose) => void,
  address = "tcp://127.0.0.1:5570",
  keys?: Keys,
): Promise<void> {
  const socket = new Subscriber({ receiveHighWaterMark: 16, maxMessageSize: 1 << 20 });
  if (keys) {
    socket.curveServerKey = keys.serverKey;
    socket.curvePublicKey = keys.publicKey;
    socket.curveSecretKey = keys.secretKey;
  }
  socket.subscribe();
  socket.connect(address);
  const newest = new Newest(onPose);
  for await (const [payload] of socket) if (payload) newest.take(payload);
}
