/**
 * From a source to a kernel that can be launched: prints nanoseconds as JSON, without the imports and
 * the opening of the device.
 *
 *   compiled    without the compile cache
 *   cached      out of the compile cache, where the source has to be, and then once again
 */

import { kernelCacheStats, openDevice } from "../../mod.ts";

const source = await Deno.readTextFile(new URL("../sources/layer_norm.cu", import.meta.url));
const cache = Deno.args[0] === "cached";
using device = openDevice();

async function ready(): Promise<number> {
  const start = performance.now();
  using module = await device.compile(source, { name: "layer_norm.cu", cache });
  module.kernel(
    "layer_norm(const float* in, float* out, const float* weight, const float* bias, int columns, " +
      "float epsilon)",
  );
  return (performance.now() - start) * 1e6;
}

const first = await ready();
const { misses } = kernelCacheStats();
const again = cache ? await ready() : null;
console.log(JSON.stringify({ first, again, misses }));
