/**
 * Values of every JavaScript type, and numbers and arrays that are likely to be wrong by one.
 *
 * @module
 */

import fc from "fast-check";
import { DTYPES } from "../../mod.ts";
import { Deferred, reference } from "./deferred.ts";
import { STAGE_KINDS } from "./stage.ts";

/** The error of a hostile argument when it is read. */
export class HostileArgumentError extends Error {
  override readonly name: string = "HostileArgumentError";
}

/** Numbers at the borders of integer types, of what a size can be, and no numbers. */
const BORDERS: readonly number[] = [
  0,
  -0,
  -1,
  0.5,
  1.5,
  -0.5,
  255,
  256,
  65535,
  65536,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31),
  -(2 ** 31) - 1,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 45,
  2 ** 53 - 1,
  2 ** 53,
  -(2 ** 53),
  1e300,
  5e-324,
  NaN,
  Infinity,
  -Infinity,
];

/** Any number: a border, a small integer, or whatever a double can be. */
export const anyNumber: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(...BORDERS),
  fc.integer({ min: -3, max: 130 }),
  fc.double(),
);

/** A number of elements or bytes: mostly small and right. */
export const size: fc.Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: fc.nat(130) },
  { weight: 1, arbitrary: fc.constantFrom(1000, 4096, 65536, 2 ** 20) },
  { weight: 2, arbitrary: anyNumber },
);

interface ArrayClass {
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): ArrayBufferView;
  readonly BYTES_PER_ELEMENT: number;
  readonly name: string;
}

const ARRAYS: readonly ArrayClass[] = [
  Float64Array,
  Float32Array,
  Float16Array,
  BigInt64Array,
  BigUint64Array,
  Int32Array,
  Uint32Array,
  Int16Array,
  Uint16Array,
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
];

/** Memory behind an array: its own, shared with others, growing, detached, or begun later. */
const MEMORIES = ["own", "shared", "resizable", "detached", "offset"] as const;

function arrayOver(Elements: ArrayClass, memory: string, length: number): unknown {
  const bytes = length * Elements.BYTES_PER_ELEMENT;
  switch (memory) {
    case "shared":
      return new Elements(new SharedArrayBuffer(bytes));
    case "resizable": {
      const buffer = new ArrayBuffer(bytes, { maxByteLength: bytes + 64 });
      const array = new Elements(buffer);
      buffer.resize(Math.max(0, bytes - 16));
      return array;
    }
    case "detached": {
      const array = new Elements(new ArrayBuffer(bytes));
      structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
      return array;
    }
    case "offset":
      return new Elements(new ArrayBuffer(bytes + 8), 8, length);
    default:
      return new Elements(new ArrayBuffer(bytes));
  }
}

/** A typed array of any kind. */
export const typedArray: fc.Arbitrary<Deferred> = fc.record({
  Elements: fc.oneof(fc.constant(Float32Array), fc.constantFrom(...ARRAYS)),
  memory: fc.oneof({ weight: 6, arbitrary: fc.constant("own") }, fc.constantFrom(...MEMORIES)),
  length: fc.oneof(fc.nat(12), fc.constantFrom(64, 100, 1000)),
}).map(({ Elements, memory, length }) =>
  new Deferred(
    `<${memory} ${Elements.name}(${length})>`,
    () => arrayOver(Elements, memory, length),
  )
);

/** The name of an element type, seldom a wrong one. */
export const dtype: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...DTYPES) },
  { weight: 1, arbitrary: fc.constantFrom("float", "FLOAT32", "", "toString", "__proto__") },
);

function hostile(label: string, look: () => never): Deferred {
  return new Deferred(label, () =>
    new Proxy(() => {}, {
      get: look,
      has: look,
      getPrototypeOf: look,
      ownKeys: look,
      apply: look,
    }));
}

function throwHostile(): never {
  throw new HostileArgumentError("looked at");
}

/** Objects that fight back: they throw, are revoked, or claim to be numbers. */
const hostileObject: fc.Arbitrary<Deferred> = fc.constantFrom(
  hostile("<proxy that throws>", throwHostile),
  new Deferred("<revoked proxy>", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  }),
  new Deferred("<object that becomes 1>", () => ({ valueOf: () => 1, toString: () => "1" })),
  new Deferred("<object that becomes nothing>", () => ({ valueOf: throwHostile })),
);

/** An options object that gives memory back while it is read. */
const treacherousOptions: fc.Arbitrary<Deferred> = fc.tuple(
  fc.constantFrom("stream", "offset", "dtype", "fill", "timing", "low"),
  reference("buffer"),
).map(([name, buffer]) =>
  new Deferred(`<options that free ${buffer.label} when ${name} is read>`, (stage) => ({
    get [name]() {
      (buffer.make(stage) as Disposable)[Symbol.dispose]();
      return undefined;
    },
  }))
);

const oddObject: fc.Arbitrary<Deferred> = fc.constantFrom(
  new Deferred("<object without prototype>", () => Object.create(null)),
  new Deferred("<function>", () => () => 1),
  new Deferred("<symbol>", () => Symbol("odd")),
  new Deferred("<promise>", () => Promise.resolve(1)),
  new Deferred("<map>", () => new Map([["grid", 1]])),
  new Deferred("<date>", () => new Date(0)),
  new Deferred("<pattern>", () => /x/),
  new Deferred("<array buffer>", () => new ArrayBuffer(16)),
  new Deferred("<data view>", () => new DataView(new ArrayBuffer(16))),
  new Deferred("<huge bigint>", () => 1n << 5000n),
  new Deferred("<array with a hole>", () => new Array(3)),
);

/** Any value at all, live and disposed objects of this library among them. */
export const anything: fc.Arbitrary<unknown> = fc.oneof(
  anyNumber,
  fc.constantFrom(undefined, null, true, false, "", "host:0", "float32", 0n, -1n, 1n << 64n),
  fc.string(),
  fc.bigInt(),
  typedArray,
  oddObject,
  hostileObject,
  treacherousOptions,
  fc.array(fc.oneof(anyNumber, fc.string()), { maxLength: 4 }),
  fc.dictionary(
    fc.constantFrom("stream", "offset", "dtype", "length", "context", "grid", "fill", "elements"),
    fc.oneof(anyNumber, fc.string(), fc.constant(null)),
  ),
  fc.constantFrom(...STAGE_KINDS).chain((kind) => reference(kind)),
);

/** Mostly what fits, now and then anything. */
export function mostly<T>(fitting: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: fitting }, { weight: 1, arbitrary: anything });
}

/** An options object with some of these members, now and then anything. */
export function options(
  members: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<unknown> {
  const filled = fc.record(
    Object.fromEntries(Object.entries(members).map(([name, value]) => [name, mostly(value)])),
    { requiredKeys: [] },
  );
  return mostly(fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, filled));
}

/** The arguments of one call. */
export type Arguments = fc.Arbitrary<readonly unknown[]>;

/** Arguments that mostly fit; sometimes one is missing or too many. */
export function takes(...fitting: readonly fc.Arbitrary<unknown>[]): Arguments {
  return fc.tuple(
    fc.tuple(...fitting.map((each) => mostly(each))),
    fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, fc.constantFrom(-1, 1)),
    anything,
  ).map(([list, change, extra]) =>
    change === 0 ? list : change > 0 ? [...list, extra] : list.slice(0, -1)
  );
}

/** Calls without arguments of getters and methods of a class, given as lists of names. */
export function withoutArguments(
  owner: string,
  getters: string,
  methods: string,
): Readonly<Record<string, Arguments>> {
  const members = Object.entries({ getter: getters, method: methods }).flatMap(([kind, names]) =>
    names.split(" ").filter((name) => name !== "").map((name) => `${kind} ${owner}.${name}`)
  );
  return Object.fromEntries(members.map((member) => [member, takes()]));
}
