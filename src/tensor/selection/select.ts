/**
 * Reads the elements of a mask. The device knows their number, and the result has its shape by it.
 *
 * @module
 */

import { cannot, requireOptions } from "../../ffi/arguments.ts";
import { taken } from "../indexing.ts";
import type { TensorOptions } from "../kit/checks.ts";
import { positionsOfTrue } from "../sorting.ts";
import type { Tensor } from "../tensor.ts";
import { selectionOf, type Selector } from "./selection.ts";

/** The elements of {@linkcode Tensor.select}. */
export async function selectElements(
  x: Tensor,
  index: readonly Selector[],
  all: TensorOptions,
): Promise<Tensor> {
  const action = "select elements";
  const options = requireOptions(all, ["stream"], action);
  const { view, mask, axis } = selectionOf(x, index, action);
  using own = view;
  if (mask === undefined) {
    throw new TypeError(
      `${cannot(action)} as index must have a mask: it has none. Call x.slice(index)`,
    );
  }
  using flags = mask.flatten();
  using places = await positionsOfTrue(flags, options);
  using flat = own.reshape(own.shape.toSpliced(axis, mask.rank, mask.size));
  return taken(action, flat, places, axis, options);
}
