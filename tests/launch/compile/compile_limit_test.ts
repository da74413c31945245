import { assert, assertEquals, assertRejects } from "@std/assert";
import { CompileError } from "../../../mod.ts";
import { device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const onLinux = {
  // The directory of a compilation is removed after the error.
  sanitizeOps: false,
  sanitizeResources: false,
  ignore: Deno.build.os !== "linux" || device.info.kind !== "host",
};

/** A named pipe without a writer: a compiler that opens it waits. */
async function makePipe(directory: string): Promise<string> {
  const path = `${directory}/pipe`;
  assert((await new Deno.Command("mkfifo", { args: [path] }).output()).success);
  return path;
}

/** A source that includes a pipe in a way that only a compiler sees. */
const waiting = (pipe: string) =>
  `#define TEXT(path) #path\n#include TEXT(${pipe})\n__global__ void k() {}`;

/** The programs that run with a text in their arguments. */
function programsWith(text: string): string[] {
  return [...Deno.readDirSync("/proc")].flatMap(({ name }) => {
    if (!/^\d+$/.test(name) || Number(name) === Deno.pid) return [];
    try {
      const line = Deno.readTextFileSync(`/proc/${name}/cmdline`);
      return line.includes(text) ? [line.split("\0")[0]!.split("/").at(-1)!] : [];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

async function until(condition: () => boolean): Promise<void> {
  for (let left = 1000; !condition(); left--) {
    assert(left > 0, "the condition does not hold after 20 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

Deno.test("`compile()` ends the compiler and its children at the time limit", onLinux, async () => {
  using folder = new TemporaryDirectory();
  const pipe = await makePipe(folder.path);
  const mark = `LIMIT_${crypto.randomUUID().replaceAll("-", "")}`;
  const options = { options: [`-D${mark}`], timeout: 1000 };
  const error = await assertRejects(() => device.compile(waiting(pipe), options), DOMException);
  assertEquals(error.name, "TimeoutError");
  assert(error.message.startsWith("Cannot compile kernel.cu as "), error.message);
  assert(error.message.endsWith("has not finished within options.timeout: 1000 ms"));
  await until(() => programsWith(mark).length === 0);
  for (const timeout of [0, 0.5, 2 ** 31, NaN]) {
    await assertRejects(() => device.compile("", { timeout }), RangeError, "options.timeout");
  }
});

Deno.test("`compile()` ends the compiler and its children for a signal", onLinux, async () => {
  using folder = new TemporaryDirectory();
  const pipe = await makePipe(folder.path);
  const mark = `SIGNAL_${crypto.randomUUID().replaceAll("-", "")}`;
  const controller = new AbortController();
  const { signal } = controller;
  for (const cache of [true, false]) {
    const compiling = device.compile(waiting(pipe), { options: [`-D${mark}`], cache, signal })
      .catch((error) => error);
    if (cache) await until(() => programsWith(mark).length > 1);
    const reason = new Error("changed");
    controller.abort(reason);
    assertEquals(await compiling, controller.signal.reason);
    await until(() => programsWith(mark).length === 0);
  }
  const wrong = { signal: {} as AbortSignal };
  await assertRejects(
    () => device.compile("", wrong),
    TypeError,
    "options.signal must be an Abort",
  );
});

Deno.test("a compiler and its children end with the process", onLinux, async () => {
  using folder = new TemporaryDirectory();
  const pipe = await makePipe(folder.path);
  const ends = ["Deno.exit(0)", 'Deno.kill(Deno.pid, "SIGINT")', 'Deno.kill(Deno.pid, "SIGKILL")'];
  await Promise.all(ends.map(async (end, index) => {
    const mark = `PROCESS_${index}_${crypto.randomUUID().replaceAll("-", "")}`;
    const { stdout, stderr } = await runProgram(`
      import { openDevice } from "@gridstride/cuda";
      const assert = () => {};
      ${programsWith}
      ${until}
      const device = openDevice("host");
      device.compile(${JSON.stringify(waiting(pipe))}, { options: ["-D${mark}"] });
      await until(() => programsWith("${mark}").length > 1);
      console.log(programsWith("${mark}").length);
      ${end};
    `);
    assert(Number(stdout) > 1, stderr);
    await until(() => programsWith(mark).length === 0);
  }));
});

Deno.test("`compile()` refuses a pipe in each spelling of an include", onLinux, async () => {
  using folder = new TemporaryDirectory();
  const pipe = await makePipe(folder.path);
  folder.file(new TextEncoder().encode("#if __has_include(<pipe>)\n#endif\n"), "asks.h");
  const options = [`-I${folder.path}`];
  const refused: [string, Parameters<typeof device.compile>[1]][] = [
    [`#if __has_include("${pipe}")\n#endif`, {}],
    ["#if 0 || __has_include_next( <pipe> )\n#endif", { options }],
    [`#include_next "${pipe}"`, {}],
    ["#include_next <pipe>", { options }],
    [`%:include "${pipe}"`, {}],
    [`#import "${pipe}"`, {}],
    [`#include/**/"${pipe}"`, {}],
    [`#include \\\n"${pipe}"`, {}],
    ["#include <asks.h>", { options }],
    ["", { options: ["-include", pipe] }],
    ["", { options: [`-imacros${pipe}`] }],
  ];
  for (const [source, options] of refused) {
    const compiling = device.compile(`${source}\n__global__ void k() {}`, {
      timeout: 20_000,
      ...options,
    });
    await assertRejects(() => compiling, CompileError, "as it must be a file", source);
  }
  // A question for a folder or for nothing compiles.
  const asking = `#if __has_include("${folder.path}") || __has_include("/nowhere")\n#endif\n`;
  using _module = await device.compile(`${asking}__global__ void k() {}`);
});

Deno.test("`compile()` refuses a macro that names a pipe or a device", onLinux, async () => {
  using folder = new TemporaryDirectory();
  const pipe = await makePipe(folder.path);
  const kernel = "\n#include Z\n__global__ void k() {}";
  const refused: [string, Parameters<typeof device.compile>[1]][] = [
    [`#define Z "${pipe}"${kernel}`, {}],
    [`#define Z <pipe>${kernel}`, { options: [`-I${folder.path}`] }],
    [kernel, { defines: { Z: '"/dev/zero"' } }],
    ['#include "z.h"' + kernel, { headers: { "z.h": `# define Z "${pipe}"\n` } }],
    [`#define Z "${pipe}"\n#if __has_include(Z)\n#endif`, {}],
    [`%:define Z "${pipe}"${kernel}`, {}],
  ];
  for (const [source, options] of refused) {
    const compiling = device.compile(source, { timeout: 20_000, ...options });
    await assertRejects(() => compiling, CompileError, "as it must be a file");
  }
});
