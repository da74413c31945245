// Pools with settings of their own, on the device under test and on a model of one.

import { StrictUpstream } from "./strict_upstream.ts";
import type { StrictUpstreamOptions } from "./strict_upstream.ts";
import type { MemoryStream, MemoryUpstream } from "../../../../src/memory/pool/memory_upstream.ts";
import { NativeUpstream } from "../../../../src/memory/pool/native_upstream.ts";
import { BlockPool } from "../../../../src/memory/pool/block_pool.ts";
import type { PoolSettings } from "../../../../src/memory/pool/pool_options.ts";
import { defaultSettings } from "../../../../src/memory/pool/pool_options.ts";
import { device } from "../../../support/device.ts";

/** The settings of a pool without options, but for those given. */
export function settingsWith(changes: Partial<PoolSettings> = {}): PoolSettings {
  return {
    ...defaultSettings(2 ** 30),
    ...changes,
  };
}

/** A pool on a model of a device. */
export function modelPool(
  changes: Partial<PoolSettings> = {},
  options: StrictUpstreamOptions = {},
): { pool: BlockPool; upstream: StrictUpstream } {
  const upstream = new StrictUpstream({ keepBytes: true, capacity: 2 ** 30, ...options });
  return { pool: new BlockPool(upstream, settingsWith(changes)), upstream };
}

/** A pool, its upstream, and how its streams are made and its memory is written. */
export interface WatchedPool {
  /** What messages call it. */
  readonly name: string;
  /** The pool. */
  readonly pool: BlockPool;
  /** Where its memory comes from. */
  readonly upstream: MemoryUpstream;
  /** Makes a stream of its device. */
  createStream(): MemoryStream & Disposable;
  /** Writes to memory past all checks, as a kernel that goes astray does. */
  scribble(address: number, bytes: readonly number[]): void;
}

/**
 * A pool on each kind of device: the one under test and a model, with and without virtual memory.
 */
export function watchedPools(changes: Partial<PoolSettings>): WatchedPool[] {
  return [true, false].flatMap((virtualMemory) => {
    const kind = virtualMemory ? "" : "plain ";
    const settings = settingsWith({ ...changes, virtualMemory });
    const model = new StrictUpstream({ keepBytes: true, capacity: 2 ** 30 });
    const native = new NativeUpstream(device.context, virtualMemory);
    return [
      {
        name: `${kind}model`,
        pool: new BlockPool(model, settings),
        upstream: model,
        createStream: () => model.createStream(),
        scribble: (address: number, bytes: readonly number[]) =>
          model.write(address, new Uint8Array(bytes)),
      },
      {
        name: `${kind}${device.label}`,
        pool: new BlockPool(native, settings),
        upstream: native,
        createStream: () => device.createStream(),
        scribble: (address: number, bytes: readonly number[]) => {
          using stream = device.createStream();
          device.doneSync(); // or filling the block might come behind this
          // Only these bytes are declared meanwhile.
          bytes.forEach((byte, index) => {
            native.declare(address + index, 1, true);
            native.fill(address + index, 1, byte, stream);
            native.declare(address + index, 1, false);
          });
          stream.doneSync();
        },
      },
    ];
  });
}
