/**
 * Analysis of memory accesses without a device: numbers in, numbers out.
 *
 * Nothing here opens a library or needs a permission.
 *
 * @example
 * ```ts
 * import { analyzeAccess } from "@gridstride/cuda/analysis";
 *
 * const everySecond = Uint32Array.from({ length: 4096 }, (_, lane) => 2 * lane);
 * const { kind, stride, requests, sectors, bankConflicts } = analyzeAccess(everySecond);
 * console.log(kind, stride, sectors / requests, bankConflicts / requests); // strided 2 8 1
 * ```
 *
 * @module
 */

export { AccessAnalyzer, analyzeAccess } from "./access_analyzer.ts";
export type {
  AccessKind,
  AccessOptions,
  AccessReport,
  ReuseHistogram,
  TileShape,
} from "./access_report.ts";
export {
  type Alignment,
  type AlignmentOptions,
  calculateAlignment,
  type PaddedShape,
  paddedShape,
  padTo,
  type Pitch,
  pitchOf,
} from "./alignment.ts";
export { bankConflicts, type BankReport } from "./bank_conflicts.ts";
export type { DataLayout, LayoutKind, MatrixShape } from "./data_layout.ts";
export type { AccessIndices } from "./index_batch.ts";
export {
  firstTouchLayout,
  structureOfArraysLayout,
  tiledLayout,
  transposedLayout,
  zOrderLayout,
} from "./layouts.ts";
export { type LayoutOptions, type OptimizedLayout, optimizeLayout } from "./optimize_layout.ts";
export { type Roofline, roofline, type RooflineOptions } from "./roofline.ts";
export { paddingFor, type SharedTile, type TilePadding } from "./tile_padding.ts";
export type { IndexArray } from "./index_batch.ts";
