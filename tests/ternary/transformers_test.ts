// Linear layers of BitNet models beside those of transformers, where Python has it.

import { assert, assertEquals } from "@std/assert";
import { tensor } from "../../src/device/tensor.ts";
import { ternaryMatmul, TernaryWeights } from "../../src/device/ternary.ts";
import { device } from "../support/device.ts";
import { python } from "../support/python.ts";

/** Layers with packed weights, and layers that quantise floats, as transformers runs both. */
const PROGRAM = `import os, json
os.environ["TORCHDYNAMO_DISABLE"] = "1"
from transformers.integrations.bitnet import AutoBitLinear, BitLinear, pack_weights
import torch

torch.manual_seed(3)
layers = []
for rows, columns in [(4, 3), (8, 64), (60, 257), (128, 512)]:
    x = torch.randn(5, columns)
    codes = torch.randint(-1, 2, (rows, columns)).to(torch.int8)
    packed = pack_weights(codes.clone())
    bias = torch.randn(rows)
    linear = BitLinear(columns, rows, True, dtype=torch.float32)
    linear.weight, linear.weight_scale, linear.bias = packed, torch.tensor([8.0]), bias
    auto = AutoBitLinear(columns, rows, online_quant=True)
    layers.append({"shape": [rows, columns], "x": x.tolist(), "packed": packed.flatten().tolist(),
                   "bias": bias.tolist(), "y": linear(x).flatten().tolist(),
                   "w": auto.weight.tolist(), "own": auto.bias.tolist(),
                   "online": auto(x).flatten().tolist()})
print(json.dumps(layers))`;

interface Layer {
  readonly shape: readonly [rows: number, columns: number];
  readonly x: number[][];
  readonly packed: number[];
  readonly bias: number[];
  readonly y: number[];
  readonly w: number[][];
  readonly own: number[];
  readonly online: number[];
}

function assertClose(actual: Float32Array, expected: readonly number[], name: string): void {
  assertEquals(actual.length, expected.length, name);
  const wrong = actual.findIndex((it, at) =>
    !(Math.abs(it - expected[at]!) <= 2e-6 * (1 + Math.abs(expected[at]!)))
  );
  assert(wrong < 0, `${name}: element ${wrong} is ${actual[wrong]}, not ${expected[wrong]}`);
}

Deno.test("ternaryMatmul() gives the linear layers of transformers", async () => {
  const text = await python("torch and transformers", PROGRAM);
  if (text === undefined) return;
  for (const { shape, x, packed, bias, y, w, own, online } of JSON.parse(text) as Layer[]) {
    using input = tensor(x, { device });
    using addend = tensor(bias, { device });
    // BitLinear divides by weight_scale.
    using weights = TernaryWeights.from(Uint8Array.from(packed), {
      ...{ format: "hf-quarters", shape, scale: 1 / 8, device },
    });
    using result = ternaryMatmul(input, weights, { bias: addend });
    assertClose(await result.toArray(), y, `BitLinear ${shape}`);
    using floats = tensor(w, { device });
    using quantised = TernaryWeights.from(floats);
    using ownBias = tensor(own, { device });
    using product = ternaryMatmul(input, quantised, { bias: ownBias });
    assertClose(await product.toArray(), online, `AutoBitLinear ${shape}`);
  }
});
