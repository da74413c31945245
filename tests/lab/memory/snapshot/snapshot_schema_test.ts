// The published JSON schema and the validator are about the same format: what the schema refuses
// the validator refuses, and the other way around but for what the schema says it cannot say.

import { assert, assertEquals } from "@std/assert";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import {
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  TIMELINE_ACTIONS,
} from "../../../../src/lab/memory/snapshot/memory_snapshot.ts";
import schema from "../../../../src/lab/memory/snapshot/snapshot_schema.json" with { type: "json" };
import {
  SnapshotError,
  validateSnapshot,
} from "../../../../src/lab/memory/snapshot/read_snapshot.ts";
import { SNAPSHOTS } from "./generated_snapshot.ts";

const SCHEMA = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: false }).compile(
  schema,
);

/** What only the validator says. */
const BEYOND = [
  /^segments\[\d+\]\.blocks must have/,
  /^segments\[\d+\]\.blocks\[\d+\]\.offset must be \d+, where/,
  /^segments\[\d+\]\.blocks\[\d+\]\.requested must be at most [1-9]/,
  /^segments\[\d+\]\.address must be behind/,
  /^segments\[\d+\]\.bytes must be below 2\^53/,
  /^timeline\.\w+\.length must be/,
  /^timeline\.time\[\d+\] must be at least \S+, the time before/,
  /must be (?:-1 or )?an index of /,
  /^takenAt must be a time/,
];

/** What the validator says; "" where it says nothing. */
function verdict(value: unknown): string {
  try {
    validateSnapshot(value);
    return "";
  } catch (error) {
    assert(error instanceof SnapshotError, String(error));
    return error.message.slice("Cannot read the snapshot as ".length);
  }
}

Deno.test("the JSON schema accepts every valid snapshot", () => {
  fc.assert(fc.property(SNAPSHOTS, (snapshot) => {
    assert(SCHEMA(snapshot), JSON.stringify(SCHEMA.errors));
    assertEquals(verdict(snapshot), "");
  }));
});

/** All places in a value: the object or array and the key. */
function placesOf(value: unknown): [Record<string, unknown>, string][] {
  if (typeof value !== "object" || value === null) return [];
  const record = value as Record<string, unknown>;
  return Object.keys(record).flatMap((key) => [
    [record, key] as [Record<string, unknown>, string],
    ...placesOf(record[key]),
  ]);
}

const REPLACEMENTS: readonly unknown[] = [
  ...[null, true, "", "live", "x", -1, 0, 1, 1.5, 2 ** 53 - 1, 2 ** 53, -2, 6, 1e300],
  ...[[], {}, [0], { a: 1 }, "2026-99-99T00:00:00Z"],
];

Deno.test("validateSnapshot() and the JSON schema agree on snapshots with one changed field", () => {
  const seen = { accepted: 0, refused: 0, beyond: 0 };
  const changes = fc.tuple(SNAPSHOTS, fc.nat(), fc.nat(REPLACEMENTS.length), fc.boolean());
  const property = fc.property(changes, ([snapshot, place, replacement, add]) => {
    const changed = structuredClone(snapshot);
    const places = placesOf(changed);
    const [record, key] = places[place % places.length]!;
    if (add && !Array.isArray(record)) record["extra"] = 1;
    else if (replacement < REPLACEMENTS.length) record[key] = REPLACEMENTS[replacement];
    else if (!Array.isArray(record)) delete record[key];
    const said = verdict(changed);
    const accepts = SCHEMA(changed);
    if (said === "") seen.accepted++;
    else if (accepts) seen.beyond++;
    else seen.refused++;
    if (said === "") assert(accepts, `only the schema: ${JSON.stringify(SCHEMA.errors)}`);
    else if (accepts) assert(BEYOND.some((rule) => rule.test(said)), `only we: ${said}`);
  });
  fc.assert(property, { numRuns: 3000 });
  // Each case must come up, or the agreement says nothing.
  assert(Object.values(seen).every((count) => count > 30), JSON.stringify(seen));
});

Deno.test("the JSON schema has the constants of the code", () => {
  assertEquals(schema.properties.format.const, SNAPSHOT_FORMAT);
  assertEquals(schema.properties.version.const, SNAPSHOT_VERSION);
  const { description, items } = schema.$defs.timeline.properties.action;
  assertEquals(items.maximum, TIMELINE_ACTIONS.length - 1);
  const listed = TIMELINE_ACTIONS.map((action, index) => `${index} ${action}`).join(", ");
  assertEquals(description, `${listed}.`);
});
