/**
 * Makes the site of the documents with VitePress: `deno task site`. It copies the documents to a
 * folder of their own, because VitePress looks for its packages beside them.
 *
 * @module
 */

import { ROOT, step } from "../steps.ts";

const SOURCE = new URL("build/site/source/", ROOT);
const CONFIGURATION = {
  imports: { vitepress: "npm:vitepress@1.6.4", vue: "npm:vue@3.5.45" },
  nodeModulesDir: "auto",
};

/** Copies a file of the repository into the source of the site. */
async function copy(path: string, target = path): Promise<void> {
  const url = new URL(target, SOURCE);
  await Deno.mkdir(new URL(".", url), { recursive: true });
  await Deno.copyFile(new URL(path, ROOT), url);
}

/** Copies the documents and pictures of a folder, and its sources as texts. */
async function copyFolder(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(new URL(folder, ROOT))) {
    const path = `${folder}${name}`;
    if (/\.(?:md|svg)$/.test(name)) await copy(path);
    else if (/\.(?:ts|json)$/.test(name)) await copy(path, `public/${path}.txt`);
  }
}

await Deno.remove(new URL("build/site/", ROOT), { recursive: true }).catch((error) => {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
});
const folders = ["docs", "examples", "examples/kernels", "csrc/host", "src/lab/memory/snapshot"];
for (const folder of folders) await copyFolder(`${folder}/`);
for (const name of ["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"]) {
  await copy(`${name}.md`);
}
await copy(".ci/site/config.ts", ".vitepress/config.ts");
await Deno.writeTextFile(new URL("deno.json", SOURCE), JSON.stringify(CONFIGURATION));
const config = new URL("deno.json", SOURCE).pathname;
await step("site", [
  "deno",
  "run",
  "-A",
  `--config=${config}`,
  "npm:vitepress@1.6.4",
  "build",
  "build/site/source",
]);
