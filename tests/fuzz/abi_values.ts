/**
 * Scalars, handles, addresses and buffers for functions of the C ABI.
 *
 * @module
 */

import fc from "fast-check";
import { type AbiStage, type HandleKind, SCRATCH_BYTES, SLAB_BYTES } from "./abi_stage.ts";
import { Deferred } from "./deferred.ts";
import { anyNumber } from "./values.ts";

/** A description of a value that needs the stage. */
type AbiValue = Deferred<AbiStage>;

/** Any `int32_t`: borders, small ones, all others. */
export const int32: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, 1, -1, 2, 2 ** 31 - 1, -(2 ** 31), 2 ** 20, 2 ** 20 + 1, 12345678),
  fc.integer({ min: -8, max: 200 }),
  fc.integer(),
);

/** An ordinal: mostly one of the two devices. */
export const device: fc.Arbitrary<AbiValue | number> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constantFrom(0, 0, 0, 1).map((index) =>
      new Deferred<AbiStage>(`<device ${index}>`, (stage) => stage.devices[index])
    ),
  },
  { weight: 1, arbitrary: int32 },
);

/** Handles of the first device that go together: a stream, timing events, a slab. */
const FAVOURITES: { readonly [Kind in HandleKind]: readonly number[] } = {
  stream: [0],
  event: [1, 2],
  pinned: [0],
  file: [0],
  lifeline: [0],
  graph: [0, 1],
  module: [0],
  kernel: [0],
  program: [0],
  waiter: [0],
};

/** The two largest memory blocks of the first device. */
const ROOMY = [3, 4] as const;

/** Memory of the first device with room for everything that is done with it. */
export const roomyAddress: fc.Arbitrary<AbiValue> = fc.tuple(
  fc.constantFrom(...ROOMY),
  fc.constantFrom(0, 0, 64, 4096),
).map(([index, offset]) => memoryAddress(index, offset));

function memoryAddress(index: number, offset: number): AbiValue {
  return new Deferred<AbiStage>(
    `<memory ${index}> + ${offset}`,
    (stage) => stage.memory(index).address + offset,
  );
}

/** A handle: live, stale, of another kind, one bit off, or made up. */
export function handle(kind: HandleKind): fc.Arbitrary<AbiValue | number> {
  const known = (of: HandleKind) =>
    fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...FAVOURITES[of]) }, fc.nat(40)).map((
      index,
    ) => new Deferred<AbiStage>(`<${of} ${index}>`, (stage) => stage.handle(of, index)));
  return fc.oneof(
    { weight: 12, arbitrary: known(kind) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...Object.keys(FAVOURITES) as HandleKind[]).chain(known),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(known(kind), fc.nat(30)).map(([of, bit]) =>
        new Deferred<AbiStage>(
          `${of.label} with bit ${bit} flipped`,
          (stage) => (of.make(stage) as number) ^ (1 << bit),
        )
      ),
    },
    { weight: 1, arbitrary: int32 },
  );
}

/**
 * An address on a device: the start, the inside or the end of memory that is there or was, or one
 * that no process has memory at. A kernel of the host device runs in this process, so a number
 * that could be an address of the process's own memory must not be among them.
 */
export const address: fc.Arbitrary<AbiValue | number> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.tuple(
      fc.nat(40),
      fc.oneof(
        { weight: 5, arbitrary: fc.constant(0) },
        fc.constantFrom(1, 4, 8, 64, 99, 100, 512, 4095, 4096, 65536, 2 ** 20, -1, -256),
      ),
    ).map(([index, offset]) => memoryAddress(index, offset)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0, 1, 8, 4096, 2 ** 47, 2 ** 48, 2 ** 52, 2 ** 53 - 1),
  },
);

/** An address, or any other number: for arguments that are checked before use. */
export const checkedAddress: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: roomyAddress },
  { weight: 4, arbitrary: address },
  { weight: 1, arbitrary: anyNumber },
);

/** A number of bytes, elements or rows. */
export const count: fc.Arbitrary<number> = fc.oneof(
  { weight: 12, arbitrary: fc.nat(130) },
  { weight: 3, arbitrary: fc.constantFrom(512, 4096, 65536, 2 ** 20, 2 ** 20 + 1) },
  { weight: 1, arbitrary: anyNumber },
);

/** Reserved addresses: mostly where a page begins, with memory or without. */
export const virtualAddress: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(
      fc.constantFrom(0, 0, 0, 1, 1, 2, 3, 4, 5),
      fc.constantFrom(0, 0, 0, 1, 2, 3, 4, 5, 6, 7),
      fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.constantFrom(1, -1, 4096)),
    ).map(([index, pages, offset]) =>
      new Deferred<AbiStage>(
        `<reservation ${index}> + ${pages} pages + ${offset}`,
        (stage) => stage.reservation(index).address + pages * stage.page + offset,
      )
    ),
  },
  { weight: 1, arbitrary: address },
  { weight: 1, arbitrary: anyNumber },
);

/** A number of bytes: mostly a few pages. */
export const virtualBytes: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constantFrom(1, 1, 2, 2, 3, 4, 5, 6, 40).map((pages) =>
      new Deferred<AbiStage>(`<${pages} pages>`, (stage) => pages * stage.page)
    ),
  },
  { weight: 1, arbitrary: count },
);

/** Where `gs_device_telemetry` writes its fields: seldom nowhere. */
export const telemetry: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constant(new Deferred<AbiStage>("<fields>", () => new Float64Array(20))),
  },
  { weight: 1, arbitrary: fc.constant(null) },
);

/** Where a function writes numbers: seldom nowhere. */
export const result: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constant(
      new Deferred<AbiStage>("<result>", (stage) => stage.library.result),
    ),
  },
  { weight: 1, arbitrary: fc.constant(null) },
);

/** A text buffer and its capacity, which is at most its length. */
export const text: fc.Arbitrary<readonly unknown[]> = fc.tuple(
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(512, 4096) }, fc.nat(64)),
  fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.constantFrom(1, 2)),
).map(([capacity, kind]) =>
  kind === 0
    ? [new Deferred<AbiStage>(`<text of ${capacity}>`, () => new Uint8Array(capacity)), capacity]
    : kind === 1
    ? [null, capacity]
    : [new Deferred<AbiStage>("<text of 64>", () => new Uint8Array(64)), 0 - capacity]
);

/** JavaScript memory of at least this many bytes; none if that is too much. */
export function lent(bytes: number): Deferred<AbiStage> | null {
  if (!(bytes <= SCRATCH_BYTES)) return null;
  return new Deferred<AbiStage>(`<memory of ${SCRATCH_BYTES}>`, (stage) => stage.scratch);
}

/** A slab to pin, with its size: whole pages, or not. */
export const slab: fc.Arbitrary<readonly unknown[]> = fc.tuple(
  fc.nat(3),
  fc.constantFrom(0, 0, 0, 1, 4096, 8191),
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(SLAB_BYTES, 4096, 8192) },
    fc.constantFrom(0, 1, 4095, -4096, 0.5, NaN),
  ),
).map(([index, offset, bytes]) => {
  const length = Math.min(bytes, SLAB_BYTES - offset);
  const label = `<slab ${index} from ${offset}>`;
  return [
    new Deferred<AbiStage>(label, (stage) => stage.slab(index).subarray(offset)),
    Number.isNaN(length) ? bytes : length,
  ];
});

/** One call: its slots of the command block and its arguments. */
export interface AbiCall {
  /** Slots of the command block and their values. */
  readonly slots: readonly (readonly [slot: number, value: unknown])[];
  /** The parameters. */
  readonly parameters: readonly unknown[];
}

/** Values of one parameter. */
export type Values = fc.Arbitrary<unknown>;

/** A call that passes its values. */
export function passes(...parameters: readonly Values[]): fc.Arbitrary<AbiCall> {
  return fc.tuple(...parameters).map((values) => ({ slots: [], parameters: values }));
}

/** A call that passes its values, of which the last come as a list. */
export function passesList(
  first: readonly Values[],
  rest: fc.Arbitrary<readonly unknown[]>,
  last: readonly Values[] = [],
): fc.Arbitrary<AbiCall> {
  return fc.tuple(fc.tuple(...first), rest, fc.tuple(...last)).map(([head, middle, tail]) => ({
    slots: [],
    parameters: [...head, ...middle, ...tail],
  }));
}
