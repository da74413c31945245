import { assert, assertEquals, assertRejects } from "@std/assert";
import { compileImage, configureKernelCache } from "../../../mod.ts";
import { runProgram } from "../../support/subprocess.ts";
// Opens the library that compiles, which the resource sanitizer would take for a leak of a test.
import "../../support/device.ts";

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

Deno.test("compileImage() needs no compiler or permission on a cache hit", async () => {
  const program = `
    import { compileImage, configureKernelCache } from "@gridstride/cuda";
    configureKernelCache({ directory: ${JSON.stringify(`${cache}/shared`)} });
    const source = "__global__ void two(int* out) { *out = 2; }";
    const { image } = await compileImage(source, { target: ${JSON.stringify(HOST)} });
    console.log(image.length);`;
  const [env, ffi, read, sys] = ["--allow-env", "--allow-ffi", "--allow-read", "--allow-sys=uid"];
  const cannot = await runProgram(program, { permissions: [env, ffi, read, sys, "--no-check"] });
  assert(cannot.code !== 0 && cannot.stderr.includes("--allow-run"), cannot.stderr);
  const first = await runProgram(program, { permissions: ["-A", "--no-check"] });
  assertEquals(first.code, 0, first.stderr);
  const found = await runProgram(program, { permissions: [env, ffi, read, sys, "--no-check"] });
  assertEquals([found.code, found.stdout], [0, first.stdout], found.stderr);
});
