// Links between the documents, the size of the README, and the tables that compare names.

import { assert, assertEquals } from "@std/assert";
import site from "../../.ci/site/config.ts";
import { comparedCode, COMPARISONS, documentPaths } from "../support/documentation_examples.ts";
import { repositoryPath } from "../support/subprocess.ts";

const MAX_README_WORDS = 1500;

const DOCUMENTS = [
  ...documentPaths(),
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "csrc/host/README.md",
  "csrc/host/DIFFERENCES.md",
  "examples/README.md",
];

function textOf(path: string): string {
  return Deno.readTextFileSync(repositoryPath(path));
}

const withoutCode = (text: string) => text.replace(/^ *```[\s\S]*?^ *```$/gm, "");

/** The anchors of a document: its headings in lower case, with hyphens, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  return new Set(
    [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading!.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
    ),
  );
}

/** The relative links of a document whose file or anchor is missing. */
function brokenLinks(path: string, text: string): string[] {
  const links = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const { pathname, hash } = new URL(link, `file:///${path}`);
    const file = pathname.slice(1);
    if (!exists(file)) return true;
    return hash !== "" && !anchorsOf(file === path ? text : textOf(file)).has(hash.slice(1));
  });
}

function exists(file: string): boolean {
  try {
    Deno.statSync(repositoryPath(file));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

Deno.test("brokenLinks() finds missing files and anchors, and accepts others", () => {
  const text = "# A `b`, c\n[x](memory.md) [y](none.md) [z](#a-b-c) [u](#d) [v](memory.md#none) " +
    "[w](../README.md#use-it) [web](https://example.com/none)\n```md\n[no](none.md)\n```\n";
  assertEquals(brokenLinks("docs/memory.md", text), ["none.md", "#d", "memory.md#none"]);
});

Deno.test("Every relative link of a document leads to a file and a heading", () => {
  assertEquals(
    DOCUMENTS.flatMap((path) => brokenLinks(path, textOf(path)).map((link) => [path, link])),
    [],
  );
});

Deno.test("README links to every page of docs/", () => {
  const readme = textOf("README.md");
  const missing = documentPaths().filter((path) =>
    path !== "README.md" && !readme.includes(`(${path})`)
  );
  assertEquals(missing, []);
});

Deno.test("The sidebar of the site names every page of docs/ once, and files that exist", () => {
  const links = site.themeConfig.sidebar.flatMap(({ items }) => items.map(({ link }) => link));
  const pages = documentPaths().filter((path) => path.startsWith("docs/"));
  assertEquals(
    links.filter((link) => link.startsWith("/docs/")).toSorted(),
    pages.map((path) => `/${path.replace(".md", "")}`).toSorted(),
  );
  const files = links.map((link) => `${link.replace(/\/$/, "/README")}.md`.slice(1));
  assertEquals(files.filter((file) => !exists(file)), []);
});

Deno.test(`README has at most ${MAX_README_WORDS} words`, () => {
  const words = textOf("README.md").split(/\s+/).filter((word) => /\w/.test(word)).length;
  assert(words <= MAX_README_WORDS, `it has ${words}`);
});

Deno.test("comparedCode() reads the last column of tables headed Gridstride", () => {
  const text = "| NumPy | Gridstride |\n| --- | --- |\n| `a \\| b` | `f(x)`, `x \\| y` |\n\n" +
    "| a | b |\n| --- | --- |\n| `c` | `d` |\n";
  assertEquals(comparedCode(text), ["f(x)", "x \\| y"]);
  for (const path of COMPARISONS) assert(comparedCode(textOf(path)).length > 50, path);
});
