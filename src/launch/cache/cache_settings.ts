/**
 * The place and size of the compile cache: set by the program, else by the environment.
 *
 * @module
 */

import { isAbsolute, resolve } from "node:path";
import { refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { cacheRoot } from "../../ffi/cache_directory.ts";
import { grantedEnvironment } from "../../ffi/granted_environment.ts";
import { BYTE_SIZE_GRAMMAR, matchByteSize } from "../../hardware/byte_size.ts";
import { environment } from "../../hardware/device_list.ts";

/**
 * Options of {@linkcode configureKernelCache}.
 * @category Launching kernels
 */
export interface KernelCacheOptions {
  /**
   * The directory, an absolute path; by default `kernels` in `GRIDSTRIDE_CACHE_DIR` or in the
   * system's directory for caches. It is created for this user alone, and not used where others may
   * write to it.
   */
  readonly directory?: string;
  /**
   * The maximum size, in bytes or as a text such as `"512MiB"`; 0 turns the cache off. By default
   * `GRIDSTRIDE_CACHE_SIZE`, else 1 GiB.
   */
  readonly maxBytes?: number | string;
  /** Whether compiled kernels are kept at all, in memory too; `true` by default. */
  readonly enabled?: boolean;
}

export interface CachePlace {
  /** The root of the owner check, which covers everything below it. */
  readonly root: string;
  /** The cache's own directory, the root or below it. */
  readonly directory: string;
  readonly maxBytes: number;
  /** Whether the process has the permission to write there. */
  readonly mayWrite: boolean;
}

/** The effective settings; the reason completes "compiled kernels are not kept as …". */
export type CacheSetting =
  | { readonly kind: "off" }
  | { readonly kind: "unavailable"; readonly reason: string }
  | { readonly kind: "on"; readonly place: CachePlace };

/**
 * The default size: that of the CUDA driver's cache (`CUDA_CACHE_MAXSIZE` in the CUDA C++ Programming
 * Guide, "CUDA Environment Variables"), room for tens of thousands of kernels.
 */
export const DEFAULT_CACHE_BYTES: number = 2 ** 30;

const NAMES: readonly string[] = ["directory", "maxBytes", "enabled"];
const ACTION = "configure the kernel cache";

let configured: {
  directory?: string | undefined;
  maxBytes?: number | undefined;
  enabled: boolean;
} = {
  enabled: true,
};

/**
 * Configures the compile cache of this isolate, from the next compilation on. An omitted option
 * returns to its default.
 *
 * @param options The directory, the size and the use of the cache.
 * @throws {TypeError} If an option is of the wrong type, or there is no such option.
 * @throws {RangeError} If the directory is no absolute path, or the size is invalid.
 *
 * @example
 * ```ts
 * import { configureKernelCache } from "@gridstride/cuda";
 *
 * configureKernelCache({ maxBytes: "256MiB" });
 * ```
 * @category Launching kernels
 */
export function configureKernelCache(options: KernelCacheOptions = {}): void {
  requireOptions(options, NAMES, ACTION);
  const { directory, maxBytes, enabled = true } = options;
  if (directory !== undefined && (typeof directory !== "string" || !isAbsolute(directory))) {
    const Kind = typeof directory === "string" ? RangeError : TypeError;
    refuseOption(Kind, ACTION, "directory", "an absolute path", directory);
  }
  if (typeof enabled !== "boolean") {
    refuseOption(TypeError, ACTION, "enabled", "true or false", enabled);
  }
  configured = {
    directory: directory === undefined ? undefined : resolve(directory),
    maxBytes: maxBytes === undefined ? undefined : readMaxBytes(maxBytes),
    enabled,
  };
}

function readMaxBytes(value: unknown): number {
  const allowed = `an integer in 0..2^53-1 or ${BYTE_SIZE_GRAMMAR}`;
  if (typeof value !== "number" && typeof value !== "string") {
    refuseOption(TypeError, ACTION, "maxBytes", allowed, value);
  }
  const bytes = value === "0" ? 0 : typeof value === "string" ? matchByteSize(value) : value;
  if (bytes === undefined || !Number.isSafeInteger(bytes) || bytes < 0) {
    refuseOption(RangeError, ACTION, "maxBytes", allowed, value);
  }
  return bytes + 0; // -0 is 0
}

/** The effective settings. Never prompts. */
export function cacheSetting(): CacheSetting {
  // Read in every case: a malformed variable must not go unnoticed.
  const { cacheDirectory, cacheSize } = environment;
  const { directory, enabled } = configured;
  const maxBytes = configured.maxBytes ?? cacheSize ?? DEFAULT_CACHE_BYTES;
  if (!enabled || maxBytes === 0) return { kind: "off" };
  const root = directory ??
    (cacheDirectory === undefined ? cacheRoot(grantedEnvironment) : resolve(cacheDirectory));
  if (root === undefined) {
    return {
      kind: "unavailable",
      reason: "there is no place for them: HOME is not set, or may not be read without --allow-env",
    };
  }
  // Reading, and checking the owner.
  const missing = [
    ...(isGranted({ name: "read", path: root }) ? [] : [`--allow-read=${root}`]),
    ...(isGranted({ name: "sys", kind: "uid" }) ? [] : ["--allow-sys=uid"]),
  ];
  if (missing.length > 0) {
    return {
      kind: "unavailable",
      reason: `a permission is not granted: run again with ${missing.join(" ")}`,
    };
  }
  const mayWrite = isGranted({ name: "write", path: root });
  return {
    kind: "on",
    place: { root, directory: directory ?? `${root}/kernels`, maxBytes, mayWrite },
  };
}

function isGranted(permission: Deno.PermissionDescriptor): boolean {
  return Deno.permissions.querySync(permission).state === "granted";
}
