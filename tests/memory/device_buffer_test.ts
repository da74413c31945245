import { assert, assertEquals, assertThrows } from "@std/assert";
import { bytesPerElement, DeviceBuffer, DTYPES, OutOfMemoryError, Stream } from "../../mod.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { createTypedArray } from "../../src/memory/dtype.ts";
import { BREAKING_SIZES, device } from "../support/device.ts";
import { poolOfDevice } from "../../src/memory/pool/memory_pool.ts";

const { library } = device.context;

Deno.test("arrays of every element type and size come back as they went", async () => {
  for (const dtype of DTYPES) {
    for (const size of BREAKING_SIZES) {
      const array = createTypedArray(dtype, size);
      new Uint8Array(array.buffer).forEach((_, i, bytes) => bytes[i] = i * 31 + 7);
      using buffer = device.upload(array, { dtype });
      assertEquals(buffer.byteLength, size * bytesPerElement(dtype));
      const back = await buffer.toArray();
      assertEquals(new Uint8Array(back.buffer), new Uint8Array(array.buffer));
      assertEquals(new Uint8Array(buffer.toArraySync().buffer), new Uint8Array(array.buffer));
    }
  }
});

Deno.test("copies larger than what is staged arrive whole", async () => {
  const length = 90 * 2 ** 20 / 4;
  const array = Uint32Array.from({ length }, (_, i) => Math.imul(i, 2654435761));
  using first = device.upload(array);
  using second = device.upload(array);
  using third = device.upload(array);
  using fourth = device.upload(array);
  for (const buffer of [first, second, third, fourth]) {
    const back = await buffer.toArray();
    assert(back.every((value, i) => value === array[i]));
  }
});

Deno.test("copies with offsets touch nothing else", async () => {
  using buffer = device.allocate("int32", 100, { fill: -1 });
  buffer.copyFrom(Int32Array.of(1, 2, 3), { offset: 97 });
  buffer.copyFrom(Int32Array.of(9), { offset: 0 });
  const expected = new Int32Array(100).fill(-1);
  expected.set([1, 2, 3], 97);
  expected[0] = 9;
  assertEquals(await buffer.toArray(), expected);
  const part = new Int32Array(2);
  await buffer.copyTo(part, { offset: 96 });
  assertEquals([...part], [-1, 1]);
  buffer.copyToSync(part, { offset: 98 });
  assertEquals([...part], [2, 3]);
});

Deno.test("a copy between buffers copies in stream order", async () => {
  using source = device.upload(Float64Array.of(1, 2, 3, 4));
  using target = device.allocate("float64", 6, { fill: 0 });
  target.copyFrom(source.view(1, 4), { offset: 2 });
  assertEquals([...await target.toArray()], [0, 0, 2, 3, 4, 0]);
});

Deno.test("a view shares the memory and ends with its buffer", async () => {
  const buffer = device.upload(Float32Array.of(1, 2, 3, 4));
  const view = buffer.view(1, 3);
  assertEquals(view.address, buffer.address + 4);
  view.free();
  view[Symbol.dispose]();
  assertEquals([...await view.toArray()], [2, 3]);
  const bits = buffer.as("uint32");
  assertEquals((await bits.toArray())[0], 0x3f800000);
  buffer.free();
  buffer.free();
  assertEquals(view.disposed, true);
  assertThrows(() => view.address, TypeError, "disposed");
});

Deno.test("memory of another library is used and left alone", async () => {
  using owner = device.upload(Float32Array.of(5, 6, 7));
  const foreign = DeviceBuffer.fromAddress(owner.address, 12, {
    device,
    dtype: "float32",
    owner,
  });
  assertEquals([...await foreign.toArray()], [5, 6, 7]);
  foreign[Symbol.dispose]();
  assertThrows(() => foreign.address, TypeError, "disposed");
  assertEquals([...await owner.toArray()], [5, 6, 7]);
});

Deno.test("a stream of another library is used and left alone", async () => {
  using owner = device.createStream();
  const adopted = Stream.fromHandle(device, owner.handle);
  using buffer = device.allocate("float32", 3, { fill: 4, stream: adopted });
  await adopted.done();
  adopted[Symbol.dispose]();
  assertEquals([...await buffer.toArray({ stream: owner })], [4, 4, 4]);
});

Deno.test("pinned memory reaches the device and comes back", async () => {
  using pinned = device.allocatePinned("float32", 100_003);
  pinned.array.forEach((_, i, array) => array[i] = i);
  using buffer = device.allocate("float32", 100_003);
  pinned.copyTo(buffer);
  device.kernels.scale(buffer, 2, buffer);
  using back = device.allocatePinned("float32", 10);
  back.copyFrom(buffer, { deviceOffset: 99_993 });
  await device.stream.done();
  assertEquals([...back.array], Array.from({ length: 10 }, (_, i) => 2 * (99_993 + i)));
});

Deno.test("more memory than the device has is an error that tells the figures", () => {
  const { total } = device.memoryInfo();
  const error = assertThrows(
    () => device.allocate("uint8", total + 1),
    OutOfMemoryError,
    "Cannot allocate",
  );
  assertEquals(error.requested, total + 1);
  assertEquals(error.total, total);
  assertEquals(error.codeName, "cudaErrorMemoryAllocation");
});

Deno.test("what is disposed is given back: memory, streams, events, pinned memory", () => {
  const pool = poolOfDevice(device.context);
  device.allocate("float32", 1000).free(); // what the pool keeps is there from now on
  const before = resourceTally(library);
  const allocated = pool.memoryAllocated();
  {
    using stream = device.createStream();
    using _event = stream.record({ timing: true });
    using _buffer = device.allocate("float32", 1000);
    using _direct = pool.allocateDirect("float32", 1000);
    using _pinned = device.allocatePinned("uint8", 1);
    const during = resourceTally(library);
    assertEquals(pool.memoryAllocated(), allocated + 4000);
    assertEquals(during.streams, before.streams + 1);
    assertEquals(during.events, before.events + 1);
    assertEquals(during.allocations, before.allocations + 1);
    assertEquals(during.pinnedSlabs, before.pinnedSlabs + 1);
  }
  assertEquals(pool.memoryAllocated(), allocated);
  assertEquals(resourceTally(library), before);
});

Deno.test("upload() types the element type, and refuses arrays that do not fit it", () => {
  using bits = device.upload(Uint16Array.of(0x3f80), { dtype: "bfloat16" });
  const dtype: "bfloat16" = bits.dtype;
  assertEquals(dtype, "bfloat16");
  using words = device.upload(Uint16Array.of(65535));
  const named: "uint16" = words.dtype;
  assertEquals(named, "uint16");
  assertThrows(
    // @ts-expect-error: a view without elements
    () => device.upload(new DataView(new ArrayBuffer(2))),
    TypeError,
    "it is a DataView",
  );
  assertThrows(
    // @ts-expect-error: single precision is no integer
    () => device.upload(Float32Array.of(1), { dtype: "int32" }),
    TypeError,
    "source must be a Int32Array",
  );
});
