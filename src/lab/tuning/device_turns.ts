/**
 * Turns on a device: two tunings at once would time each other.
 *
 * @module
 */

import type { NativeLibrary } from "../../ffi/library.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";

const lastTurns = new WeakMap<NativeLibrary, Map<number, Promise<unknown>>>();

/** Does something on a device when all that came before has ended, in this isolate. */
export async function inTurn<Result>(
  { library, ordinal }: DeviceContext,
  run: () => Promise<Result>,
): Promise<Result> {
  const turns = lastTurns.get(library) ?? new Map<number, Promise<unknown>>();
  lastTurns.set(library, turns);
  const turn = (turns.get(ordinal) ?? Promise.resolve()).then(run);
  turns.set(ordinal, turn.catch(() => {}));
  return await turn;
}
