import { assert, assertEquals, assertRejects } from "@std/assert";
import { compileImage, configureKernelCache } from "../../../mod.ts";
// Opens the library that compiles, which the resource sanitizer would take for a leak of a test.
import { device } from "../../support/device.ts";

const SOURCE = 'extern "C" __global__ void one(int* out) { *out = 1; }';
const HOST = { kind: "host", capability: "8.9" } as const;

const cache = Deno.makeTempDirSync();
globalThis.addEventListener("unload", () => Deno.removeSync(cache, { recursive: true }));
configureKernelCache({ directory: `${cache}/kernels` });

Deno.test("compileImage() returns a copy that leaves the cache unchanged", async () => {
  const first = await compileImage(SOURCE, { target: HOST });
  assertEquals(first.format, "library");
  assert(first.loweredNames.has("one"));
  const bytes = first.image.slice();
  first.image.fill(0);
  (first.loweredNames as Map<string, string>).clear();
  const second = await compileImage(SOURCE, { target: HOST });
  assertEquals(second.image, bytes);
  assert(second.loweredNames.has("one"));
});

Deno.test("compileImage() names the malformed field of a target", async () => {
  for (
    const [options, Kind, message] of [
      [undefined, TypeError, "options must be an object"],
      [{}, TypeError, "options.target must be an object"],
      [{ target: {} }, TypeError, "options.target.kind"],
      [{ target: { kind: "gpu", capability: "9.0" } }, TypeError, '"gpu"'],
      [{ target: { kind: "cuda" } }, TypeError, "options.target.capability"],
      [{ target: { kind: "cuda", capability: 9 } }, TypeError, "it is 9"],
      [{ target: { kind: "cuda", capability: "sm_90" } }, RangeError, '"sm_90"'],
      [{ target: { kind: "cuda", capability: "9.0\0" } }, RangeError, "9.0"],
      [{ target: HOST, name: "a/b.cu" }, RangeError, "options.name"],
    ] as const
  ) {
    await assertRejects(() => compileImage(SOURCE, options as never), Kind, message);
  }
  await assertRejects(() => compileImage(7 as never, { target: HOST }), TypeError, "source");
});

Deno.test({
  name: "`loadModule()` refuses foreign and damaged shared libraries before it loads them",
  ignore: device.info.kind !== "host",
  async fn() {
    const { image } = await compileImage(SOURCE, { target: HOST });
    using _sound = await device.loadModule(image);
    const SEAL_BYTES = 16;
    const foreign = [
      image.subarray(0, -SEAL_BYTES),
      Deno.readFileSync(device.context.library.path),
    ];
    for (const library of foreign) {
      await assertRejects(() => device.loadModule(library), TypeError, "without its seal");
    }
    const bits = Array.from({ length: 300 }, (_, index) => 32 + index * 7919);
    for (
      const bit of [
        ...bits,
        ...bits.slice(0, 128).map((_, index) => image.length * 8 - 1 - index),
      ]
    ) {
      const flipped = image.slice();
      flipped[(bit >> 3) % image.length]! ^= 1 << (bit & 7);
      await assertRejects(() => device.loadModule(flipped), Error, "Cannot load");
    }
  },
});
