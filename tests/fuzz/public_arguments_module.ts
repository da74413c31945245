/**
 * Arguments of the members for modules and for the compile cache.
 *
 * @module
 */

import fc from "fast-check";
import { Deferred, reference } from "./deferred.ts";
import { MODULE_KERNELS, MODULE_SOURCE } from "./stage_module.ts";
import {
  anyNumber,
  anything,
  type Arguments,
  dtype,
  mostly,
  options,
  takes,
  typedArray,
  withoutArguments,
} from "./values.ts";

const struct = reference("struct");
const structs = fc.array(mostly(struct), { maxLength: 2 });

/** Few different ones, as each other one starts a compiler. */
const source = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(MODULE_SOURCE, "", "__device__ int a;") },
  fc.constantFrom(
    "template <int N> __global__ void f(int* x) { x[0] = N; }",
    "__global__ void broken(int* x) { y[0] = 1; }",
    "int main() { f<<<1, 1>>>(); }\n__global__ void g() { int x = 0; f<<<1, 1>>>(); }",
    "\0",
    "é\u{1f600}\ud800",
  ),
);

/** Existing files, a directory, and other values. */
const path = fc.constantFrom(
  "tests/launch/sources/saxpy.cu",
  "tests/launch/sources",
  "/nowhere/nothing.cu",
  "/nowhere/100%.cu",
  "",
).chain((name) => fc.boolean().map((isUrl) => isUrl ? url(name) : name));

function url(name: string): Deferred {
  return new Deferred(`<URL of ${name}>`, () => new URL(name, new URL("../../", import.meta.url)));
}

const compileOptions = {
  name: fc.constantFrom("a.cu", "b.cu", "", "a/b.cu", 'a".cu', "\n"),
  defines: mostly(fc.dictionary(fc.constantFrom("N", "A B", "__proto__", "1"), mostly(fc.nat(2)))),
  headers: fc.dictionary(fc.constantFrom("a.h", "../a.h", "/a.h", "."), fc.constantFrom("", "#")),
  options: fc.array(fc.constantFrom("-DN=1", "--nonsense", "-", "-o/dev/null"), { maxLength: 1 }),
  instances: fc.array(fc.constantFrom("f<1>", "f<", "count", "&total", "nothing"), {
    maxLength: 2,
  }),
  kernels: fc.array(fc.constantFrom("count", "nothing", ""), { maxLength: 1 }),
  cache: fc.constant(true),
  structs,
};

const kernel = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...MODULE_KERNELS) },
  fc.constantFrom(
    "move",
    "move(Particle, float3, double*)",
    "mix(bool, signed char, long long, double*, int)",
    "count(const int*)",
    "count(Pair)",
    "f<1>(int*)",
    "nothing(int)",
    "count(int",
    "\0",
    "",
  ),
  fc.string(),
);

/** Bytes that are no machine code. Flipped bits of machine code are in `image_campaign.ts`. */
const image = fc.oneof(
  typedArray,
  fc.uint8Array({ maxLength: 80 }),
  fc.constantFrom(".version 9.0\n.target sm_90\n", "\x7fELF", "\x7fELF\x02\x01\x01")
    .map((text) => new TextEncoder().encode(text)),
  path,
);

const diagnostic = fc.record({
  severity: mostly(fc.constantFrom("error", "warning", "note")),
  message: mostly(fc.string()),
  file: mostly(fc.string()),
  line: mostly(fc.nat(9)),
  column: mostly(fc.oneof(fc.nat(9), fc.constantFrom(-1, NaN, 2 ** 53))),
  text: mostly(fc.string()),
}, { requiredKeys: [] });

const warmUpSource = fc.oneof(
  fc.record({ source, name: mostly(fc.constant("a.cu")) }, { requiredKeys: ["source"] }),
  fc.record({ path, cache: fc.constant(true) }),
  fc.record({ path, source }),
);

/** The members. */
export const MODULE_MEMBERS: Readonly<Record<string, Arguments>> = {
  ...withoutArguments("Module", "label disposed kernelNames variableNames", "[Symbol.dispose]"),
  "method Device.compile": takes(source, options(compileOptions)),
  "method Device.compileFile": takes(path, options(compileOptions)),
  "method Device.loadModule": takes(
    image,
    options({
      name: fc.constantFrom("module", ""),
      names: fc.dictionary(
        fc.constantFrom("f", "g<1>", "__proto__"),
        mostly(fc.constantFrom("move", "")),
      ),
      structs,
    }),
  ),
  "function warmUpKernels": takes(
    reference("device"),
    fc.array(mostly(warmUpSource), { maxLength: 2 }),
  ),

  "method Module.kernel": takes(kernel),
  "method Module.variable": takes(
    fc.constantFrom("total", "factors", " total ", "nothing", "", "\0"),
    dtype,
  ),

  "function diagnosticText": takes(fc.oneof(diagnostic, anything)),
};

/** No place where a file could be made; the campaign's own is that of `GRIDSTRIDE_CACHE_DIR`. */
const directory = fc.constantFrom("", "here", "./cache", "/proc/gridstride", "/dev/null/cache");

const maxBytes = fc.oneof(
  anyNumber,
  fc.constantFrom("0", "1", "512MiB", "1 GiB", "", "much"),
  fc.string(),
);

/** Whether options name a directory that arbitrary text may have made a real one. */
function isElsewhere(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const given = Object.getOwnPropertyDescriptor(value, "directory")?.value;
  return typeof given === "string" && given.startsWith("/") &&
    !given.startsWith("/proc/") && !given.startsWith("/dev/null/");
}

/** Mostly one source and one target, as each other one starts a compiler. */
const target = fc.record({
  kind: fc.constant("host"),
  capability: mostly(fc.constant("8.9")),
});

/** The members. */
export const CACHE_MEMBERS: Readonly<Record<string, Arguments>> = {
  "function configureKernelCache": takes(options({ directory, maxBytes, enabled: fc.boolean() }))
    .filter((list) => !list.some(isElsewhere)),
  "function kernelCacheStats": takes(),
  "function clearKernelCache": takes(),
  "function listKernelCache": takes(),
  "function readKernelFile": takes(
    fc.constantFrom("/proc/gridstride/k.cu", "", "none.cu"),
    options({ include: fc.array(fc.constantFrom("", "/proc/gridstride", ".")) }),
  ),
  "function compileImage": takes(
    fc.constant(""),
    fc.record({ target: mostly(target), name: mostly(fc.constant("a.cu")) }, {
      requiredKeys: ["target"],
    }),
  ),
};
