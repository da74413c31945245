import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { compileImage, CudaError } from "../../../mod.ts";
import { injectFault } from "../../support/fault_injection.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { device } from "../../support/device.ts";
import { runFile } from "../../support/subprocess.ts";

/** cudaErrorDevicesUnavailable: nothing here ever fails with it by itself, and it is not sticky. */
const STATUS = 46;

const { library } = device.context;
const isHost = library.kind === "host";
const onHost = isHost ? "" : " (skipped: images are for the host device)";

// One source for all tests, as compiling takes longer than they do.
const { image } = await compileImage(
  `__device__ int total;
   extern "C" __global__ void wait(long long ticks, int* out) {
     const long long start = clock64();
     while (clock64() - start < ticks) {}
     atomicAdd(out, 1);
   }`,
  {
    name: "wait.cu",
    target: { kind: device.info.kind, capability: device.info.computeCapability },
    cache: false,
  },
);
const WAIT = "wait(long long ticks, int* out)";

const load = () => device.loadModule(image, { name: "wait" });

Deno.test("kernel() and variable() succeed at the next attempt after a fault", async () => {
  type Find = (module: Awaited<ReturnType<typeof load>>) => unknown;
  const attempts: readonly (readonly [string, Find])[] = [
    ["cudaLibraryGetKernel", (module) => module.kernel(WAIT)],
    ["cuKernelGetParamInfo", (module) => module.kernel(WAIT)],
    ["cudaFuncGetAttributes", (module) => module.kernel(WAIT)],
    ["cudaLibraryGetGlobal", (module) => module.variable("total", "int32")],
  ];
  for (const [call, find] of attempts) {
    using module = await load();
    {
      using _fault = injectFault(library, call, 1, STATUS);
      assertEquals(assertThrows(() => find(module), CudaError).code, STATUS, call);
    }
    find(module);
  }
});

Deno.test("launch() succeeds at the next attempt after a fault", async () => {
  using module = await load();
  using out = device.allocate("int32", 1, { fill: 0 });
  const wait = module.kernel(WAIT);
  for (const [call, cooperative] of [["cudaLaunchKernel", false], ["cudaLaunchKernelExC", true]]) {
    const launch = () =>
      wait.launch({ grid: 1, block: 1, cooperative: cooperative as boolean }, 0, out);
    {
      using _fault = injectFault(library, call as string, 1, STATUS);
      const error = assertThrows(launch, CudaError, "Cannot launch wait");
      assertEquals([error.code, error.call], [STATUS, call]);
    }
    launch();
  }
  assertEquals(await out.toArray(), new Int32Array([2]));
});

Deno.test("dispose() can be repeated after a failure to unload", async () => {
  const before = resourceTally(library);
  const module = await load();
  const wait = module.kernel(WAIT);
  const total = module.variable("total", "int32");
  {
    using _fault = injectFault(library, "cudaLibraryUnload", 1, STATUS);
    assertThrows(() => module[Symbol.dispose](), CudaError, "Cannot unload a module");
  }
  assert(module.disposed && total.disposed);
  using out = device.allocate("int32", 1, { fill: 0 });
  assertThrows(() => wait.launch({ grid: 1, block: 1 }, 0, out), TypeError, "wait is disposed");
  assertThrows(() => module.kernel(WAIT), TypeError, "is disposed");
  assertEquals(resourceTally(library).modules, before.modules + 1);
  module[Symbol.dispose]();
  module[Symbol.dispose]();
  assertEquals(resourceTally(library).modules, before.modules);
});

Deno.test("dispose() waits for launches on every stream", async () => {
  using out = device.allocate("int32", 1, { fill: 0 });
  await device.done();
  {
    using module = await load();
    const wait = module.kernel(WAIT);
    using stack = new DisposableStack();
    for (let index = 0; index < 8; index++) {
      const stream = stack.use(device.createStream());
      for (let launch = 0; launch < 4; launch++) {
        wait.launch({ grid: 2, block: 32, stream }, 300_000, out);
      }
    }
  }
  assertEquals(out.toArraySync(), new Int32Array([8 * 4 * 64]));
});

Deno.test({
  name: `loadModule() refuses images that are no modules${onHost}`,
  ignore: !isHost,
  fn: async () => {
    const before = resourceTally(library);
    const text = (content: string) => new TextEncoder().encode(content);
    const refused = [
      [text(".version 9.0\n.target sm_90\n.address_size 64\n"), "cudaErrorNoKernelImageForDevice"],
      [text("\x7fELF"), "cudaErrorInvalidKernelImage"],
      [new Uint8Array([0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]), "cudaErrorNoKernelImageForDevice"],
      [new Uint8Array(4096), "cudaErrorInvalidKernelImage"],
      [image.subarray(4), "cudaErrorInvalidKernelImage"],
    ] as const;
    for (const [bytes, name] of refused) {
      const error = await assertRejects(() => device.loadModule(bytes), CudaError);
      assertEquals(error.codeName, name, error.message);
      assert(error.detail !== "" && error.message.includes("the image"), error.message);
    }
    await assertRejects(() => device.loadModule(new Uint8Array()), RangeError, "it is empty");
    await assertRejects(() => device.loadModule("/nowhere/x.so"), Deno.errors.NotFound, "/nowhere");
    assertEquals(resourceTally(library), before);
  },
});

Deno.test({
  name: `loadModule() refuses machine code with a damaged byte${onHost}`,
  ignore: !isHost,
  fn: async () => {
    const damaged = Array.from({ length: 97 }, (_, index) => {
      const bytes = image.slice();
      bytes[Math.floor(index * (image.length - 17) / 96)]! ^= 1 << index % 8;
      return bytes;
    });
    for (const bytes of damaged) {
      const error = await assertRejects(() => device.loadModule(bytes), CudaError);
      assert(error.sticky === false, error.message);
    }
  },
});

Deno.test({
  name: `dispose() succeeds after a kernel fault${onHost}`,
  ignore: !isHost,
  fn: async () => {
    const { code, stdout, stderr } = await runFile("tests/launch/module/fault_program.ts", {
      environment: { GRIDSTRIDE_FAKE: "2x64MiB@8.9" },
    });
    assertEquals([code, stdout, stderr], [0, "done\n", ""]);
  },
});
