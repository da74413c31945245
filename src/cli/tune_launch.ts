/**
 * The launches of `gridstride tune`: grid, block and shared memory of each configuration.
 *
 * @module
 */

import type { Dimensions, LaunchConfig } from "../../mod.ts";
import { type Invocation, UsageError } from "./command.ts";
import { type LaunchExpression, parseLaunchExpressions } from "./launch_expression.ts";
import { textOption } from "./run_options.ts";
import type { Macros } from "./tune_configurations.ts";

/** What expressions call the number of elements of the longest array. */
const ELEMENTS = "elements";

/** Launch parameters as they were typed. */
export interface LaunchExpressions {
  /** Blocks along each axis; undefined for a thread for each element. */
  readonly grid: readonly LaunchExpression[] | undefined;
  /** Threads of a block along each axis. */
  readonly block: readonly LaunchExpression[];
  /** Dynamic shared memory of a block. */
  readonly sharedMemory: LaunchExpression;
  /** Their texts, for the key of the results. */
  readonly texts: readonly string[];
}

/** Threads of a block where nothing is said: a multiple of every warp, and none too many. */
const DEFAULT_BLOCK = "256";

/**
 * Reads the launch parameters.
 *
 * @throws {UsageError} If one is no expression of the names that all configurations have, or a
 * macro has the name of something else.
 */
export function readLaunchExpressions(
  invocation: Invocation,
  configurations: readonly Macros[],
): LaunchExpressions {
  const [first, ...others] = configurations.map((macros) => Object.keys(macros));
  if ([first!, ...others].some((those) => those.includes(ELEMENTS))) {
    throw new UsageError(
      `Cannot tune as no macro may be called ${ELEMENTS}: to --block, --grid and --shared that ` +
        "is the length of the longest array",
    );
  }
  const names = new Set([
    ...first!.filter((name) => others.every((those) => those.includes(name))),
    ELEMENTS,
  ]);
  const grid = textOption(invocation, "grid");
  const block = textOption(invocation, "block") ?? DEFAULT_BLOCK;
  const shared = textOption(invocation, "shared") ?? "0";
  const extents = (option: string, text: string) => {
    const list = parseLaunchExpressions(option, text, names);
    if (list.length <= 3) return list;
    throw new UsageError(`Cannot use --${option} as it has one to three extents: it is "${text}"`);
  };
  const [sharedMemory, extra] = parseLaunchExpressions("shared", shared, names);
  if (extra !== undefined) {
    throw new UsageError(`Cannot use --shared as it must be one number: it is "${shared}"`);
  }
  const blocks = extents("block", block);
  if (grid === undefined && blocks.length > 1) {
    throw new UsageError("Cannot tune as --grid must be given where --block has several extents");
  }
  return {
    grid: grid === undefined ? undefined : extents("grid", grid),
    block: blocks,
    sharedMemory: sharedMemory!,
    texts: [grid ?? "", block, shared],
  };
}

/**
 * The launch of a configuration.
 *
 * @param elements Elements of the longest array.
 * @throws {RangeError} If an expression gives no integer that is positive, or no number at all.
 */
export function launchOf(
  { grid, block, sharedMemory }: LaunchExpressions,
  macros: Macros,
  elements: number,
): LaunchConfig {
  const names = new Map([
    ...Object.entries(macros).map(([name, value]) => [name, Number(value)] as const),
    [ELEMENTS, elements] as const,
  ]);
  const valueOf = (option: string, least: number) => (expression: LaunchExpression) => {
    const value = expression(names);
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new RangeError(
      `Cannot use --${option} as it must be an integer of at least ${least}: it is ${value}`,
    );
  };
  const threads = block.map(valueOf("block", 1));
  const blocks = grid === undefined
    ? [Math.max(1, Math.ceil(elements / threads[0]!))]
    : grid.map(valueOf("grid", 1));
  return {
    grid: blocks as unknown as Dimensions,
    block: threads as unknown as Dimensions,
    sharedMemory: valueOf("shared", 0)(sharedMemory),
  };
}
