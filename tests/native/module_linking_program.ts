/**
 * Opens host libraries by the paths that it is given and loads the module of the first argument
 * with each; prints for each what came of a launch. For `module_linking_test.ts`.
 *
 * @module
 */

import { ARGUMENT } from "../../src/ffi/command_block.ts";
import { type NativeLibrary, openNativeLibrary } from "../../src/ffi/library.ts";
import { openDeviceContextNative, synchronizeDevice } from "../../src/ffi/native_device.ts";
import { launchKernel, LaunchRecord } from "../../src/ffi/native_kernel.ts";
import { createStream, destroyStream } from "../../src/ffi/native_stream.ts";
import {
  createModule,
  destroyModule,
  loadModule,
  moduleKernel,
  moduleVariable,
} from "../../src/ffi/native_module.ts";

const [imagePath, ...libraryPaths] = Deno.args;
const image = await Deno.readFile(imagePath!);
const POINTER = { kind: 7, bytes: 8 };

/** A cooperative launch: barriers of block and grid, shared memory and a variable of the module. */
async function launchFrom(library: NativeLibrary): Promise<string> {
  openDeviceContextNative(library, 0);
  const module = createModule(library, 0, image);
  await loadModule(library, module, "load the module");
  const kernel = moduleKernel(library, module, "meet", [POINTER, POINTER, POINTER]);
  const { address } = moduleVariable(library, module, "large")!;
  const stream = createStream(library, 0, 0);
  const launch = new LaunchRecord(library, 0, kernel, 3, 3);
  launch.setStream(stream);
  launch.setExtents({
    ...{ gridX: 2, gridY: 1, gridZ: 1, blockX: 50, blockY: 1, blockZ: 1 },
    ...{ sharedMemory: 0, cooperative: true, cluster: 0 },
  });
  launch.slots.set([address, address + 4000, address + 6000], ARGUMENT);
  const status = launchKernel(launch);
  await synchronizeDevice(library, 0);
  destroyModule(library, module);
  destroyStream(library, 0, stream);
  return `launched: ${status}`;
}

for (const path of libraryPaths) {
  try {
    console.log(await launchFrom(openNativeLibrary(path)));
  } catch (error) {
    console.log(String(error));
  }
}
