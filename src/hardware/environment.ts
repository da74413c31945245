/**
 * The environment variables that Gridstride reads, each checked and typed.
 *
 * Reading never prompts: a variable that the process may not read counts as unset and is
 * remembered, so that `doctor` can say so. Of our own variables the empty string is an error; of
 * other people's it means what it means to them.
 *
 * @module
 */

import { isAbsolute } from "node:path";
import { BYTE_SIZE_GRAMMAR, matchByteSize } from "./byte_size.ts";
import { EnvironmentError } from "./environment_error.ts";
import { FAKE_VARIABLE, type FakeSetting, parseFakeSetting } from "./fake_topology.ts";
import { type DeviceSelector, matchDeviceSelector, SELECTOR_GRAMMAR } from "./selection.ts";
import { parseVisibleDevices, VISIBLE_VARIABLE, type VisibleDevices } from "./visible_devices.ts";

export { EnvironmentError } from "./environment_error.ts";

/** Where variables come from; tests put a map here. */
export interface EnvironmentSource {
  /** Whether the process may read the variable. Must not prompt. */
  readable(variable: string): boolean;
  /** The value, or undefined if the variable is unset. */
  get(variable: string): string | undefined;
}

/** The environment of the process. */
export const PROCESS_ENVIRONMENT: EnvironmentSource = {
  readable: (variable) => Deno.permissions.querySync({ name: "env", variable }).state === "granted",
  get: (variable) => Deno.env.get(variable),
};

/** The order in which CUDA numbers devices. */
export type DeviceOrder = "FASTEST_FIRST" | "PCI_BUS_ID";

/** A level of logging, least severe first; `off` silences. */
export type LogSettingLevel = "trace" | "debug" | "info" | "warning" | "error" | "fatal" | "off";

/** What `GRIDSTRIDE_LOG` asks for. */
export interface LogSetting {
  /** The level of everything that has no level of its own; absent where only categories are set. */
  readonly level?: LogSettingLevel;
  /** Levels by category, such as `memory`. */
  readonly categories: ReadonlyMap<string, LogSettingLevel>;
}

/** Most workers that `GRIDSTRIDE_HOST_THREADS` may ask for. */
export const MAXIMUM_HOST_THREADS = 1024;

/** The variable that says how many bytes a pool takes from the device when it is made. */
export const MEMORY_POOL_SIZE_VARIABLE = "CUDA_MEMORY_POOL_SIZE";

/** The variable that says how many bytes of compiled kernels are kept. */
export const CACHE_SIZE_VARIABLE = "GRIDSTRIDE_CACHE_SIZE";

const LOG_LEVELS: readonly string[] = [
  "trace",
  "debug",
  "info",
  "warning",
  "error",
  "fatal",
  "off",
];

/** What can be logged: one category per layer. */
export const LOG_CATEGORIES = [
  "ffi",
  "hardware",
  "stream",
  "memory",
  "launch",
  "kernels",
  "device",
] as const;

const LOG_GRAMMAR = `one of ${LOG_LEVELS.join(", ")}, or category=level separated by commas, ` +
  `category being one of ${LOG_CATEGORIES.join(", ")} or below one`;

function isLogCategory(text: string): boolean {
  return (LOG_CATEGORIES as readonly string[]).includes(text.split(".")[0]!);
}

function isLogLevel(text: string): text is LogSettingLevel {
  return LOG_LEVELS.includes(text);
}

function parseLog(value: string): LogSetting {
  if (isLogLevel(value)) return { level: value, categories: new Map() };
  const categories = new Map<string, LogSettingLevel>();
  for (const item of value.split(",")) {
    const match = /^([a-z][a-z.]*)=([a-z]+)$/.exec(item);
    const [, category, level] = match ?? [];
    if (category === undefined || level === undefined || !isLogLevel(level)) {
      const offence = `${JSON.stringify(item)} is neither a level nor category=level`;
      throw new EnvironmentError("GRIDSTRIDE_LOG", value, LOG_GRAMMAR, offence);
    }
    if (!isLogCategory(category)) {
      const offence = `there is no category ${JSON.stringify(category)}`;
      throw new EnvironmentError("GRIDSTRIDE_LOG", value, LOG_GRAMMAR, offence);
    }
    categories.set(category, level);
  }
  return { categories };
}

/** What `CUDA_MEMORY_POOL_TRIM` may hold. */
const TRIM_SPELLINGS: ReadonlyMap<string, boolean> = new Map([
  ["0", false],
  ["1", true],
  ["false", false],
  ["true", true],
]);

/** A share that a variable holds: a plain decimal number above 0 and up to 1. */
function matchShare(value: string): number | undefined {
  if (!/^\d*\.?\d+$/.test(value)) return undefined;
  const share = Number(value);
  return share > 0 && share <= 1 ? share : undefined;
}

/** The variables, read at each call: a test or a program may change them in between. */
export class Environment {
  readonly #source: EnvironmentSource;
  readonly #denied = new Set<string>();

  /**
   * Reads variables from a source.
   *
   * @param source Where variables come from; the process's environment unless a test says so.
   */
  constructor(source: EnvironmentSource = PROCESS_ENVIRONMENT) {
    this.#source = source;
  }

  /** The variables that were asked for and that the process may not read, sorted. */
  get deniedVariables(): readonly string[] {
    return [...this.#denied].sort();
  }

  /** A variable's text, or undefined where it is unset or may not be read. */
  read(variable: string): string | undefined {
    if (this.#source.readable(variable)) {
      this.#denied.delete(variable);
      return this.#source.get(variable);
    }
    this.#denied.add(variable);
    return undefined;
  }

  #parse<T>(
    variable: string,
    allowed: string,
    parse: (value: string) => T | undefined,
  ): T | undefined {
    const value = this.read(variable);
    if (value === undefined) return undefined;
    const parsed = parse(value);
    if (parsed === undefined) throw new EnvironmentError(variable, value, allowed);
    return parsed;
  }

  #flag(variable: string): boolean {
    const parse = (value: string) => value === "1" ? true : value === "0" ? false : undefined;
    return this.#parse(variable, "0 or 1", parse) ?? false;
  }

  /** `GRIDSTRIDE_DEVICE`: the device that `openDevice()` opens when it is given none. */
  get device(): DeviceSelector | undefined {
    return this.#parse("GRIDSTRIDE_DEVICE", SELECTOR_GRAMMAR, matchDeviceSelector);
  }

  /** `GRIDSTRIDE_LIBRARY`: a library file, or a directory holding both libraries. */
  get library(): string | undefined {
    return this.#parse("GRIDSTRIDE_LIBRARY", "a path", (value) => value === "" ? undefined : value);
  }

  /** `GRIDSTRIDE_FAKE`: what replaces the machine's hardware. */
  get fake(): FakeSetting | undefined {
    return this.#parse(FAKE_VARIABLE, "", parseFakeSetting);
  }

  /** `GRIDSTRIDE_STRICT`: whether a fake is refused. */
  get strict(): boolean {
    return this.#flag("GRIDSTRIDE_STRICT");
  }

  /** `GRIDSTRIDE_LOG`: levels of logging. */
  get log(): LogSetting | undefined {
    return this.#parse("GRIDSTRIDE_LOG", LOG_GRAMMAR, parseLog);
  }

  /** `GRIDSTRIDE_CACHE_DIR`: where builds and compiled kernels are kept. */
  get cacheDirectory(): string | undefined {
    return this.#parse(
      "GRIDSTRIDE_CACHE_DIR",
      "an absolute path",
      (value) => isAbsolute(value) ? value : undefined,
    );
  }

  /** `GRIDSTRIDE_CACHE_SIZE`: most bytes of kernels that are kept; 0 where none are to be. */
  get cacheSize(): number | undefined {
    return this.#parse(
      CACHE_SIZE_VARIABLE,
      `0 or ${BYTE_SIZE_GRAMMAR}`,
      (value) => value === "0" ? 0 : matchByteSize(value),
    );
  }

  /** `GRIDSTRIDE_HOST_THREADS`: workers of the host device. */
  get hostThreads(): number | undefined {
    const allowed = `an integer in 1..${MAXIMUM_HOST_THREADS}`;
    return this.#parse("GRIDSTRIDE_HOST_THREADS", allowed, (value) => {
      const threads = /^[1-9]\d{0,3}$/.test(value) ? Number(value) : Infinity;
      return threads <= MAXIMUM_HOST_THREADS ? threads : undefined;
    });
  }

  /** `CUDA_VISIBLE_DEVICES`: the devices the process sees, in order; undefined means all. */
  get visibleDevices(): VisibleDevices | undefined {
    return this.#parse(VISIBLE_VARIABLE, "", parseVisibleDevices);
  }

  /** `CUDA_DEVICE_ORDER`: how CUDA numbers devices. */
  get deviceOrder(): DeviceOrder | undefined {
    return this.#parse(
      "CUDA_DEVICE_ORDER",
      "FASTEST_FIRST or PCI_BUS_ID",
      (value) => value === "FASTEST_FIRST" || value === "PCI_BUS_ID" ? value : undefined,
    );
  }

  /** `CUDA_LAUNCH_BLOCKING`: whether every launch waits for its kernel. */
  get launchBlocking(): boolean {
    return this.#flag("CUDA_LAUNCH_BLOCKING");
  }

  /** `GRIDSTRIDE_MEMORY_FRACTION`: the share of usable memory that a pool may take. */
  get memoryFraction(): number | undefined {
    return this.#parse(
      "GRIDSTRIDE_MEMORY_FRACTION",
      "a decimal number above 0 and up to 1",
      matchShare,
    );
  }

  /** `CUDA_MEMORY_POOL_SIZE`: how many bytes a pool takes from the device when it is made. */
  get memoryPoolSize(): number | undefined {
    return this.#parse(MEMORY_POOL_SIZE_VARIABLE, BYTE_SIZE_GRAMMAR, matchByteSize);
  }

  /** `CUDA_MEMORY_POOL_TRIM`: whether pools give memory back that stays free. */
  get memoryPoolTrim(): boolean | undefined {
    return this.#parse(
      "CUDA_MEMORY_POOL_TRIM",
      [...TRIM_SPELLINGS.keys()].join(", "),
      (value) => TRIM_SPELLINGS.get(value),
    );
  }

  /** `CUDA_HOME`, else `CUDA_PATH`: the toolkit's directory. An empty value counts as unset. */
  get cudaHome(): string | undefined {
    return this.read("CUDA_HOME") || this.read("CUDA_PATH") || undefined;
  }
}
