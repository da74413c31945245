import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Kernel, kernelCacheStats, openDevice } from "../../../mod.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { device } from "../../support/device.ts";

const { library } = device.context;
const KERNEL = "set(int* x)";

/** A source that no cache has, which sets a number. */
function sourceOf(value: number): string {
  return `// ${crypto.randomUUID()}
    extern "C" __global__ void set(int* x) { *x = ${value}; }`;
}

/** The value that the kernel of a module sets, launched on the stream of the device. */
async function valueOf(module: { kernel(signature: string): unknown }): Promise<number> {
  using x = device.allocate("int32", 1, { fill: 0 });
  const kernel = module.kernel(KERNEL) as Kernel<typeof KERNEL>;
  kernel.launch({ grid: 1, block: 1, stream: device.stream }, x);
  return (await x.toArray())[0]!;
}

Deno.test("compile() shares compilers among concurrent compilations of one source", async () => {
  const sources = [1, 2, 3].map(sourceOf);
  const { misses, hits } = kernelCacheStats();
  const modules = await Promise.all(
    Array.from({ length: 20 }, (_, index) => device.compile(sources[index % 3]!)),
  );
  try {
    const after = kernelCacheStats();
    assertEquals([after.misses - misses, after.hits - hits], [3, 17]);
    assertEquals(modules.filter(({ cached }) => !cached).length, 3);
    for (const [index, module] of modules.entries()) {
      assertEquals(await valueOf(module), index % 3 + 1);
    }
    // The modules of one source are not one module.
    modules[0]![Symbol.dispose]();
    assertEquals(await valueOf(modules[3]!), 1);
  } finally {
    for (const module of modules) module[Symbol.dispose]();
  }
});

Deno.test("compile() finishes when the device is disposed meanwhile", async () => {
  const before = resourceTally(library).modules;
  const source = sourceOf(7);
  const pending = (() => {
    using own = openDevice(device.label);
    return [
      own.compile(source),
      own.compile("__global__ void f() { not C++ at all }"),
      own.compileFile("/nowhere/nothing.cu"),
    ] as const;
  })();
  const [compiled, wrong, missing] = await Promise.allSettled(pending);
  assertEquals([wrong.status, missing.status], ["rejected", "rejected"]);
  assert(compiled.status === "fulfilled", Deno.inspect(compiled));
  {
    using module = compiled.value;
    assertEquals(await valueOf(module), 7);
  }
  assertEquals(resourceTally(library).modules, before);
  const closed = openDevice(device.label);
  closed[Symbol.dispose]();
  await assertRejects(() => closed.compile(source), TypeError, "is disposed");
});

Deno.test("modules of one source are loaded and disposed while others launch", async () => {
  const source = `// ${crypto.randomUUID()}
    extern "C" __global__ void add(int* x) { atomicAdd(x, 1); }`;
  using x = device.allocate("int32", 1, { fill: 0 });
  using stream = device.createStream();
  await device.done();
  const rounds = 30;
  await Promise.all(Array.from({ length: 4 }, async () => {
    for (let round = 0; round < rounds; round++) {
      using module = await device.compile(source);
      const add = module.kernel("add(int* x)");
      add.launch({ grid: 3, block: 32 }, x);
      add.launch({ grid: 3, block: 32, stream }, x);
    }
  }));
  assertEquals(x.toArraySync(), new Int32Array([4 * rounds * 2 * 96]));
});

/** What a worker answers, or how it failed. */
async function runWorker(source: string, rounds: number): Promise<unknown> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      worker.postMessage({ selector: device.label, source, rounds });
    });
  } finally {
    worker.terminate();
  }
}

Deno.test("compile() works in two workers at once", async () => {
  const before = resourceTally(library).modules;
  const source = sourceOf(11);
  const rounds = 20;
  const answers = [runWorker(source, rounds), runWorker(source, rounds)];
  using own = await device.compile(source);
  assertEquals(await valueOf(own), 11);
  assertEquals(await Promise.all(answers), [rounds, rounds]);
  assertEquals(resourceTally(library).modules, before + 1);
});
