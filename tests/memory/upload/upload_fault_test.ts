// Uploads with a failure of each CUDA call.

import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  CudaError,
  type Device,
  type DeviceBuffer,
  openDevice,
  OutOfMemoryError,
} from "../../../mod.ts";
import { callTally, injectFault, wrappedCalls } from "../../support/fault_injection.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { prefetchFiles } from "../../../src/memory/upload/file_prefetch.ts";
import { uploadFile } from "../../../src/memory/upload/file_upload.ts";
import { uploadStream } from "../../../src/memory/upload/stream_upload.ts";
import { UploadRing } from "../../../src/memory/upload/upload_ring.ts";
import { device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";
import { patternBytes, TemporaryDirectory } from "../../support/temporary_file.ts";
import { heldResources } from "./held_resources.ts";

const { context } = device;
const { library } = context;
const CALLS = wrappedCalls(library);
const BYTES = patternBytes(5000);
/** cudaErrorDevicesUnavailable: nothing here fails with it by itself. */
const STATUS = 46;
/** cudaErrorIllegalAddress: the device counts as lost. */
const STICKY = 700;

type Upload = (path: string, ring: UploadRing) => Promise<readonly DeviceBuffer[]>;

/** Keeps the stream busy beyond the polling of a wait. */
function keepBusy(own: Device, number: DeviceBuffer<"float32">): void {
  own.kernels.load("spin_float32(float* out, unsigned long long nanoseconds, float value)")
    .launch({ grid: 1, block: 1 }, number, 1_000_000, 1);
}

const UPLOADS: Readonly<Record<string, Upload>> = {
  "uploadFile": async (path, ring) => [await uploadFile(ring.context, path, { ring })],
  "uploadStream": async (_, ring) => [await uploadStream(ring.context, [BYTES], { ring })],
  "prefetchFiles": async (path, ring) => {
    const parts = [0, 1000, 2000].map((offset) => ({ path, offset, bytes: 1000 }));
    using stack = new DisposableStack();
    const buffers: DeviceBuffer[] = [];
    for await (const { buffer } of prefetchFiles(ring.context, parts, { ring })) {
      buffers.push(stack.use(buffer));
    }
    stack.move();
    return buffers;
  },
};

/**
 * Uploads once through a new ring.
 *
 * @param prepare Makes a resource that is disposed at the end of the upload.
 */
async function uploadOnce(
  own: Device,
  upload: Upload,
  path: string,
  prepare: () => Disposable = () => new DisposableStack(),
): Promise<void> {
  await using ring = UploadRing.create(own.context, { slots: 2, slotBytes: 1000, readers: 2 });
  using number = own.allocate("float32", 1);
  keepBusy(own, number);
  using buffers = new DisposableStack();
  using _prepared = prepare();
  for (const buffer of await upload(path, ring)) buffers.use(buffer);
}

/** Counts the CUDA calls of an upload. */
async function callsOf(own: Device, upload: Upload, path: string): Promise<Map<string, number>> {
  const made = new Map<string, number>();
  await uploadOnce(own, upload, path, () => {
    const before = CALLS.map((call) => callTally(library, call));
    return {
      [Symbol.dispose]: () =>
        CALLS.forEach((call, i) => made.set(call, callTally(library, call) - before[i]!)),
    };
  });
  return made;
}

/** Fails each CUDA call of an upload in turn and returns the reported ones. */
async function failEachCall(own: Device, upload: Upload, path: string): Promise<Set<string>> {
  await uploadOnce(own, upload, path);
  const none = heldResources(own.context);
  const failed = new Set<string>();
  for (const [call, count] of await callsOf(own, upload, path)) {
    for (let nth = 1; nth <= Math.min(count, 5); nth++) {
      for (const status of [STATUS, STICKY]) {
        // The memory of a lost device counts as lost.
        if (status === STICKY && call === "cudaFree") continue;
        const what = `call ${nth} of ${call} failing with ${status}`;
        const fault = () => injectFault(library, call, nth, status);
        const [outcome] = await Promise.allSettled([uploadOnce(own, upload, path, fault)]);
        await own.done();
        if (outcome.status === "rejected") {
          const { reason } = outcome;
          assert(reason instanceof CudaError && reason.code === status, `${what}: ${reason}`);
          failed.add(call);
        }
        await uploadOnce(own, upload, path);
        assertEquals(heldResources(own.context), none, what);
      }
    }
  }
  return failed;
}

for (const [name, upload] of Object.entries(UPLOADS)) {
  Deno.test(`${name}() leaks nothing after a failure of any CUDA call`, async () => {
    using directory = new TemporaryDirectory();
    const path = directory.file(BYTES);
    // The pool of a device keeps events of disposed streams until it closes.
    const before = resourceTally(library);
    {
      using own = openDevice(device.label);
      const failed = await failEachCall(own, upload, path);
      const calls = ["cudaMemcpyAsync", "cudaEventRecord", "cudaEventQuery", "cudaHostRegister"];
      assertEquals(calls.filter((call) => !failed.has(call)), []);
    }
    assertEquals(resourceTally(library), before);
  });
}

Deno.test("uploadFile() refuses a file larger than the device before reading", async () => {
  using directory = new TemporaryDirectory();
  const path = directory.sparseFile(2 * device.memoryInfo().total);
  const before = heldResources(context);
  await using ring = UploadRing.create(context);
  const error = await assertRejects(() => uploadFile(context, path, { ring }), OutOfMemoryError);
  assert(error.requested >= 2 * device.memoryInfo().total);
  assertEquals({ ...heldResources(context), streams: 0 }, { ...before, streams: 0 });
});

Deno.test("UploadRing replaces a slot after a failed wait for its copy", async () => {
  using directory = new TemporaryDirectory();
  const path = directory.file(BYTES);
  await using ring = UploadRing.create(context, { slots: 1, slotBytes: 1000 });
  const before = heldResources(context);
  for (const call of ["cudaEventRecord", "cudaEventQuery"]) {
    {
      using _fault = injectFault(library, call, 1, STATUS);
      await assertRejects(() => uploadFile(context, path, { ring }), CudaError);
    }
    assertEquals(heldResources(context), before, call);
    (await uploadFile(context, path, { ring })).free();
    assertEquals(resourceTally(library).pinnedSlabs, before.pinnedSlabs + 1, call);
  }
});

Deno.test("uploadFile() to a lost device reports the fault", async () => {
  using directory = new TemporaryDirectory();
  const path = directory.file(BYTES);
  const program = `
    import { CudaError, openDevice } from "@gridstride/cuda";
    const [label, path] = Deno.args;
    const device = openDevice(label);
    using nothing = device.allocate("float32", 0); // its address is 0
    device.kernels.load("fault_null_write(float* out)").launch({ grid: 1, block: 1 }, nothing);
    try {
      await device.uploadFile(path);
    } catch (error) {
      console.log(error instanceof CudaError, error.sticky, error.codeName);
    }
  `;
  const { stdout, stderr } = await runProgram(program, { args: [device.label, path] });
  assertEquals(stdout, "true true cudaErrorIllegalAddress\n", stderr);
});
