/**
 * What happens on devices, told to whoever listens: work that is enqueued, sources that are
 * compiled. Where nobody listens, that costs a comparison.
 *
 * @module
 */

import type { KernelAttributes } from "../ffi/native_kernel.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import type { Stream } from "./stream.ts";

/** Which way a copy goes; `peer` is from one device to another. */
export type CopyDirection = "hostToDevice" | "deviceToHost" | "deviceToDevice" | "peer";

/**
 * What a copy has on the host: pinned memory of the program; pinned memory that an array is staged
 * through; an array itself, for which the call waits; nothing.
 */
export type CopyHostMemory = "pinned" | "staged" | "pageable" | "none";

/** A launch of a kernel. */
export interface KernelWork {
  /** That it is one. */
  readonly kind: "kernel";
  /** The kernel's name. */
  readonly name: string;
  /** What the compiler made of it. */
  readonly attributes: KernelAttributes;
  /** Blocks of the grid: x, y, z. */
  readonly grid: readonly [number, number, number];
  /** Threads of a block: x, y, z. */
  readonly block: readonly [number, number, number];
  /** Dynamic shared memory of a block in bytes. */
  readonly sharedMemory: number;
  /** Bytes of the device memory that it is passed, each memory once. */
  readonly bytes: number;
}

/** A copy. */
export interface CopyWork {
  /** That it is one. */
  readonly kind: "copy";
  /** Which way it goes. */
  readonly direction: CopyDirection;
  /** What it has on the host. */
  readonly hostMemory: CopyHostMemory;
  /** Its size. */
  readonly bytes: number;
}

/** A launch of a graph. */
export interface GraphWork {
  /** That it is one. */
  readonly kind: "graph";
  /** How many operations the graph has. */
  readonly nodes: number;
}

/** Work on a stream. */
export type DeviceWork = KernelWork | CopyWork | GraphWork;

/** A source that was compiled for a device, or found compiled. Times are `performance.now()`. */
export interface Compilation {
  /** What diagnostics call the source. */
  readonly name: string;
  /** When it was asked for. */
  readonly begun: number;
  /** When its machine code was there. */
  readonly ended: number;
  /** Whether the compile cache had it. */
  readonly cached: boolean;
}

/** Who hears of what happens on a device. */
export interface ActivityListener {
  /** The device: whatever else is open as the same device counts as well. */
  readonly context: DeviceContext;
  /** Enqueues work by calling `enqueue`, once; what that throws is thrown. */
  work(work: DeviceWork, stream: Stream, enqueue: () => void): void;
  /** A source was compiled or found. */
  compiled(compilation: Compilation): void;
}

const listeners = new Set<ActivityListener>();
// What every launch and copy asks: how many listen in all.
let listening = 0;

/**
 * Begins to tell a listener.
 *
 * @returns Takes the listener away; doing it twice is allowed.
 */
export function listen(listener: ActivityListener): () => void {
  listeners.add(listener);
  listening = listeners.size;
  // Kernels ask who listens only once they are interrupted.
  listener.context.library.interruptions++;
  return () => {
    listeners.delete(listener);
    listening = listeners.size;
    listener.context.library.interruptions++;
  };
}

/** Those who listen to a device; `undefined` where nobody does, for a comparison. */
export function listenersOf(context: DeviceContext): readonly ActivityListener[] | undefined {
  return listening === 0 ? undefined : findListeners(context);
}

function findListeners(context: DeviceContext): readonly ActivityListener[] | undefined {
  const found = [...listeners].filter((listener) => listener.context.isSameDevice(context));
  return found.length === 0 ? undefined : found;
}

/**
 * Enqueues work that is heard of. The arguments are passed on, so that nobody who is not heard has
 * to make a closure of them.
 */
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

/** Tells of a compilation. */
export function tellCompiled(context: DeviceContext, compilation: Compilation): void {
  for (const listener of listenersOf(context) ?? []) listener.compiled(compilation);
}
