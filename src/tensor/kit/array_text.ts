/**
 * Prints arrays as NumPy prints them with its default options.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import { narrowFromFloat32, widenToFloat32 } from "../../memory/element_bits.ts";
import { type Shape, shapeText, sizeOf } from "./layout.ts";

/** Arrays of more elements are abridged. */
const THRESHOLD = 1000;
/** Elements at each end of an abridged axis. */
const EDGE = 3;
const LINE = 75;
const DIGITS = 8;

/** The shortest decimal number that the element type rounds to the value, in scientific notation. */
function shortest(dtype: DType, value: number): string {
  if (dtype === "float64") return value.toExponential();
  const texts = Array.from({ length: DIGITS + 1 }, (_, digits) => value.toExponential(digits));
  const candidates = Float32Array.from(texts, Number);
  const numbers = dtype === "float16" || dtype === "bfloat16" || dtype === "float8_e4m3" ||
      dtype === "float8_e5m2"
    ? widenToFloat32(dtype, narrowFromFloat32(dtype, candidates))
    : candidates;
  return texts.find((_, digits) => numbers[digits] === value) ?? texts.at(-1)!;
}

function formatFloats(dtype: DType, values: readonly number[]): string[] {
  const finite = values.filter(Number.isFinite);
  const sizes = finite.map(Math.abs).filter((size) => size !== 0);
  const [smallest, largest] = [Math.min(...sizes), Math.max(...sizes)];
  const isScientific = sizes.length > 0 &&
    (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000);
  const fractions = finite.map((value) => {
    const [, digits = "", power] = /^[^.e]*\.?(\d*)e(.*)$/.exec(shortest(dtype, value))!;
    const places = Math.min(DIGITS, Math.max(0, digits.length - (isScientific ? 0 : +power!)));
    const text = isScientific ? value.toExponential(places) : value.toFixed(places);
    return /(?<=\.)\d*[1-9]|$/.exec(text)![0].length;
  });
  const places = Math.max(0, ...fractions);
  return values.map((value) => {
    if (!Number.isFinite(value)) return String(value).replace("Infinity", "inf").toLowerCase();
    const sign = value < 0 || Object.is(value, -0) ? "-" : "";
    const digitsOfValue = fractions.shift()!;
    if (!isScientific) {
      return `${sign}${Math.abs(value).toFixed(digitsOfValue)}${digitsOfValue === 0 ? "." : ""}` +
        " ".repeat(places - digitsOfValue);
    }
    const [digits, exponent] = Math.abs(value).toExponential(places).split("e");
    const power = exponent!.replace(/^(.)(?=\d$)/, "$10");
    return `${sign}${digits}${places === 0 ? "." : ""}e${power}`;
  });
}

/** The positions along an axis that are printed; -1 stands for the others. */
function positions(extent: number, isAbridged: boolean): number[] {
  const all = Array.from({ length: extent }, (_, index) => index);
  if (!isAbridged || extent <= 2 * EDGE) return all;
  return [...all.slice(0, EDGE), -1, ...all.slice(-EDGE)];
}

/**
 * Formats elements in row-major order: `[1. 2. 3.]`.
 *
 * @param dtype The element type.
 * @param shape The extents of the axes.
 * @param elements The elements in row-major order.
 * @throws {RangeError} If there is not an element for each position of the shape.
 *
 * @example
 * ```ts
 * import { arrayText } from "@gridstride/cuda/tensor";
 *
 * console.log(arrayText("float32", [3], [1, 2, 3])); // [1. 2. 3.]
 * ```
 * @category Tensors
 */
export function arrayText(
  dtype: DType,
  shape: Shape,
  elements: ArrayLike<number | bigint | boolean>,
): string {
  const size = sizeOf(shape);
  if (elements.length !== size) {
    throw new RangeError(
      `Cannot format elements as there must be ${size} for the shape ${
        shapeText(shape)
      }: there are ` +
        `${elements.length}`,
    );
  }
  if (size === 0) return "[]";
  const isAbridged = size > THRESHOLD;
  const shown: (number | bigint | boolean)[] = [];
  const collect = (axis: number, offset: number): void => {
    if (axis === shape.length) return void shown.push(elements[offset]!);
    for (const index of positions(shape[axis]!, isAbridged)) {
      if (index >= 0) collect(axis + 1, offset * shape[axis]! + index);
    }
  };
  collect(0, 0);
  const texts = dtype === "bool"
    ? shown.map((value) => value ? "True" : "False")
    : /float/.test(dtype)
    ? formatFloats(dtype, shown as number[])
    : shown.map(String);
  if (shape.length === 0) return texts[0]!.replace(/\.$/, ".0");
  const width = Math.max(dtype === "bool" ? 5 : 0, ...texts.map((text) => text.length));
  const words = texts.map((text) => text.padStart(width));
  const render = (axis: number): string => {
    if (axis === shape.length) return words.shift()!;
    const indent = " ".repeat(axis + 1);
    const parts = positions(shape[axis]!, isAbridged)
      .map((index) => index < 0 ? "..." : render(axis + 1));
    if (axis < shape.length - 1) {
      return `[${parts.join("\n".repeat(shape.length - 1 - axis) + indent)}]`;
    }
    const lines: string[] = [];
    for (const part of parts) {
      const line = lines.pop() ?? "";
      const longer = line === "" ? part : `${line} ${part}`;
      if (line === "" || indent.length + longer.length <= LINE - shape.length) lines.push(longer);
      else lines.push(line.trimEnd(), part);
    }
    return `[${lines.join(`\n${indent}`)}]`;
  };
  return render(0);
}
