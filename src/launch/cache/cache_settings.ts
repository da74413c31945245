/**
 * Where compiled kernels are kept, and how many: what the program says, else the environment.
 *
 * @module
 */

import { isAbsolute, resolve } from "node:path";
import { refuseOption, requireObject } from "../../ffi/arguments.ts";
import { cacheRoot } from "../../ffi/cache_directory.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { grantedEnvironment } from "../../ffi/granted_environment.ts";
import { BYTE_SIZE_GRAMMAR, matchByteSize } from "../../hardware/byte_size.ts";
import { environment } from "../../hardware/device_list.ts";

/** Options of {@linkcode configureKernelCache}. */
export interface KernelCacheOptions {
  /**
   * The directory, an absolute path; `kernels` in the directory that `GRIDSTRIDE_CACHE_DIR` names
   * or that is the system's for caches by default. It is made for this user alone, and not used
   * where others may write to it.
   */
  readonly directory?: string;
  /**
   * Most bytes that are kept there, a number or a text such as `"512MiB"`; 0 for none. By default
   * what `GRIDSTRIDE_CACHE_SIZE` says, else 1 GiB.
   */
  readonly maxBytes?: number | string;
  /** Whether compiled kernels are kept at all, also in memory; `true` by default. */
  readonly enabled?: boolean;
}

/** A place for compiled kernels. */
export interface CachePlace {
  /** The directory whose owner is checked, and that of everything below it. */
  readonly root: string;
  /** The cache's own directory, the root or below it. */
  readonly directory: string;
  /** Most bytes that are kept there. */
  readonly maxBytes: number;
  /** Whether the process has the permission to write there. */
  readonly mayWrite: boolean;
}

/** What the settings come to. */
export type CacheSetting =
  | {
    /** Nothing is kept, on request. */
    readonly kind: "off";
  }
  | {
    /** There is no place that this process may use. */
    readonly kind: "unavailable";
    /** Completes "compiled kernels are not kept as …". */
    readonly reason: string;
  }
  | {
    /** There is. */
    readonly kind: "on";
    /** It. */
    readonly place: CachePlace;
  };

/**
 * Most bytes that are kept by default: as many as the CUDA driver keeps of what it compiles itself
 * (`CUDA_CACHE_MAXSIZE` in the CUDA C++ Programming Guide, "CUDA Environment Variables"). That is
 * room for tens of thousands of kernels of the usual tens of KiB.
 */
export const DEFAULT_CACHE_BYTES: number = 2 ** 30;

const NAMES: readonly string[] = ["directory", "maxBytes", "enabled"];
const ACTION = "configure the kernel cache";

/** What the program has said. */
interface Configuration {
  readonly directory?: string;
  readonly maxBytes?: number;
  readonly enabled: boolean;
}

let configured: Configuration = { enabled: true };

function checkNames(options: object): void {
  const unknown = Object.keys(options).find((name) => !NAMES.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(
    `Cannot ${ACTION} as its options are ${NAMES.join(", ")}: there is ${describeValue(unknown)}`,
  );
}

function readDirectory(value: unknown): Pick<Configuration, "directory"> {
  if (value === undefined) return {};
  if (typeof value !== "string") {
    refuseOption(TypeError, ACTION, "directory", "an absolute path", value);
  }
  if (!isAbsolute(value)) refuseOption(RangeError, ACTION, "directory", "an absolute path", value);
  return { directory: resolve(value) };
}

function readMaxBytes(value: unknown): Pick<Configuration, "maxBytes"> {
  if (value === undefined) return {};
  const allowed = `an integer in 0..2^53-1 or ${BYTE_SIZE_GRAMMAR}`;
  if (typeof value !== "number" && typeof value !== "string") {
    refuseOption(TypeError, ACTION, "maxBytes", allowed, value);
  }
  const zero = value === "0" ? 0 : undefined;
  const bytes = typeof value === "string" ? matchByteSize(value) ?? zero : value;
  if (bytes === undefined || !Number.isSafeInteger(bytes) || bytes < 0) {
    refuseOption(RangeError, ACTION, "maxBytes", allowed, value);
  }
  return { maxBytes: bytes + 0 }; // -0 is 0
}

function readEnabled(value: unknown): Pick<Configuration, "enabled"> {
  if (value === undefined) return { enabled: true };
  if (typeof value !== "boolean") {
    refuseOption(TypeError, ACTION, "enabled", "true or false", value);
  }
  return { enabled: value };
}

/**
 * Says where compiled kernels are kept and how many, from the next compilation on and in this
 * isolate. What an option leaves out is as by default again.
 *
 * @throws {TypeError} If an option is of the wrong type, or there is no such option.
 * @throws {RangeError} If the directory is no absolute path, or the size none.
 *
 * @example
 * ```ts
 * import { configureKernelCache } from "@gridstride/cuda";
 *
 * configureKernelCache({ maxBytes: "256MiB" });
 * ```
 */
export function configureKernelCache(options: KernelCacheOptions = {}): void {
  requireObject(options, "options", ACTION);
  checkNames(options);
  configured = {
    ...readDirectory(options.directory),
    ...readMaxBytes(options.maxBytes),
    ...readEnabled(options.enabled),
  };
}

/**
 * What the settings come to now. Asks for no permission.
 *
 * @throws {EnvironmentError} If a variable cannot be understood.
 */
export function cacheSetting(): CacheSetting {
  // Read also where the program says otherwise, so that a malformed variable never goes unseen.
  const { cacheDirectory, cacheSize } = environment;
  const maxBytes = configured.maxBytes ?? cacheSize ?? DEFAULT_CACHE_BYTES;
  if (!configured.enabled || maxBytes === 0) return { kind: "off" };
  const root = configured.directory ??
    (cacheDirectory === undefined ? cacheRoot(grantedEnvironment) : resolve(cacheDirectory));
  if (root === undefined) {
    return {
      kind: "unavailable",
      reason: "there is no place for them: HOME is not set, or may not be read without --allow-env",
    };
  }
  const missing = missingPermissions(root);
  if (missing.length > 0) {
    return {
      kind: "unavailable",
      reason: `a permission is not granted: run again with ${missing.join(" ")}`,
    };
  }
  const directory = configured.directory ?? `${root}/kernels`;
  const mayWrite = isGranted({ name: "write", path: root });
  return { kind: "on", place: { root, directory, maxBytes, mayWrite } };
}

function isGranted(permission: Deno.PermissionDescriptor): boolean {
  return Deno.permissions.querySync(permission).state === "granted";
}

/** What it takes to read there and to check who owns it, and was not granted, as options of Deno. */
function missingPermissions(root: string): string[] {
  return [
    ...(isGranted({ name: "read", path: root }) ? [] : [`--allow-read=${root}`]),
    ...(isGranted({ name: "sys", kind: "uid" }) ? [] : ["--allow-sys=uid"]),
  ];
}
