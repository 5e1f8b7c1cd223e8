// Print where the left hand is: node examples/print.mjs [tcp://HOST:PORT]
import { jointTransforms } from "duocap-client";
import { listen } from "duocap-client/node";

await listen((skeleton, pose) => {
  const [x, y, z] = jointTransforms(skeleton, pose).get("leftHand").position_m;
  console.log(`${pose.seq} ${pose.state} left hand ${x.toFixed(3)} ${y.toFixed(3)} ${z.toFixed(3)} m`);
}, process.argv[2]);
