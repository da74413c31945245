/**
 * What the members of memory pools and uploads are called with; see `public_arguments.ts`.
 *
 * @module
 */

import fc from "fast-check";
import { Deferred, reference } from "./deferred.ts";
import {
  anyNumber,
  type Arguments,
  dtype,
  HostileArgumentError,
  mostly,
  options,
  size,
  takes,
} from "./values.ts";

const nothing = takes();
const flag = fc.boolean();
const buffer = reference("buffer");
const stream = reference("stream");
const device = reference("device");

const byteSize = fc.oneof(
  fc.constantFrom(0, 2 ** 21, 2 ** 23, "1K", "4MiB", "2GB", "0", "lots", ""),
  size,
);

/** Options of a pool. */
export const poolOptions: fc.Arbitrary<unknown> = options({
  preset: fc.constantFrom("development", "production", "testing", "fast"),
  maxPoolSize: byteSize,
  memoryFraction: fc.oneof(fc.constantFrom(0.001, 0.5, 1), anyNumber),
  initialSize: byteSize,
  maxCachedBuffers: size,
  maxCachedBytes: byteSize,
  enableMemoryTracking: flag,
  debug: flag,
  stackFrames: size,
  cleanupInterval: size,
  trim: flag,
  virtualMemory: flag,
  pressure: options({ reclaim: anyNumber, refuse: anyNumber }),
  onMemoryPressure: fc.constant(new Deferred("<callback>", () => () => false)),
  alignment: fc.oneof(fc.constantFrom(512, 4096, 2 ** 20), size),
});

const placement = { stream, alignment: fc.oneof(fc.constantFrom(1, 512, 4096, 2 ** 20), size) };
const newBuffer = options({ ...placement, fill: anyNumber, pool: reference("pool") });

/** Where a live buffer begins, or close to it. */
const address = fc.tuple(buffer, fc.constantFrom(0, 0, 0, 4, 512)).map(([of, offset]) =>
  new Deferred(`<address of ${of.label} + ${offset}>`, (stage) => {
    const { disposed, address } = of.make(stage) as { disposed: boolean; address: number };
    return disposed ? 4096 : address + offset;
  })
);

/** A file that exists with this module, a directory, and other values. */
const path = fc.constantFrom(
  import.meta.url,
  new URL(import.meta.url).pathname,
  new URL(".", import.meta.url).pathname,
  "/nowhere/nothing",
  "",
).map((value) => value.startsWith("file:") ? new Deferred("<URL>", () => new URL(value)) : value);

const progress = fc.constant(new Deferred("<progress>", () => () => {}));
const signal = fc.constantFrom(
  new Deferred("<signal>", () => new AbortController().signal),
  new Deferred("<aborted signal>", () => AbortSignal.abort(new HostileArgumentError("cancelled"))),
);

const transfer = { stream, ring: reference("ring"), onProgress: progress, signal };
const part = { offset: size, bytes: size, dtype };

const source = fc.constantFrom(
  new Deferred("<stream of bytes>", () => new Blob([new Uint8Array(300)]).stream()),
  new Deferred("<arrays of bytes>", () => [new Uint8Array(30), new Uint8Array(50)]),
  new Deferred("<arrays of others>", () => [new Uint8Array(8), new Float32Array(2)]),
);

const parts = fc.array(
  mostly(fc.record({ path, offset: size, bytes: size, dtype }, { requiredKeys: ["path"] })),
  { maxLength: 2 },
);

const ringOptions = options({
  slots: fc.integer({ min: -1, max: 4 }),
  slotBytes: fc.constantFrom(0, 1, 4096, 65536, -1, NaN),
  readers: fc.integer({ min: 0, max: 40 }),
});

/** The members by name. */
export const POOL_MEMBERS: Readonly<Record<string, Arguments>> = {
  "getter Device.pool": nothing,
  "getter Device.memory": nothing,
  "method Device.createPool": takes(poolOptions),
  "method Device.allocateAsync": takes(dtype, size, newBuffer),
  "method Device.createUploadRing": takes(ringOptions),
  "method Device.uploadFile": takes(path, options({ ...transfer, ...part })),
  "method Device.uploadFileInto": takes(buffer, path, options({ ...transfer, offset: size })),
  "method Device.uploadStream": takes(source, options({ ...transfer, bytes: size, dtype })),
  "method Device.prefetchFiles": takes(
    parts,
    options({ stream, ring: reference("ring"), signal, ahead: size, aheadBytes: size }),
  ),

  "new MemoryPool": takes(device, poolOptions),
  "getter MemoryPool.context": nothing,
  "getter MemoryPool.settings": nothing,
  "getter MemoryPool.limitBytes": nothing,
  "getter MemoryPool.disposed": nothing,
  "method MemoryPool.allocate": takes(dtype, size, options(placement)),
  "method MemoryPool.allocateAsync": takes(dtype, size, options(placement)),
  "method MemoryPool.allocateDirect": takes(dtype, size),
  "method MemoryPool.free": takes(fc.oneof(buffer, address, anyNumber)),
  "method MemoryPool.stats": nothing,
  "method MemoryPool.resetStats": nothing,
  "method MemoryPool.memoryAllocated": nothing,
  "method MemoryPool.memoryReserved": nothing,
  "method MemoryPool.liveSizes": nothing,
  "method MemoryPool.ownsPointer": takes(fc.oneof(address, anyNumber)),
  "method MemoryPool.clearCache": nothing,
  "method MemoryPool.clearCacheAsync": nothing,
  "method MemoryPool.cleanupExpiredBuffers": takes(anyNumber),
  "method MemoryPool.checkLeaks": takes(options({ olderThan: anyNumber })),
  "method MemoryPool.checkMemory": nothing,
  // What a listener throws is the program's uncaught error, as it is meant to be.
  "method MemoryPool.onMemoryChange": fc.tuple(
    fc.oneof(fc.constant(new Deferred("<listener>", () => () => {})), anyNumber),
  ),
  "method MemoryPool.[Symbol.dispose]": nothing,
  "method LeakReport.toString": nothing,

  "static UploadRing.create": takes(reference("context"), ringOptions),
  "getter UploadRing.disposed": nothing,
  "method UploadRing.[Symbol.asyncDispose]": nothing,
};
