/**
 * The environment variables that Gridstride reads, each checked and typed.
 *
 * Reading never prompts: a variable that the process may not read counts as unset and is remembered
 * for `doctor`. An empty string is an error in our own variables; in others it keeps its meaning.
 *
 * @module
 */

import { isAbsolute } from "node:path";
import { VECTOR_SETS, type VectorSet } from "../ffi/build/vector_sets.ts";
import { EnvironmentError } from "../ffi/granted_environment.ts";
import { type LogSetting, parseLogSetting } from "../ffi/logging.ts";
import { BYTE_SIZE_GRAMMAR, matchByteSize } from "./byte_size.ts";
import { FAKE_VARIABLE, type FakeSetting, parseFakeSetting } from "./fake_topology.ts";
import { type DeviceSelector, matchDeviceSelector, SELECTOR_GRAMMAR } from "./selection.ts";

/** A source of variables; tests use a map. */
export interface EnvironmentSource {
  /** Whether the process may read the variable. Must not prompt. */
  readable(variable: string): boolean;
  /** The value, or undefined if the variable is unset. */
  get(variable: string): string | undefined;
}

const PROCESS_ENVIRONMENT: EnvironmentSource = {
  readable: (variable) => Deno.permissions.querySync({ name: "env", variable }).state === "granted",
  get: (variable) => Deno.env.get(variable),
};

/** The order in which CUDA numbers devices. */
export type DeviceOrder = "FASTEST_FIRST" | "PCI_BUS_ID";

/** The order in which a block of the host device starts its warps. */
export type HostOrder = "forward" | "reverse";

/** The largest value of `GRIDSTRIDE_HOST_THREADS`. */
const MAX_HOST_THREADS = 1024;

/** The longest time limit of a kernel but none at all, in milliseconds. */
export const MAX_KERNEL_TIMEOUT = 2 ** 31 - 1;

/** The variable with the bytes that a pool takes from the device when it is made. */
export const MEMORY_POOL_SIZE_VARIABLE = "CUDA_MEMORY_POOL_SIZE";

/** The variable with the most bytes of compiled kernels to keep. */
export const CACHE_SIZE_VARIABLE = "GRIDSTRIDE_CACHE_SIZE";

/** The variable with the vector instructions of tensor kernels on the host device. */
export const HOST_VECTORS_VARIABLE = "GRIDSTRIDE_HOST_VECTORS";

const VISIBLE_VARIABLE = "CUDA_VISIBLE_DEVICES";
const VISIBLE_GRAMMAR =
  "ordinals or uuids (GPU-…, MIG-…) separated by commas, or -1 or nothing for none";

const TRIM_VALUES: ReadonlyMap<string, boolean> = new Map([
  ["0", false],
  ["1", true],
  ["false", false],
  ["true", true],
]);

/**
 * Parses `CUDA_VISIBLE_DEVICES`. An entry of -1 ends the list, as in CUDA; `NoDevFiles`, which Slurm
 * sets for jobs without a GPU, means none.
 *
 * The CUDA driver and the host library apply the variable themselves. Both stop silently at the first
 * malformed entry, which hides devices; such an entry is an error here.
 */
function parseVisibleDevices(value: string): (number | string)[] {
  if (value.trim() === "" || value === "NoDevFiles") return [];
  const entries = value.split(",").map((entry) => entry.trim());
  const end = entries.indexOf("-1");
  return (end < 0 ? entries : entries.slice(0, end)).map((entry) => {
    if (/^\d{1,5}$/.test(entry)) return Number(entry);
    if (/^(?:GPU|MIG)-[0-9A-Za-z/-]+$/.test(entry)) return entry;
    const offence = `${JSON.stringify(entry)} is neither`;
    throw new EnvironmentError(VISIBLE_VARIABLE, value, VISIBLE_GRAMMAR, offence);
  });
}

function matchShare(value: string): number | undefined {
  const share = /^\d*\.?\d+$/.test(value) ? Number(value) : 0;
  return share > 0 && share <= 1 ? share : undefined;
}

/** The variables, read at each access: a test or a program may change them in between. */
export class Environment {
  readonly #source: EnvironmentSource;
  readonly #denied = new Set<string>();

  /** @param source A source of variables; the process's environment by default. */
  constructor(source: EnvironmentSource = PROCESS_ENVIRONMENT) {
    this.#source = source;
  }

  /** The variables that were read without permission, sorted. */
  get deniedVariables(): readonly string[] {
    return [...this.#denied].sort();
  }

  /** A variable's text, or undefined if it is unset or may not be read. */
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

  /** `GRIDSTRIDE_DEVICE`: the default device of `openDevice()`. */
  get device(): DeviceSelector | undefined {
    return this.#parse("GRIDSTRIDE_DEVICE", SELECTOR_GRAMMAR, matchDeviceSelector);
  }

  /** `GRIDSTRIDE_LIBRARY`: a library file, or a directory with both libraries. */
  get library(): string | undefined {
    return this.#parse("GRIDSTRIDE_LIBRARY", "a path", (value) => value === "" ? undefined : value);
  }

  /** `GRIDSTRIDE_FAKE`: the replacement of the machine's hardware. */
  get fake(): FakeSetting | undefined {
    return this.#parse(FAKE_VARIABLE, "", parseFakeSetting);
  }

  /** `GRIDSTRIDE_STRICT`: whether a fake is refused. */
  get strict(): boolean {
    return this.#flag("GRIDSTRIDE_STRICT");
  }

  /** `GRIDSTRIDE_LOG`: levels of logging. */
  get log(): LogSetting | undefined {
    return this.#parse("GRIDSTRIDE_LOG", "", parseLogSetting);
  }

  /** `GRIDSTRIDE_CACHE_DIR`: the directory of builds and compiled kernels. */
  get cacheDirectory(): string | undefined {
    const parse = (value: string) => isAbsolute(value) ? value : undefined;
    return this.#parse("GRIDSTRIDE_CACHE_DIR", "an absolute path", parse);
  }

  /** `GRIDSTRIDE_CACHE_SIZE`: most bytes of kernels to keep; 0 for none. */
  get cacheSize(): number | undefined {
    const parse = (value: string) => value === "0" ? 0 : matchByteSize(value);
    return this.#parse(CACHE_SIZE_VARIABLE, `0 or ${BYTE_SIZE_GRAMMAR}`, parse);
  }

  /** `GRIDSTRIDE_HOST_THREADS`: workers of the host device. */
  get hostThreads(): number | undefined {
    const allowed = `an integer in 1..${MAX_HOST_THREADS}`;
    return this.#parse("GRIDSTRIDE_HOST_THREADS", allowed, (value) => {
      const threads = /^[1-9]\d{0,3}$/.test(value) ? Number(value) : Infinity;
      return threads <= MAX_HOST_THREADS ? threads : undefined;
    });
  }

  /** `GRIDSTRIDE_HOST_ORDER`: with which of its warps a block of the host device starts. */
  get hostOrder(): HostOrder | undefined {
    return this.#parse(
      "GRIDSTRIDE_HOST_ORDER",
      "forward or reverse",
      (value) => value === "forward" || value === "reverse" ? value : undefined,
    );
  }

  /** `GRIDSTRIDE_KERNEL_TIMEOUT`: milliseconds that a kernel of a host device may run. */
  get kernelTimeout(): number | undefined {
    const allowed = `milliseconds in 1..${MAX_KERNEL_TIMEOUT}, or none`;
    return this.#parse("GRIDSTRIDE_KERNEL_TIMEOUT", allowed, (value) => {
      if (value === "none") return Infinity;
      const timeout = /^[1-9]\d{0,9}$/.test(value) ? Number(value) : Infinity;
      return timeout <= MAX_KERNEL_TIMEOUT ? timeout : undefined;
    });
  }

  /**
   * `CUDA_VISIBLE_DEVICES`: the ordinals or uuids of the devices that the process sees, in order; an
   * empty list hides all, undefined means all.
   */
  get visibleDevices(): readonly (number | string)[] | undefined {
    return this.#parse(VISIBLE_VARIABLE, "", parseVisibleDevices);
  }

  /** `CUDA_DEVICE_ORDER`: the order in which CUDA numbers devices. */
  get deviceOrder(): DeviceOrder | undefined {
    return this.#parse(
      "CUDA_DEVICE_ORDER",
      "FASTEST_FIRST or PCI_BUS_ID",
      (value) => value === "FASTEST_FIRST" || value === "PCI_BUS_ID" ? value : undefined,
    );
  }

  /** `GRIDSTRIDE_SIMULATE`: whether tensor kernels run as CUDA threads on the host device. */
  get simulate(): boolean {
    return this.#flag("GRIDSTRIDE_SIMULATE");
  }

  /** `GRIDSTRIDE_HOST_VECTORS`: the vector instructions of tensor kernels on the host device. */
  get hostVectors(): VectorSet | undefined {
    const parse = (value: string) => VECTOR_SETS.find((set) => set === value);
    return this.#parse(HOST_VECTORS_VARIABLE, VECTOR_SETS.join(", "), parse);
  }

  /** `CUDA_LAUNCH_BLOCKING`: whether every launch waits for its kernel. */
  get launchBlocking(): boolean {
    return this.#flag("CUDA_LAUNCH_BLOCKING");
  }

  /** `GRIDSTRIDE_MEMORY_FRACTION`: the share of usable memory that a pool may take. */
  get memoryFraction(): number | undefined {
    const allowed = "a decimal number above 0 and up to 1";
    return this.#parse("GRIDSTRIDE_MEMORY_FRACTION", allowed, matchShare);
  }

  /** `CUDA_MEMORY_POOL_SIZE`: bytes that a pool takes from the device when it is made. */
  get memoryPoolSize(): number | undefined {
    return this.#parse(MEMORY_POOL_SIZE_VARIABLE, BYTE_SIZE_GRAMMAR, matchByteSize);
  }

  /** `GRIDSTRIDE_POOL_CACHE`: the most free bytes that a pool keeps. */
  get memoryPoolCache(): number | undefined {
    const parse = (value: string) => value === "0" ? 0 : matchByteSize(value);
    return this.#parse("GRIDSTRIDE_POOL_CACHE", `0 or ${BYTE_SIZE_GRAMMAR}`, parse);
  }

  /** `CUDA_MEMORY_POOL_TRIM`: whether pools return memory to the device that stays free. */
  get memoryPoolTrim(): boolean | undefined {
    const allowed = [...TRIM_VALUES.keys()].join(", ");
    return this.#parse("CUDA_MEMORY_POOL_TRIM", allowed, (value) => TRIM_VALUES.get(value));
  }

  /** `CUDA_HOME`, else `CUDA_PATH`: the toolkit's directory. An empty value counts as unset. */
  get cudaHome(): string | undefined {
    return this.read("CUDA_HOME") || this.read("CUDA_PATH") || undefined;
  }
}
