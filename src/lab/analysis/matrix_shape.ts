/**
 * Shapes of matrices that lie in memory by rows.
 *
 * @module
 */

import { checkedProduct, requireInteger, requireObject } from "./integer_argument.ts";

/** Extents of a matrix. */
export interface MatrixShape {
  /** Rows. */
  readonly rows: number;
  /** Elements of a row. */
  readonly columns: number;
}

/**
 * Checks a shape, and the length of the arrays that hold such a matrix.
 *
 * @param action What is done with it.
 * @param shape The shape.
 * @param length The length; what the matrix has by default.
 * @returns Both, read once.
 * @throws {RangeError} If a number is not allowed, or the matrix has more elements than the array.
 * @throws {TypeError} If something is no number.
 */
export function requireMatrix(
  action: string,
  shape: MatrixShape,
  length: number | undefined,
): MatrixShape & { readonly length: number } {
  requireObject(action, "shape", shape);
  const { rows, columns } = shape;
  requireInteger(action, "rows", rows, 0);
  requireInteger(action, "columns", columns, 0);
  const size = checkedProduct(action, "rows × columns", rows, columns);
  const known = { rows: asInteger(rows), columns: asInteger(columns) };
  if (length === undefined) return { ...known, length: size };
  requireInteger(action, "length", length, 0);
  if (size <= length) return { ...known, length };
  throw new RangeError(
    `Cannot ${action} as rows × columns must be at most the ${length} elements there are: it is ` +
      `${rows} × ${columns}`,
  );
}

/**
 * An integer as the engine holds integers, if it has 31 bits or less, and not as the floating-point
 * number that a division or a power has returned: loops with such a bound or step take twice as long.
 */
export function asInteger(value: number): number {
  const integer = value | 0;
  return integer === value ? integer : value;
}
