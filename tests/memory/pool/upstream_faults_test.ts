import { assert, assertEquals } from "@std/assert";
import { CudaError } from "../../../src/ffi/cuda_error.ts";
import { UPSTREAM_CALLS, type UpstreamCall, type UpstreamFault } from "./model/upstream_calls.ts";
import { TAKING_CALLS } from "./model/upstream_calls.ts";
import { FAULT_CAPACITY, FAULT_SCENARIO } from "./model/fault_scenario.ts";
import { PoolModel, type PoolModelOptions } from "./model/pool_model.ts";

const MEBIBYTE = 2 ** 20;

const SUBJECTS: Readonly<Record<string, Omit<PoolModelOptions, "capacity" | "streams">>> = {
  "mapped memory": { granularity: 2 * MEBIBYTE },
  "plain memory": { granularity: 0 },
  "mapped memory that is not kept": {
    granularity: 2 * MEBIBYTE,
    settings: { maxCachedBytes: MEBIBYTE },
  },
  "plain memory that is not kept": { granularity: 0, settings: { maxCachedBytes: MEBIBYTE } },
};

/** Calls that must come up in the scenario, or it proves nothing of them. */
const EXPECTED: Readonly<Record<"mapped" | "plain", readonly UpstreamCall[]>> = {
  mapped: ["reserve", "release", "map", "unmap"],
  plain: ["allocate", "free"],
};
const EVENTS: readonly UpstreamCall[] = [
  "createEvent",
  "destroyEvent",
  "recordEvent",
  "queryEvent",
  "waitSync",
  "wait",
  "press",
  "freeBytes",
];

/** Does a step, again after a failure, and returns the error. */
async function attempt(model: PoolModel, run: () => void | Promise<void>, again: boolean) {
  try {
    await run();
    return undefined;
  } catch (error) {
    model.check();
    if (again) await run();
    return error;
  }
}

/** Plays the scenario, closes the pool, and returns the errors. */
async function play(
  options: Omit<PoolModelOptions, "capacity" | "streams">,
  fault?: UpstreamFault,
): Promise<{ model: PoolModel; errors: unknown[] }> {
  const model = new PoolModel({ capacity: FAULT_CAPACITY, streams: 3, ...options });
  model.mayRefuse = fault?.outcome === "none";
  const errors: unknown[] = [];
  if (fault !== undefined) model.upstream.calls.fail(fault);
  for (const { name, run, again } of FAULT_SCENARIO) {
    try {
      const error = await attempt(model, () => run(model), again);
      if (error !== undefined) errors.push(error);
      model.check();
    } catch (error) {
      throw new Error(`Step "${name}" with ${JSON.stringify(fault)}`, { cause: error });
    }
  }
  for (const block of [...model.blocks]) model.free(block);
  const closed = await attempt(model, () => model.core.close(), true);
  if (closed !== undefined) errors.push(closed);
  return { model, errors };
}

function assertNothingLeft({ upstream, core, holders }: PoolModel, fault: string): void {
  const { tally } = upstream;
  const nothing = Object.fromEntries(Object.keys(tally).map((name) => [name, 0]));
  assertEquals({ ...tally } as Record<string, number>, nothing, `left after ${fault}`);
  assertEquals([core.stats().reserved, holders], [0, 0], fault);
}

for (const [name, options] of Object.entries(SUBJECTS)) {
  const clean = await play(options);
  const { counts } = clean.model.upstream.calls;

  Deno.test(`the fault scenario makes every call over ${name}`, () => {
    assertEquals(clean.errors, []);
    assertNothingLeft(clean.model, "no fault");
    const expected = [...EVENTS, ...EXPECTED[options.granularity > 0 ? "mapped" : "plain"]];
    for (const call of expected) assert(counts[call] > 0, `${call} is never made`);
  });

  for (const call of UPSTREAM_CALLS) {
    if (counts[call] === 0) continue;
    Deno.test(`a pool over ${name} survives that any ${call} fails`, async () => {
      let thrown = 0;
      for (let nth = 1; nth <= counts[call]; nth++) {
        const { model, errors } = await play(options, { call, nth });
        const fault = `${call} ${nth}`;
        assertEquals(model.upstream.calls.restore(), 0, `${fault} has not failed`);
        assert(errors.length <= 1, `${fault} was told of ${errors.length} times`);
        for (const error of errors) assert(error instanceof CudaError && error.code === 999);
        assertNothingLeft(model, fault);
        thrown += errors.length;
      }
      // An error may be of no consequence now and then, such as where a mark is made in advance.
      assert(thrown > 0, "nobody was ever told");
    });

    if (!TAKING_CALLS.includes(call)) continue;
    Deno.test(`a pool over ${name} survives that any ${call} finds no memory`, async () => {
      for (const times of [1, 2, Infinity]) {
        for (let nth = 1; nth <= counts[call]; nth++) {
          const { model, errors } = await play(options, { call, nth, times, outcome: "none" });
          assertEquals(errors, [], `${call} ${nth}`);
          assertNothingLeft(model, `${call} ${nth}`);
        }
      }
    });
  }
}
