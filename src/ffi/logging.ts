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
import { EnvironmentError } from "./granted_environment.ts";

const LEVELS = ["trace", "debug", "info", "warning", "error", "fatal", "off"] as const;
const CATEGORIES = [
  "ffi",
  "hardware",
  "stream",
  "memory",
  "launch",
  "kernels",
  "tensor",
  "device",
] as const;

/** A level of logging, least severe first; `off` silences. */
type LogLevel = (typeof LEVELS)[number];

/** A category below `gridstride`: one per layer that logs. */
type LogCategory = (typeof CATEGORIES)[number];

export interface LogSetting {
  readonly level?: LogLevel;
  readonly categories: ReadonlyMap<string, LogLevel>;
}

const GRAMMAR = `one of ${LEVELS.join(", ")}, or category=level separated by commas, ` +
  `category being one of ${CATEGORIES.join(", ")} or below one`;

function isLevel(text: string | undefined): text is LogLevel {
  return (LEVELS as readonly (string | undefined)[]).includes(text);
}

/** Parses a value of `GRIDSTRIDE_LOG`. */
export function parseLogSetting(value: string): LogSetting {
  if (isLevel(value)) return { level: value, categories: new Map() };
  const refuse = (offence: string): never => {
    throw new EnvironmentError("GRIDSTRIDE_LOG", value, GRAMMAR, offence);
  };
  const categories = new Map<string, LogLevel>();
  for (const item of value.split(",")) {
    const [, category, level] = /^([a-z][a-z.]*)=([a-z]+)$/.exec(item) ?? [];
    if (category === undefined || !isLevel(level)) {
      return refuse(`${JSON.stringify(item)} is neither a level nor category=level`);
    }
    if (!(CATEGORIES as readonly string[]).includes(category.split(".")[0]!)) {
      return refuse(`there is no category ${JSON.stringify(category)}`);
    }
    categories.set(category, level);
  }
  return { categories };
}

const loggers = new Map<LogCategory, Logger>();

/** The logger of a layer, kept because every operation logs. */
export function logger(category: LogCategory): Logger {
  let kept = loggers.get(category);
  if (kept === undefined) loggers.set(category, kept = getLogger(["gridstride", category]));
  return kept;
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
