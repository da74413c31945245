// Peaks against the figures of NVIDIA's data sheets and white papers, with the clocks that drivers
// report.

import "../support/cache_directory.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { capabilityLimits, peakThroughput } from "../../mod.ts";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";
import { type PeakThroughput, THROUGHPUT_TABLE } from "../../src/hardware/peak_throughput.ts";

type DeviceSpeed = Parameters<typeof peakThroughput>[0];

type Formats = Partial<PeakThroughput["operations"]>;
type TensorFormats = Partial<PeakThroughput["tensorOperations"]>;

/** A GPU as its driver describes it. */
function gpu(
  name: string,
  computeCapability: string,
  multiprocessorCount: number,
  clockMegahertz: number,
): DeviceSpeed {
  return { name, computeCapability, multiprocessorCount, clockMegahertz, peakBandwidth: 1e12 };
}

/** A GPU and its data sheet, in units of 10^12. */
interface Sheet {
  readonly info: DeviceSpeed;
  readonly cores: Formats;
  readonly tensor: TensorFormats;
  /** Relative error of the sheet by its rounding and its clock. */
  readonly tolerance?: number;
}

const SHEETS: readonly Sheet[] = [
  {
    info: gpu("NVIDIA GeForce RTX 2080 Ti", "7.5", 68, 1545),
    cores: { float32: 13.4, float16: 26.9, int32: 13.4 },
    tensor: { float16: 107.6, int8: 215.2, bfloat16: null },
  },
  {
    info: gpu("NVIDIA A100-SXM4-40GB", "8.0", 108, 1410),
    cores: { float64: 9.7, float32: 19.5, float16: 78, bfloat16: 39, int32: 19.5 },
    tensor: { float64: 19.5, tfloat32: 156, float16: 312, bfloat16: 312, int8: 624 },
  },
  {
    info: gpu("NVIDIA GeForce RTX 3090", "8.6", 82, 1695),
    cores: { float32: 35.6, float16: 35.6, bfloat16: 35.6, int32: 17.8 },
    tensor: { tfloat32: 35.6, float16: 142, bfloat16: 71, int8: 284, float8: null },
  },
  {
    info: gpu("NVIDIA GeForce RTX 4090", "8.9", 128, 2520),
    cores: { float32: 82.6, float16: 82.6, bfloat16: 82.6, int32: 41.3 },
    tensor: { tfloat32: 82.6, float16: 330.3, bfloat16: 165.2, int8: 660.6, float8: 660.6 },
  },
  {
    info: gpu("NVIDIA H100 80GB HBM3", "9.0", 132, 1980),
    cores: { float64: 33.5, float32: 66.9, float16: 133.8, bfloat16: 133.8, int32: 33.5 },
    tensor: {
      float64: 66.9,
      tfloat32: 494.7,
      float16: 989.4,
      bfloat16: 989.4,
      int8: 1978.9,
      float8: 1978.9,
      float4: null,
    },
  },
  {
    info: gpu("NVIDIA B200", "10.0", 148, 1965),
    cores: { float64: 37, float32: 75 },
    tensor: { float64: 37, tfloat32: 1125, float16: 2250, int8: 4500, float8: 4500, float4: 9000 },
    tolerance: 0.01,
  },
  {
    info: gpu("NVIDIA B300", "10.3", 148, 1980),
    cores: { float32: 75 },
    tensor: { tfloat32: 1125, float16: 2250, float8: 4500, float4: 13500 },
    tolerance: 0.01,
  },
  {
    info: gpu("Jetson T5000", "11.0", 20, 1575),
    cores: {},
    tensor: { float8: 517, float4: 1035 },
  },
  {
    info: gpu("NVIDIA GeForce RTX 5090", "12.0", 170, 2407),
    cores: { float32: 104.8, float16: 104.8, bfloat16: 104.8 },
    tensor: {
      tfloat32: 104.8,
      float16: 419,
      bfloat16: 209.5,
      int8: 838,
      float8: 838,
      float4: 1676,
    },
  },
];

function compare(
  label: string,
  peaks: Readonly<Record<string, number | null>>,
  sheet: Readonly<Record<string, number | null>>,
  tolerance: number,
): void {
  for (const [format, printed] of Object.entries(sheet)) {
    const peak = peaks[format];
    assert(peak !== undefined, `${label} has no figure ${format}`);
    if (printed === null || peak === null) {
      assertEquals(peak, printed, `${label} ${format}`);
      continue;
    }
    const off = Math.abs(peak / 1e12 / printed - 1);
    assert(off < tolerance, `${label} ${format}: ${peak / 1e12} and ${printed} in the sheet`);
  }
}

for (const { info, cores, tensor, tolerance = 0.006 } of SHEETS) {
  Deno.test(`peakThroughput() agrees with the data sheet of ${info.name}`, () => {
    const { operations, tensorOperations, bandwidth, exact } = peakThroughput(info);
    assertEquals([bandwidth, exact], [1e12, true]);
    compare("cores", operations, cores, tolerance);
    compare("tensor cores", tensorOperations, tensor, tolerance);
  });
}

Deno.test("`THROUGHPUT_TABLE` has the formats of the tensor cores of every known capability", () => {
  assertEquals([...THROUGHPUT_TABLE.keys()], [...KNOWN_CAPABILITIES]);
  for (const [capability, { operations, tensorOperations }] of THROUGHPUT_TABLE) {
    const { float64: _, ...formats } = tensorOperations;
    const has = Object.fromEntries(
      Object.entries(formats).map(([format, figure]) => [format, figure !== null]),
    );
    assertEquals(has, { ...capabilityLimits(capability).tensorCores }, capability);
    const { bfloat16, ...others } = operations;
    assertEquals([bfloat16 === null, Object.values(others).includes(null)], [
      capability === "7.5",
      false,
    ], capability);
  }
});

Deno.test("`peakThroughput()` reports null for unknown figures and takes the newest known capability", () => {
  const { info } = SHEETS[0]!;
  const noClock = peakThroughput({ ...info, clockMegahertz: null });
  assertEquals(noClock.bandwidth, 1e12);
  const figures = [
    ...Object.values(noClock.operations),
    ...Object.values(noClock.tensorOperations),
  ];
  assertEquals(figures, figures.map(() => null));
  assertEquals(peakThroughput({ ...info, peakBandwidth: null }).bandwidth, null);

  const newer = peakThroughput({ ...info, computeCapability: "13.0" });
  assertEquals([newer.computeCapability, newer.source, newer.exact], ["13.0", "12.1", false]);
  assertEquals(
    newer.tensorOperations,
    peakThroughput({ ...info, computeCapability: "12.1" }).tensorOperations,
  );
});

Deno.test("`peakThroughput()` throws when a figure is not allowed", () => {
  const { info } = SHEETS[0]!;
  const problem = (change: Record<string, unknown>, kind: typeof RangeError | typeof TypeError) =>
    assertThrows(() => peakThroughput({ ...info, ...change } as DeviceSpeed), kind).message;
  for (const value of [0, -1, NaN, Infinity]) {
    assertEquals(
      problem({ multiprocessorCount: value }, RangeError),
      "Cannot calculate peak throughput as info.multiprocessorCount must be a positive number: " +
        `it is ${value}`,
    );
    problem({ clockMegahertz: value }, RangeError);
    problem({ peakBandwidth: value }, RangeError);
  }
  assertEquals(
    problem({ clockMegahertz: "1545" }, TypeError),
    "Cannot calculate peak throughput as info.clockMegahertz must be a positive number or null: " +
      'it is "1545"',
  );
  problem({ multiprocessorCount: null }, TypeError);
  problem({ computeCapability: "6.1" }, RangeError);
  problem({ computeCapability: 9 }, RangeError);
  assertThrows(() => peakThroughput(null as never), TypeError, "info must be an object");
});
