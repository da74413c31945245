// Peaks against the figures of NVIDIA's data sheets and white papers, with the clocks that drivers
// report.

import "../support/cache_directory.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { capabilityLimits, listDevices, peakThroughput } from "../../mod.ts";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";
import { type PeakThroughput, THROUGHPUT_TABLE } from "../../src/hardware/peak_throughput.ts";

type DeviceSpeed = Parameters<typeof peakThroughput>[0];

const devices = listDevices();

type Formats = Partial<PeakThroughput["operations"]>;
type TensorFormats = Partial<PeakThroughput["tensorOperations"]>;

/** A GPU, as drivers describe it, and its data sheet in units of 10^12. */
interface Sheet {
  readonly name: string;
  readonly capability: string;
  readonly multiprocessors: number;
  readonly megahertz: number;
  readonly cores: Formats;
  readonly tensor: TensorFormats;
  /** How far the sheet may be off by its own rounding and its own clock. */
  readonly tolerance?: number;
}

const SHEETS: readonly Sheet[] = [
  {
    name: "NVIDIA GeForce RTX 2080 Ti",
    capability: "7.5",
    multiprocessors: 68,
    megahertz: 1545,
    cores: { float32: 13.4, float16: 26.9, int32: 13.4 },
    tensor: { float16: 107.6, int8: 215.2, bfloat16: null },
  },
  {
    name: "NVIDIA A100-SXM4-40GB",
    capability: "8.0",
    multiprocessors: 108,
    megahertz: 1410,
    cores: { float64: 9.7, float32: 19.5, float16: 78, bfloat16: 39, int32: 19.5 },
    tensor: { float64: 19.5, tfloat32: 156, float16: 312, bfloat16: 312, int8: 624 },
  },
  {
    name: "NVIDIA GeForce RTX 3090",
    capability: "8.6",
    multiprocessors: 82,
    megahertz: 1695,
    cores: { float32: 35.6, float16: 35.6, bfloat16: 35.6, int32: 17.8 },
    tensor: { tfloat32: 35.6, float16: 142, bfloat16: 71, int8: 284, float8: null },
  },
  {
    name: "NVIDIA GeForce RTX 4090",
    capability: "8.9",
    multiprocessors: 128,
    megahertz: 2520,
    cores: { float32: 82.6, float16: 82.6, bfloat16: 82.6, int32: 41.3 },
    tensor: { tfloat32: 82.6, float16: 330.3, bfloat16: 165.2, int8: 660.6, float8: 660.6 },
  },
  {
    name: "NVIDIA H100 80GB HBM3",
    capability: "9.0",
    multiprocessors: 132,
    megahertz: 1980,
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
    name: "NVIDIA B200",
    capability: "10.0",
    multiprocessors: 148,
    megahertz: 1965,
    cores: { float64: 37, float32: 75 },
    tensor: { float64: 37, tfloat32: 1125, float16: 2250, int8: 4500, float8: 4500, float4: 9000 },
    tolerance: 0.01,
  },
  {
    name: "NVIDIA B300",
    capability: "10.3",
    multiprocessors: 148,
    megahertz: 1980,
    cores: { float32: 75 },
    tensor: { tfloat32: 1125, float16: 2250, float8: 4500, float4: 13500 },
    tolerance: 0.01,
  },
  {
    name: "Jetson T5000",
    capability: "11.0",
    multiprocessors: 20,
    megahertz: 1575,
    cores: {},
    tensor: { float8: 517, float4: 1035 },
  },
  {
    name: "NVIDIA GeForce RTX 5090",
    capability: "12.0",
    multiprocessors: 170,
    megahertz: 2407,
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

function described({ name, capability, multiprocessors, megahertz }: Sheet): DeviceSpeed {
  return {
    name,
    computeCapability: capability,
    multiprocessorCount: multiprocessors,
    clockMegahertz: megahertz,
    peakBandwidth: 1e12,
  };
}

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

for (const sheet of SHEETS) {
  Deno.test(`peaks of ${sheet.name} are those of its data sheet`, () => {
    const { operations, tensorOperations, bandwidth, exact } = peakThroughput(described(sheet));
    assertEquals([bandwidth, exact], [1e12, true]);
    const tolerance = sheet.tolerance ?? 0.006;
    compare(`${sheet.name} cores`, operations, sheet.cores, tolerance);
    compare(`${sheet.name} tensor cores`, tensorOperations, sheet.tensor, tolerance);
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
  const info = described(SHEETS[0]!);
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

Deno.test("`peakThroughput()` describes every device of this machine", () => {
  for (const info of devices) {
    const { operations, computeCapability } = peakThroughput(info);
    assertEquals(computeCapability, info.computeCapability);
    assertEquals(operations.float32 === null, info.clockMegahertz === null);
  }
});

Deno.test("`peakThroughput()` throws when a figure is not allowed", () => {
  const info = described(SHEETS[0]!);
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
