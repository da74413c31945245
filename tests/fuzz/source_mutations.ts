/**
 * Mistyped kernel sources: those of `tests/launch/sources` and
 * `examples/kernels`, with tokens deleted, doubled, exchanged, put in from elsewhere, or cut off.
 *
 * @module
 */

import fc from "fast-check";
import { repositoryPath } from "../support/subprocess.ts";

/** A source that compiles. */
interface SoundSource {
  readonly name: string;
  readonly text: string;
}

function filesIn(folder: string, suffix: string): SoundSource[] {
  return [...Deno.readDirSync(repositoryPath(folder))]
    .filter(({ name }) => name.endsWith(suffix))
    .map(({ name }) => ({ name, text: Deno.readTextFileSync(repositoryPath(`${folder}/${name}`)) }))
    .toSorted((one, other) => one.name < other.name ? -1 : 1);
}

/** The source in an example's program: its template literal, with `${…}` as a number. */
function embedded({ name, text }: SoundSource): SoundSource[] {
  const literal = /`\n([^`]*__global__[^`]*)`/.exec(text)?.[1];
  if (literal === undefined) return [];
  return [{ name: name.replace(/ts$/, "cu"), text: literal.replaceAll(/\$\{[^}]*\}/g, "32") }];
}

/** The sources that are changed. */
export const SOUND_SOURCES: readonly SoundSource[] = [
  ...filesIn("tests/launch/sources", ".cu"),
  ...filesIn("examples/kernels", ".ts").flatMap(embedded),
];

/** Cut without the project's own reader, which the tests are about. */
const TOKENS = SOUND_SOURCES.map(({ text }) => text.match(/\s+|[\w.]+|<<<|>>>|::|[^]/g)!);

type Change = (tokens: string[], at: number, other: number, count: number) => void;

const CHANGES: Readonly<Record<string, Change>> = {
  delete: (tokens, at, _, count) => void tokens.splice(at, count),
  double: (tokens, at, _, count) => void tokens.splice(at, 0, ...tokens.slice(at, at + count)),
  exchange: (tokens, at, other) => {
    [tokens[at], tokens[other]] = [tokens[other]!, tokens[at]!];
  },
  copy: (tokens, at, other, count) =>
    void tokens.splice(at, 0, ...tokens.slice(other, other + count)),
  truncate: (tokens, at) => void tokens.splice(at),
  join: (tokens, at) => {
    if (/^\s+$/.test(tokens[at]!)) tokens.splice(at, 1);
  },
};

/** Texts that are not in the sources and can confuse a reader. */
const FOREIGN: readonly string[] = [
  ...["{", "}", "(", ")", "<", ">", "/*", "*/", "//", '"', "'", 'R"x(', "\\\n", "\n#if 0\n"],
  ..."\n#else\n;\n#endif\n;\n#define __global__\n;__global__ ;template <;>;\0;é;\uFEFF".split(";"),
];

const place = fc.nat(1_000_000);

const change = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom(...Object.keys(CHANGES).filter((kind) => kind !== "truncate")),
      at: place,
      other: place,
      count: fc.integer({ min: 1, max: 12 }),
    }),
  },
  fc.record({
    kind: fc.constant("truncate"),
    at: place,
    other: fc.constant(0),
    count: fc.constant(1),
  }),
  fc.record({
    kind: fc.constantFrom(...FOREIGN.map((text) => `put ${text}`)),
    at: place,
    other: fc.constant(0),
    count: fc.constant(1),
  }),
);

/** A source with some changes. */
export interface MutatedSource {
  /** The source that it was made of. */
  readonly name: string;
  /** Its text. */
  readonly text: string;
}

/** Sources with one to so many changes. */
export function mutatedSources(maxChanges: number): fc.Arbitrary<MutatedSource> {
  return fc.tuple(
    fc.nat(SOUND_SOURCES.length - 1),
    fc.array(change, { minLength: 1, maxLength: maxChanges }),
  ).map(([index, changes]) => {
    const tokens = [...TOKENS[index]!];
    for (const { kind, at, other, count } of changes) {
      if (tokens.length === 0) break;
      const first = at % tokens.length;
      if (kind.startsWith("put ")) tokens.splice(first, 0, kind.slice(4));
      else CHANGES[kind]!(tokens, first, other % tokens.length, count);
    }
    return { name: SOUND_SOURCES[index]!.name, text: tokens.join("") };
  });
}
