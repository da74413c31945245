// Lying, truncated and random headers of GGUF files.

import fc from "fast-check";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { openSource } from "../../../src/device/bitnet.ts";
import { TensorFileError } from "../../../src/device/tensor.ts";
import "../../support/cache_directory.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { ggufFile, modelKeys, modelTensors, ternaryTensor } from "./model_files.ts";

const FILE = ggufFile(modelKeys(), modelTensors(ternaryTensor(35, "tq2_0")));

/** The end of the table of tensors: behind the last name, 1 extent, the type and the offset. */
const HEADER_BYTES = placeOf("output_norm.weight") + "output_norm.weight".length + 4 + 8 + 4 + 8;

/** The first byte of a text in the file. */
function placeOf(text: string): number {
  const bytes = new TextEncoder().encode(text);
  return FILE.findIndex((_, at) => bytes.every((byte, index) => FILE[at + index] === byte));
}

/** The file with other bytes from a place on. */
function changed(at: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const file = FILE.slice();
  file.set(bytes, at);
  return file;
}

const uint64 = (value: bigint) => new Uint8Array(BigUint64Array.of(value).buffer);
const uint32 = (value: number) => new Uint8Array(Uint32Array.of(value).buffer);

Deno.test("openSource() names the field of a header that lies", async () => {
  using folder = new TemporaryDirectory();
  const key = placeOf("general.name");
  const tokens = placeOf("tokenizer.ggml.tokens") + "tokenizer.ggml.tokens".length;
  const tensor = placeOf("token_embd.weight");
  const info = tensor + "token_embd.weight".length;
  const cases: readonly (readonly [number, Uint8Array, string])[] = [
    [0, uint32(0), "the magic number in"],
    [4, uint32(1), "the version in"],
    [4, uint32(0x03000000), "is in big-endian order"],
    [8, uint64(2n ** 64n - 1n), "the tensor count in"],
    [8, uint64(2n ** 20n), "has 1048576 tensors, and"],
    [16, uint64(2n ** 63n), "the key count in"],
    [key - 8, uint64(2n ** 40n), "key 1 in"],
    [key - 8, uint64(100_000n), "has 100000 bytes: the maximum is 65536"],
    [key, Uint8Array.of(0xff), "key 1 in"],
    [key + 12, uint32(13), '"general.name" in'],
    [key + 16, uint64(2n ** 50n), "has 1125899906842624 bytes, and"],
    [tokens + 4, uint32(99), '"tokenizer.ggml.tokens" in'],
    [tokens + 8, uint64(2n ** 32n), "has 4294967296 elements, and"],
    [tokens + 16, uint64(2n ** 62n), '"tokenizer.ggml.tokens" in'],
    [tensor - 8, uint64(2n ** 30n), "tensor 0 in"],
    [info, uint32(0), "has 0 dimensions"],
    [info, uint32(2 ** 31), "has 2147483648 dimensions"],
    [info + 4, uint64(0n), "has a shape of 0 elements"],
    [info + 4, uint64(2n ** 60n), "elements, not 1..2^53-1"],
    [info + 20, uint32(0xffffffff), '"token_embd.weight" in'],
    [info + 24, uint64(1n), "begins at 1, which must be a multiple of 32"],
    [info + 24, uint64(2n ** 63n), '"token_embd.weight" in'],
    [info + 24, uint64(4096n), "begins where"],
  ];
  for (const [at, bytes, message] of cases) {
    const path = folder.file(changed(at, bytes), "wrong.gguf");
    const error = await assertRejects(() => openSource(path), TensorFileError);
    assertStringIncludes(error.message, message);
    assertStringIncludes(error.message, "wrong.gguf");
  }
});

Deno.test("openSource() opens a header that is longer than what it reads first", async () => {
  using folder = new TemporaryDirectory();
  const license = "x".repeat(2 ** 24);
  const keys = { "general.license": license, ...modelKeys() };
  const file = ggufFile(keys, modelTensors(ternaryTensor(35, "tq2_0")));
  await using source = await openSource(folder.file(file, "long.gguf"));
  assertEquals(source.facts.get("license")!.length, license.length);
  assertEquals(source.facts.get("name"), "a small model");
});

Deno.test("openSource() refuses a key that is there twice", async () => {
  using folder = new TemporaryDirectory();
  const keys = { ...modelKeys(), "general.nama": "another name" };
  const file = ggufFile(keys, modelTensors(ternaryTensor(35, "tq2_0")));
  const bytes = new TextEncoder().encode("general.nama");
  const at = file.findIndex((_, at) => bytes.every((byte, index) => file[at + index] === byte));
  file[at + bytes.length - 1] = "e".charCodeAt(0);
  const path = folder.file(file, "twice.gguf");
  const error = await assertRejects(() => openSource(path), TensorFileError);
  assertStringIncludes(error.message, '"general.name" in');
  assertStringIncludes(error.message, "as it is there twice");
});

Deno.test("openSource() refuses a file that ends within the header or the weights", async () => {
  using folder = new TemporaryDirectory();
  const path = folder.file(FILE, "short.gguf");
  const lengths = [
    ...Array.from({ length: 40 }, (_, i) => Math.trunc(i * HEADER_BYTES / 40)),
    ...[HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 32, FILE.length - 2000, FILE.length - 1],
  ];
  for (const length of lengths) {
    Deno.writeFileSync(path, FILE.subarray(0, length));
    const error = await assertRejects(
      () => openSource(path),
      TensorFileError,
      undefined,
      `${length}`,
    );
    const words = /is cut short|are left in the file|and the file has|and there are/;
    assert(words.test(error.message), `${length}: ${error.message}`);
  }
});

Deno.test("openSource() either opens or refuses any header, without large arrays", async () => {
  using folder = new TemporaryDirectory();
  const path = folder.file(FILE, "random.gguf");
  using file = Deno.openSync(path, { write: true });
  const write = (at: number, bytes: Uint8Array) => {
    file.seekSync(at, Deno.SeekMode.Start);
    file.writeSync(bytes);
  };
  const change = fc.record({
    at: fc.nat(HEADER_BYTES - 8),
    bytes: fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 8 }),
      fc.bigInt(0n, 2n ** 64n - 1n).map(uint64),
      fc.constantFrom(0n, 1n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n).map(
        uint64,
      ),
    ),
  });
  const longest = { bytes: 0 };
  const { Array: Arrays, Uint8Array: Bytes } = globalThis;
  const watched = new Proxy(Bytes, {
    construct(target, [first, ...rest], own) {
      if (typeof first === "number") longest.bytes = Math.max(longest.bytes, first);
      return Reflect.construct(target, [first, ...rest], own);
    },
  });
  const { from } = Arrays;
  try {
    globalThis.Uint8Array = watched;
    Arrays.from = ((...given: Parameters<typeof from>) => {
      const { length = 0 } = Object(given[0]);
      longest.bytes = Math.max(longest.bytes, 8 * Number(length));
      return Reflect.apply(from, Arrays, given);
    }) as typeof from;
    const property = fc.asyncProperty(
      fc.array(change, { minLength: 1, maxLength: 3 }),
      async (changes) => {
        for (const { at, bytes } of changes) write(at, bytes);
        try {
          await using source = await openSource(path);
          const { tokenizer } = source;
          if (tokenizer?.kind === "gguf") {
            assert("tokenizer.ggml.model" in tokenizer.metadata());
          }
        } catch (error) {
          if (!(error instanceof TensorFileError)) throw error;
          assertStringIncludes(error.message, path);
        } finally {
          write(0, FILE.subarray(0, HEADER_BYTES));
        }
      },
    );
    await fc.assert(property, { numRuns: Number(Deno.env.get("GRIDSTRIDE_TEST_RUNS") ?? 400) });
  } finally {
    globalThis.Uint8Array = Bytes;
    Arrays.from = from;
  }
  const isBounded = longest.bytes >= HEADER_BYTES && longest.bytes <= 2 * FILE.length;
  assert(isBounded, `the largest array has ${longest.bytes} bytes`);
});
