/**
 * The variants of matrix products, and the choice among them.
 *
 * @module
 */

import { cannot, refuseOption } from "../../ffi/arguments.ts";
import type { Tensor } from "../tensor.ts";
import { CUBLASLT_VARIANT } from "./cublaslt.ts";
import { MMA } from "./mma_variant.ts";
import { INT8, PACKED, SIMT } from "./own_variants.ts";
import type { MatmulProblem } from "./problem.ts";
import { ROWS, VECTOR } from "./row_variants.ts";

/** A way to compute matrix products. */
export interface MatmulVariant {
  readonly name: string;
  /**
   * Whether the variant takes a problem, and the reason for that.
   *
   * @param isRequested Whether the caller names the variant.
   */
  supports(
    problem: MatmulProblem,
    isRequested: boolean,
  ): { readonly supported: boolean; readonly reason: string };
  /** The launch of a supported problem that is not empty. */
  plan(problem: MatmulProblem): { readonly grid: number; readonly block: number };
  /** Enqueues a supported problem that is not empty. The result has the problem's layout. */
  launch(problem: MatmulProblem, result: Tensor): void;
}

/** All variants. The first that supports a problem is taken. */
const VARIANTS: readonly MatmulVariant[] = [
  VECTOR,
  CUBLASLT_VARIANT,
  INT8,
  PACKED,
  ROWS,
  MMA,
  SIMT,
];

/** The names of all variants. */
export const VARIANT_NAMES: readonly string[] = VARIANTS.map(({ name }) => name);

/** The chosen variant of a problem, and the reason. */
export function chooseVariant(
  problem: MatmulProblem,
  wanted: unknown,
): { readonly variant: MatmulVariant; readonly reason: string } {
  const { action } = problem;
  const refused: string[] = [];
  for (const variant of VARIANTS) {
    if (wanted !== undefined && variant.name !== wanted) continue;
    const { supported, reason } = variant.supports(problem, wanted !== undefined);
    if (supported) {
      const others = refused.map((it) => `; ${it}`).join("");
      return { variant, reason: `${reason}${wanted === undefined ? others : ", as requested"}` };
    }
    if (wanted !== undefined) {
      throw new RangeError(`${cannot(action)} with options.variant ${variant.name}: ${reason}`);
    }
    refused.push(`not ${variant.name}: ${reason}`);
  }
  return refuseOption(
    TypeError,
    action,
    "variant",
    VARIANTS.map(({ name }) => name).join(", "),
    wanted,
  );
}
