import { assertEquals, assertStringIncludes } from "@std/assert";
import { runCommandLine, runProgram } from "../support/subprocess.ts";

// The order is that of the host device.
const FORWARD = {
  GRIDSTRIDE_DEVICE: "host",
  GRIDSTRIDE_FAKE: undefined,
  GRIDSTRIDE_HOST_ORDER: undefined,
} as const;
const REVERSE = { ...FORWARD, GRIDSTRIDE_HOST_ORDER: "reverse" } as const;

/**
 * The first thread of a block of 100 writes what all read, without a barrier; then all exchange their
 * numbers within a warp.
 */
const PROGRAM = `
import { openDevice } from "@gridstride/cuda";
using device = openDevice();
using module = await device.compile(\`
  extern "C" __global__ void share(int* seen, int* neighbour) {
    extern __shared__ int memory[];
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    if (thread == 0) memory[0] = blockIdx.x + 1;
    const int at = blockIdx.x * 100 + thread;
    seen[at] = memory[0];
    const unsigned int mask = thread < 96 ? ~0u : 15u;
    neighbour[at] = __shfl_xor_sync(mask, thread, 1);
  }\`);
using seen = device.allocate("int32", 200);
using neighbour = device.allocate("int32", 200);
const launch = { grid: 2, block: [20, 5], sharedMemory: 4 } as const;
module.kernel("share").launch(launch, seen, neighbour);
console.log(JSON.stringify([await seen.toArray(), await neighbour.toArray()].map((x) => [...x])));
`;

Deno.test("GRIDSTRIDE_HOST_ORDER=reverse starts a block with its last whole warp", async () => {
  const [forward, reverse] = await Promise.all([FORWARD, REVERSE].map(async (environment) => {
    const { stdout, stderr } = await runProgram(PROGRAM, { environment });
    assertEquals(stderr, "");
    return JSON.parse(stdout) as [number[], number[]];
  }));
  const seen = (block: number) => Array<number>(100).fill(block + 1);
  assertEquals(forward![0], [...seen(0), ...seen(1)]);
  // Warps of 20 by 5 threads: 96 of them change places, lanes and the other 4 threads do not.
  const late = reverse![0].slice(100);
  assertEquals(late.slice(0, 32), seen(1).slice(0, 32));
  assertEquals(late.slice(32, 96).some((value) => value === 2), false);
  assertEquals(late.slice(96), [2, 2, 2, 2]);
  const neighbours = Array.from({ length: 200 }, (_, at) => (at % 100) ^ 1);
  assertEquals([forward![1], reverse![1]], [neighbours, neighbours]);
});

Deno.test("`validate` passes with blocks that start with their last warp", async () => {
  const environment = { ...REVERSE, GRIDSTRIDE_SIMULATE: "1" };
  const operations = "attention,moments,histogram";
  const args = ["validate", "--device", "host", `--operations=${operations}`];
  const { code, stdout, stderr } = await runCommandLine(args, environment);
  assertStringIncludes(stdout, " 0 failed on host:0", stderr);
  assertEquals(code, 0);
});
