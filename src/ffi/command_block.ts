/**
 * The command block: the memory through which hot calls pass their operands.
 *
 * Writing numbers into a typed array and making one call without parameters costs a fifth of
 * passing them as parameters before the JIT has warmed. The layout is `gs_command_block` of
 * `csrc/gridstride.h`.
 *
 * @module
 */

/** First of the seven slots that hold what the last hot call returned. */
export const RESULT = 0;
/** Slot of the count that says whether somebody has asked for memory to be given back. */
export const PRESSURE = 7;
/** Slot of the device ordinal. */
export const DEVICE = 8;
/** Slot of the stream handle. */
export const STREAM = 9;
/** First of the fourteen operand slots. */
export const OPERAND = 10;
/** First of the kernel argument slots. */
export const ARGUMENT = 24;
/** Number of kernel argument slots. */
export const ARGUMENT_SLOTS = 512;
/** Most arguments a launch can have: two 32-bit words say which slots hold raw bytes. */
export const MAXIMUM_ARGUMENTS = 64;
/** Slots in the whole block. */
export const BLOCK_SLOTS = ARGUMENT + ARGUMENT_SLOTS;

/**
 * Makes a block. It lies in shared memory because that can be neither detached nor transferred, so
 * the address the library holds stays good as long as the isolate lives.
 */
export function createCommandBlock(): Float64Array<SharedArrayBuffer> {
  return new Float64Array(new SharedArrayBuffer(BLOCK_SLOTS * Float64Array.BYTES_PER_ELEMENT));
}

/** Where the isolate keeps its block; another layout of the slots would be another name. */
const BLOCK_OF_ISOLATE = Symbol.for("@gridstride/cuda command block of ABI 3");

/**
 * The isolate's block, the same for all libraries it opens and for all copies of this module it
 * has loaded. A library knows one block per thread: had each copy its own, the last to register
 * would take the hot calls of the others, which would run with operands that nobody meant.
 */
export function isolateCommandBlock(): Float64Array<SharedArrayBuffer> {
  const isolate = globalThis as { [BLOCK_OF_ISOLATE]?: Float64Array<SharedArrayBuffer> };
  return isolate[BLOCK_OF_ISOLATE] ??= createCommandBlock();
}
