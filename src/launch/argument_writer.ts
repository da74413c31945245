/**
 * Writes the arguments of a kernel's launches, checking each against the kernel's signature.
 *
 * Every launch passes here, and before the JIT has warmed a property costs 5 ns, a call 20 and a
 * check of a buffer 100. Most arguments are those of the launch before, though: what was checked is
 * remembered, and an argument that is the very same is neither checked nor written again. Memory
 * is looked at anew once any was given back, or the launches go to another stream.
 *
 * @module
 */

import { ARGUMENT, OPERAND } from "../ffi/command_block.ts";
import { DeviceBuffer } from "../memory/device_buffer.ts";
import { bytesPerElement } from "../memory/dtype.ts";
import { memoryReturns } from "../memory/memory_returns.ts";
import { narrowFloatBits } from "../memory/narrow_float.ts";
import {
  argumentCountError,
  argumentError,
  isDeviceMemory,
  isSameLocation,
} from "./argument_error.ts";
import { integerRange, type ScalarType } from "./c_types.ts";
import type { Stream } from "../stream/stream.ts";
import type { MemoryLocation, ReadonlyDeviceMemory } from "./device_memory.ts";
import type {
  KernelParameter,
  KernelSignature,
  PointerParameter,
  StructParameter,
  VectorParameter,
} from "./signature.ts";
import { type ParameterLayout, parameterLayout } from "./signature_layout.ts";
import { encodeStruct } from "./struct_encoding.ts";
import { encodeVector, isNarrowFloat } from "./value_encoding.ts";

/** Slots of the words that say which arguments are raw bytes: 0-31 and 32-63. */
const RAW_LOW = OPERAND + 9;
const RAW_HIGH = OPERAND + 10;

// A constant of this module is known to the JIT; what it imports is looked up at every use.
const { addressForLaunch } = DeviceBuffer;
const returns = memoryReturns;

/** How a number is written for a parameter: as it is, or if it is an integer of the range. */
const FLOAT = 0;
const INTEGER = 1;
/** Otherwise: truth values, narrow floats, vectors, structs; nor is a number for a pointer. */
const RARE = 2;

/** Most arguments that are remembered: those of kernels with more are checked at every launch. */
export const MOST_REMEMBERED = 8;

/** In place of an argument that is remembered: no argument is this. */
const NOTHING: unknown = Symbol();
/** The same, where what came was refused. */
const REFUSED: unknown = Symbol();

/** Lowest and highest integer of a type that is written as a number: a double holds it. */
const INTEGERS: Readonly<Partial<Record<ScalarType, readonly [number, number]>>> = {
  int8: [-(2 ** 7), 2 ** 7 - 1],
  uint8: [0, 2 ** 8 - 1],
  int16: [-(2 ** 15), 2 ** 15 - 1],
  uint16: [0, 2 ** 16 - 1],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  uint64: [0, Number.MAX_SAFE_INTEGER],
};

/** Whether an address of the memory's own alignment may be none for what a parameter points to. */
function needsAlignment({ dtype, pointeeAlignment }: PointerParameter): boolean {
  return dtype !== undefined && pointeeAlignment > bytesPerElement(dtype);
}

/** What is known of a parameter; all have the same shape, for the JIT. */
class ParameterRule {
  /** The slot of its argument, or the first of several. */
  readonly place: number;
  readonly route: number;
  readonly lowest: number;
  readonly highest: number;
  // The part of the range that V8 compares without making objects of the numbers.
  readonly lowestSmall: number;
  readonly highestSmall: number;
  /** The element type of the buffers that are taken at once: none where they are not. */
  readonly dtype: string | undefined;

  constructor(parameter: KernelParameter, place: number) {
    this.place = place;
    const type = parameter.kind === "scalar" ? parameter.type : undefined;
    const integers = type === undefined ? undefined : INTEGERS[type];
    this.route = type === "float32" || type === "float64"
      ? FLOAT
      : integers === undefined
      ? RARE
      : INTEGER;
    this.lowest = integers === undefined ? NaN : integers[0];
    this.highest = integers === undefined ? NaN : integers[1];
    this.lowestSmall = this.route === INTEGER ? Math.max(this.lowest, -(2 ** 31)) : 1;
    this.highestSmall = this.route === INTEGER ? Math.min(this.highest, 2 ** 31 - 1) : 0;
    // Memory of vectors and structs is that of their elements, and has to be aligned for them.
    const isTaken = parameter.kind === "pointer" && !needsAlignment(parameter);
    this.dtype = isTaken ? parameter.dtype : undefined;
  }
}

/**
 * Writes the arguments of one kernel's launches on one device.
 *
 * Numbers cross as doubles. What a double does not hold — a `bigint`, and narrow floats, which
 * the C side would round a second time — crosses as raw bytes and is marked so.
 */
export class ArgumentWriter {
  /** The number of arguments. */
  readonly count: number;
  readonly #signature: KernelSignature;
  readonly #location: MemoryLocation;
  readonly #slots: Float64Array;
  readonly #rawSlots: BigUint64Array;
  readonly #bytes: DataView;
  readonly #rules: readonly ParameterRule[];
  #stream: Stream | undefined = undefined;
  #hasRaw = false;
  // What the slots hold, argument by argument: a launch compares its own with them. As fields of
  // their own they are compared in no time, while reading an element of an array takes 10 ns. Buffers
  // among them are kept from the garbage collector until the kernel is launched with others.
  /** Whether an argument was refused: {@linkcode ArgumentWriter.write} is due, which says why. */
  isRefused = false;
  /** How often memory had been given back when the addresses in the slots were good. */
  returns = 0;
  /** The first argument; what none is while the slots do not hold it, and so are the others. */
  first: unknown = NOTHING;
  /** The second argument. */
  second: unknown = NOTHING;
  /** The third argument. */
  third: unknown = NOTHING;
  /** The fourth argument. */
  fourth: unknown = NOTHING;
  /** The fifth argument. */
  fifth: unknown = NOTHING;
  /** The sixth argument. */
  sixth: unknown = NOTHING;
  /** The seventh argument. */
  seventh: unknown = NOTHING;
  /** The eighth argument. */
  eighth: unknown = NOTHING;

  /**
   * Prepares for a signature.
   *
   * @param signature The kernel's signature.
   * @param slots What is written: slots as those of the command block, up to the last argument.
   * @param location The device that the kernel is launched on.
   * @param layout Where its arguments lie.
   */
  constructor(
    signature: KernelSignature,
    slots: Float64Array,
    location: MemoryLocation,
    layout: readonly ParameterLayout[] = parameterLayout(signature),
  ) {
    const { parameters } = signature;
    this.#signature = signature;
    this.#location = location;
    this.#slots = slots;
    this.#rawSlots = new BigUint64Array(slots.buffer, slots.byteOffset, slots.length);
    this.#bytes = new DataView(slots.buffer, slots.byteOffset, slots.byteLength);
    this.#rules = parameters.map((parameter, index) =>
      new ParameterRule(parameter, ARGUMENT + layout[index]!.slot)
    );
    this.count = parameters.length;
    slots[RAW_LOW] = 0;
    slots[RAW_HIGH] = 0;
    this.forget();
  }

  /**
   * Forgets what the slots hold, so that all of it is checked and written anew.
   *
   * @param stream The stream of the launches that follow: memory of another one is told that this
   * one uses it.
   */
  forget(stream?: Stream): void {
    this.#stream = stream;
    if (this.count <= MOST_REMEMBERED) this.#forgetArguments();
  }

  #forgetArguments(): void {
    const { count } = this;
    // What is not there is undefined, as is what is not passed.
    this.first = count > 0 ? NOTHING : undefined;
    this.second = count > 1 ? NOTHING : undefined;
    this.third = count > 2 ? NOTHING : undefined;
    this.fourth = count > 3 ? NOTHING : undefined;
    this.fifth = count > 4 ? NOTHING : undefined;
    this.sixth = count > 5 ? NOTHING : undefined;
    this.seventh = count > 6 ? NOTHING : undefined;
    this.eighth = count > 7 ? NOTHING : undefined;
  }

  /** Forgets which memory the slots hold the addresses of, as some was given back. */
  forgetMemory(): void {
    this.returns = returns.count;
    if (typeof this.first === "object") this.first = NOTHING;
    if (typeof this.second === "object") this.second = NOTHING;
    if (typeof this.third === "object") this.third = NOTHING;
    if (typeof this.fourth === "object") this.fourth = NOTHING;
    if (typeof this.fifth === "object") this.fifth = NOTHING;
    if (typeof this.sixth === "object") this.sixth = NOTHING;
    if (typeof this.seventh === "object") this.seventh = NOTHING;
    if (typeof this.eighth === "object") this.eighth = NOTHING;
  }

  /**
   * Checks and writes all arguments, whatever the slots hold.
   *
   * @param args Those at the end that are undefined are not given.
   * @param stream The stream of the launch: memory of another one is told that this one uses it.
   * @throws {TypeError} If their number, or the type, element type, device or `const` of one is
   * not the parameter's, or memory is disposed.
   * @throws {RangeError} If a number is not an integer of the parameter's range.
   */
  write(args: readonly unknown[], stream?: Stream): void {
    const { count } = this;
    this.isRefused = false;
    this.returns = returns.count;
    this.forget(stream);
    const given = givenOf(args);
    if (given !== count) this.#refuseCount(given);
    for (let i = 0; i < count; i++) {
      const value = args[i];
      const taken = this.take(i, value);
      // A getter of it may have launched, and had what it passed remembered.
      if (count <= MOST_REMEMBERED) this.#forgetArguments();
      if (taken === REFUSED) this.#refuse(i, value);
    }
  }

  /**
   * Checks and writes an argument, and notes if it is none for its parameter. A slot is written when
   * all that may throw or launch, such as a getter, is done: it holds what is remembered of it, always.
   * Vectors and structs, of which the bytes are written as they are read, are not remembered.
   *
   * @param index Which, counted from 0.
   * @returns What is to be remembered of it.
   */
  take(index: number, value: unknown): unknown {
    const rule = this.#rules[index];
    if (rule === undefined || value === undefined) return this.#noteRefusal();
    if (typeof value === "number") {
      if (rule.route === FLOAT || isIntegerOf(rule, value)) {
        if (this.#hasRaw === true) this.#mark(index, false);
        this.#slots[rule.place] = value;
        // The two zeros are not told apart when they are compared.
        return value === 0 ? NOTHING : value;
      }
    } else if (value !== null) {
      const { dtype } = rule;
      if (dtype !== undefined && (value as ReadonlyDeviceMemory).dtype === dtype) {
        const address = addressForLaunch(value, this.#location, this.#stream);
        if (address >= 0) {
          this.#slots[rule.place] = address;
          return value;
        }
      }
    }
    return this.#takeRare(index, rule.place, value);
  }

  #noteRefusal(): unknown {
    this.isRefused = true;
    return REFUSED;
  }

  #refuse(index: number, value: unknown): never {
    this.isRefused = false;
    throw argumentError(this.#signature, index, value, this.#location);
  }

  #refuseCount(given: number): never {
    // Launches of kernels with few look at one argument more.
    const isMore = given > MOST_REMEMBERED && this.count <= MOST_REMEMBERED;
    throw argumentCountError(this.#signature, isMore ? `more than ${MOST_REMEMBERED}` : given);
  }

  /** Says whether an argument is raw bytes. */
  #mark(index: number, isRaw: boolean): void {
    const slot = index < 32 ? RAW_LOW : RAW_HIGH;
    const bit = 1 << (index & 31);
    const others = this.#slots[slot]! & ~bit;
    this.#slots[slot] = (isRaw ? others | bit : others) >>> 0;
    this.#hasRaw ||= isRaw;
  }

  /** As {@linkcode ArgumentWriter.take}, for what programs seldom pass. */
  #takeRare(index: number, place: number, value: unknown): unknown {
    const parameter = this.#signature.parameters[index]!;
    if (parameter.kind === "vector" || parameter.kind === "struct") {
      if (this.#writeBytes(parameter, place, value)) return NOTHING;
    } else if (parameter.kind === "pointer") {
      if (value === null) {
        this.#slots[place] = 0;
        return value;
      }
      const address = this.#addressOf(parameter, value);
      if (address !== undefined) {
        this.#slots[place] = address;
        return NOTHING;
      }
    } else if (parameter.type === "bool") {
      if (typeof value === "boolean") {
        this.#slots[place] = value ? 1 : 0;
        return value;
      }
    } else {
      const bits = rawBits(parameter.type, value);
      if (bits !== undefined) {
        this.#rawSlots[place] = bits;
        this.#mark(index, true);
        return NOTHING;
      }
    }
    return this.#noteRefusal();
  }

  /** Writes what is passed as bytes, of which the library knows without a mark. */
  #writeBytes(
    parameter: VectorParameter | StructParameter,
    place: number,
    value: unknown,
  ): boolean {
    const offset = place * this.#slots.BYTES_PER_ELEMENT;
    const problem = parameter.kind === "vector"
      ? encodeVector(parameter.type, value, this.#bytes, offset)
      : encodeStruct(parameter.type, value, this.#bytes, offset);
    this.#requireNoReturn();
    return problem === undefined;
  }

  /** Addresses of the same launch may have been written before its getters gave memory back. */
  #requireNoReturn(): void {
    if (returns.count === this.returns) return;
    throw new TypeError(
      `Cannot launch ${this.#signature.name} as a getter of its arguments has given memory back: ` +
        "read what it gives before the launch",
    );
  }

  /**
   * The address of device memory, whose own is told of the launch; `undefined` if a parameter does not
   * take it.
   */
  #addressOf(parameter: PointerParameter, memory: unknown): number | undefined {
    if (!isDeviceMemory(memory)) return undefined;
    if (parameter.dtype !== undefined && parameter.dtype !== memory.dtype) return undefined;
    if (!isSameLocation(memory.context, this.#location) || memory.disposed) return undefined;
    if (!parameter.isConst && memory.readOnly === true) return undefined;
    const { address, stream } = memory;
    if (typeof address !== "number" || address % parameter.pointeeAlignment !== 0) return undefined;
    if (stream !== this.#stream) noteUse(memory, this.#stream);
    this.#requireNoReturn();
    return address;
  }
}

/** How many arguments there are: those at the end that are undefined are not given. */
function givenOf(args: readonly unknown[]): number {
  let given = args.length;
  while (given > 0 && args[given - 1] === undefined) given--;
  return given;
}

/** Whether a number is an integer of a parameter's range. */
function isIntegerOf(rule: ParameterRule, value: number): boolean {
  if ((value | 0) === value) {
    if (value >= rule.lowestSmall && value <= rule.highestSmall) return true;
  }
  return rule.route === INTEGER && value >= rule.lowest && value <= rule.highest &&
    Math.floor(value) === value;
}

/**
 * Memory belongs to a stream, on which it may be used again as soon as it is freed; others that use
 * it must be known.
 */
function noteUse(memory: ReadonlyDeviceMemory, stream: Stream | undefined): void {
  if (stream !== undefined && memory.stream !== undefined) memory.recordStream?.(stream);
}

/** The bytes of a narrow float or of a big integer that fits; `undefined` for anything else. */
function rawBits(type: ScalarType, value: unknown): bigint | undefined {
  if (isNarrowFloat(type)) {
    return typeof value === "number" ? BigInt(narrowFloatBits(type, value)) : undefined;
  }
  if (typeof value !== "bigint" || (type !== "int64" && type !== "uint64")) return undefined;
  const range = integerRange(type)!;
  return value < range.lowest || value > range.highest ? undefined : BigInt.asUintN(64, value);
}
