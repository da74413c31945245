// The key covers everything that machine code depends on, and no two requests share one. That is
// shown by reading the stream that is digested back to the request that it came from.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { cacheKey, keyStream, type SourceRequest } from "../../../src/launch/cache/cache_key.ts";
import { packageState } from "../../../src/launch/cache/package_state.ts";
import { REQUEST } from "./counting_compiler.ts";

const IDENTITY = ["NVRTC 13.0", "build 42"];

/** Cuts a stream up, written from the description of the format and not from the code. */
class StreamReader {
  #rest: Uint8Array<ArrayBuffer>;

  constructor(stream: Uint8Array<ArrayBuffer>) {
    this.#rest = stream;
  }

  get isAtEnd(): boolean {
    return this.#rest.length === 0;
  }

  part(label: string): string {
    const decoder = new TextDecoder();
    const start = new TextEncoder().encode(label).length;
    assertEquals(decoder.decode(this.#rest.subarray(0, start)), label);
    let length = 0;
    for (const byte of this.#rest.subarray(start, start + 8)) length = length * 256 + byte;
    const end = start + 8 + length;
    const payload = decoder.decode(this.#rest.subarray(start + 8, end));
    this.#rest = this.#rest.subarray(end);
    return payload;
  }

  list(label: string): string[] {
    const count = Number(this.part(`${label} count`));
    return Array.from({ length: count }, () => this.part(label));
  }

  pairs(label: string): [string, string][] {
    const names = this.list(`${label} name`);
    const texts = this.list(`${label} text`);
    return names.map((name, index) => [name, texts[index]!]);
  }
}

function readBack(stream: Uint8Array<ArrayBuffer>) {
  const reader = new StreamReader(stream);
  const schema = reader.part("schema");
  const state = reader.part("package");
  const identity = reader.list("compiler");
  const kind = reader.part("target kind");
  const capability = reader.part("target capability");
  const source = reader.part("source");
  const name = reader.part("name");
  const headers = reader.pairs("header");
  const defines = reader.pairs("define");
  const options = reader.list("option");
  const instances = reader.list("instance");
  assert(reader.isAtEnd);
  const target = { kind, capability };
  return {
    schema,
    state,
    identity,
    target,
    source,
    name,
    headers,
    defines,
    options,
    instances,
  };
}

function sortedPairs(map: ReadonlyMap<string, string>): [string, string][] {
  return [...map].sort(([one], [other]) => one < other ? -1 : 1);
}

// Texts that would run into each other if nothing kept them apart, among any others.
const text = fc.oneof(
  fc.constantFrom("", "a", "ab", "b", "source", "option", "option count", "\0", "0", "1"),
  fc.string({ unit: "binary" }),
);
const texts = fc.array(text, { maxLength: 4 });
const map = fc.array(fc.tuple(text, text), { maxLength: 4 }).map((pairs) => new Map(pairs));
const request: fc.Arbitrary<SourceRequest> = fc.record({
  source: text,
  name: text,
  headers: map,
  defines: map,
  options: texts,
  instances: texts,
  target: fc.record({
    kind: fc.constantFrom("cuda" as const, "host" as const),
    capability: text,
  }),
});

Deno.test("the stream of a key can be read back to its request, so no two share one", () => {
  fc.assert(
    fc.property(texts, request, (identity, made) => {
      const read = readBack(keyStream(identity, made));
      assertEquals(read, {
        schema: "2",
        state: packageState(),
        identity: [...identity],
        target: made.target,
        source: made.source,
        name: made.name,
        headers: sortedPairs(made.headers),
        defines: sortedPairs(made.defines),
        options: [...made.options],
        instances: [...made.instances].sort(),
      });
    }),
    { numRuns: 300 },
  );
});

Deno.test("every field of a request and the compiler change the key", async () => {
  const changes: readonly [string, Partial<SourceRequest>][] = [
    ["source", { source: REQUEST.source + " " }],
    ["name", { name: "other.cu" }],
    ["header content", { headers: new Map([["a.h", "#define A 2\n"], ["b.h", ""]]) }],
    ["header name", { headers: new Map([["c.h", "#define A 1\n"], ["b.h", ""]]) }],
    ["contents swapped", { headers: new Map([["a.h", ""], ["b.h", "#define A 1\n"]]) }],
    ["one header less", { headers: new Map([["a.h", "#define A 1\n"]]) }],
    ["define value", { defines: new Map([["N", "17"], ["DEBUG", ""]]) }],
    ["no defines", { defines: new Map() }],
    ["options swapped", { options: REQUEST.options.toReversed() }],
    ["options joined", { options: ["-O3 --use_fast_math"] }],
    ["one instance more", { instances: [...REQUEST.instances, "tile<int, 9>"] }],
    ["one instance less", { instances: REQUEST.instances.slice(1) }],
    ["capability", { target: { kind: "cuda", capability: "8.9" } }],
    ["kind", { target: { kind: "host", capability: "9.0" } }],
  ];
  const keys = new Map([[await cacheKey(IDENTITY, REQUEST), "unchanged"]]);
  for (const [what, change] of changes) {
    const key = await cacheKey(IDENTITY, { ...REQUEST, ...change });
    assertEquals(keys.get(key), undefined, what);
    keys.set(key, what);
  }
  assertNotEquals(await cacheKey(["NVRTC 13.0", "build 43"], REQUEST), [...keys.keys()][0]);
  assertNotEquals(await cacheKey(["NVRTC 13.0build 42"], REQUEST), [...keys.keys()][0]);
});

Deno.test("the order of headers, defines and instances does not change the key", async () => {
  const turned: SourceRequest = {
    ...REQUEST,
    headers: new Map([...REQUEST.headers].reverse()),
    defines: new Map([...REQUEST.defines].reverse()),
    instances: REQUEST.instances.toReversed(),
  };
  assertEquals(await cacheKey(IDENTITY, turned), await cacheKey(IDENTITY, REQUEST));
});

Deno.test("a key is the SHA-256 of its stream as 64 digits", async () => {
  const key = await cacheKey(IDENTITY, REQUEST);
  const digest = await crypto.subtle.digest("SHA-256", keyStream(IDENTITY, REQUEST));
  const digits = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0"));
  assertEquals(key, digits.join(""));
});
