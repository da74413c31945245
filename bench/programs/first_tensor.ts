/**
 * The first use of an expression until its kernel is launched: prints nanoseconds as JSON, without
 * the imports, the opening of the device and the operands.
 */

import { openDevice } from "../../mod.ts";
import { exp, fuse, type Tensor, zeros } from "../../src/device/tensor.ts";

using device = openDevice();
using x = zeros([1000], { device });
await x.ready();
const fused = fuse((x: Tensor<"float32">) => exp(x).multiply(x).add(2));
const start = performance.now();
using y = fused(x);
await y.ready();
console.log(JSON.stringify((performance.now() - start) * 1e6));
