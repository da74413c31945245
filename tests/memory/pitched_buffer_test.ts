import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  bytesPerElement,
  CudaError,
  DTYPES,
  openDevice,
  OutOfMemoryError,
  PitchedBuffer,
} from "../../mod.ts";
import { createTypedArray } from "../../src/memory/dtype.ts";
import { piecesOf } from "../../src/memory/device_range.ts";
import { device } from "../support/device.ts";
import { runFile } from "../support/subprocess.ts";

const SIZES = [0, 1, 7, 127, 128, 129, 1021];

/** Dense rows as their bytes lie at a pitch, by a loop over the bytes. */
function padded(dense: Uint8Array, rows: number, width: number, pitch: number, padding: number) {
  const bytes = new Uint8Array(rows * pitch).fill(padding);
  for (let i = 0; i < rows * width; i++) {
    bytes[Math.floor(i / width) * pitch + i % width] = dense[i]!;
  }
  return bytes;
}

const counting = (rows: number, columns: number) =>
  Float32Array.from({ length: rows * columns }, (_, i) => i);

Deno.test("PitchedBuffer pads rows of every element type and size, and returns them dense", async () => {
  for (const dtype of DTYPES) {
    const size = bytesPerElement(dtype);
    for (const rows of [0, 1, 2, 13]) {
      for (const columns of SIZES) {
        using matrix = device.allocate2d(dtype, rows, columns);
        const { buffer, pitchBytes } = matrix;
        const width = columns * size;
        assertEquals(pitchBytes % 512, 0);
        assert(pitchBytes >= width && pitchBytes < width + 512);
        assertEquals(buffer.byteLength, rows * pitchBytes);
        assertEquals(buffer.address % 512, 0);
        buffer.as("uint8").copyFrom(new Uint8Array(rows * pitchBytes).fill(99));
        const array = createTypedArray(dtype, rows * columns);
        const bytes = new Uint8Array(array.buffer);
        bytes.forEach((_, i) => bytes[i] = i * 31 + 7);
        matrix.copyFrom(array);
        const expected = padded(bytes, rows, width, pitchBytes, 99);
        bytes.fill(0); // the copy has the content of the call
        assertEquals(buffer.as("uint8").toArraySync(), expected);
        const dense = Uint8Array.from({ length: rows * width }, (_, i) => i * 31 + 7);
        assertEquals(new Uint8Array((await matrix.toArray()).buffer), dense);
        assertEquals(new Uint8Array(matrix.toArraySync().buffer), dense);
      }
    }
  }
});

Deno.test("PitchedBuffer copies arrays that exceed the staging memory", async () => {
  const [rows, columns] = [20_011, 1021];
  const array = Uint32Array.from({ length: rows * columns }, (_, i) => Math.imul(i, 2654435761));
  const matrices = Array.from({ length: 4 }, () => device.allocate2d("uint32", rows, columns));
  using stack = new DisposableStack();
  for (const matrix of matrices) stack.use(matrix).copyFrom(array);
  for (const back of await Promise.all(matrices.map((matrix) => matrix.toArray()))) {
    assert(back.every((value, i) => value === array[i]));
  }
  const last = matrices.at(-1)!;
  const row = last.buffer.view(last.pitchBytes / 4 * (rows - 1)).toArraySync();
  assertEquals(row.subarray(0, columns), array.subarray(-columns));
});

Deno.test("piecesOf() divides at whole rows when the range has rows", () => {
  const rows = { pitch: 1_000_448, width: 1_000_003, height: 9000 };
  const range = { context: device.context, address: 256, byteLength: 9000 * rows.width, rows };
  let end = 0;
  for (const { range: piece, offset } of piecesOf(range, 2 ** 32)) {
    assertEquals(offset, end);
    assertEquals(piece.byteLength, piece.rows!.height * rows.width);
    assert(piece.byteLength <= 2 ** 32);
    assertEquals(piece.address, 256 + offset / rows.width * rows.pitch);
    end += piece.byteLength;
  }
  assertEquals(end, range.byteLength);
  const long = [...piecesOf(range, 1000)];
  assert(long.length === 9000 && long.every((piece) => piece.range.byteLength === rows.width));
});

Deno.test("PitchedBuffer.copyFrom() copies between pitches, dense buffers and tiles", async () => {
  for (const [rows, columns] of [[5, 7], [1, 129], [37, 127], [0, 3], [3, 0]] as const) {
    const array = counting(rows, columns);
    using from = device.allocate2d("float32", rows, columns, { fill: -1 });
    using dense = device.upload(array);
    from.copyFrom(dense);
    using wide = device.allocate("float32", rows * 640, { fill: -2 });
    const to = new PitchedBuffer(wide, rows, columns, { pitchBytes: 640 * 4 });
    to.copyFrom(from);
    const bytes = padded(new Uint8Array(array.buffer), rows, columns * 4, 2560, 0);
    const places = new Float32Array(bytes.buffer).map((value, i) => i % 640 < columns ? value : -2);
    assertEquals(await wide.toArray(), places);
    using back = device.allocate("float32", rows * columns);
    new PitchedBuffer(back, rows, columns).copyFrom(to);
    assertEquals(await back.toArray(), array);
  }
  using matrix = device.allocate2d("float32", 4, 5);
  matrix.copyFrom(counting(4, 5));
  const tile = (first: number) =>
    new PitchedBuffer(matrix.buffer.view(first), 2, 2, { pitchBytes: matrix.pitchBytes });
  tile(0).copyFrom(tile(2 * 128 + 3)); // rows 2 and 3, columns 3 and 4
  const expected = [13, 14, 2, 3, 4, 18, 19, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
  assertEquals([...await matrix.toArray()], expected);
  assertEquals([...await tile(1).toArray()], [14, 2, 19, 7]);
  tile(0)[Symbol.dispose]();
  assertEquals(matrix.buffer.disposed, false);
  assertThrows(() => tile(0).copyFrom(tile(1)), CudaError, "OVERLAP");
});

Deno.test("PitchedBuffer copies row by row between two devices", async () => {
  const { code, stderr } = await runFile("tests/memory/pitched_peer_program.ts", {
    environment: { GRIDSTRIDE_FAKE: "64MiB@8.9;64MiB@8.9" },
  });
  assertEquals([code, stderr], [0, ""]);
});

Deno.test("A kernel reads and writes the rows of a PitchedBuffer by its pitch", async () => {
  using module = await device.compile(`
    __global__ void transpose(const float* x, size_t from, float* y, size_t to, int rows, int columns) {
      const int column = blockIdx.x * blockDim.x + threadIdx.x;
      const int row = blockIdx.y * blockDim.y + threadIdx.y;
      if (row >= rows || column >= columns) return;
      float* target = (float*)((char*)y + column * to);
      target[row] = ((const float*)((const char*)x + row * from))[column];
    }`);
  const transpose = module.kernel("transpose");
  using x = device.allocate2d("float32", 61, 129);
  using y = device.allocate2d("float32", 129, 61, { fill: 0 });
  x.copyFrom(counting(61, 129));
  const plan = device.launchFor(transpose, { rows: 61, columns: 129 });
  transpose.launch(plan, x.buffer, x.pitchBytes, y.buffer, y.pitchBytes, 61, 129);
  const expected = Float32Array.from(
    { length: 61 * 129 },
    (_, i) => i % 61 * 129 + Math.floor(i / 61),
  );
  assertEquals(await y.toArray(), expected);
});

Deno.test("A graph repeats copies of a PitchedBuffer, and arrays are refused in its capture", async () => {
  using x = device.allocate2d("float32", 3, 5);
  using y = device.allocate2d("float32", 3, 5, { fill: 0 });
  using graph = device.stream.capture(() => {
    assertThrows(() => x.copyFrom(counting(3, 5)), TypeError, "captured");
    y.copyFrom(x);
  });
  x.copyFrom(counting(3, 5));
  graph.launch();
  assertEquals(await y.toArray(), counting(3, 5));
});

Deno.test("Device.allocate2d() takes stream, pool and fill, and its memory returns to the pool", () => {
  using stream = device.createStream();
  using pool = device.createPool({ maxPoolSize: "4MiB" });
  {
    using x = device.allocate2d("int32", 3, 5, { stream, pool, fill: 6 });
    assertEquals([x.buffer.stream, pool.memoryAllocated()], [stream, 3 * 512]);
    assertEquals([...x.toArraySync({ stream })], Array(15).fill(6));
  }
  assertEquals(pool.memoryAllocated(), 0);
  assertThrows(() => device.allocate2d("int32", 4096, 4096, { pool }), OutOfMemoryError);
});

Deno.test("Device.allocate2d() and PitchedBuffer name arguments that are wrong", () => {
  using x = device.allocate2d("float32", 2, 3);
  const refused = (call: () => unknown, texts: string, kind: typeof TypeError = RangeError) => {
    const { message } = assertThrows(call, kind, "Cannot ");
    for (const text of texts.split(" … ")) assert(message.includes(text), message);
  };
  const badSizes = [-1, 0.5, NaN, Infinity, 2 ** 53, "3", undefined] as number[];
  for (const bad of badSizes) {
    refused(() => device.allocate2d("float32", bad, 3), "rows must be an integer in 0..");
    refused(() => device.allocate2d("float32", 3, bad), "columns must be an integer in 0..");
    refused(() => new PitchedBuffer(x.buffer, bad, 3), "rows must be an integer in 0..");
    if (bad === undefined) continue;
    refused(() => new PitchedBuffer(x.buffer, 2, 3, { pitchBytes: bad }), "options.pitchBytes");
  }
  refused(() => device.allocate2d("float32", 2 ** 40, 2 ** 40), "rows must … 1099511627776");
  refused(() => device.allocate2d("float" as never, 1, 1), '"float"', TypeError);
  refused(() => device.allocate2d("float32", 1, 1, null as never), "options … null", TypeError);
  refused(
    () => new PitchedBuffer(x.buffer, 3, 3, { pitchBytes: x.pitchBytes }),
    "3 rows of 3 … fit 1024 … take 1036",
  );
  refused(() => new PitchedBuffer(x.buffer, 2, 3, { pitchBytes: 514 }), "a multiple of 4 … 514");
  refused(() => new PitchedBuffer(x.buffer, 2, 3, { pitchBytes: 8 }), "12..");
  refused(() => new PitchedBuffer({} as never, 2, 3), "must be a DeviceBuffer", TypeError);
  refused(() => x.copyFrom(new Float32Array(5)), "2 rows of 3 elements: it has 5");
  refused(
    () => x.copyFrom(new Int32Array(6) as never),
    "a Float32Array … an Int32Array",
    TypeError,
  );
  refused(() => x.copyFrom(x.buffer), "2 rows of 3 elements: it has 256");
  refused(() => x.copyFrom(new Float32Array(6), 1 as never), "options … 1", TypeError);
  using other = device.allocate2d("float32", 3, 2);
  refused(() => x.copyFrom(other), "2 rows of 3 elements: it has 3 of 2");
  using integers = device.allocate2d("int32", 2, 3);
  refused(() => x.copyFrom(integers as never), "float32 … int32", TypeError);
  refused(() => x.toArraySync({ stream: {} as never }), "stream", TypeError);
  const freed = device.allocate2d("float32", 2, 3);
  freed[Symbol.dispose]();
  freed[Symbol.dispose]();
  refused(() => freed.copyFrom(new Float32Array(6)), "disposed", TypeError);
  refused(() => x.copyFrom(freed), "disposed", TypeError);
  refused(() => freed.toArraySync(), "disposed", TypeError);
  refused(() => new PitchedBuffer(freed.buffer, 1, 1), "disposed", TypeError);
  const closed = openDevice(device.label);
  closed[Symbol.dispose]();
  refused(() => closed.allocate2d("float32", 1, 1), "disposed", TypeError);
});
