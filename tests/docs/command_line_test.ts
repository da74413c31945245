// The commands of docs/command_line.md.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { isCudaCompilerMissing, runInProcess } from "../cli/in_process.ts";
import { device } from "../support/device.ts";
import { repositoryPath } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const PAGE = Deno.readTextFileSync(repositoryPath("docs/command_line.md"));

/** The words of a command: quoted texts are one word. */
function wordsOf(line: string): string[] {
  return (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ""));
}

Deno.test("The commands of docs/command_line.md run as shown", async () => {
  using folder = new TemporaryDirectory();
  const [, source] = /cat > saxpy\.cu <<'end'\n([^]*?)\nend\n/.exec(PAGE)!;
  const saxpy = folder.file(new TextEncoder().encode(source), "saxpy.cu");
  const needsNvrtc = await isCudaCompilerMissing() ? /--arch|^occupancy/ : /^$/;
  const blocks = [...PAGE.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, text]) => text!).join("");
  const commands = [...blocks.replaceAll("\\\n", " ").matchAll(/^gridstride (.*?)(?: {2,}#.*)?$/gm)]
    .map(([, words]) => words!.replace(/ +#.*/, ""))
    .filter((words) => !/FILE|@x\.npy/.test(words) && !needsNvrtc.test(words));
  assert(commands.length >= 8, commands.join("\n"));
  for (const command of commands) {
    const words = wordsOf(command.replaceAll("saxpy.cu", saxpy))
      .map((word) => word === "stride.svg" ? `${folder.path}/stride.svg` : word);
    const chosen = /^(?:run|tune) /.test(command) ? ["--device", device.label] : [];
    const { code, stdout, stderr } = await runInProcess([...words, ...chosen]);
    assertEquals(code, 0, `${command}: ${stderr}`);
    const [, printed] = new RegExp(`${command.slice(0, 40)}.*# y: (.*)`).exec(PAGE) ?? [];
    if (printed !== undefined) assertStringIncludes(stdout, printed);
  }
  const drawn = Deno.readTextFileSync(`${folder.path}/stride.svg`);
  const advice = "Run `deno task gridstride analyze --stride 2 --picture examples/stride.svg`";
  assert(Deno.readTextFileSync(repositoryPath("examples/stride.svg")) === drawn, advice);
});
