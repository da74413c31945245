/**
 * Arguments of tunings and traces.
 *
 * @module
 */

import fc from "fast-check";
import type { Device, DeviceBuffer } from "../../mod.ts";
import { Deferred, reference } from "./deferred.ts";
import {
  anyNumber,
  anything,
  type Arguments,
  mostly,
  options,
  takes,
  withoutArguments,
} from "./values.ts";
import { copyAt, kernelAt, recordingOf } from "../lab/trace/constructed_recording.ts";

const stream = reference("stream");
const device = reference("device");
const buffer = reference("buffer");

const key = fc.oneof(
  fc.constantFrom<unknown>(1, 2, "one", 3n, null, { rows: 1, columns: [2] }, { rows: NaN }),
  anything,
);

const configuration = fc.oneof(fc.record({ block: mostly(fc.nat(3)) }), fc.nat(3));

/** Launches on the stage's first device: what there is to enqueue, to refuse, or to throw. */
const launch = fc.constantFrom(
  new Deferred("<launch>", (stage) => {
    const { kernels } = stage.pick("device", 0) as Device;
    const x = stage.pick("buffer", 0) as DeviceBuffer<"float32">;
    return () => kernels.scale(x, 1, x);
  }),
  new Deferred("<launch of nothing>", () => () => {}),
  new Deferred("<launch that waits>", () => () => Promise.resolve()),
  new Deferred("<launch that throws>", () => () => {
    throw new RangeError("Cannot launch as that is what it is for");
  }),
);

const prepare = fc.constantFrom(
  new Deferred("<prepare>", () => () => Promise.resolve({ [Symbol.dispose]: () => {} })),
  new Deferred("<prepare that fails>", () => () => Promise.reject(new TypeError("Cannot prepare"))),
);

const prune = fc.constantFrom(
  new Deferred("<prune>", () => (all: unknown[]) => all.slice(0, 1)),
  new Deferred("<prune of all>", () => () => []),
);

const signal = fc.constantFrom(
  new Deferred("<signal>", () => new AbortController().signal),
  new Deferred("<signal that is on>", () => AbortSignal.abort(new TypeError("Cannot go on"))),
);

/** Rounds: few, or none that may be. */
const rounds = fc.oneof(fc.nat(4), fc.constantFrom(-1, 0.5, NaN, 10_001, 2 ** 53));

const tunerMembers = {
  name: mostly(fc.constantFrom("one", "other", "")),
  configurations: mostly(fc.array(mostly(configuration), { maxLength: 3 })),
  prepare: mostly(prepare),
  prune: mostly(prune),
  version: mostly(fc.constantFrom("", "2")),
  override: mostly(configuration),
  store: mostly(fc.constantFrom("disk", "memory", false)),
  warmUp: mostly(rounds),
  repeats: mostly(rounds),
  flushCache: mostly(fc.boolean()),
};

const runMembers = {
  launch: mostly(launch),
  restore: mostly(fc.array(mostly(buffer), { maxLength: 2 })),
  stream: mostly(stream),
  signal: mostly(signal),
};

/** A record with only valid members, which is rare among random records. */
const rightTuner = {
  name: fc.constantFrom("one", "other"),
  configurations: fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 3 }),
  store: fc.constantFrom("disk", "memory", false),
  warmUp: fc.nat(2),
  repeats: fc.integer({ min: 1, max: 9 }),
};
const required = {
  requiredKeys: ["name", "configurations"] as ("name" | "configurations")[],
  noNullPrototype: true,
};
const tunerOptions = fc.oneof(
  fc.record(rightTuner, required),
  mostly(fc.record(tunerMembers, required)),
);
const run = fc.oneof(
  fc.record({ launch }, { noNullPrototype: true }),
  mostly(fc.record(runMembers, { requiredKeys: ["launch"] })),
);
const rightKernels = fc.record({
  operations: fc.uniqueArray(fc.constantFrom("fill", "moments", "axpy"), { maxLength: 1 }),
  sizes: fc.constantFrom([1], [33], [300]),
});

const kernelTuning = options({
  operations: fc.array(mostly(fc.constantFrom("fill", "sum", "axpy", "mean")), { maxLength: 2 }),
  dtypes: fc.array(mostly(fc.constantFrom("float32", "int8", "float8_e4m3")), { maxLength: 1 }),
  sizes: fc.array(mostly(fc.oneof(fc.nat(300), anyNumber)), { maxLength: 2 }),
  stream,
  signal,
  onProgress: fc.constant(new Deferred("<function>", () => () => {})),
});

/** A tuning of everything takes seconds, so it names few operations and small sizes. */
function quick(list: Arguments): Arguments {
  const few = { operations: ["fill"], sizes: [7] };
  return list.map(([device, given]) => [
    device,
    typeof given === "object" && given !== null && !Array.isArray(given) &&
      !(given instanceof Deferred)
      ? { ...few, ...given }
      : given ?? few,
  ]);
}

/** The members. */
export const TUNING_MEMBERS: Readonly<Record<string, Arguments>> = {
  "function setTuningMode": takes(fc.constantFrom("tune", "tune", "tune", "stored", "off", "on")),
  "function tuningStats": takes(),
  "function clearTunings": takes(),
  "function autotune": takes(
    device,
    fc.oneof(
      fc.record({ ...rightTuner, launch, key: fc.nat(3) }, {
        requiredKeys: ["name", "configurations", "launch", "key"],
        noNullPrototype: true,
      }),
      fc.record({ ...tunerMembers, ...runMembers, key: mostly(key) }, {
        requiredKeys: ["name", "configurations", "launch", "key"],
      }),
    ),
  ),
  "new Autotuner": takes(device, tunerOptions),
  "method Autotuner.best": takes(key),
  "method Autotuner.load": takes(key),
  "method Autotuner.tune": takes(key, run),
  "function tuneKernels": quick(takes(device, fc.oneof(rightKernels, kernelTuning))),
};

/** Work that may be wrong anywhere. */
const work = fc.oneof(
  fc.record({
    start: fc.double({ min: 0, max: 100, noNaN: true }),
    stream: mostly(fc.nat(1)),
    name: mostly(fc.string()),
    bytes: mostly(anyNumber),
  }).map((changes) => ({ ...kernelAt(1, 1), ...changes })),
  fc.record({ direction: mostly(fc.constantFrom("peer", "hostToDevice")), duration: anyNumber })
    .map((changes) => ({ ...copyAt(1, 1, 8), ...changes })),
);

const recording = fc.record({
  work: mostly(fc.array(work, { maxLength: 4 })),
  streams: mostly(fc.constantFrom(["default stream", "stream 2"], [])),
  timeOrigin: mostly(fc.constant(1_700_000_000_000)),
  ranges: mostly(fc.constantFrom([], [{ name: "a", start: 1, duration: 2, stream: undefined }])),
}).map((changes) => ({ ...recordingOf(), ...changes }));

const recordings = fc.oneof(fc.array(mostly(recording), { maxLength: 2 }), anything);

/** Where nothing is written: any other text would be the name of a file. */
const path = fc.oneof(
  fc.constantFrom("/dev/null", "/dev/null/trace.json", "", "\0"),
  fc.constant(new Deferred("<web URL>", () => new URL("https://example.com/trace.json"))),
);

/** Capacities that take little memory, or none. */
const capacity = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(0, -1, 0.5, NaN, 2e9));

/** The members by name. */
export const TRACE_MEMBERS: Readonly<Record<string, Arguments>> = {
  ...withoutArguments("DeviceTrace", "disposed", "report stats stop [Symbol.dispose]"),
  "new DeviceTrace": takes(reference("device"), options({ capacity })),
  "method DeviceTrace.range": takes(fc.string(), options({ stream: reference("stream") })),
  "function saveTrace": fc.tuple(path, recordings),
  "function traceFile": takes(recordings),
  "function traceAdvisories": takes(recording),
};
