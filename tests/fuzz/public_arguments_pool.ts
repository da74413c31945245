/**
 * Arguments of the members of memory pools, uploads and memory managers.
 *
 * @module
 */

import fc from "fast-check";
import { Deferred, reference } from "./deferred.ts";
import {
  anyNumber,
  anything,
  type Arguments,
  dtype,
  HostileArgumentError,
  mostly,
  options,
  size,
  takes,
  withoutArguments,
} from "./values.ts";

const flag = fc.boolean();
const buffer = reference("buffer");
const stream = reference("stream");
const device = reference("device");

const byteSize = fc.oneof(
  fc.constantFrom(0, 2 ** 21, 2 ** 23, "1K", "4MiB", "2GB", "0", "lots", ""),
  size,
);

/** Options of a pool. */
/** A wait that ends by itself. */
const waiting = fc.record({ wait: fc.constant(true), timeout: fc.integer({ min: 0, max: 5 }) });

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
  ...withoutArguments("Device", "pool memory", ""),
  ...withoutArguments(
    "MemoryPool",
    "context settings limitBytes disposed",
    "stats resetStats memoryAllocated memoryReserved liveSizes clearCache clearCacheAsync checkMemory [Symbol.dispose]",
  ),
  ...withoutArguments("LeakReport", "", "toString"),
  ...withoutArguments("UploadRing", "disposed", "[Symbol.asyncDispose]"),
  "method Device.createPool": takes(poolOptions),
  "method Device.allocateAsync": takes(dtype, size, fc.oneof(newBuffer, waiting)),
  "method Device.createUploadRing": takes(ringOptions),
  "method Device.uploadFile": takes(path, options({ ...transfer, ...part })),
  "method Device.uploadFileInto": takes(buffer, path, options({ ...transfer, offset: size })),
  "method Device.uploadStream": takes(source, options({ ...transfer, bytes: size, dtype })),
  "method Device.prefetchFiles": takes(
    parts,
    options({ stream, ring: reference("ring"), signal, ahead: size, aheadBytes: size }),
  ),

  "new MemoryPool": takes(device, poolOptions),
  "method MemoryPool.allocate": takes(dtype, size, options(placement)),
  "method MemoryPool.allocateAsync": takes(dtype, size, fc.oneof(options(placement), waiting)),
  "method MemoryPool.allocateDirect": takes(dtype, size),
  "method MemoryPool.free": takes(fc.oneof(buffer, address, anyNumber)),
  "method MemoryPool.ownsPointer": takes(fc.oneof(address, anyNumber)),
  "method MemoryPool.cleanupExpiredBuffers": takes(anyNumber),
  "method MemoryPool.checkLeaks": takes(options({ olderThan: anyNumber })),
  // What a listener throws is the program's uncaught error, as it is meant to be.
  "method MemoryPool.onMemoryChange": fc.tuple(
    fc.oneof(fc.constant(new Deferred("<listener>", () => () => {})), anyNumber),
  ),

  "static UploadRing.create": takes(reference("context"), ringOptions),
};

const name = fc.constantFrom("weights", "activations", "", "__proto__");

/** Ordinals of the stage's devices and of others, and values that are none. */
const ordinal = fc.oneof({ weight: 3, arbitrary: fc.nat(2) }, anyNumber);

const chunkOptions = {
  fixedBytes: size,
  inFlight: fc.integer({ min: 0, max: 4 }),
  multipleOf: size,
  maxElements: size,
};

const streams = options({ sourceStream: stream, targetStream: stream });

/** The members by name. */
export const MEMORY_MEMBERS: Readonly<Record<string, Arguments>> = {
  ...withoutArguments(
    "MemoryManager",
    "ordinal",
    "memory memoryAllocated memoryAvailable clearCache stats logUsage",
  ),
  ...withoutArguments("MultiDeviceMemory", "ordinals affinities", "stats clearCache logUsage"),
  "function chunksThatFit": takes(
    size,
    size,
    fc.oneof(
      fc.record({ availableBytes: fc.nat(10_000) }),
      options({ availableBytes: size, ...chunkOptions }),
    ),
  ),

  "new MemoryManager": takes(
    reference("device"),
    options({
      bands: options({ small: byteSize, medium: byteSize, large: byteSize }),
      pool: anything,
    }),
  ),
  "method MemoryManager.allocate": takes(dtype, size, options({ stream, alignment: size })),
  "method MemoryManager.ownsPointer": takes(anyNumber),
  "method MemoryManager.chunksThatFit": takes(size, size, options(chunkOptions)),

  "new MultiDeviceMemory": takes(
    fc.array(mostly(reference("manager")), { maxLength: 3 }),
    options({ balance: fc.constantFrom("free-memory", "load", "random") }),
  ),
  "method MultiDeviceMemory.manager": takes(ordinal),
  "method MultiDeviceMemory.bind": takes(name, ordinal),
  "method MultiDeviceMemory.unbind": takes(name),
  "method MultiDeviceMemory.allocate": takes(dtype, size, options({ name })),
  "method MultiDeviceMemory.route": takes(ordinal, ordinal),
  "method MultiDeviceMemory.copy": takes(buffer, buffer, streams),
  "method MultiDeviceMemory.copyTo": takes(buffer, ordinal, streams),
};
