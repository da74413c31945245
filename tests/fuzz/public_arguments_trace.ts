/**
 * What traces are called with; see `public_arguments.ts`.
 *
 * @module
 */

import fc from "fast-check";
import { copyAt, kernelAt, recordingOf } from "../lab/trace/constructed_recording.ts";
import { Deferred, reference } from "./deferred.ts";
import { anyNumber, anything, type Arguments, mostly, options, takes } from "./values.ts";

const nothing = takes();

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
  "new DeviceTrace": takes(reference("device"), options({ capacity })),
  "getter DeviceTrace.disposed": nothing,
  "method DeviceTrace.range": takes(fc.string(), options({ stream: reference("stream") })),
  "method DeviceTrace.report": nothing,
  "method DeviceTrace.stats": nothing,
  "method DeviceTrace.stop": nothing,
  "method DeviceTrace.[Symbol.dispose]": nothing,
  "function saveTrace": fc.tuple(path, recordings),
  "function traceFile": takes(recordings),
  "function traceAdvisories": takes(recording),
};
