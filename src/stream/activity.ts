/**
 * Activity of devices: reports enqueued work and compiled sources to listeners. Without listeners a
 * report costs a comparison.
 *
 * @module
 */

import { logger } from "../ffi/logging.ts";
import type { KernelAttributes } from "../ffi/native_kernel.ts";
import { type DeviceContext, labelOf } from "../hardware/device_context.ts";
import type { Stream } from "./stream.ts";

/**
 * The direction of a copy; `peer` is from one device to another.
 * @category Recordings
 */
export type CopyDirection = "hostToDevice" | "deviceToHost" | "deviceToDevice" | "peer";

/**
 * The host memory of a copy: the program's pinned memory; pinned memory that an array is staged
 * through; the array itself, for which the call waits; or none.
 * @category Recordings
 */
export type CopyHostMemory = "pinned" | "staged" | "pageable" | "none";

/** A launch of a kernel. */
export interface KernelWork {
  /** The kind of work. */
  readonly kind: "kernel";
  /** The kernel's name. */
  readonly name: string;
  /** The compiler's figures. */
  readonly attributes: KernelAttributes;
  /** Blocks of the grid: x, y, z. */
  readonly grid: readonly [number, number, number];
  /** Threads of a block: x, y, z. */
  readonly block: readonly [number, number, number];
  /** Dynamic shared memory of a block in bytes. */
  readonly sharedMemory: number;
  /** Bytes of its arguments' device memory, each memory once. */
  readonly bytes: number;
}

/** A copy. */
export interface CopyWork {
  /** The kind of work. */
  readonly kind: "copy";
  /** Its direction. */
  readonly direction: CopyDirection;
  /** Its host memory. */
  readonly hostMemory: CopyHostMemory;
  /** Its size. */
  readonly bytes: number;
}

/** A launch of a graph. */
export interface GraphWork {
  /** The kind of work. */
  readonly kind: "graph";
  /** Operations of the graph. */
  readonly nodes: number;
}

/** Work on a stream. */
export type DeviceWork = KernelWork | CopyWork | GraphWork;

/** A source that was compiled for a device, or found compiled. Times are `performance.now()`. */
export interface Compilation {
  /** The source's name in diagnostics. */
  readonly name: string;
  /** The time of the request. */
  readonly begun: number;
  /** The time at which its machine code was there. */
  readonly ended: number;
  /** Whether the compile cache had it. */
  readonly cached: boolean;
}

/** A listener to the activity of a device. */
export interface ActivityListener {
  /** The device; other contexts of the same device count too. */
  readonly context: DeviceContext;
  /** Enqueues work by calling `enqueue` once, and passes its errors on. */
  work(work: DeviceWork, stream: Stream, enqueue: () => void): void;
  /** Receives a compilation. */
  compiled(compilation: Compilation): void;
}

const listeners = new Set<ActivityListener>();

/**
 * Adds a listener.
 *
 * @returns Removes the listener; may be called twice.
 */
export function listen(listener: ActivityListener): () => void {
  listeners.add(listener);
  // Kernels look for listeners only after an interruption.
  listener.context.library.interruptions++;
  return () => {
    listeners.delete(listener);
    listener.context.library.interruptions++;
  };
}

/** The listeners of a device; `undefined` if there are none. */
export function listenersOf(context: DeviceContext): readonly ActivityListener[] | undefined {
  if (listeners.size === 0) return undefined;
  const found = [...listeners].filter((listener) => listener.context.isSameDevice(context));
  return found.length === 0 ? undefined : found;
}

/** Enqueues work through its listeners. The arguments are separate: most calls need no closure. */
export function enqueueHeard<Arguments extends readonly unknown[]>(
  heard: readonly ActivityListener[],
  work: DeviceWork,
  stream: Stream,
  enqueue: (...args: Arguments) => void,
  ...args: Arguments
): void {
  let next = () => enqueue(...args);
  for (const listener of heard) {
    const inner = next;
    next = () => listener.work(work, stream, inner);
  }
  next();
}

/** Reports a compilation. */
export function tellCompiled(context: DeviceContext, compilation: Compilation): void {
  for (const listener of listenersOf(context) ?? []) listener.compiled(compilation);
}

const logged = new Map<string, { holders: number; stop: () => void }>();

/**
 * Logs launches, copies and graphs of a device as `trace` records, if such records are enabled now.
 *
 * @returns Ends it.
 */
export function logActivity(context: DeviceContext): () => void {
  const [launches, streams] = [logger("launch"), logger("stream")];
  if (!launches.isEnabledFor("trace") && !streams.isEnabledFor("trace")) return () => {};
  const device = labelOf(context);
  const log = logged.get(device) ?? {
    holders: 0,
    stop: listen({
      context,
      work(work, { id: stream }, enqueue) {
        if (work.kind === "kernel") {
          const message = "{device}: {name} on stream {stream}: grid {grid}, block {block}";
          launches.trace(message, { device, stream, ...work });
        } else if (work.kind === "copy") {
          const message = "{device}: copy of {bytes} bytes on stream {stream}: {direction}";
          streams.trace(message, { device, stream, ...work });
        } else {
          streams.trace("{device}: graph of {nodes} operations on stream {stream}", {
            ...{ device, stream, nodes: work.nodes },
          });
        }
        enqueue();
      },
      compiled({ name, begun, ended, cached }) {
        const milliseconds = ended - begun;
        const message = "{device}: {name} compiled in {milliseconds} ms; from the cache: {cached}";
        launches.trace(message, { device, name, milliseconds, cached });
      },
    }),
  };
  log.holders++;
  logged.set(device, log);
  return () => {
    if (--log.holders > 0) return;
    log.stop();
    logged.delete(device);
  };
}
