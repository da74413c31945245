// The package's types in a program with a configuration of its own, which imports a checkout: through
// `links`, or by its path. Deno then checks the package's modules with the program's options.

import { assertEquals } from "@std/assert";
import { configuration, ROOT, textOf } from "../style/repository.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

// The report's page uses the DOM, whose types the options of this checkout have and the default ones
// do not. The other entries use nothing that only some programs have.
Deno.test("./memory has no type errors with the default compiler options of a program", async () => {
  const { exports, imports } = configuration();
  const absolute = (path: string) => path.startsWith("./") ? new URL(path, ROOT).href : path;
  const mapped = Object.entries(imports).map(([name, path]) => [name, absolute(path)]);
  using program = TemporaryDirectory.of({
    "deno.json": JSON.stringify({ imports: Object.fromEntries(mapped) }),
    // The versions that this checkout has, which are there already.
    "deno.lock": textOf("deno.lock"),
    "main.ts": `import ${JSON.stringify(absolute(exports["./memory"]!))};\n`,
  });
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--quiet", "--cached-only", "main.ts"],
    cwd: program.path,
    env: { NO_COLOR: "1" },
  }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
});
