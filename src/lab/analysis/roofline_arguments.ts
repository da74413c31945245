/**
 * What the roofline is given, checked.
 *
 * @module
 */

import { describeInput } from "./index_error.ts";
import type { RooflineCeiling, RooflineOptions } from "./roofline_report.ts";

const ACTION = "Cannot place a kernel under its roofline";

/**
 * Checks the figures of a kernel and its roofs.
 *
 * @throws {RangeError} If one is a number that is not allowed, or the kernel does nothing.
 * @throws {TypeError} If one is of another type, or a further roof is not of one kind.
 */
export function checkRoofline(options: RooflineOptions): void {
  checkObject("options", options);
  checkCount("bytes", options.bytes);
  checkCount("operations", options.operations);
  if (options.bytes === 0 && options.operations === 0) {
    throw new RangeError(`${ACTION} as it must move bytes or do operations: both are 0`);
  }
  if (options.seconds !== undefined) checkPeak("seconds", options.seconds);
  checkPeak("bandwidth", options.bandwidth);
  checkPeak("throughput", options.throughput);
  const { ceilings = [] } = options;
  if (!Array.isArray(ceilings)) {
    throw new TypeError(`${ACTION} as ceilings must be an array: it is ${describeInput(ceilings)}`);
  }
  // By place: `forEach()` passes over what a sparse array lacks.
  for (let i = 0; i < ceilings.length; i++) checkCeiling(`ceilings[${i}]`, ceilings[i]);
}

function checkCeiling(place: string, ceiling: RooflineCeiling): void {
  checkObject(place, ceiling);
  const { name, bandwidth, throughput, bytes } = ceiling;
  if (typeof name !== "string") {
    throw new TypeError(`${ACTION} as ${place}.name must be a text: it is ${describeInput(name)}`);
  }
  if ((bandwidth === undefined) === (throughput === undefined)) {
    const given = bandwidth === undefined ? "neither" : "both";
    throw new TypeError(
      `${ACTION} as ${place} must have a bandwidth or a throughput: it has ${given}`,
    );
  }
  if (bandwidth !== undefined) checkPeak(`${place}.bandwidth`, bandwidth);
  if (throughput !== undefined) checkPeak(`${place}.throughput`, throughput);
  if (bytes === undefined) return;
  if (bandwidth === undefined) {
    throw new TypeError(`${ACTION} as ${place}.bytes belongs to a bandwidth: it has none`);
  }
  checkCount(`${place}.bytes`, bytes);
}

function checkObject(name: string, value: unknown): void {
  if (typeof value === "object" && value !== null) return;
  throw new TypeError(`${ACTION} as ${name} must be an object: it is ${describeInput(value)}`);
}

function checkNumber(name: string, value: unknown): asserts value is number {
  if (typeof value === "number") return;
  throw new TypeError(`${ACTION} as ${name} must be a number: it is ${describeInput(value)}`);
}

function checkCount(name: string, value: unknown): void {
  checkNumber(name, value);
  if (value >= 0 && value <= Number.MAX_VALUE) return;
  throw new RangeError(
    `${ACTION} as ${name} must be 0 or more and finite: it is ${describeInput(value)}`,
  );
}

function checkPeak(name: string, value: unknown): void {
  checkNumber(name, value);
  if (value > 0 && value <= Number.MAX_VALUE) return;
  throw new RangeError(
    `${ACTION} as ${name} must be positive and finite: it is ${describeInput(value)}`,
  );
}
