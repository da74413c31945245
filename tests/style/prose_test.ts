// Habits that make prose hard to read, counted in the comments of the sources and in the documents.

import { assert, assertEquals } from "@std/assert";
import { filesBelow, textOf } from "./repository.ts";

/** Maximum number of habits in 10,000 words. */
const MAX_RATE = 20;

/** Clauses in place of nouns, people in place of machines, and vague connections. */
const HABITS =
  /\bwhat(?:ever)? (?:is|was|were|are|it|they|has|have|had)\b|\bask(?:s|ed|ing)?\b|\b(?:tell|tells|told|telling)\b|\bso that\b|\b(?:some|no|any)body\b|\bwho(?:ever|m|se)?\b|\bhear(?:s|d)?\b/gi;

/** The prose of a file: its comments, or the text of a document without code blocks. */
function proseOf(file: string): string {
  const text = textOf(file);
  if (file.endsWith(".md")) return text.replace(/```[\s\S]*?```/g, " ");
  const blocks = text.match(/\/\*[\s\S]*?\*\//g) ?? [];
  const lines = [...text.matchAll(/(?:^|\s)\/\/(?!\/ <)(.*)$/gm)].map(([, line]) => line!);
  return [...blocks, ...lines].join(" ");
}

Deno.test(`Comments and documents have fewer than ${MAX_RATE} bad habits in 10,000 words`, () => {
  const files = filesBelow().filter((file) =>
    /^(?:src|csrc)\/.*\.(?:ts|cu|cuh|h|cpp)$|^(?:mod|build)\.ts$/.test(file) ||
    (file.endsWith(".md") && !file.startsWith("tests/"))
  );
  let words = 0;
  const found = files.flatMap((file) => {
    const prose = proseOf(file);
    words += prose.match(/[A-Za-z']+/g)?.length ?? 0;
    return (prose.match(HABITS) ?? []).map((habit) => `${file}: ${habit}`);
  });
  const rate = 10_000 * found.length / words;
  assert(rate < MAX_RATE, `${rate.toFixed(1)}: ${found.slice(0, 100).join("; ")}`);
});

Deno.test("proseOf() finds the habits of comments and documents", () => {
  assertEquals("What is kept, so that nobody asks who told".match(HABITS)?.length, 6);
  assertEquals("The cached blocks, because the caller requests them".match(HABITS), null);
});
