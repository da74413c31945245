/**
 * The report's data in the page: columns decoded into arrays.
 *
 * @module
 */

import type { PackedColumn, PackedColumns } from "../packed_column.ts";
import type { BlockColumn, EventColumn, ReportData, SegmentColumn } from "../report_data.ts";
import type { PageWindow } from "./dom.ts";

/** Columns of the same length, by name. */
export type Columns<Name extends string> = Readonly<Record<Name, Float64Array>>;

/** What the page shows. */
export interface Report extends Omit<ReportData, "segments" | "blocks" | "events"> {
  /** Segments by address. */
  readonly segments: Columns<SegmentColumn>;
  /** Blocks by address. */
  readonly blocks: Columns<BlockColumn>;
  /** Events, oldest first; `null` where none were recorded. */
  readonly events: Columns<EventColumn> | null;
}

/** The values of a packed column. */
export function unpackColumn(window: PageWindow, column: PackedColumn): Float64Array {
  const text = window.atob(column.data);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = text.charCodeAt(index);
  const types = {
    Uint8: Uint8Array,
    Uint16: Uint16Array,
    Uint32: Uint32Array,
    Float64: Float64Array,
  };
  const elements = new types[column.type](bytes.buffer);
  const { base, scale } = column;
  const values = new Float64Array(elements.length);
  for (let index = 0; index < values.length; index++) {
    values[index] = base + scale * elements[index]!;
  }
  return values;
}

/** The values of packed columns. */
export function unpackColumns<Name extends string>(
  window: PageWindow,
  columns: PackedColumns<Name>,
): Columns<Name> {
  const unpacked: Partial<Record<Name, Float64Array>> = {};
  for (const name of Object.keys(columns) as Name[]) {
    unpacked[name] = unpackColumn(window, columns[name]);
  }
  return unpacked as Columns<Name>;
}

/** The report of the data that the page holds. */
export function unpackReport(window: PageWindow, data: ReportData): Report {
  return {
    ...data,
    segments: unpackColumns(window, data.segments),
    blocks: unpackColumns(window, data.blocks),
    events: data.events === null ? null : unpackColumns(window, data.events),
  };
}
