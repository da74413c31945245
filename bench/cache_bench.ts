/**
 * The costs of the compile cache besides reading the file: the key of a source with its headers, and
 * the check of an entry.
 */

import { keyText, type SourceRequest, textDigest } from "../src/launch/cache/cache_key.ts";
import { type CompiledSource, decodeEntry, encodeEntry } from "../src/launch/cache/cache_entry.ts";
import { configureKernelCache } from "../src/launch/cache/cache_settings.ts";
import { cachedCompile } from "../src/launch/cache/kernel_cache.ts";
import { measure } from "./support/measure.ts";

const GROUP = "parts of the compile cache";
const LINE = "  y[blockIdx.x * blockDim.x + threadIdx.x] += a * x[threadIdx.x]; // one of many\n";
const HEADERS = 40;

const request: SourceRequest = {
  source: `__global__ void k(float a, const float* x, float* y) {\n${LINE.repeat(100)}}\n`,
  name: "bench.cu",
  headers: new Map(
    Array.from({ length: HEADERS }, (_, index) => [`h${index}.h`, LINE.repeat(300)]),
  ),
  defines: new Map([["N", "16"]]),
  options: ["-O3"],
  instances: [],
  target: { kind: "host", capability: "8.9" },
};
const compiled: CompiledSource = {
  image: {
    format: "library",
    image: crypto.getRandomValues(new Uint8Array(50_000)),
    loweredNames: new Map([["k", "k"]]),
    resources: new Map(),
    log: "",
  },
  declarations: {
    kernels: [{ expression: "k", signature: "k(float a, const float* x, float* y)" }],
    variables: [],
    uncompiled: [],
  },
};
const identity = ["a compiler", "its build"];
const key = await textDigest(keyText(identity, request));
const entry = await encodeEntry(key, request.name, compiled);
const directory = await Deno.makeTempDir();
globalThis.addEventListener("unload", () => Deno.removeSync(directory, { recursive: true }));

measure("key of 100 lines and 40 headers, 1 MB", { group: GROUP }, async () => {
  await textDigest(keyText(identity, request));
});

measure("check of an entry of 50 KB", { group: GROUP }, async () => {
  await decodeEntry(key, entry);
});

configureKernelCache({ directory: `${directory}/cache` });
const compiler = { identity: () => Promise.resolve(identity) };
const hit = () => cachedCompile(compiler, request, () => Promise.resolve(compiled));
await hit();

measure("hit in memory, 1 MB of headers", { group: GROUP }, async () => {
  await hit();
});
