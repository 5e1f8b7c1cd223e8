/** In a browser: `duocap relay` hands the stream on over WebSocket. */
import { Newest } from "./newest.js";
import type { Pose, Skeleton } from "./messages.js";

const RETRY_MS = 1000;

/** Hear the stream, again after every interruption; give what is known of it and a function that ends it. */
export function connect(
  onPose: (skeleton: Skeleton, pose: Pose) => void,
  url = "ws://127.0.0.1:5574",
): { newest: Newest; close: () => void } {
  const newest = new Newest(onPose);
  let socket: WebSocket;
  let closed = false;
  const open = () => {
    socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onmessage = (event) => newest.take(new Uint8Array(event.data as ArrayBuffer));
    socket.onclose = () => {
      if (!closed) setTimeout(open, RETRY_MS);
    };
  };
  open();
  const close = () => {
    closed = true;
    socket.close();
  };
  return { newest, close };
}
