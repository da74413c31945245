// Modules through the FFI layer. What each function of the ABI refuses is checked by
// tests/native/shim; compiling sources and launching by signature by tests/launch.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CudaError } from "../../mod.ts";
import { ARGUMENT } from "../../src/ffi/command_block.ts";
import { injectFault } from "../support/fault_injection.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import {
  findKernel,
  kernelAttributes,
  kernelResidency,
  launchKernel,
  LaunchRecord,
} from "../../src/ffi/native_kernel.ts";
import {
  createModule,
  destroyModule,
  type LaunchParameter,
  loadModule,
  moduleKernel,
  moduleLog,
  moduleParameters,
  moduleVariable,
} from "../../src/ffi/native_module.ts";
import { PARAMETER_KINDS } from "../../src/launch/signature/signature.ts";
import { DeviceBuffer } from "../../src/memory/device_buffer.ts";
import { device } from "../support/device.ts";
import { headerText } from "../support/header.ts";
import { moduleImage } from "../support/module_image.ts";

const { library, ordinal } = device.context;
const isHost = library.kind === "host";
const image = isHost ? await moduleImage(library) : new Uint8Array();

/** A loaded module, given back at the end of the scope. */
async function load(): Promise<Disposable & { readonly id: number }> {
  const id = createModule(library, ordinal, image);
  await loadModule(library, id, "load a module");
  return { id, [Symbol.dispose]: () => destroyModule(library, id) };
}

function testModule(name: string, fn: () => Promise<void> | void): void {
  const skipped = isHost ? "" : " (skipped: the machine code is for the host device)";
  Deno.test({ name: `${name}${skipped}`, ignore: !isHost, fn });
}

const { signed, unsigned, float64, pointer, bytes } = PARAMETER_KINDS;
const STORE: readonly LaunchParameter[] = [{ kind: signed, bytes: 4 }, { kind: pointer, bytes: 8 }];
const MOVE: readonly LaunchParameter[] = [
  { kind: bytes, bytes: 24 },
  { kind: bytes, bytes: 16 },
  { kind: pointer, bytes: 8 },
];

/** Launches one thread with arguments that lie in the command block. */
function launchThread(kernel: number, argumentCount: number): number {
  const record = new LaunchRecord(library, ordinal, kernel, argumentCount, 0);
  record.setStream(device.stream.id);
  return launchKernel(record);
}

/** Whether CUDA would launch the kernel without loading it first. */
function isLoaded(kernel: number): boolean {
  assertEquals(library.symbols.gs_kernel_loaded(ordinal, kernel, library.result), 0);
  return library.result[0] === 1;
}

Deno.test("kernels.load() loads the kernel, which a first launch would wait for", () => {
  const name = "fill_uint16";
  device.kernels.load(`${name}(unsigned short* x, unsigned short value, unsigned long long n)`);
  assert(isLoaded(findKernel(library, name)!));
});

testModule("loadModule() loads all kernels of the module", async () => {
  using module = await load();
  assert(isLoaded(moduleKernel(library, module.id, "store_int", STORE)));
  assert(isLoaded(moduleKernel(library, module.id, "move", MOVE)));
});

Deno.test("`PARAMETER_KINDS` are those of the header", () => {
  const defined = [...headerText().matchAll(/#define GS_PARAMETER_(\w+) (\d+)/g)];
  const kinds = defined.map(([, name, value]) => [name!.toLowerCase(), Number(value)]);
  assertEquals(Object.fromEntries(kinds), PARAMETER_KINDS);
});

testModule(
  "`moduleParameters()` lists the parameters of compiled kernels",
  async () => {
    using module = await load();
    assertEquals(moduleParameters(library, module.id, "move"), [
      { offset: 0, bytes: 24 },
      { offset: 32, bytes: 16 },
      { offset: 48, bytes: 8 },
    ]);
    const error = assertThrows(() => moduleParameters(library, module.id, "nmove"), CudaError);
    assertEquals(error.codeName, "GS_ERROR_NOT_FOUND");
  },
);

testModule("`launchKernel()` passes arguments of several slots", async () => {
  using module = await load();
  using out = device.allocate("float64", 4);
  const kernel = moduleKernel(library, module.id, "move", MOVE);
  const slots = new DataView(library.block.buffer, ARGUMENT * 8);
  slots.setFloat64(0, 1e300, true);
  slots.setFloat32(8, 1.5, true);
  slots.setFloat32(16, 4, true);
  slots.setInt32(20, -9, true);
  slots.setFloat32(24, 0.25, true);
  slots.setFloat32(36, 0.125, true);
  library.block[ARGUMENT + 5] = out.address;
  assertEquals(launchThread(kernel, 3), 0);
  assertEquals([...await out.toArray()], [1e300, 1.75, 4.125, -9]);
});

testModule("`moduleKernel()` refuses parameters other than the compiled ones", async () => {
  using module = await load();
  const refused = (parameters: readonly LaunchParameter[]) =>
    assertThrows(() => moduleKernel(library, module.id, "store_int", parameters), CudaError)
      .codeName;
  assertEquals(refused([]), "GS_ERROR_LAUNCH");
  assertEquals(refused([{ kind: unsigned, bytes: 8 }, STORE[1]!]), "GS_ERROR_LAUNCH");
  assertEquals(refused([...STORE, STORE[0]!]), "GS_ERROR_LAUNCH");
  assertEquals(refused([{ kind: float64, bytes: 4 }, STORE[1]!]), "GS_ERROR_ARGUMENT");
  assertThrows(
    () => moduleKernel(library, module.id, "store_int", [{ kind: 0.5, bytes: 4 }]),
    RangeError,
    "Cannot find kernel store_int as kind must be an integer",
  );
  assertEquals(
    moduleKernel(library, module.id, "store_int", STORE),
    moduleKernel(library, module.id, "store_int", STORE),
  );
});

testModule("`moduleVariable()` returns device memory that kernels use", async () => {
  using module = await load();
  const { address, bytes } = moduleVariable(library, module.id, "counter")!;
  assertEquals(bytes, 4);
  using counter = DeviceBuffer.fromAddress(address, bytes, { device, dtype: "int32" });
  assertEquals([...await counter.toArray()], [3]);
  const kernel = moduleKernel(library, module.id, "count", [STORE[0]!]);
  library.block[ARGUMENT] = 39;
  assertEquals(launchThread(kernel, 1), 0);
  assertEquals([...await counter.toArray()], [42]);
  assertEquals(moduleVariable(library, module.id, "counters"), undefined);
});

testModule("`launchKernel()` resets the cooperative flag", async () => {
  using module = await load();
  using out = device.allocate("int32", 1, { fill: 0 });
  const kernel = moduleKernel(library, module.id, "store_int", STORE);
  library.block.set([5, out.address], ARGUMENT);
  const record = new LaunchRecord(library, ordinal, kernel, 2, 0);
  record.setStream(device.stream.id);
  record.setExtents({
    ...{ gridX: 1, gridY: 1, gridZ: 1, blockX: 1, blockY: 1, blockZ: 1 },
    ...{ sharedMemory: 0, cooperative: false, cluster: 1 + 256 + 65536 },
  });
  const status = launchKernel(record);
  assertEquals(status, 801, "clusters are not for the host device");
  assertEquals(launchThread(kernel, 2), 0);
  assertEquals([...await out.toArray()], [5]);
});

testModule(
  "`kernelAttributes()` and `kernelResidency()` accept kernels of modules",
  async () => {
    using module = await load();
    const kernel = moduleKernel(library, module.id, "store_int", STORE);
    const { maxThreadsPerBlock } = kernelAttributes(library, ordinal, kernel);
    assert(maxThreadsPerBlock >= 32);
    const few = kernelResidency(library, ordinal, kernel, maxThreadsPerBlock, 0);
    assert(few >= 1 && few <= kernelResidency(library, ordinal, kernel, 32, 0));
    assertThrows(() => kernelResidency(library, ordinal, kernel, 0.5, 0), RangeError, "threads");
    assertThrows(
      () => kernelResidency(library, ordinal, kernel, 32, -1),
      RangeError,
      "shared_bytes",
    );
  },
);

testModule("`createModule()` copies the machine code", async () => {
  const own = image.slice();
  const module = createModule(library, ordinal, own);
  own.fill(0);
  await loadModule(library, module, "load a module");
  assert(moduleParameters(library, module, "ends") !== undefined);
  destroyModule(library, module);
});

testModule("`loadModule()` throws the message of the loader", async () => {
  const before = resourceTally(library);
  for (const code of [image.subarray(0, image.length / 2), new TextEncoder().encode("no code")]) {
    const module = createModule(library, ordinal, code.slice());
    assertEquals(moduleLog(library, module), "");
    const error = await assertRejects(
      () => loadModule(library, module, "load half a module"),
      CudaError,
      "Cannot load half a module: cudaError",
    );
    assert(error.detail !== undefined && error.detail.length > 10, error.message);
    assertEquals(error.detail, moduleLog(library, module).trim());
    destroyModule(library, module);
  }
  assertEquals(resourceTally(library), before);
});

testModule("`loadModule()` and `destroyModule()` can be called again after a failure", async () => {
  const module = createModule(library, ordinal, image);
  {
    using _ = injectFault(library, "cudaLibraryLoadData", 1, 2);
    await assertRejects(() => loadModule(library, module, "load a module"), CudaError, "(2)");
  }
  await loadModule(library, module, "load a module");
  {
    using _ = injectFault(library, "cudaLibraryUnload", 1, 304);
    assertThrows(() => destroyModule(library, module), CudaError, "cudaErrorOperatingSystem");
  }
  destroyModule(library, module);
  const error = assertThrows(() => destroyModule(library, module), CudaError);
  assertEquals(error.codeName, "GS_ERROR_HANDLE");
});

testModule("`loadModule()` loads several modules at once", async () => {
  const before = resourceTally(library);
  const modules = await Promise.all(Array.from({ length: 8 }, () => load()));
  assertEquals(resourceTally(library).modules, before.modules + 8);
  const addresses = modules.map(({ id }) => moduleVariable(library, id, "counter")!.address);
  assertEquals(new Set(addresses).size, 8);
  for (const module of modules) module[Symbol.dispose]();
  assertEquals(resourceTally(library), before);
});
