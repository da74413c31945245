/**
 * The grammar of `GRIDSTRIDE_LOG`.
 *
 * @module
 */

import { EnvironmentError } from "./granted_environment.ts";

const LEVELS = ["trace", "debug", "info", "warning", "error", "fatal", "off"] as const;
const CATEGORIES = ["ffi", "hardware", "stream", "memory", "launch", "kernels", "device"] as const;

/** A level of logging, least severe first; `off` silences. */
export type LogLevel = (typeof LEVELS)[number];

/** A category below `gridstride`: one per layer that logs. */
export type LogCategory = (typeof CATEGORIES)[number];

export interface LogSetting {
  readonly level?: LogLevel;
  readonly categories: ReadonlyMap<string, LogLevel>;
}

const GRAMMAR = `one of ${LEVELS.join(", ")}, or category=level separated by commas, ` +
  `category being one of ${CATEGORIES.join(", ")} or below one`;

function isLevel(text: string | undefined): text is LogLevel {
  return (LEVELS as readonly (string | undefined)[]).includes(text);
}

/**
 * Parses a value of `GRIDSTRIDE_LOG`.
 *
 * @throws {EnvironmentError} If it does not follow the grammar.
 */
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
