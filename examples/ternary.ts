/**
 * The network of `examples/training.ts` with weights of −1, 0 and 1.
 *
 * Weights that are rounded after the training lose what it learned. A second training rounds them
 * before each use and corrects the exact weights by the gradients at the rounded ones, as BitNet
 * b1.58 does (Ma et al., "The Era of 1-bit LLMs", 2024). Then two bits for each weight sort the
 * flights as well as 32.
 *
 * Speed is another matter: layers of 4 and 32 inputs are padded to 64, so they take longer than those
 * of float32. Layers of language models read their weights once for each token, and two bits are read
 * faster than 32; the last line is of such layers.
 *
 * Run it with `deno run -A examples/ternary.ts [STEPS]`.
 */

import { matmul, tidy, uniform } from "jsr:@gridstride/cuda/tensor";
import { quantizeWeights, ternaryMatmul, TernaryWeights } from "jsr:@gridstride/cuda/ternary";
import {
  evaluate,
  forward,
  loadFlights,
  type Matrix,
  type Network,
  startNetwork,
  train,
} from "./training.ts";

/** A network whose packed weights have outputs as rows. */
type PackedNetwork = { readonly [Layer in keyof Network]: TernaryWeights };

/** Weights rounded to −1, 0 and 1 times their mean magnitude. */
function rounded(weights: Matrix): Matrix {
  return tidy(() => {
    const { codes, scale } = quantizeWeights(weights);
    return codes.astype("float32").multiply(scale);
  });
}

/** The weights in two bits each. */
function packed({ first, second }: Network): PackedNetwork {
  return {
    first: TernaryWeights.from(first.transpose()),
    second: TernaryWeights.from(second.transpose()),
  };
}

/** As `forward()`, with the packed weights and activations of 8 bits. */
function forwardPacked({ first, second }: PackedNetwork, x: Matrix): Matrix {
  return tidy(() => ternaryMatmul(ternaryMatmul(x, first).tanh(), second));
}

/** The least of some times of each pass in milliseconds, one after the other. */
async function timed(passes: readonly (() => Matrix)[]): Promise<number[]> {
  const least = passes.map(() => Infinity);
  for (let round = 0; round < 5; round++) {
    for (const [index, pass] of passes.entries()) {
      const begun = performance.now();
      using result = pass();
      await result.toArray();
      least[index] = Math.min(least[index]!, performance.now() - begun);
    }
  }
  return least;
}

/** The measures of one kind of weights. */
export interface Row {
  readonly weights: string;
  readonly loss: number;
  readonly accuracy: number;
  /** The time of a pass over all flights. */
  readonly milliseconds: number;
}

/** Trains both networks and compares them with the rounded first one. */
export async function compare(steps: number): Promise<Row[]> {
  const data = loadFlights();
  const { network } = await train(startNetwork(), data, steps);
  const scored = (weights: Network) => tidy(() => forward(weights, data.inputs).score);
  const exact = await evaluate(scored(network), data.late);
  const [rough, copy] = tidy(() => [packed(network), {
    first: network.first.add(0),
    second: network.second.add(0),
  }]);
  const lost = await evaluate(forwardPacked(rough, data.inputs), data.late);
  const { network: tuned } = await train(copy, data, steps, rounded);
  const ternary = packed(tuned);
  const kept = await evaluate(forwardPacked(ternary, data.inputs), data.late);
  const [float, two] = await timed([
    () => scored(network),
    () => forwardPacked(ternary, data.inputs),
  ]);
  return [
    { weights: "float32", ...exact, milliseconds: float! },
    { weights: "rounded after training", ...lost, milliseconds: two! },
    { weights: "rounded in training", ...kept, milliseconds: two! },
  ];
}

/** One token through layers as of a language model: milliseconds in float32, and in two bits. */
async function timedLayers(size: number, count: number): Promise<number[]> {
  using token = uniform([1, size], { low: -1 });
  using weights = uniform([size, size], { low: -1 });
  using columns = weights.transpose();
  using two = TernaryWeights.from(weights);
  const pass = (layer: (x: Matrix) => Matrix) => () =>
    tidy(() => Array.from({ length: count }).reduce<Matrix>(layer, token));
  return await timed([pass((x) => matmul(x, columns)), pass((x) => ternaryMatmul(x, two))]);
}

if (import.meta.main) {
  const rows = await compare(Number(Deno.args[0] ?? 300));
  for (const { weights, loss, accuracy, milliseconds } of rows) {
    console.log(
      `${weights.padEnd(24)}cross entropy ${loss.toFixed(4)}, ` +
        `${(100 * accuracy).toFixed(1)} % sorted correctly, ${milliseconds.toFixed(1)} ms`,
    );
  }
  const [float, two] = await timedLayers(4096, 16);
  console.log(
    `one token through 16 layers of 4096 × 4096: float32 ${float!.toFixed(1)} ms, ` +
      `ternary ${two!.toFixed(1)} ms`,
  );
}
