// Files that the package writes for its callers.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { namedFile, openPipe, writeNamed } from "../../../src/launch/module/named_file.ts";
import { runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const ACTION = "save a test";
const isLinux = Deno.build.os === "linux";

function write(path: string, ...parts: string[]): Promise<void> {
  return writeNamed(namedFile(path, ACTION), ACTION, async (take) => {
    for (const part of parts) await take(new TextEncoder().encode(part));
  });
}

function namesIn(folder: TemporaryDirectory): string[] {
  return [...Deno.readDirSync(folder.path)].map(({ name }) => name).sort();
}

Deno.test("`writeNamed()` keeps the old file if the content fails", async () => {
  using folder = TemporaryDirectory.of({ "a.bin": "old" });
  const path = `${folder.path}/a.bin`;
  await assertRejects(
    () =>
      writeNamed(namedFile(path, ACTION), ACTION, async (take) => {
        await take(new Uint8Array(100));
        throw new SyntaxError("no more");
      }),
    SyntaxError,
    "no more",
  );
  assertEquals(Deno.readTextFileSync(path), "old");
  await write(path, "n", "ew");
  assertEquals(Deno.readTextFileSync(path), "new");
  assertEquals(namesIn(folder), ["a.bin"]);
});

Deno.test({
  name: "`writeNamed()` keeps the mode of a file, follows links, and takes long names",
  ignore: Deno.build.os === "windows",
  async fn() {
    using folder = TemporaryDirectory.of({ "to/a.bin": "old" });
    const path = `${folder.path}/to/a.bin`;
    Deno.chmodSync(path, 0o640);
    Deno.symlinkSync("to/a.bin", `${folder.path}/link`);
    await write(`${folder.path}/link`, "new");
    assertEquals(Deno.readTextFileSync(path), "new");
    assertEquals(Deno.statSync(path).mode! & 0o777, 0o640);
    assert(Deno.lstatSync(`${folder.path}/link`).isSymlink);
    const long = `${folder.path}/${"ä".repeat(120)}.npy`;
    await write(long, "x");
    assertEquals(Deno.readTextFileSync(long), "x");
    const message = await assertRejects(() => write(folder.path, "x"), Error);
    assertStringIncludes(message.message, `as "${folder.path}" cannot be written: Is a directory`);
  },
});

Deno.test({
  name: "`writeNamed()` writes devices and pipes in place, and reports their errors",
  ignore: !isLinux,
  async fn() {
    await write("/dev/null", "x");
    const full = await assertRejects(() => write("/dev/full", "x"), Error);
    assertStringIncludes(full.message, 'as "/dev/full" cannot be written: No space left on device');
    using folder = new TemporaryDirectory();
    const pipe = `${folder.path}/pipe`;
    const { success } = new Deno.Command("mkfifo", { args: [pipe] }).outputSync();
    assert(success);
    const [content] = await Promise.all([Deno.readTextFile(pipe), write(pipe, "through ", "it")]);
    assertEquals(content, "through it");
    const error = await assertRejects(() => openPipe(pipe, 20), Deno.errors.TimedOut);
    assertEquals(error.message, "no program has opened the pipe for reading within 20 ms");
    assertEquals(namesIn(folder), ["pipe"]);
  },
});

Deno.test("`writeNamed()` names the missing permissions for the folder", async () => {
  using folder = TemporaryDirectory.of({ "a.npy": "old" });
  const { path } = folder;
  const program = `
    import { saveNpy } from "@gridstride/cuda/tensor";
    import { tensor } from "@gridstride/cuda/tensor";
    const x = tensor([1]);
    await x.toArray();
    await saveNpy("${path}/a.npy", x).catch(({ name, message }) => console.log(name, message));
    await saveNpy("${path}/none/a.npy", x).catch(({ message }) => console.log(message));
    Deno.exit();`;
  const permissions = ["-RENS", "--allow-ffi", "--allow-run", `--allow-write=${path}/a.npy`];
  const { stdout } = await runProgram(program, { permissions });
  assertEquals(
    stdout.split("\n")[0],
    `NotCapable Cannot save an .npy file as "${path}/a.npy" is written beside its place and ` +
      `renamed, and permission to write its folder is not granted: run again with ` +
      `--allow-write=${path}`,
  );
  assertEquals(Deno.readTextFileSync(`${path}/a.npy`), "old");
  const all = await runProgram(program, { permissions: ["-A"] });
  assertStringIncludes(all.stdout, `"${path}/none/a.npy" cannot be written: No such file`);
});
