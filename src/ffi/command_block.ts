/**
 * The command block: memory for the operands of frequent calls.
 *
 * Writing numbers into a typed array and making one call without parameters costs a fifth of
 * passing them as parameters before the JIT has warmed. The layout is `gs_command_block` of
 * `csrc/gridstride.h`.
 *
 * @module
 */

/** First of the seven slots with the results of the last call. */
export const RESULT = 0;
/** Slot with the number of requests to release cached memory. */
export const PRESSURE = 7;
/** Slot of the device ordinal. */
export const DEVICE = 8;
/** Slot of the stream handle. */
export const STREAM = 9;
/** First of the fourteen operand slots. */
export const OPERAND = 10;
/** First of the kernel argument slots. */
export const ARGUMENT = 24;
const ARGUMENT_SLOTS = 4160;
/** Maximum size of all parameters of a kernel: CUDA's, from compute capability 7.0 and CUDA 12.1 on. */
export const MAXIMUM_ARGUMENT_BYTES = 32764;
/** Maximum number of launch arguments: two 32-bit words mark the slots with raw bytes. */
export const MAXIMUM_ARGUMENTS = 64;
export const BLOCK_SLOTS = ARGUMENT + ARGUMENT_SLOTS;

/**
 * Creates a block. It is shared memory, which can be neither detached nor transferred: its address
 * in the library stays valid until the isolate ends.
 */
export function createCommandBlock(): Float64Array<SharedArrayBuffer> {
  return new Float64Array(new SharedArrayBuffer(BLOCK_SLOTS * Float64Array.BYTES_PER_ELEMENT));
}

/** The global property of the isolate's block; the name changes with the layout of the slots. */
const BLOCK_OF_ISOLATE = Symbol.for("@gridstride/cuda command block of ABI 5");

/**
 * The isolate's block, for all libraries that it opens and all copies of this module that it
 * loads. A library has one block per thread: with a block for each copy, the calls of all copies
 * would use the operands in the block that was registered last.
 */
export function isolateCommandBlock(): Float64Array<SharedArrayBuffer> {
  const isolate = globalThis as { [BLOCK_OF_ISOLATE]?: Float64Array<SharedArrayBuffer> };
  return isolate[BLOCK_OF_ISOLATE] ??= createCommandBlock();
}
