/**
 * Matrix products.
 *
 * @module
 */

import type { DType } from "../memory/dtype.ts";
import { commonContext, commonType, requireTensor, type TensorOptions } from "./apply.ts";
import { castNode, type ExpressionNode, operationNode } from "./expression/node.ts";
import { shapeText } from "./layout.ts";
import { type PrecisionMode, precisionOf, roundedNode } from "./precision.ts";
import type { Promote } from "./promotion.ts";
import { reduceExpression } from "./reductions.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Options of {@linkcode matmul}.
 * @category Linear algebra
 */
export interface MatmulOptions extends TensorOptions {
  /** The type to which operands are rounded; that of {@linkcode setPrecision} by default. */
  readonly precision?: PrecisionMode;
}

/**
 * The matrix product of the last two axes; other axes are batches, which broadcast. A vector counts
 * as a row on the left and as a column on the right, and its axis is dropped.
 *
 * 16-bit floats are multiplied and added up as `float32`; integers wrap. Operands of up to 32 bits are
 * rounded before as `precision` says.
 *
 * @throws {TypeError} If `precision` is no mode, or does not fit the element types.
 * @throws {RangeError} If the device lacks the units for the precision.
 * @throws {RangeError} If the inner extents differ, or an operand has no dimensions.
 * @category Linear algebra
 */
export function matmul<D extends DType, E extends DType>(
  x: Tensor<D>,
  y: Tensor<E>,
  options: MatmulOptions = {},
): Tensor<Promote<D, E>> {
  requireTensor(x, "x", "matmul");
  requireTensor(y, "y", "matmul");
  const [left, right] = [x as Tensor, y as Tensor];
  if (left.rank === 0 || right.rank === 0) {
    throw new RangeError("Cannot matmul as the operands must have dimensions: one is a scalar");
  }
  const inner = left.shape.at(-1)!;
  const other = right.shape.at(right.rank === 1 ? 0 : -2)!;
  if (inner !== other) {
    throw new RangeError(
      `Cannot matmul as the inner extents must be equal: ${shapeText(left.shape)} and ${
        shapeText(right.shape)
      } have ${inner} and ${other}`,
    );
  }
  const dtype = commonType("matmul", [left, right]);
  const { precision, ...place } = options;
  const mode = precisionOf(commonContext("matmul", [left, right]), precision, dtype, "matmul");
  const isRounded = /^b?float16$|^float32$/.test(dtype);
  const type = isRounded ? "float32" : dtype;
  using rows = left.rank === 1 ? left.expandDims(0) : left.reshape(left.shape);
  using columns = right.rank === 1 ? right.expandDims(1) : right.reshape(right.shape);
  // x[…, m, k, 1] · y[…, 1, k, n], added up along k.
  using a = rows.expandDims(rows.rank);
  using b = columns.expandDims(columns.rank - 2);
  const operands = ([[a, 0], [b, 1]] as const).map(([{ dtype }, index]) => {
    const node: ExpressionNode = { kind: "input", index, dtype };
    return isRounded ? roundedNode(node, mode) : castNode(node, type);
  });
  const product = operationNode("multiply", operands, type);
  const reduction = {
    action: "matmul",
    dtype,
    identity: true,
    stage: (value: typeof product) => ({ reducer: "Sum", name: "r0", value }) as const,
  };
  using result = reduceExpression(reduction, [a, b], [], product, { ...place, axis: -2 });
  const dropped = [...(left.rank === 1 ? [-2] : []), ...(right.rank === 1 ? [-1] : [])];
  return result.squeeze(dropped) as Tensor as Tensor<Promote<D, E>>;
}
