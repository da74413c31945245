/**
 * Writes the arguments of a kernel's launches, checking each against the kernel's signature.
 *
 * Most launches repeat the arguments of the one before. The writer remembers checked arguments and
 * skips those that are the very same. It checks memory again once any memory was freed, or once
 * the launches move to another stream.
 *
 * @module
 */

import { ARGUMENT, OPERAND } from "../../ffi/command_block.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { launchAddress } from "../../memory/device_buffer.ts";
import { mayAddress } from "../../memory/pool/device_pools.ts";
import { bytesPerElement, integerRange } from "../../memory/dtype.ts";
import { frees } from "../../memory/allocation.ts";
import { isCapturing } from "../../stream/running_captures.ts";
import type { Stream } from "../../stream/stream.ts";
import { isDeviceMemory, type MemoryLocation, type ReadonlyDeviceMemory } from "./device_memory.ts";
import { type Encoder, encoderOf, encodingError, type EncodingProblem } from "./encoding.ts";
import {
  type KernelParameter,
  type KernelSignature,
  type ParameterLayout,
  parameterLayout,
  parameterTypeText,
  type PointerParameter,
  signatureText,
} from "./signature.ts";

/** Slots of the bit masks of raw arguments: 0-31 and 32-63. */
const RAW_LOW = OPERAND + 9;
const RAW_HIGH = OPERAND + 10;

/** Stands for an argument that is not remembered; equal to no argument. */
const NOTHING: unknown = Symbol();

/** Takes the bytes of a scalar until they are known to be valid. */
const scratch = new DataView(new ArrayBuffer(8));

interface ParameterRule {
  readonly slot: number;
  /** Whether any number is taken as it is. */
  readonly isFloat: boolean;
  /** The lowest integer that a double holds exactly; NaN if integers are not taken. */
  readonly lowest: number;
  /** The highest integer that a double holds exactly; NaN if integers are not taken. */
  readonly highest: number;
  /** The element type of buffers that need no further check. */
  readonly dtype: string | undefined;
  /** Checks and encodes a value; absent for pointers. */
  readonly encode: Encoder | undefined;
}

function ruleOf(parameter: KernelParameter, slot: number): ParameterRule {
  const type = parameter.kind === "scalar" ? parameter.type : undefined;
  const range = type === undefined ? undefined : integerRange(type);
  // Memory of vectors and structs must be aligned for them, not for its element type alone.
  const isPlain = parameter.kind === "pointer" && parameter.dtype !== undefined &&
    parameter.pointeeAlignment <= bytesPerElement(parameter.dtype);
  return {
    slot,
    isFloat: type === "float32" || type === "float64",
    lowest: range ? Math.max(Number(range.lowest), Number.MIN_SAFE_INTEGER) : NaN,
    highest: range ? Math.min(Number(range.highest), Number.MAX_SAFE_INTEGER) : NaN,
    dtype: isPlain ? parameter.dtype : undefined,
    encode: parameter.kind === "pointer" ? undefined : encoderOf(parameter.type),
  };
}

/**
 * Writes the arguments of one kernel's launches on one device.
 *
 * Numbers cross as doubles. A `bigint` and a narrow float cross as raw bytes, marked as such: a
 * double does not hold the first, and the C side would round the second a second time.
 */
export class ArgumentWriter {
  readonly #signature: KernelSignature;
  readonly #location: MemoryLocation;
  readonly #slots: Float64Array;
  readonly #rawSlots: BigUint64Array;
  readonly #bytes: DataView;
  readonly #rules: readonly ParameterRule[];
  readonly #written: unknown[];
  #stream: Stream | undefined = undefined;
  /** The count of freed memory at which the addresses in the slots were valid. */
  #returns = 0;
  #hasRaw = false;

  /** Prepares for a signature; `slots` are laid out as the command block, up to the last argument. */
  constructor(
    signature: KernelSignature,
    slots: Float64Array,
    location: MemoryLocation,
    layout: readonly ParameterLayout[] = parameterLayout(signature),
  ) {
    this.#signature = signature;
    this.#location = location;
    this.#slots = slots;
    this.#rawSlots = new BigUint64Array(slots.buffer, slots.byteOffset, slots.length);
    this.#bytes = new DataView(slots.buffer, slots.byteOffset, slots.byteLength);
    this.#rules = signature.parameters.map((parameter, index) =>
      ruleOf(parameter, ARGUMENT + layout[index]!.slot)
    );
    this.#written = signature.parameters.map(() => NOTHING);
    slots[RAW_LOW] = 0;
    slots[RAW_HIGH] = 0;
  }

  /** Has the next {@linkcode ArgumentWriter.write} check and write every argument. */
  forget(): void {
    this.#written.fill(NOTHING);
  }

  /**
   * Checks and writes the arguments that changed since the last call; `undefined` at the end counts as
   * not given.
   */
  write(args: readonly unknown[], stream?: Stream): void {
    const written = this.#written;
    if (stream !== this.#stream) {
      this.#stream = stream;
      this.forget();
    }
    if (frees.count !== this.#returns) this.#forgetMemory();
    if (args.length !== written.length || args.at(-1) === undefined) this.#requireCount(args);
    for (let index = 0; index < written.length; index++) {
      const value = args[index];
      if (value !== written[index]) written[index] = this.#take(index, value);
    }
    // Addresses may have been written before a getter of a later argument freed memory.
    if (frees.count !== this.#returns) this.#refuseFreed();
  }

  #forgetMemory(): void {
    this.#returns = frees.count;
    const written = this.#written;
    for (let index = 0; index < written.length; index++) {
      if (typeof written[index] === "object") written[index] = NOTHING;
    }
  }

  #requireCount(args: readonly unknown[]): void {
    const expected = this.#written.length;
    let given = args.length;
    while (given > 0 && args[given - 1] === undefined) given--;
    if (given === expected) return;
    throw new TypeError(
      `Cannot launch ${signatureText(this.#signature)} as it takes ${expected} ` +
        `${expected === 1 ? "argument" : "arguments"}: there ${
          given === 1 ? "is" : "are"
        } ${given}`,
    );
  }

  /**
   * Checks and writes an argument. All code of the caller, such as a getter, runs before a slot is
   * written: it may launch the same kernel.
   *
   * @returns The value to remember, if it can be: the bytes of vectors and structs may change.
   */
  #take(index: number, value: unknown): unknown {
    const { slot, isFloat, lowest, highest, dtype } = this.#rules[index]!;
    if (typeof value === "number") {
      if (isFloat || (value >= lowest && value <= highest && Number.isInteger(value))) {
        if (this.#hasRaw) this.#mark(index, false);
        this.#slots[slot] = value;
        // The two zeros compare equal.
        return value === 0 ? NOTHING : value;
      }
    } else if (value !== null && dtype !== undefined) {
      if (value !== undefined && (value as ReadonlyDeviceMemory).dtype === dtype) {
        const address = launchAddress(value, this.#location, this.#stream);
        if (address >= 0) {
          this.#slots[slot] = address;
          return value;
        }
      }
    }
    return this.#takeRare(this.#signature.parameters[index]!, index, slot, value);
  }

  #takeRare(parameter: KernelParameter, index: number, slot: number, value: unknown): unknown {
    switch (parameter.kind) {
      case "pointer": {
        const address = value === null ? 0 : addressOf(parameter, value, this.#location);
        if (typeof address === "string") throw this.#error(index, address);
        if (value !== null) this.#record(value as ReadonlyDeviceMemory);
        this.#slots[slot] = address;
        return value === null ? null : NOTHING;
      }
      case "scalar": {
        scratch.setBigUint64(0, 0n);
        const problem = this.#rules[index]!.encode!(value, scratch, 0);
        if (problem !== undefined) throw this.#error(index, problem);
        if (parameter.type === "bool") {
          this.#slots[slot] = scratch.getUint8(0);
          return value;
        }
        this.#rawSlots[slot] = scratch.getBigUint64(0, true);
        this.#mark(index, true);
        return NOTHING;
      }
      default: {
        const offset = slot * this.#slots.BYTES_PER_ELEMENT;
        const problem = this.#rules[index]!.encode!(value, this.#bytes, offset);
        if (problem !== undefined) throw this.#error(index, problem);
        return NOTHING;
      }
    }
  }

  /** The error for an argument that its parameter does not take. */
  #error(index: number, problem: string | EncodingProblem): TypeError | RangeError {
    const { name, parameters } = this.#signature;
    const place = `${index + 1} of ${parameters.length}`;
    const own = parameters[index]!.name;
    const subject = `Cannot launch ${name} as argument ${own ? `${own} (${place})` : place}`;
    return typeof problem === "string"
      ? new TypeError(`${subject} must be ${problem}`)
      : encodingError(subject, problem);
  }

  #mark(index: number, isRaw: boolean): void {
    const slot = index < 32 ? RAW_LOW : RAW_HIGH;
    const bit = 1 << (index & 31);
    const others = this.#slots[slot]! & ~bit;
    this.#slots[slot] = (isRaw ? others | bit : others) >>> 0;
    this.#hasRaw ||= isRaw;
  }

  #refuseFreed(): never {
    throw new TypeError(
      `Cannot launch ${this.#signature.name} as a getter of its arguments has freed memory: ` +
        "read its values before the launch",
    );
  }

  /** Freed memory is reused at once on its own stream, so it must know the others that use it. */
  #record(memory: ReadonlyDeviceMemory): void {
    const { stream } = memory;
    if (stream === undefined || this.#stream === undefined) return;
    if (stream !== this.#stream || isCapturing()) {
      memory.recordStream?.(this.#stream);
    }
  }
}

/** The address of device memory, or the reason why it does not match the parameter. */
function addressOf(
  parameter: PointerParameter,
  memory: unknown,
  location: MemoryLocation,
): number | string {
  const { dtype, isConst, pointeeAlignment } = parameter;
  const expected = dtype === undefined ? "device memory" : `${dtype} device memory`;
  if (!isDeviceMemory(memory)) {
    const where = ArrayBuffer.isView(memory) ? ", which lies in host memory" : "";
    return `${expected}: it is ${describeValue(memory)}${where}`;
  }
  if (dtype !== undefined && memory.dtype !== dtype) return `${expected}: it is ${memory.dtype}`;
  if (memory.disposed) return `${expected}: it is disposed`;
  if (!mayAddress(location, memory.context)) {
    const isPeer = memory.context.library === location.library;
    const peers = isPeer ? ", or of a device to which enablePeerAccess() gave it access" : "";
    return `memory of ${location.label}${peers}: it is memory of ${memory.context.label}`;
  }
  if (memory.readOnly === true && !isConst) {
    return `writable, as the kernel takes ${parameterTypeText(parameter)}: it is read-only`;
  }
  const { address } = memory;
  if (typeof address !== "number") return `${expected}: its address is ${describeValue(address)}`;
  if (address % pointeeAlignment === 0) return address;
  return `at an address that is a multiple of ${pointeeAlignment}, as the kernel takes ` +
    `${parameterTypeText(parameter)}: it is 0x${address.toString(16)}`;
}
