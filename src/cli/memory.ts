/**
 * `gridstride memory`: how memory is managed.
 *
 * @module
 */

import type { CommandGroup } from "./command.ts";
import { MEMORY_REPLAY } from "./memory_replay.ts";
import { MEMORY_REPORT } from "./memory_report.ts";

/** The commands. */
export const MEMORY: CommandGroup = {
  name: "memory",
  summary: "replay memory traces and report on memory snapshots",
  commands: [MEMORY_REPLAY, MEMORY_REPORT],
};
