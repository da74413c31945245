// The ternary network of examples/ternary.ts keeps what the network of 32 bits has learned.

import "../support/device.ts";
import { assert } from "@std/assert";
import { compare } from "../../examples/ternary.ts";

Deno.test("examples/ternary.ts rounds in training without a loss, and after training with one", async () => {
  const [float, rough, ternary] = await compare(100);
  const base = 0.5015; // without inputs
  assert(float!.loss < 0.475, `float32: ${float!.loss}`);
  assert(rough!.loss > base, `rounded after training: ${rough!.loss}`);
  assert(ternary!.loss < 0.48, `rounded in training: ${ternary!.loss}`);
  assert(ternary!.accuracy > 0.79, `accuracy ${ternary!.accuracy}`);
});
