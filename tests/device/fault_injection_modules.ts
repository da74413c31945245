/**
 * Operations on modules, for `fault_injection_test.ts`: every CUDA call of loading one, of looking
 * something up in it, of its launches and of giving it back.
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

/** Gives a module back; should that fail, the second attempt does it, and the failure is thrown. */
function giveBack(module: LoadedModule): void {
  try {
    module[Symbol.dispose]();
  } catch (error) {
    module[Symbol.dispose]();
    throw error;
  }
}

/** Runs with a separate module, which ends with the adopted resources. */
async function withModule(
  fixture: Fixture,
  act: (module: LoadedModule, stack: DisposableStack) => Promise<void> | void,
): Promise<DisposableStack> {
  using stack = new DisposableStack();
  const module = stack.adopt(await load(fixture), giveBack);
  await act(module, stack);
  return stack.move();
}

function launchAdd({ x, scalar, stream }: Fixture, module: LoadedModule, sharedMemory = 128): void {
  module.kernel(ADD).launch({ grid: 1, block: 32, sharedMemory, stream }, x, VALUE, scalar);
}

/** Operations by name. */
export const MODULE_OPERATIONS: Readonly<Record<string, Operation>> = {
  "device.loadModule": (fixture) => withModule(fixture, () => {}),
  "device.compile": async ({ device }) => {
    using stack = new DisposableStack();
    stack.adopt(await device.compile(SOURCE, { name: "fault.cu", structs: [PAIR] }), giveBack);
    return stack.move();
  },
  "module.kernel": (fixture) =>
    withModule(fixture, (module) => {
      module.kernel(ADD);
      module.kernel(COUNT);
    }),
  "module.variable that is written": (fixture) =>
    withModule(fixture, (module) => {
      const { stream } = fixture;
      module.variable("total", "int32").copyFrom(new Int32Array([7]), { stream });
    }),
  "module.variable that is read": (fixture) =>
    withModule(fixture, async (module) => {
      keepBusy(fixture);
      await module.variable("total", "int32").toArray({ stream: fixture.stream });
    }),
  "kernel.launch of a module": (fixture) =>
    withModule(fixture, (module) => launchAdd(fixture, module)),
  "kernel.launch of a module with much shared memory": (fixture) =>
    withModule(fixture, (module) => launchAdd(fixture, module, 60_000)),
  "kernel.launch of a module, cooperatively": (fixture) =>
    withModule(fixture, (module) => {
      const { stream } = fixture;
      module.kernel(COUNT).launch({ grid: 2, block: 32, cooperative: true, stream }, 1);
    }),
  "kernel.launch of a module that a graph captures": (fixture) =>
    withModule(fixture, (module, stack) => {
      const { stream } = fixture;
      stack.use(stream.capture(() => launchAdd(fixture, module))).launch(stream);
    }),
  "timeKernel": (fixture) =>
    withModule(fixture, async (module) => {
      const { stream } = fixture;
      const kernel = module.kernel(COUNT);
      keepBusy(fixture);
      await timeKernel(kernel, { grid: 1, block: 32, stream }, [1], { warmUp: 1, repeats: 2 });
    }),
};

/** Modules, each newly loaded. */
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
