// The network of examples/training.ts learns.

import "../support/device.ts";
import { assert } from "@std/assert";
import { evaluate, forward, loadFlights, startNetwork, train } from "../../examples/training.ts";

Deno.test("examples/training.ts lowers the loss of all flights below that of the base rate", async () => {
  const data = loadFlights();
  const { network, losses } = await train(startNetwork(), data, 60);
  const { hidden, score } = forward(network, data.inputs);
  const { loss, accuracy } = await evaluate(score, data.late);
  assert(Math.abs(losses[0]! - Math.LN2) < 1e-5, `the first loss is ${losses[0]}`);
  assert(loss < 0.5, `the loss is ${loss}`);
  assert(accuracy > 0.78, `the accuracy is ${accuracy}`);
  for (const it of [hidden, score, ...Object.values({ ...data, ...network })]) it.dispose();
});
