// A program that may not read the package: a child of `waiting_test.ts`.

import { openDevice } from "../../../mod.ts";
import { add, full } from "../../../src/device/tensor.ts";

using device = openDevice("host");
using sum = add(full([4], 2, { device }), 40);
sum.ready().catch(() => {});
try {
  device.doneSync();
} catch (error) {
  console.log((error as Error).message);
}
