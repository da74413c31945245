import { assert, assertEquals, assertNotMatch } from "@std/assert";
import { PAGE_PARTS, pageScript } from "../../../../src/lab/memory/report/page_script.ts";
import { filesBelow, ROOT, runDeno, textOf } from "../../../style/repository.ts";
import { isBrowserMissing, withPage } from "./browser.ts";

const FOLDER = "src/lab/memory/report/";
const MODULES = [
  `${FOLDER}quantities.ts`,
  ...filesBelow(`${FOLDER}page/`).filter((file) => file.endsWith(".ts")),
];

/** What a module's text declares at its top level, and that is there when types are taken off. */
function declarationsOf(text: string): { names: string[]; others: string[] } {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const starts = code.match(/^[^\s})\]|&`].*$/gm) ?? [];
  const names = starts.flatMap((line) => /^export (?:function|class) (\w+)/.exec(line)?.[1] ?? []);
  const others = starts.filter((line) =>
    !/^(?:export (?:function|class|interface|type)|import|type|interface) /.test(line)
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

Deno.test("the page's modules declare functions and classes only, and all are in the page", () => {
  const found = MODULES.map((file) => [file, declarationsOf(textOf(file))] as const);
  assertEquals(found.filter(([, { others }]) => others.length > 0), []);
  const names = found.flatMap(([, { names }]) => names);
  assertEquals(PAGE_PARTS.map(({ name }) => name).sort(), names.sort());
  const bad = declarationsOf("export const x = 1;\nfunction y() {\n}\nlet z;\n");
  assertEquals(bad, { names: [], others: ["export const x = 1;", "function y() {", "let z;"] });
});

Deno.test("no class of the page names itself", () => {
  for (const part of PAGE_PARTS) {
    const text = String(part).replace(/\/\*[\s\S]*?\*\//g, "");
    if (!text.startsWith("class")) continue;
    assertNotMatch(text.slice(text.indexOf("{")), new RegExp(`\\b${part.name}\\b`));
  }
});

Deno.test("the page's script names nothing that is not in it", () =>
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
      return [...output.matchAll(/^error\[no-undef\]: (.*)$/gm)].map(([, message]) => message);
    };
    assertEquals(await undefinedNames(pageScript()), []);
    const without = pageScript().replace("const exactBytes =", "const exact =");
    assert((await undefinedNames(without)).length > 0, "the check finds what is missing");
  }));

Deno.test("the page's script is inert as text: nothing in it ends its element", () => {
  assertNotMatch(pageScript(), /<\/script|<!--/i);
});

Deno.test("a browser's own types satisfy those that the page is written against", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(
      `${folder}/deno.json`,
      '{ "compilerOptions": { "lib": ["esnext", "dom"], "strict": true } }',
    );
    const types = new URL(`${FOLDER}page/dom.ts`, ROOT).href;
    const program = (use: string) => `import type * as page from "${types}";\n${use}\n`;
    const check = async (use: string) => {
      await Deno.writeTextFile(`${folder}/check.ts`, program(use));
      const config = `${folder}/deno.json`;
      return await runDeno("check", "--quiet", "--config", config, `${folder}/check.ts`);
    };
    const { code, output } = await check(`
      const window_: page.PageWindow = window;
      const field: page.PageField = document.createElement("input");
      const canvas: page.PageCanvas = document.createElement("canvas");
      const context: page.PageContext = canvas.getContext("2d")!;
      declare const events: HTMLElementEventMap;
      const some: page.PageEvents = events;
      export { canvas, context, field, some, window_ };`);
    assertEquals(code, 0, output);
    const wrong = await check("export const window_: page.PageWindow = document;");
    assertEquals(wrong.code, 1, "the check finds what does not satisfy them");
  }));

Deno.test({
  name: "a program that was bundled and minified makes a page that works",
  ignore: isBrowserMissing,
  fn: () =>
    inFolder(async (folder) => {
      const path = (file: string) => JSON.stringify(new URL(file, ROOT).href);
      await Deno.writeTextFile(
        `${folder}/program.ts`,
        `import { memoryReport } from ${path("src/lab/memory/report/memory_report.ts")};
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
