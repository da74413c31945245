// Uploads of streams.

import { assert, assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { uploadFile } from "../../../src/memory/upload/file_upload.ts";
import { uploadStream } from "../../../src/memory/upload/stream_upload.ts";
import { UploadRing } from "../../../src/memory/upload/upload_ring.ts";
import { device } from "../../support/device.ts";
import { Gate } from "../../support/gate.ts";
import { patternBytes, TemporaryDirectory } from "../../support/temporary_file.ts";
import { heldResources } from "./held_resources.ts";

const { context } = device;
const SLOT = 1000;

function smallRing(slots = 3): UploadRing {
  return UploadRing.create(context, { slots, slotBytes: SLOT, readers: 2 });
}

function* chunksOf(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += size) {
    yield bytes.subarray(offset, offset + size);
  }
}

/** Live buffers and streams, without the staging of `toArray()` and the ring. */
function held(): number[] {
  void device.stream; // made when it is first needed
  const { buffers, bufferBytes, streams } = heldResources(context);
  return [buffers, bufferBytes, streams];
}

Deno.test("uploadStream() copies chunks of any size with and without a length", async () => {
  await using ring = smallRing();
  const before = held();
  for (const size of [0, 1, SLOT - 1, SLOT, SLOT + 1, 4096, 10_007]) {
    const bytes = patternBytes(size, size);
    for (const chunk of [7, 256, SLOT, 3 * SLOT + 1, 2 ** 20]) {
      for (const options of [{ ring }, { ring, bytes: size }]) {
        using buffer = await uploadStream(context, chunksOf(bytes, chunk), options);
        assertEquals(await buffer.toArray(), bytes, `${size} bytes in chunks of ${chunk}`);
      }
    }
  }
  assertEquals(held(), before);
});

Deno.test("uploadStream() takes streams, generators, arrays and responses", async () => {
  const bytes = patternBytes(1024);
  const expected = new Float32Array(bytes.buffer.slice(0));
  async function* generator() {
    for (const chunk of chunksOf(bytes, 100)) yield await Promise.resolve(chunk);
  }
  const sources: Parameters<typeof uploadStream>[1][] = [
    generator(),
    [...chunksOf(bytes, 99)],
    ReadableStream.from(chunksOf(bytes, 98)),
    new Response(bytes).body!,
    new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))
      .pipeThrough(new DecompressionStream("gzip")),
  ];
  for (const source of sources) {
    using buffer = await uploadStream(context, source, { dtype: "float32" });
    assertEquals(new Uint8Array((await buffer.toArray()).buffer), new Uint8Array(expected.buffer));
  }
});

Deno.test("uploadStream() lets the source reuse chunks", async () => {
  await using ring = smallRing();
  const chunk = new Uint8Array(300);
  function* generator() {
    for (let i = 0; i < 20; i++) yield chunk.fill(i);
  }
  using buffer = await uploadStream(context, generator(), { ring });
  const expected = Uint8Array.from({ length: 6000 }, (_, i) => Math.floor(i / 300));
  assertEquals(await buffer.toArray(), expected);
});

Deno.test("onProgress() of a stream gets the total at the start if known, else at the end", async () => {
  await using ring = smallRing();
  const bytes = patternBytes(4500);
  for (const options of [{ ring }, { ring, bytes: 4500 }]) {
    const seen: (readonly [number, number | undefined])[] = [];
    using _buffer = await uploadStream(context, [bytes], {
      ...options,
      onProgress: ({ bytes, totalBytes }) => void seen.push([bytes, totalBytes]),
    });
    assertEquals(seen.at(-1), [4500, 4500]);
    assert(seen.every(([bytes], i) => i === 0 || bytes >= seen[i - 1]![0]));
    assertEquals(seen[0]![1], "bytes" in options ? 4500 : undefined);
  }
});

Deno.test("uploadStream() refuses a wrong length or chunk and cancels the stream", async () => {
  await using ring = smallRing();
  const before = held();
  const upload = (size: number, options: object) => async () => {
    let returned = false;
    try {
      await uploadStream(
        context,
        (function* () {
          try {
            yield* chunksOf(patternBytes(size), 300);
          } finally {
            returned = true;
          }
        })(),
        { ring, ...options },
      );
    } finally {
      await new Promise((resolve) => setTimeout(resolve));
      assert(returned, "the source may clean up");
    }
  };
  const rejects = (size: number, options: object, text: string) =>
    assertRejects(upload(size, options), RangeError, text);
  await rejects(3001, { bytes: 3000 }, "must have 3000 bytes: it has more");
  await rejects(2999, { bytes: 3000 }, "must have 3000 bytes: it has 2999");
  await rejects(1, { bytes: 0 }, "must have 0 bytes: it has more");
  await rejects(3001, { dtype: "float32" }, "must be a multiple of 4 bytes: it is 3001");
  const plain = (options: object) => () => uploadStream(context, [], options);
  await assertRejects(plain({ bytes: 6, dtype: "float32" }), RangeError, "multiple of 4");
  await assertRejects(plain({ bytes: -1 }), RangeError, "it is -1");
  await assertRejects(plain({ dtype: "text" }), TypeError, '"text"');
  const wrong = (source: unknown) => () =>
    uploadStream(context, source as Iterable<Uint8Array>, { ring });
  await assertRejects(wrong(["text"]), TypeError, 'one is "text"');
  await assertRejects(wrong([new Uint8Array(5), new Uint16Array(5)]), TypeError, "Uint16Array");
  await assertRejects(wrong("text"), TypeError, "source must be an object");
  await assertRejects(wrong({}), TypeError, "ReadableStream, or iterable");
  const locked = new ReadableStream<Uint8Array>();
  locked.getReader();
  await assertRejects(wrong(locked), TypeError);
  assertEquals(held(), before);
});

Deno.test("uploadStream() rejects with the error of the stream", async () => {
  await using ring = smallRing();
  const before = held();
  const failure = new Error("the network is gone");
  async function* generator() {
    yield* chunksOf(patternBytes(2500), 800);
    await Promise.resolve();
    throw failure;
  }
  const thrown = await assertRejects(() => uploadStream(context, generator(), { ring }));
  assertStrictEquals(thrown, failure);
  assertEquals(held(), before);
});

Deno.test("uploadStream() ends the wait for a chunk on a signal and cancels the stream", async () => {
  await using ring = smallRing();
  const before = held();
  let cancelled: unknown;
  const source = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(patternBytes(1500)),
    cancel: (reason) => void (cancelled = reason),
  });
  const controller = new AbortController();
  const upload = uploadStream(context, source, { ring, signal: controller.signal });
  setTimeout(() => controller.abort("too slow"), 5);
  const [{ reason }] = await Promise.allSettled([upload]) as [PromiseRejectedResult];
  assertEquals([reason, cancelled, source.locked], ["too slow", "too slow", false]);
  assertEquals(held(), before);
});

Deno.test("uploadStream() holds no slot while the stream stalls", async () => {
  using directory = new TemporaryDirectory();
  await using ring = smallRing(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  async function* generator() {
    yield patternBytes(10);
    await promise;
    yield patternBytes(10);
  }
  const stalled = uploadStream(context, generator(), { ring });
  await new Promise((resolve) => setTimeout(resolve, 5));
  const bytes = patternBytes(5000);
  using other = await uploadFile(context, directory.file(bytes), { ring });
  assertEquals(await other.toArray(), bytes);
  resolve();
  using buffer = await stalled;
  assertEquals(buffer.length, 20);
});

Deno.test("uploadStream() requests chunks only as the device copies", async () => {
  await using ring = smallRing(2);
  using gate = new Gate();
  using stream = device.createStream();
  gate.close(stream);
  let requested = 0;
  const source = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (++requested > 50) controller.close();
      else controller.enqueue(new Uint8Array(SLOT));
    },
  }, { highWaterMark: 0 });
  const upload = uploadStream(context, source, { ring, stream });
  do await new Promise((resolve) => setTimeout(resolve, 20)); while (requested < 2);
  assert(requested >= 2 && requested <= 4, `${requested} chunks were requested`);
  gate.open();
  using buffer = await upload;
  assertEquals(buffer.length, 50 * SLOT);
});
