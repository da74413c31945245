/**
 * What tuning gains, and whether it ever loses: tunes our own kernels and one of a user's from
 * scratch, then times each choice again, in turn with what would run without tuning, which is timed
 * twice to show the noise. Prints a row for each kernel and size as JSON.
 */

import { configureKernelCache, type DeviceBuffer, openDevice } from "../../mod.ts";
import { autotune, tuneKernels } from "../../src/lab/tuning/mod.ts";
import {
  operandsOf,
  OPERATIONS,
  setTunedLaunch,
  tunedLauncher,
} from "../../src/lab/tuning/kernel_tuning.ts";
import { roundOrder } from "../../src/lab/tuning/race.ts";
import { LaunchTimer, median } from "../../src/launch/kernel_timing.ts";
import type { TunedRow } from "../report/tuned_choices.ts";

/** Launches of each that are timed. */
const ROUNDS = Deno.args[0] === "quick" ? 5 : 41;

using device = openDevice();
const isGpu = device.context.library.kind === "cuda";
const SIZES = isGpu ? [2 ** 12, 2 ** 18, 2 ** 26] : [2 ** 12, 2 ** 16, 2 ** 20];
const cache = Deno.makeTempDirSync();
configureKernelCache({ directory: `${cache}/kernels` });

/** Times the choice and, twice, the default, in turn. */
async function compare(untuned: () => void, tuned: () => void, restore: DeviceBuffer[] = []) {
  using timer = new LaunchTimer(device.stream, true, restore);
  const launches = [untuned, tuned, untuned];
  const times: number[][] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    for (const index of roundOrder(launches.length, round)) {
      times[index]!.push(1000 * (await timer.time(launches[index]!))[0]!);
    }
  }
  const [first, chosen, second] = times.map(median) as [number, number, number];
  return { untuned: first, tuned: chosen, untunedAgain: second };
}

async function ownKernels(): Promise<TunedRow[]> {
  const rows: TunedRow[] = [];
  for (const { operation, kernel, elements } of await tuneKernels(device, { sizes: SIZES })) {
    using owned = new DisposableStack();
    const operands = operandsOf(device.context, "float32", elements, device.stream, owned);
    const tunable = OPERATIONS[operation];
    const of = tunable.kernelOf(device.context, "float32");
    const chosen = tunedLauncher(of, elements);
    const run = (launcher: typeof chosen) => () => {
      setTunedLaunch(of, elements, launcher);
      tunable.run(operands);
    };
    const compared = await compare(run(undefined), run(chosen));
    rows.push({ kernel, elements, ...compared, kept: chosen === undefined });
    setTunedLaunch(of, elements, chosen);
  }
  return rows;
}

async function userKernel(): Promise<TunedRow[]> {
  const elements = SIZES[1]!;
  using x = device.allocate("float32", elements, { fill: 1 });
  const compile = (each: number) =>
    device.compile(
      `__global__ void scale(float* x, int n) {
        int first = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
        for (int i = first; i < min(first + EACH, n); i++) x[i] = x[i] * 0.5f + 1;
      }`,
      { name: "scale.cu", defines: { EACH: each } },
    );
  const configurations = [1, 2, 4, 8].flatMap((each) =>
    [256, 128, 512].map((block) => ({ each, block }))
  );
  type Scale = Awaited<ReturnType<typeof compile>>;
  const launch = ({ each, block }: { each: number; block: number }, module: Scale) =>
    module.kernel("scale").launch(
      { grid: Math.ceil(elements / (each * block)), block },
      x,
      elements,
    );
  const { best } = await autotune(device, {
    name: "a user's kernel",
    key: elements,
    configurations,
    prepare: ({ each }) => compile(each),
    launch,
    restore: [x],
  });
  using usual = await compile(1);
  using chosen = await compile(best.each);
  const compared = await compare(
    () => launch({ each: 1, block: 256 }, usual),
    () => launch(best, chosen),
    [x],
  );
  const kept = best.each === 1 && best.block === 256;
  return [{ kernel: "a user's kernel", elements, ...compared, kept }];
}

try {
  console.log(JSON.stringify([...await ownKernels(), ...await userKernel()]));
} finally {
  Deno.removeSync(cache, { recursive: true });
}
