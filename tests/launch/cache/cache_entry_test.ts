import "../../support/cache_directory.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { decodeEntry, encodeEntry } from "../../../src/launch/cache/cache_entry.ts";
import { CACHE_SCHEMA } from "../../../src/launch/cache/cache_key.ts";
import type { CompiledImage } from "../../../src/launch/compile/compiler.ts";
import type { SourceDeclarations } from "../../../src/launch/module/module_contents.ts";
import { compiledFor, REQUEST } from "./counting_compiler.ts";

const KEY = "5e".repeat(32);
const ENTRY = await encodeEntry(KEY, REQUEST.name, compiledFor(REQUEST, 67));

async function problemOf(bytes: Uint8Array<ArrayBuffer>, key = KEY): Promise<string> {
  const reading = await decodeEntry(key, bytes);
  assert("problem" in reading, "it was read");
  return reading.problem;
}

/** An entry with a correct digest and any content. */
async function entryWith(
  content: Uint8Array<ArrayBuffer>,
  schema = CACHE_SCHEMA,
): Promise<Uint8Array<ArrayBuffer>> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  const magic = [0x93, 0x47, 0x53, 0x4b, 0x43, schema, 0x0d, 0x0a];
  return Uint8Array.of(...magic, ...digest, ...content);
}

function described(description: unknown, image: number[] = []): Promise<Uint8Array<ArrayBuffer>> {
  const text = new TextEncoder().encode(JSON.stringify(description));
  return entryWith(Uint8Array.of(0, 0, text.length >> 8, text.length & 255, ...text, ...image));
}

const VALID = {
  key: KEY,
  source: "a.cu",
  kernels: [{ expression: "a", signature: "a(int n)" }],
  variables: ["v"],
  uncompiled: [{ expression: "t", reason: "condition" }],
  format: "ptx",
  names: [["a", "_Z1a"]],
  resources: [["_Z1a", [1, 2, 3]]],
  log: "",
  bytes: 2,
};

Deno.test("decodeEntry() returns any image", async () => {
  const image: fc.Arbitrary<CompiledImage> = fc.record({
    format: fc.constantFrom("cubin", "ptx", "fatbin", "library"),
    image: fc.uint8Array({ maxLength: 300 }).map((bytes) => new Uint8Array(bytes)),
    loweredNames: fc.array(fc.tuple(fc.string(), fc.string())).map((pairs) => new Map(pairs)),
    resources: fc.array(fc.tuple(
      fc.string(),
      fc.record({ registers: fc.nat(), sharedMemory: fc.nat(), localMemory: fc.nat() }),
    )).map((pairs) => new Map(pairs)),
    log: fc.string({ unit: "binary" }),
  });
  const declarations: fc.Arbitrary<SourceDeclarations> = fc.record({
    kernels: fc.array(
      fc.record({ expression: fc.string(), signature: fc.string() }, {
        requiredKeys: ["expression"],
      }),
    ),
    variables: fc.array(fc.string()),
    uncompiled: fc.array(fc.record({
      expression: fc.string(),
      signature: fc.string(),
      templateParameters: fc.array(fc.tuple(fc.string(), fc.string())),
      reason: fc.constantFrom("template", "condition", "option"),
    })),
  });
  await fc.assert(
    fc.asyncProperty(image, declarations, async (made, declarations) => {
      const compiled = { image: made, declarations };
      const reading = await decodeEntry(KEY, await encodeEntry(KEY, REQUEST.name, compiled));
      assertEquals(reading, { compiled });
    }),
    { numRuns: 100 },
  );
});

Deno.test("decodeEntry() refuses a truncated entry, and one with a changed byte", async () => {
  for (let offset = 0; offset < ENTRY.length; offset++) {
    await problemOf(ENTRY.slice(0, offset));
    await problemOf(ENTRY.with(offset, ENTRY[offset]! ^ 0x80) as Uint8Array<ArrayBuffer>);
  }
});

Deno.test("decodeEntry() refuses another key, schema or kind", async () => {
  assertStringIncludes(await problemOf(ENTRY, "5f".repeat(32)), "another key");
  const content = ENTRY.slice(40);
  const older = await entryWith(content, CACHE_SCHEMA - 1);
  assertStringIncludes(await problemOf(older), "another kind");
  assertStringIncludes(await problemOf(new Uint8Array()), "0 bytes");
});

Deno.test("decodeEntry() refuses invalid content with a valid digest", async () => {
  assert("compiled" in await decodeEntry(KEY, await described(VALID, [1, 2])), "the valid one");
  for (const image of [[], [1], [1, 2, 3]]) {
    assertStringIncludes(await problemOf(await described(VALID, image)), "2 bytes");
  }
  const wrong: readonly unknown[] = [
    null,
    7,
    [],
    {},
    ...Object.keys(VALID).filter((field) => field !== "format").flatMap((field) =>
      [undefined, null, 1.5, {}].map((value) => ({ ...VALID, [field]: value }))
    ),
    { ...VALID, bytes: 2 ** 53 },
    { ...VALID, bytes: -1 },
  ];
  for (const description of wrong) {
    await problemOf(await described(description, [1, 2]));
  }
});
