// Pools, manager and uploads of a device.

import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { type DeviceBuffer, MemoryManager, MemoryPool, openDevice } from "../../mod.ts";
import { device } from "../support/device.ts";
import { runProgram } from "../support/subprocess.ts";
import { patternBytes, TemporaryDirectory } from "../support/temporary_file.ts";

Deno.test("Device.allocate() uses the device's pool by default", async () => {
  using pool = device.createPool();
  using ours = device.allocate("float32", 100, { fill: 1 });
  using theirs = device.allocate("float32", 100, { fill: 2, pool, alignment: 2 ** 16 });
  assertEquals([device.pool.ownsPointer(ours.address), pool.ownsPointer(ours.address)], [
    true,
    false,
  ]);
  assertEquals([device.pool.ownsPointer(theirs.address), pool.ownsPointer(theirs.address)], [
    false,
    true,
  ]);
  assertEquals(theirs.address % 2 ** 16, 0);
  assertEquals([...await theirs.toArray()], Array(100).fill(2));
  using uploaded = device.upload(new Float32Array(10));
  assert(device.pool.ownsPointer(uploaded.address));
});

Deno.test("Device.allocate() refuses a foreign pool and frees after a failed fill", () => {
  using pool = device.createPool();
  for (const wrong of [null, 5, {}, device, new MemoryManager(device)]) {
    const call = () => device.allocate("int8", 1, { pool: wrong as never });
    assertThrows(call, TypeError, "options.pool");
  }
  assertThrows(() => device.allocate("int32", 10, { fill: 0.5, pool }));
  assertEquals(pool.memoryAllocated(), 0);
});

Deno.test("Device.memory is one manager of the device's pool", () => {
  assertStrictEquals(device.memory, device.memory);
  assertStrictEquals(device.memory.pool, device.pool);
  assert(device.memory instanceof MemoryManager && device.pool instanceof MemoryPool);
  const before = device.memory.memoryAllocated();
  using _buffer = device.allocate("uint8", 12345);
  assertEquals(device.memory.memoryAllocated() - before, 12345);
});

Deno.test("Device.allocate() accepts a pool of the same device opened twice", () => {
  using other = openDevice(device.label);
  using pool = other.createPool();
  using buffer = device.allocate("float32", 100, { pool });
  assertStrictEquals(buffer.context, other.context);
  assert(pool.ownsPointer(buffer.address));
});

Deno.test("Device methods refuse pools and buffers of another device", async () => {
  const program = `
    import { openDevice } from "@gridstride/cuda";
    using first = openDevice("host:0");
    using second = openDevice("host:1");
    using pool = second.createPool();
    using buffer = second.allocate("uint8", 10);
    using stream = second.createStream();
    async function refusal(call) {
      try {
        await call();
        return "nothing";
      } catch (error) {
        return error.name + " " + error.message;
      }
    }
    const before = JSON.stringify([pool.stats(), first.pool.stats(), second.pool.stats()]);
    const refusals = [
      await refusal(() => first.allocate("int8", 1, { pool })),
      await refusal(() => first.allocateAsync("int8", 1, { pool })),
      await refusal(() => first.pool.allocate("int8", 1, { stream })),
      await refusal(() => first.pool.free(buffer)),
      await refusal(() => first.pool.free(buffer.address)),
      await refusal(() => first.uploadFileInto(buffer, import.meta.filename)),
    ];
    const after = JSON.stringify([pool.stats(), first.pool.stats(), second.pool.stats()]);
    console.log(JSON.stringify({ refusals, unchanged: before === after, live: !buffer.disposed }));
  `;
  const { code, stdout, stderr } = await runProgram(program, {
    environment: { GRIDSTRIDE_FAKE: "2x256MiB@8.9" },
  });
  assertEquals([code, stderr], [0, ""]);
  const { refusals, unchanged, live } = JSON.parse(stdout);
  assertEquals([unchanged, live], [true, true]);
  for (const [index, text] of (refusals as string[]).entries()) {
    assert(/^(TypeError|RangeError) Cannot /.test(text), text);
    assert(text.includes("host:0"), text);
    if (index !== 4) assert(text.includes("host:1"), text);
  }
});

Deno.test("Device.uploadFile() and uploadStream() upload their content", async () => {
  using directory = new TemporaryDirectory();
  const bytes = patternBytes(100_000);
  const path = directory.file(bytes);
  using whole = await device.uploadFile(path);
  assertEquals(await whole.toArray(), bytes);
  using part = await device.uploadFile(path, { offset: 1000, bytes: 4000, dtype: "int32" });
  assertEquals(await part.toArray(), new Int32Array(bytes.slice(1000, 5000).buffer));
  using target = device.allocate("uint8", 5000);
  await device.uploadFileInto(target, path, { offset: 500 });
  assertEquals(await target.toArray(), bytes.subarray(500, 5500));
  using streamed = await device.uploadStream(new Blob([bytes]).stream());
  assertEquals(await streamed.toArray(), bytes);
  await using ring = device.createUploadRing({ slots: 2, slotBytes: 4096, readers: 2 });
  const parts = [{ path, bytes: 10_000 }, { path, offset: 7, bytes: 9000 }];
  const arrived: number[] = [];
  for await (const { buffer } of device.prefetchFiles(parts, { ring })) {
    arrived.push(buffer.length);
    buffer.free();
  }
  assertEquals(arrived, [10_000, 9000]);
  await assertRejects(() => device.uploadFile(`${directory.path}/nothing`), Deno.errors.NotFound);
  await assertRejects(() => device.uploadFileInto({} as DeviceBuffer, path), TypeError, "buffer");
});
