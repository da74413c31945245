/**
 * The first use of expressions until their kernels are launched: prints nanoseconds as JSON, without
 * the imports, the opening of the device and the operands. The first expression of a process also
 * loads the compiler's modules.
 */

import { openDevice } from "../../mod.ts";
import { exp, fuse, type Tensor, zeros } from "../../src/device/tensor.ts";

using device = openDevice();
using x = zeros([1000], { device });
await x.ready();

async function firstUse(f: (x: Tensor<"float32">) => Tensor<"float32">): Promise<number> {
  const fused = fuse(f);
  const start = performance.now();
  using y = fused(x);
  await y.ready();
  return (performance.now() - start) * 1e6;
}

const first = await firstUse((x) => exp(x).multiply(x).add(2));
const next = await firstUse((x) => exp(x).multiply(x).multiply(x).add(2));
console.log(JSON.stringify({ first, next }));
