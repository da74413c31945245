// Launches of plans: kernels count the visits of each piece of work. One visits a thread's elements,
// the other a block's part of a matrix product. The plans are for a device with few multiprocessors
// and small grids: small problems stride, share out and reach limits as large ones do on a GPU.

import { assert, assertEquals } from "@std/assert";
import type { LaunchPlan } from "../../mod.ts";
import { planLaunch } from "../../src/launch/launch_planner.ts";
import type { LaunchProblem } from "../../src/launch/launch_problem.ts";
import { device } from "../support/device.ts";
import { threeExtents } from "./planned_kernel.ts";

const module = await device.compile(`
  // As documented: with coverage "linear" a block finds its place by dividing.
  __device__ int3 place_of_block(int3 tiles, bool linear) {
    if (!linear) return make_int3(blockIdx.x, blockIdx.y, blockIdx.z);
    const int block = blockIdx.x;
    return make_int3(block % tiles.x, block / tiles.x % tiles.y, block / tiles.x / tiles.y);
  }

  __global__ void visit(unsigned* visits, int3 extents, int3 tiles, int3 per, int coverage) {
    const int3 block = place_of_block(tiles, coverage == 2);
    const int far = 1 << 30;
    const int3 step = make_int3(
      coverage == 1 ? gridDim.x * blockDim.x * per.x : far,
      coverage == 1 ? gridDim.y * blockDim.y * per.y : far,
      coverage == 1 ? gridDim.z * blockDim.z * per.z : far);
    const int3 first = make_int3(
      (block.x * blockDim.x + threadIdx.x) * per.x,
      (block.y * blockDim.y + threadIdx.y) * per.y,
      (block.z * blockDim.z + threadIdx.z) * per.z);
    for (int z = first.z; z < extents.z; z += step.z)
      for (int y = first.y; y < extents.y; y += step.y)
        for (int x = first.x; x < extents.x; x += step.x)
          for (int i = 0; i < per.x * per.y * per.z; i++) {
            const int column = x + i % per.x;
            const int row = y + i / per.x % per.y;
            const int plane = z + i / per.x / per.y;
            if (column < extents.x && row < extents.y && plane < extents.z)
              atomicAdd(&visits[(plane * extents.y + row) * extents.x + column], 1u);
          }
  }

  __global__ void multiply(unsigned* visits, int3 extents, int3 tiles, int3 tile, int coverage) {
    extern __shared__ unsigned touched[];
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int threads = blockDim.x * blockDim.y * blockDim.z;
    const int3 block = place_of_block(tiles, coverage == 2);
    const int3 grid = coverage == 1 ? make_int3(gridDim.x, gridDim.y, gridDim.z) : tiles;
    const int steps = (extents.z + tile.z - 1) / tile.z;
    const int part = (steps + tiles.z - 1) / tiles.z * tile.z;
    for (int z = block.z; z < tiles.z; z += grid.z)
      for (int y = block.y; y < tiles.y; y += grid.y)
        for (int x = block.x; x < tiles.x; x += grid.x)
          for (int e = thread; e < tile.x * tile.y; e += threads) {
            touched[e] = 1;
            const int column = x * tile.x + e % tile.x;
            const int row = y * tile.y + e / tile.x;
            for (int k = z * part; k < min((z + 1) * part, extents.z); k++)
              if (column < extents.x && row < extents.y)
                atomicAdd(&visits[(k * extents.y + row) * extents.x + column], touched[e]);
          }
  }

  __global__ void __launch_bounds__(96) bounded(unsigned* visits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&visits[i], 1u);
  }`);
const visit = module.kernel("visit");
const multiply = module.kernel("multiply");

type Three = [x: number, y: number, z: number];
const COVERAGES = ["exact", "stride", "linear"] as const;

function on(kernel: typeof visit, most: Three, multiprocessorCount = 3) {
  const [x, y, z] = most;
  const info = {
    ...device.info,
    multiprocessorCount,
    maxThreadsPerMultiprocessor: 128,
    maxGridDimensions: { x, y, z },
  };
  const { name, attributes } = kernel;
  return { name, attributes, context: { info } };
}

/** A launch, and the place where its visits are counted. */
interface Counted {
  readonly label: string;
  readonly begin: number;
  readonly length: number;
}

/** Launches that count into one buffer, and what became of them. */
class Visits implements Disposable {
  readonly #buffer = device.allocate("uint32", 1 << 21, { fill: 0 });
  readonly #counted: Counted[] = [];
  #used = 0;

  launch(kernel: typeof visit, plan: LaunchPlan, extents: Three, per: Three, label: string): void {
    const length = extents.reduce((all, extent) => all * extent, 1);
    // One more, which must stay untouched.
    const end = this.#used + length + 1;
    const coverage = COVERAGES.indexOf(plan.coverage);
    const place = this.#buffer.view(this.#used, end);
    kernel.launch(plan, place, extents, [plan.tiles.x, plan.tiles.y, plan.tiles.z], per, coverage);
    this.#counted.push({ label: `${label}: ${plan.explain()}`, begin: this.#used, length });
    this.#used = end;
  }

  async requireOneEach(): Promise<void> {
    const counts = await this.#buffer.view(0, this.#used).toArray();
    for (const { label, begin, length } of this.#counted) {
      const wrong = counts.subarray(begin, begin + length).findIndex((count) => count !== 1);
      assertEquals(wrong, -1, `${label}: visited ${counts[begin + wrong]} times`);
      assertEquals(counts[begin + length], 0, `${label}: beyond the end`);
    }
    assert(this.#counted.length > 0);
  }

  [Symbol.dispose](): void {
    this.#buffer.free();
  }
}

Deno.test("planLaunch() covers each element once with every coverage", async () => {
  using visits = new Visits();
  const kernel = on(visit, [1 << 20, 4, 4]);
  for (const elements of [0, 1, 63, 64, 65, 257, 1009, 4096]) {
    for (const elementsPerThread of [1, 3]) {
      for (const coverage of COVERAGES) {
        for (const block of [undefined, 1, 37]) {
          const problem = { elements, elementsPerThread, coverage, ...(block && { block }) };
          const plan = planLaunch(kernel, problem);
          visits.launch(visit, plan, [elements, 1, 1], [elementsPerThread, 1, 1], coverage);
        }
      }
    }
  }
  await visits.requireOneEach();
});

Deno.test("planLaunch() covers rows, columns and planes once, with either along x", async () => {
  using visits = new Visits();
  // Along y and z a grid is soon at its end: blocks become taller, narrower, or stride.
  const kernel = on(visit, [1 << 20, 9, 5]);
  const sizes: Three[] = [[0, 5, 3], [5, 0, 3], [1, 1, 1], [33, 1, 2], [1, 67, 1], [40, 72, 6]];
  for (const [columns, rows, planes] of [...sizes, [3, 101, 7] as Three, [7, 11, 37] as Three]) {
    for (const coverage of COVERAGES) {
      for (const x of ["columns", "rows"] as const) {
        for (const per of [[1, 1, 1], [2, 3, 2]] as Three[]) {
          const common = { rows, columns, x, coverage };
          const flat = planLaunch(kernel, { ...common, elementsPerThread: [per[0], per[1]] });
          const [alongX, alongY] = x === "columns" ? [columns, rows] : [rows, columns];
          visits.launch(visit, flat, [alongX, alongY, 1], [per[0], per[1], 1], coverage);
          const deep = planLaunch(kernel, { ...common, planes, elementsPerThread: per });
          visits.launch(visit, deep, [alongX, alongY, planes], per, coverage);
        }
      }
    }
  }
  await visits.requireOneEach();
});

Deno.test("planLaunch() adds each product of a matrix product once", async () => {
  using visits = new Visits();
  const kernel = on(multiply, [1 << 20, 64, 64], 17);
  for (
    const [m, n, k] of [[1, 1, 1], [0, 7, 3], [13, 29, 0], [13, 29, 31], [33, 8, 64]] as Three[]
  ) {
    for (const tile of [{ m: 4, n: 8, k: 4 }, { m: 8, n: 2, k: 16 }, { m: 7, n: 5 }]) {
      for (const coverage of COVERAGES) {
        for (const splitK of [false, true]) {
          for (const options of [{}, { x: "rows" }, { block: 32 }, { block: [4, 2, 2] }] as const) {
            const sharedMemory = 4 * tile.m * tile.n;
            const problem: LaunchProblem = {
              m,
              n,
              k,
              tile,
              coverage,
              splitK,
              sharedMemory,
              ...options,
            };
            const plan = planLaunch(kernel, problem);
            const isSwapped = "x" in options;
            const extents: Three = isSwapped ? [m, n, k] : [n, m, k];
            const per: Three = [
              ...(isSwapped ? [tile.m, tile.n] : [tile.n, tile.m]),
              tile.k ?? 1,
            ] as Three;
            visits.launch(multiply, plan, extents, per, `${m} × ${n} × ${k}`);
          }
        }
      }
    }
  }
  await visits.requireOneEach();
});

// A GPU refuses larger blocks; compilers of the host device know no bounds.
Deno.test("launchFor() keeps to launch bounds, which only a GPU has", async () => {
  const bounded = module.kernel("bounded");
  const most = bounded.attributes.maxThreadsPerBlock;
  assertEquals(most, device.info.kind === "cuda" ? 96 : device.info.maxThreadsPerBlock);
  using counts = device.allocate("uint32", 10_007, { fill: 0 });
  const plan = device.launchFor(bounded, { elements: counts.length });
  const [x, y, z] = threeExtents(plan.block) as Three;
  assert(x * y * z <= most, `${plan.block}`);
  bounded.launch(plan, counts, counts.length);
  assertEquals(new Set(await counts.toArray()), new Set([1]));
});
