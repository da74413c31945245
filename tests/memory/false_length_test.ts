/** Arrays and buffers that claim another length than they have. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { DeviceBuffer } from "../../src/memory/device_buffer.ts";
import { analyzeAccess, optimizeLayout, zOrderLayout } from "../../src/lab/analysis/mod.ts";
import { device } from "../support/device.ts";

/** Claims 64 elements and bytes, at the start of another buffer. */
class False extends Float32Array {
  override get length(): 64 {
    return 64;
  }
  override get byteLength(): 256 {
    return 256;
  }
  override get byteOffset(): 0 {
    return 0;
  }
  override get buffer(): ArrayBuffer {
    return new ArrayBuffer(256);
  }
  override subarray(): Float32Array<ArrayBuffer> {
    return new Float32Array(64);
  }
}

Deno.test("copies use the true length and memory of an array when a subclass claims others", async () => {
  using x = device.allocate("float32", 64, { fill: 7 });
  x.copyFrom(new False([1, 2, 3]));
  assertEquals([...x.toArraySync().subarray(0, 4)], [1, 2, 3, 7]);
  const target = new False(2);
  await x.copyTo(target);
  assertEquals([target[0], target[1], target[2]], [1, 2, undefined]);
  x.copyToSync(target, { offset: 1 });
  assertEquals([target[0], target[1]], [2, 3]);
  using uploaded = device.upload(new False([4, 5]));
  assertEquals([uploaded.length, ...uploaded.toArraySync()], [2, 4, 5]);
  class Chunk extends Uint8Array {
    override get length(): 64 {
      return 64;
    }
  }
  using streamed = await device.uploadStream([new Chunk([1, 2, 3])], { bytes: 3 });
  assertEquals([...streamed.toArraySync()], [1, 2, 3]);
});

Deno.test("copies use the true length of an array when the getters of all arrays are replaced", () => {
  const prototype = Object.getPrototypeOf(Uint8Array.prototype);
  const before = Object.getOwnPropertyDescriptors(prototype);
  using x = device.allocate("float32", 4, { fill: 7 });
  const [source, target] = [Float32Array.of(1, 2), new Float32Array(2)];
  for (const name of ["length", "byteLength"]) {
    Object.defineProperty(prototype, name, { get: () => 1 << 20, configurable: true });
  }
  try {
    x.copyFrom(source);
    x.copyToSync(target);
  } finally {
    for (const name of ["length", "byteLength"] as const) {
      Object.defineProperty(prototype, name, before[name]!);
    }
  }
  assertEquals([...target], [1, 2]);
  assertEquals([...x.toArraySync()], [1, 2, 7, 7]);
});

Deno.test("analyses use the true length of an array when a subclass claims another", () => {
  const indices = [0, 3, 1, 2];
  assertEquals(analyzeAccess(new False(indices)), analyzeAccess(indices));
  const layout = zOrderLayout({ rows: 2, columns: 2 });
  const into = new False(4);
  layout.apply(new False([1, 2, 3, 4]), into);
  assertEquals([into[0], into[1], into[2], into[3]], [1, 2, 3, 4]);
  assertEquals(optimizeLayout(new False(4), indices).map.length, 4);
});

Deno.test("buffers keep their length, type and device when a program writes others", () => {
  using x = device.allocate("float32", 4);
  using pinned = device.allocatePinned("float32", 4);
  for (const buffer of [x, pinned]) {
    for (const name of ["length", "byteLength", "dtype", "context", "address", "array"]) {
      const define = { get: () => 256 };
      assertThrows(() => Object.defineProperty(buffer, name, define), TypeError, "", name);
      assertThrows(() => Object.assign(buffer, { [name]: 256 }), TypeError, "", name);
    }
    assertThrows(() => Object.setPrototypeOf(buffer, { length: 256 }), TypeError);
  }
  const redefine = () => Object.defineProperty(DeviceBuffer.prototype, "length", { value: 256 });
  assertThrows(redefine, TypeError);
  const make = DeviceBuffer as unknown as new (...args: unknown[]) => DeviceBuffer;
  const forge = () => new make(x.context, "float32", 256, { kind: "view", root: x, address: 8 });
  assertThrows(forge, TypeError, "call device.allocate() instead");
  const imitation = new Proxy(x, {
    get: (_, name) => name === "length" ? 256 : Reflect.get(x, name),
  });
  assert(!(imitation instanceof DeviceBuffer));
  assertThrows(() => x.copyFrom(imitation), TypeError, "source must be a Float32Array");
  assertThrows(() => device.kernels.fill(imitation, 1), TypeError, "must be a DeviceBuffer");
});

Deno.test("launch() refuses when a getter of its stream frees a buffer among its arguments", () => {
  using stream = device.createStream();
  const x = device.allocate("float32", 1, { stream });
  using y = device.allocate("float32", 1);
  const kernel = device.kernels.load("axpy_float32(float a, const float* x, float* y, uint64_t n)");
  Object.defineProperty(stream, "captureToken", { get: () => void x.free() });
  const launch = () => kernel.launch({ grid: 1, block: 1, stream }, 1, x, y, 1);
  assertThrows(launch, TypeError, "has freed memory");
});
