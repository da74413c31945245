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
export { BankCounter } from "./bank_conflicts.ts";
export type { IndexArray } from "./index_batch.ts";
export { roofline } from "./roofline.ts";
export type {
  CeilingStanding,
  Roofline,
  RooflineBound,
  RooflineCeiling,
  RooflineOptions,
} from "./roofline_report.ts";
