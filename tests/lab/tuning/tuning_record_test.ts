/**
 * Files of tuning results: what is written is read, and nothing else is.
 */

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { TuningIdentity } from "../../../src/lab/tuning/tuning_identity.ts";
import {
  decodeRecord,
  encodeRecord,
  type TuningRecord,
} from "../../../src/lab/tuning/tuning_record.ts";

const IDENTITY: TuningIdentity = {
  name: "transpose",
  key: '{"rows":1}',
  device: "a device",
  version: "1",
};

const RECORD: TuningRecord = new Map([
  ['{"tile":16}', { session: "a", samples: [1.5, 2], stoppedEarly: false }],
  ['{"tile":32}', { session: "", samples: [], stoppedEarly: false, failure: "it\nfails" }],
  ['{"tile":8n}', { session: "a", samples: [0], stoppedEarly: true }],
  ['{"tile":4}', {
    session: "a",
    samples: [1],
    stoppedEarly: false,
    confirmation: { first: '{"tile":16}', firstSamples: [2, 3], samples: [0, 1] },
  }],
]);

Deno.test("what was written is read", () => {
  assertEquals(decodeRecord(IDENTITY, encodeRecord(IDENTITY, RECORD)), { record: RECORD });
  assertEquals(decodeRecord(IDENTITY, encodeRecord(IDENTITY, new Map())), { record: new Map() });
});

Deno.test("a file of another tuning, device or version is none of this one", () => {
  for (const name of ["name", "key", "device", "version"] as const) {
    const reading = decodeRecord(
      IDENTITY,
      encodeRecord({ ...IDENTITY, [name]: "other" }, RECORD),
    );
    assertEquals(reading, { problem: "they are those of another tuning" });
  }
});

Deno.test("damaged files are problems, never exceptions and never results", () => {
  const whole = encodeRecord(IDENTITY, RECORD);
  for (let length = 0; length < whole.length - 1; length++) {
    assert("problem" in decodeRecord(IDENTITY, whole.slice(0, length)), `${length} bytes`);
  }
  assert("problem" in decodeRecord(IDENTITY, Uint8Array.of(0xff, 0xfe)));
  fc.assert(fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, byte) => {
    const damaged = whole.slice();
    damaged[at] = byte;
    decodeRecord(IDENTITY, damaged);
  }));
});

Deno.test("entries that cannot be are refused as a whole", () => {
  const entry = { configuration: "1", session: "a", samples: [1], stoppedEarly: false };
  const read = (entries: unknown) => {
    const file = JSON.parse(new TextDecoder().decode(encodeRecord(IDENTITY, new Map())));
    const text = JSON.stringify({ ...file, entries });
    return decodeRecord(IDENTITY, new TextEncoder().encode(text));
  };
  const confirmation = { first: "1", firstSamples: [1], samples: [2] };
  assert("record" in read([entry, { ...entry, confirmation }]));
  for (
    const entries of [
      undefined,
      7,
      [7],
      [null],
      [{ ...entry, configuration: 1 }],
      [{ ...entry, session: null }],
      [{ ...entry, samples: [] }],
      [{ ...entry, samples: ["1"] }],
      [{ ...entry, samples: [-1] }],
      [{ ...entry, samples: [null] }],
      [{ ...entry, samples: 1 }],
      [{ ...entry, stoppedEarly: 0 }],
      [{ ...entry, failure: 1 }],
      [{ ...entry, confirmation: null }],
      [{ ...entry, confirmation: { ...confirmation, first: 1 } }],
      [{ ...entry, confirmation: { ...confirmation, samples: [] } }],
      [{ ...entry, confirmation: { ...confirmation, firstSamples: [-1] } }],
      [{ ...entry, failure: "and times" }],
      [entry, 7],
    ]
  ) {
    assert("problem" in read(entries), JSON.stringify(entries));
  }
});
