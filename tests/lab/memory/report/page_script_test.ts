import { assert, assertEquals } from "@std/assert";
import { PAGE_FUNCTIONS, pageScript } from "../../../../src/lab/memory/report/memory_report.ts";
import { filesBelow, ROOT, runDeno, textOf } from "../../../style/repository.ts";
import { isBrowserMissing, withPage } from "../../../support/browser.ts";

const FOLDER = "src/lab/memory/report/";
const MODULES = [
  `${FOLDER}quantities.ts`,
  ...filesBelow(`${FOLDER}page/`).filter((file) => file.endsWith(".ts")),
];

/** Globals of the browser that the page's script uses. */
const GLOBALS = [
  "document",
  "devicePixelRatio",
  "getComputedStyle",
  "innerHeight",
  "innerWidth",
  "matchMedia",
  "requestAnimationFrame",
  "ResizeObserver",
];

/** The exported functions of a module, and its other declarations that are code. */
function declarationsOf(text: string): { names: string[]; others: string[] } {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const starts = code.match(/^[^\s})\]|&`].*$/gm) ?? [];
  const names = starts.flatMap((line) => /^export function (\w+)/.exec(line)?.[1] ?? []);
  const others = starts.filter((line) =>
    !/^(?:export (?:function|interface|type)|import|type|interface|declare) /.test(line)
  );
  return { names, others };
}

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the modules of the page declare exported functions only, and all are in the page", () => {
  const found = MODULES.map((file) => [file, declarationsOf(textOf(file))] as const);
  assertEquals(found.filter(([, { others }]) => others.length > 0), []);
  const names = ["formatBytes", ...found.flatMap(([, { names }]) => names)];
  assertEquals(PAGE_FUNCTIONS.map(({ name }) => name).sort(), names.sort());
  const bad = declarationsOf("export const x = 1;\nfunction y() {\n}\nlet z;\n");
  assertEquals(bad, { names: [], others: ["export const x = 1;", "function y() {", "let z;"] });
});

Deno.test("the page's script uses its own functions and globals of the browser only", () =>
  inFolder(async (folder) => {
    const undefinedNames = async (script: string) => {
      const file = `${folder}/page.js`;
      await Deno.writeTextFile(file, script);
      const { output } = await runDeno(
        "lint",
        "--no-config",
        "--rules-tags=",
        "--rules-include=no-undef",
        file,
      );
      return [...output.matchAll(/^error\[no-undef\]: (\w+) /gm)]
        .map(([, name]) => name!).filter((name) => !GLOBALS.includes(name));
    };
    assertEquals(await undefinedNames(pageScript()), []);
    const without = pageScript().replace("const exactBytes =", "const exact =");
    assert((await undefinedNames(without)).length > 0, "the check finds a missing function");
  }));

Deno.test({
  name: "a bundled and minified program makes a working page",
  ignore: isBrowserMissing,
  fn: () =>
    inFolder(async (folder) => {
      const path = (file: string) => JSON.stringify(new URL(file, ROOT).href);
      await Deno.writeTextFile(
        `${folder}/program.ts`,
        `import { memoryReport } from ${path("src/lab/memory/mod.ts")};
import { SMALL_SNAPSHOT } from ${path("tests/lab/memory/report/small_snapshot.ts")};
console.log(memoryReport(SMALL_SNAPSHOT));`,
      );
      const bundle = `${folder}/program.js`;
      const made = await runDeno(
        "bundle",
        "--quiet",
        "--minify",
        "-o",
        bundle,
        `${folder}/program.ts`,
      );
      assertEquals(made.code, 0, made.output);
      const { code, output } = await runDeno("run", "--quiet", "--no-prompt", bundle);
      assertEquals(code, 0, output);
      await withPage(output, async ({ page, errors }) => {
        await page.locator("#map").hover({ position: { x: 160, y: 12 } });
        assertEquals(await page.locator("#tooltip strong").innerText(), "live 40 KiB");
        await page.locator("#timeline").focus();
        await page.keyboard.press("o");
        assertEquals(await page.locator("#event h3").innerText(), "out of memory 512 KiB");
        assertEquals(errors, []);
      });
    }),
});
