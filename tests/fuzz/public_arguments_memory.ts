/**
 * What the members of memory managers are called with; see `public_arguments.ts`.
 *
 * @module
 */

import fc from "fast-check";
import { reference } from "./deferred.ts";
import {
  anyNumber,
  anything,
  type Arguments,
  dtype,
  mostly,
  options,
  size,
  takes,
} from "./values.ts";

const buffer = reference("buffer");
const stream = reference("stream");

const name = fc.constantFrom("weights", "activations", "", "__proto__");

/** Ordinals of the stage's devices and of others, and values that are none. */
const ordinal = fc.oneof({ weight: 3, arbitrary: fc.nat(2) }, anyNumber);

const byteSize = fc.oneof(size, fc.constantFrom("1K", "2GB", "512MiB", "0", "lots", ""));

const chunkOptions = {
  fixedBytes: size,
  inFlight: fc.integer({ min: 0, max: 4 }),
  multipleOf: size,
  maxElements: size,
};

const streams = options({ sourceStream: stream, targetStream: stream });

const nothing = takes();

/** The members by name. */
export const MEMORY_MEMBERS: Readonly<Record<string, Arguments>> = {
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
  "getter MemoryManager.ordinal": nothing,
  "method MemoryManager.memory": nothing,
  "method MemoryManager.memoryAllocated": nothing,
  "method MemoryManager.memoryAvailable": nothing,
  "method MemoryManager.allocate": takes(dtype, size, options({ stream, alignment: size })),
  "method MemoryManager.ownsPointer": takes(anyNumber),
  "method MemoryManager.clearCache": nothing,
  "method MemoryManager.chunksThatFit": takes(size, size, options(chunkOptions)),
  "method MemoryManager.stats": nothing,
  "method MemoryManager.logUsage": nothing,

  "new MultiDeviceMemory": takes(
    fc.array(mostly(reference("manager")), { maxLength: 3 }),
    options({ balance: fc.constantFrom("free-memory", "load", "random") }),
  ),
  "getter MultiDeviceMemory.ordinals": nothing,
  "getter MultiDeviceMemory.affinities": nothing,
  "method MultiDeviceMemory.manager": takes(ordinal),
  "method MultiDeviceMemory.bind": takes(name, ordinal),
  "method MultiDeviceMemory.unbind": takes(name),
  "method MultiDeviceMemory.allocate": takes(dtype, size, options({ name })),
  "method MultiDeviceMemory.route": takes(ordinal, ordinal),
  "method MultiDeviceMemory.copy": takes(buffer, buffer, streams),
  "method MultiDeviceMemory.copyTo": takes(buffer, ordinal, streams),
  "method MultiDeviceMemory.stats": nothing,
  "method MultiDeviceMemory.clearCache": nothing,
  "method MultiDeviceMemory.logUsage": nothing,
};
