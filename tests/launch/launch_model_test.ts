/**
 * Random sequences of launches, and of events between and within them: each launch must leave in the
 * command block the same bytes as the first launch of a new kernel, or fail with the same error.
 */

import { assert } from "@std/assert";
import fc from "fast-check";
import { KERNELS } from "./launch_reference.ts";
import { LaunchWorld } from "./launch_world.ts";

type Step = (world: LaunchWorld) => void;

const kernel = fc.nat(KERNELS.length - 1);
const config = fc.nat(2);
const choice = fc.nat(100);
const FIELDS = ["grid", "block", "sharedMemory", "cooperative", "cluster", "stream"];

function step<Values extends unknown[]>(
  name: string,
  act: (world: LaunchWorld, ...values: Values) => void,
  ...values: { [Index in keyof Values]: fc.Arbitrary<Values[Index]> }
): fc.Arbitrary<Step> {
  return fc.tuple(...values).map((chosen) => {
    const taken: Step = (world) => act(world, ...chosen as unknown as Values);
    // What fast-check prints of a failure.
    return Object.assign(taken, { toString: () => `${name}(${chosen.map(String).join(", ")})` });
  });
}

const launch = step(
  "launch",
  (world, kernel, config, surplus, given) => world.launch(kernel, config, surplus, given),
  kernel,
  config,
  fc.oneof(
    { weight: 8, arbitrary: fc.constant([]) },
    fc.constantFrom<unknown[]>([undefined], [undefined, undefined], [1], [undefined, 1], [null]),
  ),
  fc.oneof({ weight: 8, arbitrary: fc.constant(9) }, fc.nat(8)),
);

const change = fc.oneof(
  step(
    "configure",
    (world, at, field, value) => world.configure(at, field, value),
    config,
    fc.constantFrom(...FIELDS),
    choice,
  ),
  step(
    "pass",
    (world, kernel, index, value, isOdd) => world.pass(kernel, index, value, isOdd),
    kernel,
    fc.nat(8),
    choice,
    fc.nat(4).map((value) => value === 0),
  ),
  step("changeInPlace", (world, value) => world.changeInPlace(value), choice),
  step("allocate", (world, at, way) => world.allocate(at, way), fc.nat(3), fc.nat(3)),
  step("free", (world, at, byAddress) => world.free(at, byAddress), fc.nat(3), fc.boolean()),
  step(
    "restartStream",
    (world, at, isReplaced) => world.restartStream(at, isReplaced),
    fc.nat(1),
    fc.boolean(),
  ),
  step("listen", (world) => world.listen()),
  step("setStatus", (world, status) => world.setStatus(status), fc.constantFrom(0, 0, 0, 1, -5)),
);

const plain = fc.oneof({ weight: 2, arbitrary: launch }, { weight: 1, arbitrary: change });
const some = fc.array(plain, { maxLength: 6 });

/** Launches that are the same but for one thing. */
const around = step(
  "around",
  (world, kernel, config, change) => {
    for (let time = 0; time < 2; time++) world.launch(kernel, config, [], 9);
    change(world);
    world.launch(kernel, config, [], 9);
  },
  kernel,
  config,
  change,
);

function takeAll(world: LaunchWorld, steps: readonly Step[]): void {
  for (const each of steps) each(world);
}

const any = fc.oneof(
  { weight: 6, arbitrary: plain },
  { weight: 6, arbitrary: around },
  step(
    "capture",
    (world, at, steps) => world.capture(at, () => takeAll(world, steps)),
    fc.nat(1),
    some,
  ),
  step(
    "launchWhile",
    (world, kernel, config, place, again, throws, steps) =>
      world.launchWhile(kernel, config, place, throws, () => {
        takeAll(world, steps);
        if (again !== null) world.launch(kernel, again, [], 9);
      }),
    kernel,
    config,
    fc.nat(7),
    fc.option(config),
    fc.boolean(),
    some,
  ),
);

Deno.test("launch() leaves the same command block as the first launch of a new kernel", () => {
  const count = { launched: 0, refused: 0 };
  fc.assert(
    fc.property(fc.array(any, { maxLength: 60, size: "max" }), (steps) => {
      using world = new LaunchWorld();
      takeAll(world, steps);
      count.launched += world.count.launched;
      count.refused += world.count.refused;
    }),
    { numRuns: 200 },
  );
  // A property of launches that are all refused would say little.
  assert(Math.min(count.launched, count.refused) > 1000, JSON.stringify(count));
});
