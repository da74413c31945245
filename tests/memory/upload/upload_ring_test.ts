// Limits of upload rings.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { uploadFile, uploadFileInto } from "../../../src/memory/upload/file_upload.ts";
import {
  ringOfDevice,
  UploadRing,
  type UploadRingOptions,
} from "../../../src/memory/upload/upload_ring.ts";
import { device } from "../../support/device.ts";
import { replaceFunction } from "../../support/replaced_function.ts";
import { patternBytes, TemporaryDirectory } from "../../support/temporary_file.ts";
import { heldResources } from "./held_resources.ts";

const { context } = device;
const { library } = context;
const MIB = 2 ** 20;

Deno.test("UploadRing bounds the pinned memory and leaves the event loop free", async () => {
  using directory = new TemporaryDirectory();
  const bytes = 2 ** 30;
  const path = directory.sparseFile(bytes);
  const before = resourceTally(library);
  await using ring = UploadRing.create(context, { slots: 4, slotBytes: 2 * MIB, readers: 3 });
  using buffer = device.allocate("uint8", bytes);
  let most = 0;
  let ticks = 0;
  const timer = setInterval(() => ticks++, 2);
  await uploadFileInto(buffer, path, {
    ring,
    onProgress: () => {
      const { pinnedBytes, pinnedSlabs } = resourceTally(library);
      most = Math.max(most, pinnedBytes - before.pinnedBytes);
      assert(pinnedSlabs - before.pinnedSlabs <= 4);
    },
  });
  clearInterval(timer);
  assert(most > 0 && most <= 8 * MIB, `${most} bytes were pinned`);
  assert(ticks > 0, "the timer ticks during the upload");
});

Deno.test("UploadRing reuses a slot only after its copy, which follows the work of the stream", async () => {
  using directory = new TemporaryDirectory();
  const bytes = patternBytes(100_003);
  using stream = device.createStream();
  using number = device.allocate("float32", 1);
  using buffer = device.allocate("uint8", bytes.length);
  await using ring = UploadRing.create(context, { slots: 3, slotBytes: 1024, readers: 3 });
  device.kernels.load("spin_float32(float* out, unsigned long long nanoseconds, float value)")
    .launch({ grid: 1, block: 1, stream }, number, 0.05e9, 1);
  device.kernels.fill(buffer, 9, { stream });
  await uploadFileInto(buffer, directory.file(bytes), { ring, stream });
  assertEquals(await buffer.toArray(), bytes);
});

Deno.test("UploadRing bounds the number of concurrent reads", async () => {
  using directory = new TemporaryDirectory();
  const path = directory.file(patternBytes(50_000));
  let [reading, most] = [0, 0];
  {
    using _ = replaceFunction(library, "gs_file_read_async", (read) => async (...list) => {
      most = Math.max(most, ++reading);
      const status = await read(...list);
      reading--;
      return status;
    });
    await using ring = UploadRing.create(context, { slots: 8, slotBytes: 1000, readers: 3 });
    const uploads = [1, 2, 3].map(() => uploadFile(context, path, { ring }));
    for (const upload of uploads) (await upload).free();
  }
  assertEquals(most, 3);
});

Deno.test("UploadRing serves uploads in the order of their start", async () => {
  using directory = new TemporaryDirectory();
  const files = new Map<unknown, number>();
  {
    using _ = replaceFunction(library, "gs_file_read_async", (read) => (...list) => {
      const [file] = list;
      assert(!files.has(file) || [...files.keys()].at(-1) === file, "an earlier upload goes on");
      files.set(file, (files.get(file) ?? 0) + 1);
      return read(...list);
    });
    await using ring = UploadRing.create(context, { slots: 2, slotBytes: 1000, readers: 2 });
    const uploads = [20, 21, 22].map((parts) =>
      uploadFile(context, directory.file(patternBytes(1000 * parts)), { ring })
    );
    for (const upload of uploads) (await upload).free();
  }
  // The numbers of parts tell the files apart: how long a read takes does not matter.
  assertEquals([...files.values()], [20, 21, 22]);
});

Deno.test("UploadRing pins slots on demand and unpins them on disposal", async () => {
  using directory = new TemporaryDirectory();
  const small = directory.file(patternBytes(10));
  const large = directory.file(patternBytes(100_000));
  const before = heldResources(context);
  const slabs = () => resourceTally(library).pinnedSlabs - before.pinnedSlabs;
  const ring = UploadRing.create(context, { slots: 5, slotBytes: 1000, readers: 4 });
  assertEquals(slabs(), 0);
  (await uploadFile(context, small, { ring })).free();
  assertEquals(slabs(), 1);
  (await uploadFile(context, large, { ring })).free();
  assert(slabs() >= 4 && slabs() <= 5, `it has ${slabs()}`);
  const last = uploadFile(context, large, { ring });
  const disposed = Promise.all([ring[Symbol.asyncDispose](), ring[Symbol.asyncDispose]()]);
  await assertRejects(() => uploadFile(context, small, { ring }), TypeError, "disposed");
  (await last).free();
  await disposed;
  assertEquals(heldResources(context), before);
  await ring[Symbol.asyncDispose]();
});

Deno.test("ringOfDevice() returns a ring that cannot be disposed", async () => {
  using directory = new TemporaryDirectory();
  const path = directory.file(patternBytes(10));
  const ring = ringOfDevice(context);
  await ring[Symbol.asyncDispose]();
  (await uploadFile(context, path, { ring })).free();
  assertEquals(ring.disposed, false);
});

Deno.test("UploadRing.create() refuses limits out of range", () => {
  const refused = (options: UploadRingOptions, text: string) =>
    assertThrows(() => UploadRing.create(context, options), RangeError, text);
  refused({ slots: 0 }, "slots must be an integer in 1..1024: it is 0");
  refused({ slots: 1.5 }, "it is 1.5");
  refused({ slotBytes: 2 ** 32 + 1 }, "slotBytes must be an integer in 1..4294967296");
  refused({ slotBytes: NaN }, "it is NaN");
  refused({ readers: 33 }, "readers must be an integer in 1..32: it is 33");
  refused({ readers: "4" as unknown as number }, '"4"');
  assertThrows(() => UploadRing.create(context, null as never), TypeError, "options");
  assertThrows(() => UploadRing.create({} as never), TypeError, "context");
});

Deno.test("uploadFile() throws during a capture and does not affect it", async () => {
  using directory = new TemporaryDirectory();
  const path = directory.file(patternBytes(100));
  using stream = device.createStream();
  using buffer = device.allocate("float32", 10, { fill: 0 });
  await device.stream.done();
  const refused: Promise<unknown>[] = [];
  using graph = stream.capture(() => {
    device.kernels.fill(buffer, 3, { stream });
    for (const options of [{ stream }, {}]) {
      refused.push(assertRejects(() => uploadFile(context, path, options), TypeError, "captured"));
    }
  });
  await Promise.all(refused);
  graph.launch(stream);
  assertEquals(new Set(await buffer.toArray({ stream })), new Set([3]));
});
