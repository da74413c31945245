/**
 * Logging: silent unless the program or `GRIDSTRIDE_LOG` enables it.
 *
 * Every layer logs under the category `["gridstride", layer]` of LogTape, which drops all records
 * until it is configured. A program that uses LogTape configures it freely; for all others
 * `GRIDSTRIDE_LOG` prints to stderr.
 *
 * @module
 */

import { configureSync, getConfig, getLogger, type Logger, type LogRecord } from "@logtape/logtape";
import type { LogCategory, LogLevel, LogSetting } from "./log_setting.ts";

export type { LogCategory } from "./log_setting.ts";

/** The logger of a layer. */
export function logger(category: LogCategory): Logger {
  return getLogger(["gridstride", category]);
}

function format(record: LogRecord): string {
  const message = record.message.map((part) => typeof part === "string" ? part : Deno.inspect(part))
    .join("");
  return `[${record.level}] ${record.category.join(".")}: ${message}`;
}

/** The logger configuration for one category and level; nothing is printed for `off`. */
function loggerFor(category: string | undefined, level: LogLevel) {
  return {
    category: category === undefined ? ["gridstride"] : ["gridstride", ...category.split(".")],
    lowestLevel: level === "off" ? null : level,
    sinks: ["stderr" as const],
    // A category with a level of its own must not print once more through `gridstride`.
    ...(category === undefined ? {} : { parentSinks: "override" as const }),
  };
}

/**
 * Prints log records to stderr by a setting of `GRIDSTRIDE_LOG`, unless the program has
 * configured LogTape itself.
 *
 * @returns Whether logging was configured.
 */
export function configureLogging(setting: LogSetting | undefined): boolean {
  if (setting === undefined || getConfig() !== null) return false;
  configureSync({
    // stderr, because stdout belongs to the program (and to --json).
    sinks: { stderr: (record: LogRecord) => console.error(format(record)) },
    loggers: [
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["stderr"] },
      ...(setting.level === undefined ? [] : [loggerFor(undefined, setting.level)]),
      ...[...setting.categories].map(([category, level]) => loggerFor(category, level)),
    ],
  });
  return true;
}
