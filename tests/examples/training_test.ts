// The network of examples/training.ts learns.

import "../support/device.ts";
import { assert } from "@std/assert";
import { train } from "../../examples/training.ts";

Deno.test("examples/training.ts lowers the loss of all flights below that of the base rate", async () => {
  const { losses, loss, accuracy } = await train(60);
  assert(Math.abs(losses[0]! - Math.LN2) < 1e-5, `the first loss is ${losses[0]}`);
  assert(loss < 0.5, `the loss is ${loss}`);
  assert(accuracy > 0.78, `the accuracy is ${accuracy}`);
});
