import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path";
import { findProgram } from "../../src/ffi/build/programs.ts";
import { libraryFileName } from "../../src/ffi/locate.ts";
import { openLibrary } from "../../src/ffi/open_library.ts";
import { device } from "../support/device.ts";
import { runProgram, type SubprocessOptions } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

/** Opens a device and prints the class and message of what that throws, then goes on. */
const OPEN = `
  import { load, openDevice } from "@gridstride/cuda";
  const [path, selector = "host"] = Deno.args;
  if (path) load({ path });
  try {
    using device = openDevice(selector === "default" ? undefined : selector);
    console.log("opened", device.label);
  } catch (error) {
    console.log(error.name);
    console.log(error.message);
  }
  console.log("alive");
`;

async function open(options: SubprocessOptions): Promise<{ name: string; message: string }> {
  const { code, stdout, stderr } = await runProgram(OPEN, {
    ...options,
    environment: { GRIDSTRIDE_DEVICE: undefined, ...options.environment },
  });
  assertEquals([code, stderr], [0, ""]);
  const lines = stdout.trimEnd().split("\n");
  assertEquals(lines.at(-1), "alive");
  return { name: lines[0]!, message: lines.slice(1, -1).join("\n") };
}

/** Calls with a directory that holds a file of the host library's name. */
async function withLibraryFile(
  make: (file: string) => Promise<void>,
  use: (file: string) => Promise<void>,
): Promise<void> {
  using directory = new TemporaryDirectory();
  const file = `${directory.path}/${libraryFileName("host")}`;
  await make(file);
  await use(file);
}

Deno.test("openDevice() names the missing library and the build command", async () => {
  for (const place of ["/nowhere/at/all", `/nowhere/${libraryFileName("host")}`]) {
    const byVariable = await open({ environment: { GRIDSTRIDE_LIBRARY: place } });
    const byLoad = await open({ args: [place] });
    for (const { name, message } of [byVariable, byLoad]) {
      assertEquals(name, "LibraryNotFoundError");
      assertStringIncludes(message, place);
      assertStringIncludes(message, "no such file");
      assertMatch(message, /Build it with `deno/);
    }
    assertStringIncludes(byVariable.message, "GRIDSTRIDE_LIBRARY");
    assertStringIncludes(byLoad.message, "load({ path })");
  }
});

Deno.test("load() refuses a malformed path and a second library", async () => {
  const { code, stdout, stderr } = await runProgram(`
    import { deviceCount, load } from "@gridstride/cuda";
    const tryLoad = (options) => {
      try {
        load(options);
        console.log("accepted");
      } catch (error) {
        console.log(error.name, error.message);
      }
    };
    for (const path of [undefined, null, 7, ""]) tryLoad({ path });
    tryLoad(undefined);
    deviceCount();
    tryLoad({ path: "/elsewhere" });
  `);
  assertEquals([code, stderr], [0, ""]);
  const lines = stdout.trimEnd().split("\n");
  assertEquals(lines.length, 6);
  assert(lines.every((line) => line.startsWith("TypeError Cannot choose the native library as ")));
  for (const [index, shown] of ["undefined", "null", "7", '""', "undefined"].entries()) {
    assertStringIncludes(lines[index]!, `it is ${shown}`);
  }
  assertStringIncludes(lines[5]!, "already open");
});

const CXX = [Deno.env.get("CXX"), "g++", "clang++"].find((name) =>
  name && findProgram(name, (variable) => Deno.env.get(variable)) !== undefined
);
if (CXX === undefined) console.log("No C++ compiler: libraries of other versions are not tested");

async function compile(
  file: string,
  source: string,
  options: readonly string[] = [],
): Promise<void> {
  await Deno.writeTextFile(`${file}.cpp`, source);
  const { success, stderr } = await new Deno.Command(CXX!, {
    args: ["-shared", "-fPIC", "-o", file, `${file}.cpp`, ...options],
  }).output();
  assert(success, new TextDecoder().decode(stderr));
}

/** Libraries by their source, and a text of the error. */
const FOREIGN: Readonly<Record<string, readonly [source: string, message: RegExp]>> = {
  "of another ABI version": [
    'extern "C" int gs_abi_version() { return 7777; }',
    /ABI version must be \d+: it is 7777/,
  ],
  "without its symbols": ['extern "C" int something_else() { return 1; }', /gs_abi_version/],
};

for (const [which, [source, expected]] of Object.entries(FOREIGN)) {
  Deno.test(`load() refuses a library ${which}`, { ignore: CXX === undefined }, async () => {
    await withLibraryFile((file) => compile(file, source), async (file) => {
      const { name, message } = await open({ args: [file] });
      assertEquals(name, "LibraryNotFoundError");
      assertStringIncludes(message, file);
      assertMatch(message, expected);
    });
  });
}

/** Offset of the processor in an ELF header. */
const ELF_MACHINE = 18;
const ITANIUM = 50;

const onLinux = { ignore: Deno.build.os !== "linux" };

Deno.test("load() refuses a library for another processor", onLinux, async () => {
  const make = async (file: string) => {
    const bytes = await Deno.readFile(device.context.library.path);
    bytes.set([ITANIUM, 0], ELF_MACHINE);
    await Deno.writeFile(file, bytes);
  };
  await withLibraryFile(make, async (file) => {
    const { name, message } = await open({ args: [file] });
    assertEquals(name, "LibraryNotFoundError");
    for (const text of [file, "not a library for this processor", Deno.build.target]) {
      assertStringIncludes(message, text);
    }
    // Without permission to read the file, both reasons are possible.
    const blind = await open({ args: [file], permissions: [`--allow-ffi=${file}`] });
    assertStringIncludes(blind.message, file);
    assertMatch(blind.message, /no such file, or .* processor/);
  });
});

Deno.test("load() refuses a file that is not a library", async () => {
  await withLibraryFile(
    (file) => Deno.writeTextFile(file, "This is a text.\n".repeat(100)),
    async (file) => {
      const { name, message } = await open({ args: [file] });
      assertEquals(name, "LibraryNotFoundError");
      assertStringIncludes(message, file);
      assert(!message.includes("no such file"), message);
    },
  );
});

const LIBRARY = device.context.library.path;
const SELECTOR = device.info.kind;

Deno.test("openDevice() names the flag of a denied permission", async () => {
  for (const permissions of [[], ["--allow-ffi=/another/library.so"], ["--deny-ffi"]]) {
    const { name, message } = await open({
      permissions,
      args: [LIBRARY, SELECTOR],
      environment: { GRIDSTRIDE_FAKE: undefined },
    });
    assertEquals(name, "LibraryNotFoundError", message);
    assertStringIncludes(message, LIBRARY);
    assertStringIncludes(message, `--allow-ffi=${LIBRARY}`);
  }
});

/** A library that says it is of kind cuda, and whose devices are those of the host library. */
const CUDA_SOURCE = `
#include <dlfcn.h>
#include <string.h>
extern "C" int gs_abi_describe(char* text, int capacity) {
  using Describe = int (*)(char*, int);
  const int status = ((Describe)dlsym(RTLD_NEXT, "gs_abi_describe"))(text, capacity);
  char* kind = strstr(text, "\\"host\\"");
  if (status == 0 && kind) memcpy(kind, "\\"cuda\\"", 6);
  return status;
}`;

/** Calls with a directory of libraries as on a machine with a GPU. */
async function withGpu(use: (files: Readonly<Record<"cuda" | "host", string>>) => Promise<void>) {
  using directory = new TemporaryDirectory();
  const of = (kind: "cuda" | "host") => `${directory.path}/${libraryFileName(kind)}`;
  const files = { cuda: of("cuda"), host: of("host") };
  const real = openLibrary("host").path;
  const folder = dirname(real);
  await compile(files.cuda, CUDA_SOURCE, ["-Wl,--no-as-needed", real, `-Wl,-rpath,${folder}`]);
  await use(files);
}

const withCompiler = { ignore: CXX === undefined || Deno.build.os !== "linux" };

const SELECTIONS = (kind: "cuda" | "host") =>
  [
    { selector: kind, environment: {} },
    { selector: `${kind}:0`, environment: {} },
    { selector: "default", environment: { GRIDSTRIDE_DEVICE: kind } },
  ] as const;

Deno.test(
  'openDevice("host") gives the reason of the host library when there is a GPU',
  withCompiler,
  async () => {
    await withGpu(async ({ cuda, host }) => {
      const args = (selector: string) => [dirname(cuda), selector];
      const environment = { GRIDSTRIDE_FAKE: undefined };
      const gpu = await open({ args: args("default"), environment });
      assertEquals(gpu.name, "opened cuda:0");
      for (const { selector, environment: more } of SELECTIONS("host")) {
        const options = { args: args(selector), environment: { ...environment, ...more } };
        const { name, message } = await open(options);
        assertEquals(name, "LibraryNotFoundError", message);
        assertStringIncludes(message, `Cannot open the host library as none of these`);
        assertStringIncludes(message, `${host} (load({ path })): no such file`);
        assertMatch(message, /Build it with `deno/);
      }
    });
  },
);

Deno.test(
  'openDevice("cuda") gives the reason of the CUDA library, and the flag for it',
  withCompiler,
  async () => {
    await withGpu(async ({ cuda, host }) => {
      Deno.symlinkSync(openLibrary("host").path, host);
      const environment = { GRIDSTRIDE_FAKE: undefined };
      for (const permissions of [[], [`--allow-ffi=${host}`]]) {
        for (const { selector, environment: more } of SELECTIONS("cuda")) {
          const { name, message } = await open({
            permissions: [...permissions, "--allow-env"],
            args: [dirname(cuda), selector],
            environment: { ...environment, ...more },
          });
          assertEquals(name, "LibraryNotFoundError", message);
          assertStringIncludes(message, `Run again with --allow-ffi=${cuda}.`);
          assert(!message.includes(host), message);
        }
      }
      Deno.removeSync(cuda);
      const { name, message } = await open({ args: [dirname(cuda), "cuda"], environment });
      assertEquals(name, "LibraryNotFoundError", message);
      assertStringIncludes(message, `${cuda} (load({ path })): no such file`);
      assertMatch(message, /Build it with `deno/);
    });
  },
);
