/**
 * A network of two layers that learns which flights are late, on 231 083 real flight records.
 *
 * The data are the flight records of the Vega project's sample data sets (npm:vega-datasets): delay
 * in minutes, distance in miles and hour of departure. A flight is late if it arrives more than 15
 * minutes behind schedule. The gradients are written out, and the curve of the loss is drawn into
 * `build/training.svg`.
 *
 * Run it with `deno run -A examples/training.ts [STEPS]`.
 */

import { lineY, plot, ruleY } from "npm:@observablehq/plot@^0.6.17";
import { parseHTML } from "npm:linkedom@0.18.12";
import flights from "npm:/vega-datasets@2.11.0/data/flights-200k.json" with { type: "json" };
import {
  fromTypedArray,
  fuse,
  linspace,
  matmul,
  sum,
  type Tensor,
  tidy,
  zeros,
} from "jsr:@gridstride/cuda/tensor";

/** A matrix of float32. */
export type Matrix = Tensor<"float32">;

const [FEATURES, HIDDEN, BATCH, RATE] = [4, 32, 8192, 1];

/** Per record: distance, the hour as a point on a circle, and 1 for the bias; late or not. */
function readFlights(): { inputs: Float32Array; late: Float32Array } {
  // Mixed, because the records are in the order of their dates.
  const all = flights as { delay: number; distance: number; time: number }[];
  const records = all.map((_, row) => all[row * 7919 % all.length]!);
  const inputs = new Float32Array(records.length * FEATURES);
  records.forEach(({ distance, time }, row) => {
    const angle = time / 24 * 2 * Math.PI;
    inputs.set([distance / 1000 - 0.7, Math.sin(angle), Math.cos(angle), 1], row * FEATURES);
  });
  return { inputs, late: Float32Array.from(records, ({ delay }) => Number(delay > 15)) };
}

// Each of these is one kernel.
const logistic = fuse((score: Matrix, late: Matrix) =>
  // log(1 + e^s) - late · s, without overflow
  score.multiply(0).maximum(score).add(score.abs().negative().exp().add(1).log())
    .subtract(late.multiply(score)).mean()
);
const scoreGradient = fuse((score: Matrix, late: Matrix) => score.sigmoid().subtract(late));
const hiddenGradient = fuse((passed: Matrix, hidden: Matrix) =>
  passed.multiply(hidden.square().negative().add(1))
);
const descend = fuse((weights: Matrix, gradient: Matrix) =>
  weights.subtract(gradient.multiply(RATE / BATCH))
);

/** The weights of both layers. */
export interface Network {
  first: Matrix;
  second: Matrix;
}

/** The hidden values and the score, positive for flights that are probably late. */
export function forward({ first, second }: Network, x: Matrix) {
  const hidden = matmul(x, first).tanh();
  return { hidden, score: matmul(hidden, second) };
}

/**
 * One step of gradient descent: the loss before it, and the network after it. If the weights are
 * rounded, the gradients are those at the rounded weights.
 */
function step(
  network: Network,
  x: Matrix,
  late: Matrix,
  rounded: (weights: Matrix) => Matrix,
): Network & { loss: Matrix } {
  return tidy(() => {
    const [first, second] = [rounded(network.first), rounded(network.second)];
    const { hidden, score } = forward({ first, second }, x);
    const error = scoreGradient(score, late);
    const passed = hiddenGradient(matmul(error, second.transpose()), hidden);
    return {
      loss: logistic(score, late),
      first: descend(network.first, matmul(x.transpose(), passed)),
      second: descend(network.second, matmul(hidden.transpose(), error)),
    };
  });
}

/** The curve of the loss as an SVG picture. */
function drawCurve(losses: readonly number[]): string {
  const { document } = parseHTML("<html></html>");
  const chart = plot({
    document,
    x: { label: "step" },
    y: { label: "cross entropy", grid: true, domain: [Math.min(...losses) * 0.99, losses[0]!] },
    marks: [
      lineY(losses, { x: (_: number, at: number) => at, y: losses, stroke: "#76b900" }),
      ruleY([0.5]),
    ],
  });
  chart.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return chart.outerHTML;
}

/** The inputs and results of all flights, on the device. */
export function loadFlights(): { inputs: Matrix; late: Matrix } {
  const { inputs, late } = readFlights();
  return {
    inputs: fromTypedArray(inputs, [late.length, FEATURES]),
    late: fromTypedArray(late, [late.length, 1]),
  };
}

/** A network before its training; a fixed start makes runs comparable. */
export function startNetwork(): Network {
  return {
    // Spread over both signs.
    first: tidy(() =>
      linspace(-2, 2, FEATURES * HIDDEN).multiply(37).sin().reshape([FEATURES, HIDDEN])
    ),
    second: zeros([HIDDEN, 1]),
  };
}

/**
 * Trains a network, which ends, and returns its successor and the loss of each step.
 *
 * @param rounded Rounds the weights before each use.
 */
export async function train(
  start: Network,
  { inputs, late }: { inputs: Matrix; late: Matrix },
  steps: number,
  rounded: (weights: Matrix) => Matrix = (weights) => weights,
): Promise<{ network: Network; losses: number[] }> {
  let network = start;
  const losses: Matrix[] = [];
  for (let at = 0; at < steps; at++) {
    const start = at * BATCH % (late.shape[0]! - BATCH);
    const rows = [{ start, stop: start + BATCH }];
    using x = inputs.slice(rows);
    using target = late.slice(rows);
    const { loss, ...next } = step(network, x, target, rounded);
    Object.values(network).forEach((weights) => weights.dispose());
    losses.push(loss);
    network = next;
  }
  return { network, losses: await Promise.all(losses.map((loss) => loss.item())) };
}

/** The loss of the scores of all flights, and the share sorted correctly. */
export async function evaluate(
  score: Matrix,
  late: Matrix,
): Promise<{ loss: number; accuracy: number }> {
  using loss = logistic(score, late);
  using right = tidy(() => sum(score.greater(0).equal(late.greater(0.5))));
  return { loss: await loss.item(), accuracy: Number(await right.item()) / late.size };
}

if (import.meta.main) {
  const steps = Number(Deno.args[0] ?? 300);
  const begun = performance.now();
  const flightsOnDevice = loadFlights();
  const { network, losses } = await train(startNetwork(), flightsOnDevice, steps);
  const { score } = tidy(() => forward(network, flightsOnDevice.inputs));
  const { loss, accuracy } = await evaluate(score, flightsOnDevice.late);
  const seconds = (performance.now() - begun) / 1000;
  await Deno.mkdir("build", { recursive: true });
  await Deno.writeTextFile("build/training.svg", drawCurve(losses));
  const share = flights.filter(({ delay }) => delay > 15).length / flights.length;
  const base = -share * Math.log(share) - (1 - share) * Math.log(1 - share);
  console.log(`${steps} steps in ${seconds.toFixed(1)} s`);
  console.log(
    `cross entropy ${loss.toFixed(4)}; without inputs ${base.toFixed(4)} would be the best`,
  );
  console.log(`${(100 * accuracy).toFixed(1)} % sorted correctly; curve in build/training.svg`);
}
