/**
 * Comma-separated values as allocators log them: a line of column names, then rows of numbers and
 * words without quotes.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import { TraceError } from "./trace_error.ts";

/** What allocators log has a dozen columns; a line of a million is no line of names. */
const MOST_COLUMNS = 100;

/** A row. */
export interface CsvRow {
  /** Its line in the file, counted from 1. */
  readonly line: number;
  /** Its fields, as many as there are columns. */
  readonly fields: readonly string[];
}

/** Reads a file of comma-separated values; every error names the line and the column. */
export class CsvReader {
  /** The column names, in order. */
  readonly columns: readonly string[];
  readonly #lines: readonly string[];
  readonly #action: string;

  /**
   * Reads the first line.
   *
   * @param text The whole file.
   * @param action What is being done, as in "Cannot <action>".
   * @throws {TraceError} If there are too many columns, or one has no name or comes twice.
   */
  constructor(text: string, action: string) {
    this.#action = action;
    this.#lines = text.split(/\r?\n/);
    this.columns = this.#lines[0]!.split(",", MOST_COLUMNS + 1).map((column) => column.trim());
    if (this.columns.length > MOST_COLUMNS) {
      this.refuse(1, `it must have at most ${MOST_COLUMNS} columns: it has more`);
    }
    this.columns.forEach((column, index) => {
      if (column === "") this.refuse(1, `column ${index + 1} must have a name`);
      if (this.columns.indexOf(column) < index) {
        this.refuse(1, `column ${describeValue(column)} comes twice`);
      }
    });
  }

  /** The position of a column by any of its names; −1 where there is none. */
  find(...names: readonly string[]): number {
    return this.columns.findIndex((column) => names.includes(column));
  }

  /**
   * The position of a column that must be there.
   *
   * @throws {TraceError} If it is not.
   */
  require(...names: readonly string[]): number {
    const position = this.find(...names);
    if (position >= 0) return position;
    this.refuse(1, `column ${names.join(" or ")} is missing: the line is ${this.#shown(1)}`);
  }

  /**
   * The rows below the names.
   *
   * @throws {TraceError} If one has too few or too many fields, or an empty line comes before one.
   */
  *rows(): Generator<CsvRow> {
    let empty: number | undefined;
    for (let line = 2; line <= this.#lines.length; line++) {
      const text = this.#lines[line - 1]!;
      if (text.trim() === "") {
        empty ??= line;
        continue;
      }
      if (empty !== undefined) this.refuse(empty, "it must not be empty as rows follow");
      const fields = text.split(",").map((field) => field.trim());
      if (fields.length !== this.columns.length) {
        this.refuse(
          line,
          `it must have ${this.columns.length} fields (${this.columns.join(", ")}): ` +
            `it has ${fields.length}`,
        );
      }
      yield { line, fields };
    }
  }

  /**
   * A field as an integer.
   *
   * @throws {TraceError} If it is none in the range.
   */
  integer(row: CsvRow, position: number, minimum: number, maximum: number): number {
    const field = row.fields[position]!;
    const value = /^-?(?:0|[1-9]\d*)$/.test(field) ? Number(field) : NaN;
    if (value >= minimum && value <= maximum) return value + 0;
    this.refuseField(row, position, `must be an integer in ${minimum}..${maximum}`);
  }

  /**
   * A field as an address or handle in hexadecimal digits, with or without `0x`, in one spelling:
   * lower case, without leading zeros. glibc writes a null pointer as `(nil)`.
   *
   * @throws {TraceError} If it is none.
   */
  pointer(row: CsvRow, position: number): string {
    const field = row.fields[position]!;
    if (field === "(nil)") return "0";
    const match = /^(?:0x)?0*([\da-f]{1,16})$/i.exec(field);
    if (match === null) this.refuseField(row, position, "must be a hexadecimal pointer or (nil)");
    return match[1]!.toLowerCase();
  }

  /** Refuses a field for what it must be. */
  refuseField(row: CsvRow, position: number, requirement: string): never {
    const field = describeValue(row.fields[position]!);
    this.refuse(row.line, `${this.columns[position]} ${requirement}: it is ${field}`);
  }

  /** Refuses a line. */
  refuse(line: number, offence: string): never {
    throw new TraceError(this.#action, line, offence);
  }

  #shown(line: number): string {
    return describeValue(this.#lines[line - 1]);
  }
}
