import * as fc from "fast-check";
import { poolCommands } from "./model/pool_commands.ts";
import { PoolModel, type PoolModelOptions } from "./model/pool_model.ts";

const MEBIBYTE = 2 ** 20;
const CAPACITY = 64 * MEBIBYTE;
const RUNS = Number(Deno.env.get("GRIDSTRIDE_TEST_RUNS") ?? 60);

const SUBJECTS: Readonly<Record<string, Omit<PoolModelOptions, "capacity">>> = {
  "of mapped memory": { granularity: 2 * MEBIBYTE, streams: 3 },
  "of small granules": { granularity: 65536, streams: 3 },
  "of plain memory": { granularity: 0, streams: 3 },
  "of one stream": { granularity: 2 * MEBIBYTE, streams: 1 },
  "that keeps little": {
    granularity: 2 * MEBIBYTE,
    streams: 3,
    settings: { maxCachedBytes: 4 * MEBIBYTE, maxCachedBuffers: 2 },
  },
  "with a limit that refuses": {
    granularity: 65536,
    streams: 2,
    settings: { limitBytes: 32 * MEBIBYTE, reclaimShare: 0.6, refuseShare: 0.5 },
  },
};

for (const [name, options] of Object.entries(SUBJECTS)) {
  Deno.test(`a pool ${name} keeps its invariants in any order of operations`, async () => {
    await fc.assert(
      fc.asyncProperty(poolCommands(CAPACITY, 80), async (commands) => {
        const model = new PoolModel({ capacity: CAPACITY, ...options });
        await fc.asyncModelRun(() => ({ model, real: model }), commands);
        await model.finish();
      }),
      { numRuns: RUNS },
    );
  });
}
