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

export { AccessAnalyzer, type AccessIndices } from "./access_analyzer.ts";
export type {
  AccessKind,
  AccessOptions,
  AccessReport,
  ReuseHistogram,
  TileShape,
} from "./access_report.ts";
export { analyzeAccess } from "./analyze_access.ts";
export {
  type Alignment,
  type AlignmentOptions,
  type AlignmentUse,
  calculateAlignment,
  type Pitch,
  pitchOf,
  type PitchOptions,
} from "./alignment.ts";
export { BankCounter } from "./bank_conflicts.ts";
export { bankConflicts, type BankOptions, type BankReport } from "./bank_report.ts";
export type { DataLayout, LayoutKind } from "./data_layout.ts";
export type { DataArray, WordArray } from "./element_words.ts";
export type { IndexArray } from "./index_batch.ts";
export { firstTouchLayout } from "./layout_first_touch.ts";
export type { LayoutOptions, OptimizedLayout } from "./layout_options.ts";
export { tiledLayout } from "./layout_tiled.ts";
export { structureOfArraysLayout, transposedLayout } from "./layout_transposed.ts";
export { zOrderLayout } from "./layout_z_order.ts";
export type { MatrixShape } from "./matrix_shape.ts";
export { optimizeLayout } from "./optimize_layout.ts";
export { type PaddedShape, paddedShape, padTo } from "./padding.ts";
export { roofline } from "./roofline.ts";
export type {
  CeilingStanding,
  Roofline,
  RooflineBound,
  RooflineCeiling,
  RooflineOptions,
} from "./roofline_report.ts";
export { paddingFor, type SharedTile, type Swizzle, type TilePadding } from "./tile_padding.ts";
