import { assert, assertEquals } from "@std/assert";
import { device } from "../support/device.ts";
import { repositoryPath } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const LIBRARY = device.context.library.path;

/** Calls everything that could touch a file; prints the error of each call. */
const PROGRAM = `
import * as gridstride from "${repositoryPath("mod.ts")}";
import { DeviceTrace, saveTrace } from "${repositoryPath("src/lab/trace/mod.ts")}";
import { clearTunings, tuneKernels } from "${repositoryPath("src/lab/tuning/mod.ts")}";
const { load, openDevice } = gridstride;
load({ path: Deno.args[0] });
const device = openDevice(Deno.args[1]);
const source = "__global__ void k(int* x) {}";
const target = { kind: "host", capability: "9.0" };
const path = Deno.args[2];
const save = async (file) => {
  using trace = new DeviceTrace(device);
  await saveTrace(file, [await trace.stop()]);
};
const calls = {
  compile: () => device.compile(source),
  include: () => device.compile('#include "' + path + '/a.h"\\n' + source),
  directory: () => device.compile(source, { options: ["-Irelative"] }),
  image: () => gridstride.compileImage(source, { target }),
  cuda: () => gridstride.compileImage(source, { target: { kind: "cuda", capability: "9.0" } }),
  list: () => gridstride.listKernelCache(),
  clear: () => gridstride.clearKernelCache(),
  diagnose: () => gridstride.diagnose(),
  detect: () => gridstride.detectBackends(),
  tune: () => tuneKernels(device, { operations: ["fill"], counts: [64] }),
  clearTunings: () => clearTunings(),
  ...Object.fromEntries([path + "/a.cu", "a.cu"].flatMap((file) => Object.entries({
    compileFile: () => device.compileFile(file),
    readKernelFile: () => gridstride.readKernelFile(file, { include: ["relative"] }),
    loadModule: () => device.loadModule(file),
    uploadFile: () => device.uploadFile(file, { dtype: "uint8" }),
    warmUpKernels: () => gridstride.warmUpKernels(device, [{ path: file }]),
    saveTrace: () => save(file),
  }).map(([name, call]) => [name + " " + file, call]))),
};
for (const [name, call] of Object.entries(calls)) {
  const result = await Promise.try(call).then(() => "done", (error) => error.message);
  console.log(JSON.stringify([name, result]));
}
Deno.exit(0);
`;

/** The output of the program on a terminal of its own, up to the first prompt. */
async function onTerminal(folder: string, permissions: readonly string[]): Promise<string> {
  const command = [
    Deno.execPath(),
    "run",
    "--quiet",
    "--no-check",
    "--cached-only",
    `--config=${repositoryPath("deno.json")}`,
    `--allow-ffi=${LIBRARY}`,
    ...permissions,
    `${folder}/program.ts`,
    LIBRARY,
    device.info.kind,
    folder,
  ].map((word) => `'${word}'`).join(" ");
  const child = new Deno.Command("script", {
    args: ["--quiet", "--return", "--command", command, "/dev/null"],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    env: { NO_COLOR: "1", GRIDSTRIDE_CACHE_DIR: `${folder}/cache` },
  }).spawn();
  let text = "";
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    // A prompt waits for an answer.
    if (text.includes("Deno requests")) child.kill();
  }
  await child.status;
  await child.stdin.close();
  return text;
}

function hasScript(): boolean {
  try {
    return new Deno.Command("script", { args: ["--version"] }).outputSync().success;
  } catch {
    return false;
  }
}

Deno.test({
  name: "nothing prompts on a terminal when a permission is missing",
  ignore: Deno.build.os !== "linux" || !hasScript(),
  async fn() {
    using folder = new TemporaryDirectory();
    for (const name of ["a.cu", "a.h"]) folder.file(new Uint8Array([10]), name);
    folder.file(new TextEncoder().encode(PROGRAM), "program.ts");
    const cache = `${folder.path}/cache`;
    const lists: readonly string[][] = [
      [],
      ["--allow-env", "--allow-run", "--allow-read=/usr"],
      ["--allow-env", `--allow-read=${folder.path}/a.cu,a.cu,/usr`, `--allow-write=${cache}`],
      ["--allow-env=PATH", `--allow-read=/usr,${repositoryPath("csrc")}`, "--allow-run"],
    ];
    for (const permissions of lists) {
      const text = await onTerminal(folder.path, permissions);
      assert(!text.includes("Deno requests"), text);
      const results = text.split("\n").filter((line) => line.startsWith("["))
        .map((line): [string, string] => JSON.parse(line));
      assertEquals(results.length, 23, text);
      if (permissions.length > 0) continue;
      const file = `${folder.path}/a.cu`;
      for (const name of ["compileFile", "readKernelFile", "loadModule", "uploadFile"]) {
        const [, message] = results.find(([call]) => call === `${name} ${file}`)!;
        assert(message.endsWith(`run again with --allow-read=${file}`), message);
      }
      const [, saved] = results.find(([call]) => call === `saveTrace ${file}`)!;
      const { path } = folder;
      assert(saved.endsWith(`run again with --allow-read=${path} --allow-write=${path}`), saved);
    }
  },
});
