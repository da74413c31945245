import "../../support/cache_directory.ts";
import { assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import {
  CACHE_SCHEMA,
  cacheKey,
  keyText,
  packageState,
  type SourceRequest,
} from "../../../src/launch/cache/cache_key.ts";
import { VERSION } from "../../../src/ffi/version.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { REQUEST } from "./counting_compiler.ts";

const IDENTITY = ["NVRTC 13.0", "build 42"];

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

Deno.test("keyText() differs for different requests", () => {
  fc.assert(
    fc.property(texts, request, (identity, made) => {
      assertEquals(JSON.parse(keyText(identity, made)), [CACHE_SCHEMA, packageState(), identity, {
        target: [made.target.kind, made.target.capability],
        source: made.source,
        name: made.name,
        headers: sortedPairs(made.headers),
        defines: sortedPairs(made.defines),
        options: made.options,
        instances: made.instances.toSorted(),
      }]);
    }),
    { numRuns: 300 },
  );
});

Deno.test("cacheKey() changes with every field and the compiler", async () => {
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

Deno.test("cacheKey() ignores the order of headers, defines and instances", async () => {
  const turned: SourceRequest = {
    ...REQUEST,
    headers: new Map([...REQUEST.headers].reverse()),
    defines: new Map([...REQUEST.defines].reverse()),
    instances: REQUEST.instances.toReversed(),
  };
  assertEquals(await cacheKey(IDENTITY, turned), await cacheKey(IDENTITY, REQUEST));
});

Deno.test("cacheKey() is the SHA-256 digest of the text", async () => {
  const key = await cacheKey(IDENTITY, REQUEST);
  const text = new TextEncoder().encode(keyText(IDENTITY, REQUEST));
  const digest = await crypto.subtle.digest("SHA-256", text);
  const digits = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0"));
  assertEquals(key, digits.join(""));
});

Deno.test("packageState() covers the source files of a checkout, and of a release the version", () => {
  using folder = new TemporaryDirectory();
  const state = () => packageState(new URL(`file://${folder.path}/`));
  Deno.mkdirSync(`${folder.path}/src/launch/compile`, { recursive: true });
  const file = `${folder.path}/src/launch/compile/a.ts`;
  Deno.writeTextFileSync(file, "text");
  const release = state();
  assertEquals(release, JSON.stringify([VERSION]));
  Deno.mkdirSync(`${folder.path}/.git`);
  const checkout = state();
  assertNotEquals(checkout, release);
  assertEquals(state(), checkout);
  Deno.writeTextFileSync(file, "longer");
  assertNotEquals(state(), checkout);
  assertEquals(packageState(new URL("https://example.com/")), release);
});
