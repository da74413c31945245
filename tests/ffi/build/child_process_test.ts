// Programs are started with the loader's variables of CUDA machines, under permissions for single
// programs.

import "../../support/cache_directory.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { device } from "../../support/device.ts";
import { repositoryPath, runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const VARIABLES = { LD_LIBRARY_PATH: "/opt/cuda/lib64", LD_BIND_NOW: "1" };

const module = (path: string) => `file://${repositoryPath(path)}`;

/** Runs a program that may start `script` alone; returns its output. */
async function withScript(script: string, body: string): Promise<string> {
  using directory = TemporaryDirectory.of({ "/script": `#!/bin/sh\n${script}\n` });
  const path = `${directory.path}/script`;
  Deno.chmodSync(path, 0o755);
  const program = `
    import { runProgram } from "${module("src/ffi/build/programs.ts")}";
    import { MACHINE } from "${module("src/hardware/probe.ts")}";
    import { openNativeLibrary } from "${module("src/ffi/library.ts")}";
    import { spawnTied } from "${module("src/ffi/native_process.ts")}";
    const script = ${JSON.stringify(path)};
    ${body}`;
  const { stdout, stderr } = await runProgram(program, {
    permissions: ["--allow-read", `--allow-run=${path}`, `--allow-ffi=${LIBRARY}`],
    environment: VARIABLES,
  });
  return stdout + stderr;
}

const LIBRARY = device.context.library.path;

Deno.test("programs start under permissions of their own when LD_LIBRARY_PATH is set", async () => {
  const output = await withScript(
    'echo "$LD_LIBRARY_PATH,$LD_BIND_NOW,${PATH:+path},$OWN"',
    `
    console.log((await runProgram([script], [], undefined, { OWN: "own" })).stdout.trim());
    console.log((await MACHINE.run(script, [])).stdout.trim());
    const library = openNativeLibrary(${JSON.stringify(LIBRARY)});
    const tied = spawnTied(library, script, { stdout: "piped", stderr: "piped" });
    console.log(new TextDecoder().decode((await tied.output).stdout).trim(), tied.withheld.length);
    console.log((await MACHINE.run("/bin/sh", [])).kind);`,
  );
  assertEquals(output, ",,path,own\n,,path,\n,,path, 2\ndenied\n");
});

Deno.test("the message of a program that needs LD_LIBRARY_PATH names the variable and remedies", async () => {
  const output = await withScript(
    '[ "$1" = well ] || echo "cc1plus: error while loading shared libraries: libisl.so.23" >&2',
    `
    console.log((await runProgram([script], ["well"])).stderr);
    console.log((await runProgram([script], [])).stderr);`,
  );
  assertMatch(
    output,
    /^\ncc1plus: error .*\nIt was started without LD_BIND_NOW, LD_LIBRARY_PATH, which .* run again with --allow-run, or install its libraries/,
  );
});
