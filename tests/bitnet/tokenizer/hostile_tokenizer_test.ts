// Random values in the files of a tokenizer: an error that names the place, or a tokenizer that works.

import { assert, assertMatch } from "@std/assert";
import fc from "fast-check";
import { ggufTokenizer } from "../../../src/bitnet/tokenizer/gguf_tokenizer.ts";
import { ModelTokenizer, type TokenizerSource } from "../../../src/bitnet/tokenizer/tokenizer.ts";
import { smallVocabulary } from "./vocabularies.ts";

const TEXT = "hello world<|eot_id|> 12 é🦙\n";

const VALUES: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(undefined, "BPE", "Sequence", "Split", "ByteLevel", "NFC"),
  fc.constantFrom<unknown>(-1, 0.5, 2 ** 31, 2 ** 53, [], {}, [[]], [{}], { type: "Sequence" }),
  fc.constantFrom<unknown>({ type: "Precompiled" }, { type: "TemplateProcessing", single: 1 }),
  fc.constantFrom<unknown>({ type: "Prepend" }, { type: "Punctuation" }),
);

/** Makes a tokenizer and uses it; errors must be of this package. */
function tryTokenizer(makeSource: () => TokenizerSource): void {
  let tokenizer: ModelTokenizer;
  try {
    tokenizer = new ModelTokenizer(makeSource());
  } catch (error) {
    assertMatch((error as Error).message, /^Cannot read the (?:tokenizer|chat template) as /);
    return;
  }
  const ids = tokenizer.encode(TEXT);
  assert(ids.every((id) => Number.isInteger(id) && id >= 0 && id < tokenizer.vocabularySize));
  tokenizer.decode(ids);
}

/** All paths to values of an object, but only the first ones of large arrays and tables. */
function pathsOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  const keys = Object.keys(value).slice(0, 12);
  const inner = keys.flatMap((key) =>
    pathsOf((value as Record<string, unknown>)[key], [...path, key])
  );
  return path.length === 0 ? inner : [path, ...inner];
}

function replaced(value: unknown, [key, ...rest]: readonly string[], other: unknown): unknown {
  if (key === undefined) return other;
  const copy = (Array.isArray(value) ? [...value] : { ...value as object }) as Record<
    string,
    unknown
  >;
  copy[key] = replaced(copy[key], rest, other);
  return copy;
}

function tryReplaced(original: unknown, make: (changed: unknown) => TokenizerSource): void {
  const path = fc.constantFrom(...pathsOf(original));
  fc.assert(
    fc.property(path, VALUES, (path, value) => {
      tryTokenizer(() => make(replaced(original, path, value)));
    }),
    { numRuns: 300 },
  );
}

Deno.test("ggufTokenizer() works or names the key when values are random", () => {
  tryReplaced(smallVocabulary(), (changed) => ggufTokenizer(changed as Record<string, unknown>));
});

Deno.test("ModelTokenizer works or names the place when values are random", () => {
  const source = ggufTokenizer(smallVocabulary());
  tryReplaced(source, (changed) => changed as TokenizerSource);
});
