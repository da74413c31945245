// Cancelled and failed uploads.

import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { uploadFile, uploadFileInto } from "../../../src/memory/upload/file_upload.ts";
import { UploadRing } from "../../../src/memory/upload/upload_ring.ts";
import { device } from "../../support/device.ts";
import { callTally } from "../../support/fault_injection.ts";
import { Gate } from "../../support/gate.ts";
import { replaceFunction } from "../../support/replaced_function.ts";
import { patternBytes, TemporaryDirectory } from "../../support/temporary_file.ts";
import { heldResources } from "./held_resources.ts";

const { context } = device;
const { library } = context;
const SLOT = 1000;
const BYTES = patternBytes(10_007);

/** Runs with a file and a ring, and requires that in the end everything is as before. */
async function leavesNothing(
  act: (path: string, ring: UploadRing) => Promise<void>,
  limits = { slots: 3, slotBytes: SLOT, readers: 2 },
): Promise<void> {
  using directory = new TemporaryDirectory();
  const path = directory.file(BYTES);
  void device.stream;
  const before = heldResources(context);
  {
    await using ring = UploadRing.create(context, limits);
    await act(path, ring);
    using again = await uploadFile(context, path, { ring });
    assertEquals(await again.toArray(), BYTES, "the ring still works");
  }
  const after = heldResources(context);
  // The staging memory of toArray() stays with the device.
  assertEquals(
    { ...after, pinnedSlabs: 0, pinnedBytes: 0 },
    { ...before, pinnedSlabs: 0, pinnedBytes: 0 },
  );
}

/** The reason of a rejected promise. */
async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([promise]);
  assert(outcome.status === "rejected", "it was not rejected");
  return outcome.reason;
}

/** Keeps reads from returning until they are let go. */
function holdReads() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let begun = 0;
  const replaced = replaceFunction(library, "gs_file_read_async", (read) => async (...list) => {
    begun++;
    const status = await read(...list);
    await promise;
    return status;
  });
  return {
    begun: () => begun,
    letGo: resolve,
    [Symbol.dispose]: () => replaced[Symbol.dispose](),
  };
}

Deno.test("uploadFile() waits for its reads when it is cancelled", async () => {
  await leavesNothing(async (path, ring) => {
    const held = holdReads();
    const controller = new AbortController();
    let ended = false;
    const upload = uploadFile(context, path, { ring, signal: controller.signal });
    const reason = reasonOf(upload).finally(() => ended = true);
    while (held.begun() < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    const files = resourceTally(library).files;
    controller.abort("enough");
    await new Promise((resolve) => setTimeout(resolve, 20));
    assertEquals([ended, files, resourceTally(library).files], [false, 1, 1]);
    held.letGo();
    assertEquals(await reason, "enough");
    assertEquals(held.begun(), 2, "it begins no other read");
    held[Symbol.dispose]();
  });
});

Deno.test("uploadFile() waits for its copies when it is cancelled", async () => {
  await leavesNothing(async (path, ring) => {
    using gate = new Gate();
    using stream = device.createStream();
    gate.close(stream);
    const controller = new AbortController();
    const { signal } = controller;
    const copies = callTally(library, "cudaMemcpyAsync");
    let ended = false;
    const reason = reasonOf(uploadFile(context, path, { ring, stream, signal }))
      .finally(() => ended = true);
    while (callTally(library, "cudaMemcpyAsync") === copies) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    controller.abort("enough");
    await new Promise((resolve) => setTimeout(resolve, 20));
    assertEquals([ended, stream.query()], [false, false]);
    gate.open();
    assertEquals(await reason, "enough");
    assert(stream.query(), "its copies wait for the stream");
  });
});

Deno.test("uploadFile() rejects when it is cancelled at any step", async () => {
  await leavesNothing(async (path, ring) => {
    for (let step = 1; step <= 11; step++) {
      const controller = new AbortController();
      let calls = 0;
      const upload = uploadFile(context, path, {
        ring,
        signal: controller.signal,
        onProgress: () => {
          assert(!controller.signal.aborted, "there is no progress after that");
          if (++calls === step) controller.abort();
        },
      });
      const reason = await reasonOf(upload);
      assert(reason instanceof DOMException && reason.name === "AbortError", `${reason}`);
    }
  });
});

Deno.test("uploadFile() rejects when onProgress() throws", async () => {
  await leavesNothing(async (path, ring) => {
    for (const failing of [1, 5, 11]) {
      let calls = 0;
      const thrown = new Error(`call ${failing}`);
      const onProgress = () => {
        if (++calls === failing) throw thrown;
      };
      assertStrictEquals(await reasonOf(uploadFile(context, path, { ring, onProgress })), thrown);
      assertEquals(calls, failing);
    }
  });
});

Deno.test("uploadFile() names a file that shrinks during the upload", async () => {
  await leavesNothing(async (_path, ring) => {
    using directory = new TemporaryDirectory();
    const path = directory.file(BYTES);
    const onProgress = () => Deno.truncateSync(path, 2 * SLOT);
    await assertRejects(
      () => uploadFile(context, path, { ring, onProgress }),
      Deno.errors.UnexpectedEof,
      `of ${JSON.stringify(path)} at`,
    );
  });
});

Deno.test("uploadFileInto() fails when its buffer is freed during the upload", async () => {
  await leavesNothing(async (path, ring) => {
    const buffer = device.allocate("uint8", BYTES.length);
    const onProgress = () => buffer.free();
    await assertRejects(
      () => uploadFileInto(buffer, path, { ring, onProgress }),
      TypeError,
      "disposed",
    );
  }, { slots: 2, slotBytes: SLOT, readers: 1 });
});

Deno.test("uploadFile() succeeds when another upload of its ring fails", async () => {
  await leavesNothing(async (path, ring) => {
    const controller = new AbortController();
    const failing = uploadFile(context, path, {
      ring,
      signal: controller.signal,
      onProgress: () => controller.abort("first"),
    });
    const other = uploadFile(context, path, { ring });
    assertEquals(await reasonOf(failing), "first");
    using buffer = await other;
    assertEquals(await buffer.toArray(), BYTES);
  });
});
