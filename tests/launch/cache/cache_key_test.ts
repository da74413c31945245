import "../../support/cache_directory.ts";
import { assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import {
  CACHE_SCHEMA,
  keyText,
  packageState,
  type SourceRequest,
} from "../../../src/launch/cache/cache_key.ts";
import { VERSION } from "../../../src/ffi/version.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

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
