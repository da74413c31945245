/**
 * What a picture of a roofline is made of.
 *
 * @module
 */

import type { Roofline } from "../../lab/analysis/mod.ts";

/** A roof by its name. */
export interface PicturedRoof {
  /** What it is of, such as `"float32"`. */
  readonly name: string;
  /** Operations per second; of a roof of memory bytes per second. */
  readonly peak: number;
}

/** A kernel by its name. */
export interface PicturedKernel {
  /** What it is called. */
  readonly name: string;
  /** Where it stands. */
  readonly report: Roofline;
}

/** What is drawn. */
export interface PicturedRoofline {
  /** The device, in words. */
  readonly subject: string;
  /** Memory's roof, and that of arithmetic. */
  readonly memory: PicturedRoof;
  /** The roof of arithmetic that the kernels are under. */
  readonly compute: PicturedRoof;
  /** Roofs of other precisions, to compare with. */
  readonly others: readonly PicturedRoof[];
  /** The kernels. */
  readonly kernels: readonly PicturedKernel[];
}

/** A dot: a kernel at what it achieves, or, not measured, at what it could. */
export interface Dot {
  /** The kernel. */
  readonly kernel: PicturedKernel;
  /** Its intensity, or the largest that is drawn. */
  readonly intensity: number;
  /** Operations per second. */
  readonly operations: number;
}

/** From values to pixels. */
export interface Scales {
  /** Of intensities. */
  readonly x: (value: number) => number;
  /** Of operations per second. */
  readonly y: (value: number) => number;
}

/** Where things are, in pixels. */
export const CANVAS = {
  width: 880,
  height: 600,
  left: 78,
  right: 852,
  top: 84,
  bottom: 536,
} as const;

/** A number for people. */
export function significant(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** A power of ten on an axis, where long numbers would run into each other. */
export function axisNumber(value: number): string {
  return value >= 1e6 || value < 1e-4 ? value.toExponential(0) : significant(value);
}

/** A share for people. */
export function percent(share: number): string {
  return `${significant(100 * share)} %`;
}
