/**
 * A reader of Python's pickle that executes nothing.
 *
 * A pickle is a program for a small stack machine, and its opcodes for classes and calls make
 * loading an untrusted one the same as running it. This reader knows the opcodes for plain values
 * only, of the protocols 0 to 5, and refuses all others by name. Dictionaries become `Map`s, so
 * that no key means anything to JavaScript.
 *
 * A list or dictionary may be shared, as the frames of stack traces are, but not contain itself,
 * and nesting is limited: whoever walks through the result needs no guards.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import { PickleBytes } from "./pickle_bytes.ts";
import { PickleError } from "./pickle_error.ts";
import { opcodeName, PLAIN_OPCODES, REFUSED_OPCODES } from "./pickle_opcodes.ts";
import { type Container, PickleStack } from "./pickle_stack.ts";
import { decodeFloat, decodeQuoted, decodeRawUnicode } from "./pickle_text.ts";
import type { PickleLimits, PickleValue } from "./pickle_value.ts";

const CODE = PLAIN_OPCODES;
const REFUSED: ReadonlySet<number> = new Set(Object.values(REFUSED_OPCODES));
const HIGHEST_PROTOCOL = 5;

/** The limits of a reader that is told none. */
export const PICKLE_LIMITS: Required<PickleLimits> = {
  maximumBytes: 2 ** 29,
  maximumDepth: 100,
  maximumContainers: 2 ** 22,
  maximumValues: 2 ** 26,
  maximumLength: 2 ** 23,
};

/** Whether bytes look like a pickle of any protocol, by how they begin and end. */
export function isPickle(bytes: Uint8Array): boolean {
  if (bytes.length < 2 || bytes[bytes.length - 1] !== CODE.STOP) return bytes[0] === CODE.PROTO;
  const [first, second] = bytes;
  if (first === CODE.PROTO) return true;
  // Without a protocol a container comes first: "(dp0", "(lp0", "}q" or "]q".
  if (first === CODE.MARK) return second === CODE.DICT || second === CODE.LIST;
  return (first === CODE.EMPTY_DICT || first === CODE.EMPTY_LIST) &&
    (second === CODE.BINPUT || second === CODE.LONG_BINPUT || second === CODE.STOP);
}

/**
 * Reads a pickle.
 *
 * | Python                | here                                                 |
 * | --------------------- | ---------------------------------------------------- |
 * | `None`, `bool`, `str` | `null`, `boolean`, `string`                          |
 * | `int`                 | `number`, or `bigint` where a number is not exact    |
 * | `float`               | `number`                                             |
 * | `bytes`, `bytearray`  | `Uint8Array`                                         |
 * | `list`, `tuple`       | array                                                |
 * | `dict`                | `Map`                                                |
 *
 * @param bytes The whole file.
 * @throws {PickleError} If it is corrupt, cut short, too large, or holds anything else; the message
 *   names the opcode and its offset in bytes.
 *
 * @example
 * ```ts
 * import { readPickle } from "./pickle.ts";
 *
 * // pickle.dumps({"size": 512}, protocol=2)
 * const bytes = Uint8Array.of(
 *   ...[0x80, 2, 0x7d, 0x71, 0, 0x58, 4, 0, 0, 0, 0x73, 0x69, 0x7a, 0x65],
 *   ...[0x71, 1, 0x4d, 0, 2, 0x73, 0x2e],
 * );
 * console.log(readPickle(bytes)); // Map(1) { "size" => 512 }
 * ```
 */
export function readPickle(bytes: Uint8Array, limits: PickleLimits = {}): PickleValue {
  const all = { ...PICKLE_LIMITS, ...limits };
  if (bytes.length > all.maximumBytes) {
    throw new PickleError(
      0,
      undefined,
      `the file must have at most ${all.maximumBytes} bytes: it has ${bytes.length}`,
    );
  }
  return new PickleReader(bytes, all).read();
}

class PickleReader {
  readonly #bytes: PickleBytes;
  readonly #stack: PickleStack;
  /** Where the current opcode is, and which it is. */
  #offset = 0;
  #opcode: number | undefined;

  constructor(bytes: Uint8Array, limits: Required<PickleLimits>) {
    const refuse = (offence: string) => this.#refuse(offence);
    this.#bytes = new PickleBytes(bytes, refuse);
    this.#stack = new PickleStack(limits, refuse);
  }

  read(): PickleValue {
    for (;;) {
      this.#offset = this.#bytes.position;
      this.#opcode = undefined;
      if (this.#bytes.left === 0) this.#refuse("there must be a STOP: the file was cut short");
      const opcode = this.#bytes.uint8();
      this.#opcode = opcode;
      if (opcode === CODE.STOP) return this.#stop();
      if (!this.#pushScalar(opcode) && !this.#build(opcode)) this.#refuseOpcode(opcode);
    }
  }

  #stop(): PickleValue {
    const value = this.#stack.result();
    if (this.#bytes.left > 0) {
      this.#refuse(`must be the last byte: ${this.#bytes.left} more follow`);
    }
    return value;
  }

  /** Opcodes that push one value; false for any other. */
  #pushScalar(opcode: number): boolean {
    const bytes = this.#bytes;
    const stack = this.#stack;
    switch (opcode) {
      case CODE.NONE:
        return stack.push(null);
      case CODE.NEWTRUE:
        return stack.push(true);
      case CODE.NEWFALSE:
        return stack.push(false);
      case CODE.BININT1:
        return stack.push(bytes.uint8());
      case CODE.BININT2:
        return stack.push(bytes.uint16());
      case CODE.BININT:
        return stack.push(bytes.int32());
      case CODE.LONG1:
        return stack.push(bytes.integer(bytes.uint8()));
      case CODE.LONG4:
        return stack.push(bytes.integer(this.#signedLength()));
      case CODE.BINFLOAT:
        return stack.push(bytes.float64());
      case CODE.SHORT_BINUNICODE:
      case CODE.SHORT_BINSTRING:
        return stack.push(bytes.text(bytes.uint8()));
      case CODE.BINUNICODE:
        return stack.push(bytes.text(bytes.uint32()));
      case CODE.BINSTRING:
        return stack.push(bytes.text(this.#signedLength()));
      case CODE.BINUNICODE8:
        return stack.push(bytes.text(bytes.length8()));
      case CODE.SHORT_BINBYTES:
        return stack.push(bytes.bytes(bytes.uint8()));
      case CODE.BINBYTES:
        return stack.push(bytes.bytes(bytes.uint32()));
      case CODE.BINBYTES8:
      case CODE.BYTEARRAY8:
        return stack.push(bytes.bytes(bytes.length8()));
      default:
        return this.#pushLine(opcode);
    }
  }

  /** Opcodes of protocol 0, whose value is a line of text; false for any other. */
  #pushLine(opcode: number): boolean {
    switch (opcode) {
      case CODE.INT: {
        const text = this.#bytes.line();
        const flag = text === "00" ? false : text === "01" ? true : undefined;
        return this.#stack.push(flag ?? this.#bytes.decimal(text));
      }
      case CODE.LONG:
        return this.#stack.push(this.#bytes.decimal(this.#bytes.line().replace(/L$/, "")));
      case CODE.FLOAT:
        return this.#stack.push(this.#decoded(decodeFloat, "a floating-point number"));
      case CODE.STRING:
        return this.#stack.push(this.#decoded(decodeQuoted, "a text in quotes"));
      case CODE.UNICODE:
        return this.#stack.push(this.#decoded(decodeRawUnicode, "a text with whole escapes"));
      default:
        return false;
    }
  }

  /** Opcodes that work on the stack and the memo; false for any other. */
  #build(opcode: number): boolean {
    const stack = this.#stack;
    switch (opcode) {
      case CODE.MARK:
        return stack.mark();
      case CODE.POP:
        return stack.drop();
      case CODE.POP_MARK:
        stack.popToMark();
        return true;
      case CODE.DUP:
        return stack.duplicate();
      case CODE.EMPTY_LIST:
        return stack.push(this.#container([]));
      case CODE.EMPTY_DICT:
        return stack.push(this.#container(new Map()));
      case CODE.LIST:
      case CODE.DICT: {
        const items = stack.popToMark();
        stack.push(this.#container(opcode === CODE.LIST ? [] : new Map()));
        return stack.fill(items);
      }
      case CODE.APPEND:
        return stack.fillList([stack.pop()]);
      case CODE.APPENDS:
        return stack.fillList(stack.popToMark());
      case CODE.SETITEM: {
        const value = stack.pop();
        return stack.fillDictionary([stack.pop(), value]);
      }
      case CODE.SETITEMS:
        return stack.fillDictionary(stack.popToMark());
      default:
        return this.#buildTuple(opcode) || this.#remember(opcode) || this.#frame(opcode);
    }
  }

  #buildTuple(opcode: number): boolean {
    switch (opcode) {
      case CODE.EMPTY_TUPLE:
        return this.#stack.pushTuple([]);
      case CODE.TUPLE:
        return this.#stack.pushTuple(this.#stack.popToMark());
      case CODE.TUPLE1:
        return this.#stack.pushTuple(this.#stack.popMany(1));
      case CODE.TUPLE2:
        return this.#stack.pushTuple(this.#stack.popMany(2));
      case CODE.TUPLE3:
        return this.#stack.pushTuple(this.#stack.popMany(3));
      default:
        return false;
    }
  }

  #remember(opcode: number): boolean {
    switch (opcode) {
      case CODE.PUT:
        return this.#stack.put(this.#memoNumber());
      case CODE.BINPUT:
        return this.#stack.put(this.#bytes.uint8());
      case CODE.LONG_BINPUT:
        return this.#stack.put(this.#bytes.uint32());
      case CODE.MEMOIZE:
        return this.#stack.put(undefined);
      case CODE.GET:
        return this.#stack.get(this.#memoNumber());
      case CODE.BINGET:
        return this.#stack.get(this.#bytes.uint8());
      case CODE.LONG_BINGET:
        return this.#stack.get(this.#bytes.uint32());
      default:
        return false;
    }
  }

  #frame(opcode: number): boolean {
    if (opcode === CODE.FRAME) {
      this.#bytes.length8();
      return true;
    }
    if (opcode !== CODE.PROTO) return false;
    const protocol = this.#bytes.uint8();
    if (protocol > HIGHEST_PROTOCOL) {
      this.#refuse(`must name a protocol in 0..${HIGHEST_PROTOCOL}: it is ${protocol}`);
    }
    return true;
  }

  #container(value: PickleValue[] | Map<PickleValue, PickleValue>): Container {
    return this.#stack.container(value);
  }

  #signedLength(): number {
    const length = this.#bytes.int32();
    if (length < 0) this.#refuse(`must have a length of at least 0: it is ${length}`);
    return length;
  }

  #memoNumber(): number {
    const number = this.#bytes.decimal(this.#bytes.line());
    if (typeof number === "number" && number >= 0) return number;
    this.#refuse(`must name a memo of at least 0: it is ${describeValue(number)}`);
  }

  #decoded<T>(decode: (text: string) => T | undefined, what: string): T {
    const line = this.#bytes.line();
    const value = decode(line);
    if (value !== undefined) return value;
    this.#refuse(`must be followed by ${what}: it is ${describeValue(line)}`);
  }

  #refuseOpcode(opcode: number): never {
    if (!REFUSED.has(opcode)) this.#refuse("is no opcode of pickle");
    this.#refuse(
      "makes or names objects: only plain values are read (dict, list, tuple, str, bytes, int, " +
        "float, bool, None)",
    );
  }

  #refuse(offence: string): never {
    const name = this.#opcode === undefined ? undefined : opcodeName(this.#opcode);
    throw new PickleError(this.#offset, name, offence);
  }
}
