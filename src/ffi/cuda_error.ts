/**
 * The errors of CUDA calls.
 *
 * @module
 */

import { formatBytes } from "./describe_value.ts";
import { adviceFor, cudaErrorCode } from "./error_codes.ts";

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function describe(
  details: ConstructorParameters<typeof CudaError>[0],
  codeName: string,
  advice: string,
): string {
  const from = details.call === undefined ? "" : ` from ${details.call}`;
  const on = details.device === undefined ? "" : ` on ${details.device}`;
  const detail = details.detail ? `: ${details.detail}` : "";
  const failure = `Cannot ${details.action}: ${codeName} (${details.code})${from}${on}${detail}`;
  return `${sentence(failure)} ${advice}`;
}

/**
 * A CUDA call, or a call into Gridstride's native library, failed.
 *
 * @example
 * ```ts
 * import { CudaError, openDevice } from "@gridstride/cuda";
 *
 * try {
 *   using device = openDevice();
 *   await device.done();
 * } catch (error) {
 *   if (!(error instanceof CudaError)) throw error;
 *   console.error(error.codeName, error.call, error.advice);
 *   if (error.sticky) Deno.exit(1); // the device is lost to this process
 * }
 * ```
 * @category Errors
 */
export class CudaError extends Error {
  /** The name of the class. */
  override readonly name: string = "CudaError";
  /** The action, as in "Cannot <action>". */
  readonly action: string;
  /** The status: positive from CUDA, negative from Gridstride. */
  readonly code: number;
  /** The constant of the status, such as `"cudaErrorIllegalAddress"`. */
  readonly codeName: string;
  /** The meaning of the status. */
  readonly meaning: string;
  /** Advice. */
  readonly advice: string;
  /** True if every later call on the device fails with this status until the process ends. */
  readonly sticky: boolean;
  /** The CUDA function that failed, if one was called. */
  readonly call: string | undefined;
  /** The device, such as `"cuda:0"`, if one is concerned. */
  readonly device: string | undefined;
  /** Further information, such as the kernel, block, thread and address of a fault. */
  readonly detail: string | undefined;

  /**
   * Creates the error of a failed call.
   *
   * @param details The circumstances; `cause` is the error behind this one.
   * @param advice Advice instead of that for the status.
   */
  constructor(
    details:
      & Pick<CudaError, "action" | "code">
      & Partial<Pick<CudaError, "call" | "device" | "detail" | "cause">>,
    advice: string = adviceFor(details.code, details.device),
  ) {
    const code = cudaErrorCode(details.code);
    const options = details.cause === undefined ? {} : { cause: details.cause };
    super(describe(details, code.name, advice), options);
    this.action = details.action;
    this.code = details.code;
    this.codeName = code.name;
    this.meaning = code.meaning;
    this.advice = advice;
    this.sticky = code.sticky;
    this.call = details.call;
    this.device = details.device;
    this.detail = details.detail;
  }
}

type OutOfMemoryDetails = ConstructorParameters<typeof OutOfMemoryError>[0];

/** Call sites in the message; `topSites` has all of them. */
const SITES_IN_MESSAGE = 3;

/** The fragmentation above which the advice mentions it. */
const FRAGMENTED = 0.5;

function memorySituation(details: OutOfMemoryDetails): string {
  const { requested, free, total, limit, topSites = [] } = details;
  // No state of the pool would have room for more than the device has.
  const { largestBlock, fragmentation, pendingBytes }: Partial<OutOfMemoryDetails> =
    total > 0 && requested > total ? {} : details;
  const parts = [
    limit !== undefined &&
    `of the pool's limit of ${formatBytes(limit.bytes)}, set by ${
      limit.name ?? "the device's memory"
    }, ${formatBytes(limit.used)} are in use`,
    total === 0
      ? "free memory is not known"
      : `${formatBytes(free)} of ${formatBytes(total)} are free${limit ? " on the device" : ""}`,
    largestBlock !== undefined && `the largest free block is ${formatBytes(largestBlock)}`,
    fragmentation !== undefined && `fragmentation is ${(fragmentation * 100).toFixed(0)} %`,
    pendingBytes !== undefined && `${formatBytes(pendingBytes)} wait for their streams`,
    ...topSites.slice(0, SITES_IN_MESSAGE)
      .map(({ site, bytes, count }) => `${site} holds ${formatBytes(bytes)} in ${count}`),
  ];
  return parts.filter((part) => part !== false).join(", ");
}

/** Advice for the figures; undefined for that of the status. */
function memoryAdvice(details: OutOfMemoryDetails): string | undefined {
  const { requested, limit, total, fragmentation = 0, pendingBytes = 0 } = details;
  const free = limit === undefined ? details.free : limit.bytes - limit.used;
  if (total > 0 && requested > total) {
    return `The requested ${formatBytes(requested)} are more than the device has in all: work in ` +
      "parts, or choose a larger device.";
  }
  if (requested <= free + pendingBytes && requested > free) {
    return "Wait for the streams that still use freed memory, then try again.";
  }
  if (requested <= free && fragmentation > FRAGMENTED) {
    return "There is room, but in pieces: free small long-lived buffers, or allocate large ones " +
      "first.";
  }
  if (limit !== undefined && limit.name !== null) {
    return `Raise ${limit.name}, free buffers, or wait for others to: allocateAsync() with wait: true.`;
  }
  return undefined;
}

/**
 * The device has no room for the requested memory.
 * @category Errors
 */
export class OutOfMemoryError extends CudaError {
  /** The name of the class. */
  override readonly name: string = "OutOfMemoryError";
  /** The requested size in bytes. */
  readonly requested: number;
  /** Free memory of the device in bytes. */
  readonly free: number;
  /** Total memory of the device in bytes. */
  readonly total: number;
  /** The limit of the pool that refused; `undefined` if the device had no room. */
  readonly limit: {
    /** The option or variable to raise; `null` if the limit is the device's memory. */
    readonly name: string | null;
    /** The limit in bytes. */
    readonly bytes: number;
    /** The memory of live buffers, and of freed ones that streams still use, in bytes. */
    readonly used: number;
  } | undefined;
  /** The largest free block of the pool in bytes, if there is a pool. */
  readonly largestBlock: number | undefined;
  /** External fragmentation of the pool, 0 to 1, if there is a pool. */
  readonly fragmentation: number | undefined;
  /** Bytes freed but still in use by a stream, if there is a pool. */
  readonly pendingBytes: number | undefined;
  /** The call sites with the most memory, largest first; empty without tracking. */
  readonly topSites: readonly {
    /** The call site, such as `"main.ts:12:3"`. */
    readonly site: string;
    /** Its live memory in bytes. */
    readonly bytes: number;
    /** Its live allocations. */
    readonly count: number;
  }[];

  /**
   * Creates the error of a failed allocation.
   *
   * @param details The circumstances. `code` is `cudaErrorMemoryAllocation` (2) unless given, and
   * `total` is 0 if the memory of the device is unknown.
   */
  constructor(
    details:
      & Pick<OutOfMemoryError, "action" | "requested" | "free" | "total">
      & Partial<Pick<OutOfMemoryError, "code" | "call" | "device" | "detail" | "cause">>
      & Partial<
        Pick<
          OutOfMemoryError,
          "limit" | "largestBlock" | "fragmentation" | "pendingBytes" | "topSites"
        >
      >,
  ) {
    const situation = memorySituation(details);
    const detail = details.detail ? `${details.detail}; ${situation}` : situation;
    super({ ...details, code: details.code ?? 2, detail }, memoryAdvice(details));
    this.requested = details.requested;
    this.free = details.free;
    this.total = details.total;
    this.limit = details.limit;
    this.largestBlock = details.largestBlock;
    this.fragmentation = details.fragmentation;
    this.pendingBytes = details.pendingBytes;
    this.topSites = details.topSites ?? [];
  }
}
