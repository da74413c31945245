import { assertEquals, assertRejects } from "@std/assert";
import {
  clearKernelCache,
  CompileError,
  configureKernelCache,
  kernelCacheStats,
  warmUpKernels,
} from "../../mod.ts";
import { device } from "../support/device.ts";

const directory = await Deno.makeTempDir({ prefix: "gridstride-test-" });
configureKernelCache({ directory });
globalThis.addEventListener("unload", () => Deno.removeSync(directory, { recursive: true }));

const SOURCE = "__global__ void set(int* x) { *x = VALUE; }";

Deno.test("warmUpKernels() makes later compilations hit the cache", async () => {
  await clearKernelCache();
  const file = `${directory}/set.cu`;
  await Deno.writeTextFile(file, SOURCE);
  const defines = { VALUE: 7 };
  const sources: Parameters<typeof warmUpKernels>[1] = [{ source: SOURCE, defines }, {
    path: file,
    defines,
  }];
  assertEquals(await warmUpKernels(device, sources), { compiled: 2, cached: 0 });
  assertEquals(await warmUpKernels(device, sources), { compiled: 0, cached: 2 });
  const { misses } = kernelCacheStats();
  using text = await device.compile(SOURCE, { defines });
  using fromFile = await device.compileFile(file, { defines });
  assertEquals([text.cached, fromFile.cached], [true, true]);
  assertEquals(kernelCacheStats().misses, misses);
  using other = await device.compile(SOURCE, { defines: { VALUE: 8 } });
  assertEquals(other.cached, false);
});

Deno.test("warmUpKernels() reports failing sources after the others", async () => {
  await clearKernelCache();
  const good = { source: SOURCE, defines: { VALUE: 9 } };
  const bad = (name: string) => ({ source: "__global__ void f() { nothing; }", name });
  const error = await assertRejects(
    () => warmUpKernels(device, [bad("one.cu"), good]),
    CompileError,
    "Cannot compile one.cu",
  );
  assertEquals(error.source, "one.cu");
  const several = await assertRejects(
    () => warmUpKernels(device, [bad("one.cu"), bad("two.cu")]),
    AggregateError,
    "Cannot warm kernels up: 2 do not compile",
  );
  assertEquals(several.errors.map(({ source }) => source), ["one.cu", "two.cu"]);
  assertEquals(await warmUpKernels(device, [good]), { compiled: 0, cached: 1 });
  assertEquals(await warmUpKernels(device, []), { compiled: 0, cached: 0 });
});

Deno.test("warmUpKernels() names the position of a malformed source", async () => {
  const { misses } = kernelCacheStats();
  const warm = (...sources: unknown[]) => () => warmUpKernels(device, sources as never[]);
  const refused: [() => Promise<unknown>, string][] = [
    [warm({}), "sources[0] must have either a source, a text, or a path"],
    [warm({ source: "", path: "x" }), "sources[0] must have either"],
    [warm({ source: SOURCE }, 1), "sources[1]"],
    [warm({ source: SOURCE, name: 1 }), "options.name"],
    [() => warmUpKernels(device, 7 as never), "must be iterable: it is 7"],
    [() => warmUpKernels({} as never, []), "device must be a Device"],
  ];
  for (const [call, message] of refused) await assertRejects(call, TypeError, message);
  assertEquals(kernelCacheStats().misses, misses);
});
