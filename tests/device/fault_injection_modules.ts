/**
 * Operations on modules, for `fault_injection_test.ts`: loading, lookups, launches and disposal.
 *
 * @module
 */

import { compileImage, defineStruct, timeKernel } from "../../mod.ts";
import { device } from "../support/device.ts";
import { type Fixture, keepBusy, type Operation } from "./fault_injection_fixture.ts";

const SOURCE = `
  struct Pair { float first; double second; };
  __device__ int total;
  extern "C" __global__ void add(const float* x, Pair pair, float* out) {
    extern __shared__ float scratch[];
    scratch[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x == 0) out[0] = scratch[0] + pair.first;
  }
  extern "C" __global__ void count(int amount) { atomicAdd(&total, amount); }
`;
const ADD = "add(const float* x, Pair pair, float* out)";
const COUNT = "count(int amount)";
const PAIR = defineStruct("Pair", { first: "float", second: "double" });
const VALUE = { first: 1, second: 2 };

const { image } = await compileImage(SOURCE, {
  name: "fault.cu",
  target: { kind: device.info.kind, capability: device.info.computeCapability },
});

function load({ device }: Fixture) {
  return device.loadModule(image, { name: "fault", structs: [PAIR] });
}

type LoadedModule = Awaited<ReturnType<typeof load>>;

/** Disposes a module, at the second attempt if the first fails, and throws the failure. */
function release(module: LoadedModule): void {
  try {
    module[Symbol.dispose]();
  } catch (error) {
    module[Symbol.dispose]();
    throw error;
  }
}

/** Loads a module, which ends with the stack. */
async function useModule(fixture: Fixture, stack: DisposableStack): Promise<LoadedModule> {
  return stack.adopt(await load(fixture), release);
}

function launchAdd({ x, scalar, stream }: Fixture, module: LoadedModule, sharedMemory = 128): void {
  module.kernel(ADD).launch({ grid: 1, block: 32, sharedMemory, stream }, x, VALUE, scalar);
}

/** Operations by name. */
export const MODULE_OPERATIONS: Readonly<Record<string, Operation>> = {
  "device.loadModule": (fixture, stack) => useModule(fixture, stack).then(() => {}),
  "device.compile": async ({ device }, stack) => {
    stack.adopt(await device.compile(SOURCE, { name: "fault.cu", structs: [PAIR] }), release);
  },
  "module.kernel": async (fixture, stack) => {
    const module = await useModule(fixture, stack);
    module.kernel(ADD);
    module.kernel(COUNT);
  },
  "module.variable that is written": async (fixture, stack) => {
    const { stream } = fixture;
    const module = await useModule(fixture, stack);
    module.variable("total", "int32").copyFrom(new Int32Array([7]), { stream });
  },
  "module.variable that is read": async (fixture, stack) => {
    const { stream } = fixture;
    const module = await useModule(fixture, stack);
    keepBusy(fixture);
    await module.variable("total", "int32").toArray({ stream });
  },
  "kernel.launch of a module": async (fixture, stack) =>
    launchAdd(fixture, await useModule(fixture, stack)),
  "kernel.launch of a module with much shared memory": async (fixture, stack) =>
    launchAdd(fixture, await useModule(fixture, stack), 60_000),
  "kernel.launch of a module, cooperatively": async (fixture, stack) => {
    const { stream } = fixture;
    const module = await useModule(fixture, stack);
    module.kernel(COUNT).launch({ grid: 2, block: 32, cooperative: true, stream }, 1);
  },
  "kernel.launch of a module that a graph captures": async (fixture, stack) => {
    const { stream } = fixture;
    const module = await useModule(fixture, stack);
    stack.use(stream.capture(() => launchAdd(fixture, module))).launch(stream);
  },
  "timeKernel": async (fixture, stack) => {
    const { stream } = fixture;
    const kernel = (await useModule(fixture, stack)).kernel(COUNT);
    keepBusy(fixture);
    await timeKernel(kernel, { grid: 1, block: 32, stream }, [1], { warmUp: 1, repeats: 2 });
  },
};

/** Makes modules by name. */
export const MODULE_RESOURCES: Readonly<
  Record<string, (fixture: Fixture) => Promise<Disposable>>
> = {
  "a module": load,
  "a module with kernels and a variable": async (fixture) => {
    const module = await load(fixture);
    launchAdd(fixture, module);
    module.variable("total", "int32").copyFrom(new Int32Array([1]));
    return module;
  },
  "a graph that keeps a module": async (fixture) => {
    const module = await load(fixture);
    const graph = fixture.stream.capture(() => launchAdd(fixture, module));
    module[Symbol.dispose]();
    return graph;
  },
};
