// What the library says of files is what Deno says; and where it may not be asked, Deno is.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { ABSENT, fileStates, mayReadAll, STATE_SLOTS } from "../../src/ffi/file_states.ts";
import { cString } from "../../src/ffi/text.ts";
import { device } from "../support/device.ts";
import { runProgram } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const { library } = device.context;

/** Times whose milliseconds can be cut off wrongly, in seconds since 1970. */
const TIMES: readonly number[] = [
  ...[-5, -5.5, -0.001, 0, 0.001, 1.9999, 1234567890.987654, 4294967296.5],
];

/** What Deno says of a path. */
function stateOf(path: string, followsLinks: boolean): number[] {
  try {
    const state = followsLinks ? Deno.statSync(path) : Deno.lstatSync(path);
    const { dev, ino, size, mtime, ctime, mode, uid } = state;
    return [dev, ino!, size, mtime!.getTime(), ctime!.getTime(), mode!, uid!];
  } catch (error) {
    const isAbsent = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory;
    if (!isAbsent) throw error;
    return Array(STATE_SLOTS).fill(ABSENT);
  }
}

/** Files of all kinds, with times of all kinds. */
function makePaths(folder: TemporaryDirectory): string[] {
  const path = (name: string) => `${folder.path}/${name}`;
  TIMES.forEach((time, index) => {
    Deno.writeFileSync(path(`file ${index}`), new Uint8Array(index));
    Deno.utimeSync(path(`file ${index}`), time, time);
  });
  Deno.mkdirSync(path("folder ü"), { mode: 0o750 });
  Deno.symlinkSync("file 3", path("link"));
  Deno.symlinkSync("folder ü", path("folder link"));
  Deno.symlinkSync("nowhere", path("broken link"));
  return [
    ...TIMES.map((_, index) => path(`file ${index}`)),
    ...["", "folder ü", "link", "folder link", "broken link", "none", "file 1/none"].map(path),
    ...["/", "/dev/null", "", Deno.execPath()],
  ];
}

Deno.test("states of files, folders, links and what is not there are those that Deno tells", () => {
  using folder = new TemporaryDirectory();
  const paths = makePaths(folder);
  assert(mayReadAll(), "the library would not be asked");
  for (const followsLinks of [true, false]) {
    const expected = paths.flatMap((path) => stateOf(path, followsLinks));
    assertEquals([...fileStates(paths, { followsLinks })], expected);
    // The library itself, rather than what is done where it fails.
    const names = cString(paths.join("\0").replaceAll("\0", "\n"));
    names.forEach((byte, index) => names[index] = byte === 10 ? 0 : byte);
    const states = new Float64Array(paths.length * STATE_SLOTS);
    const { symbols } = library;
    const follow = followsLinks ? 1 : 0;
    const tell = (bytes: number, count: number) =>
      symbols.gs_file_states(names, bytes, follow, states, count);
    assertEquals([tell(names.length, paths.length), [...states]], [0, expected]);
    const refusals = [[names.length - 1, paths.length], [names.length, paths.length - 1]] as const;
    for (const [bytes, count] of [...refusals, [names.length, 0]] as const) {
      assertEquals(tell(bytes, count), -1, `${count} paths in ${bytes} bytes`);
    }
  }
  assertEquals(fileStates([], { followsLinks: true }).length, 0);
});

Deno.test("a path whose state cannot be told is an error of Deno's", () => {
  using folder = new TemporaryDirectory();
  const loop = `${folder.path}/loop`;
  Deno.symlinkSync("loop", loop);
  const look = (path: string) => fileStates(["/", path], { followsLinks: true });
  assertThrows(() => look(loop), Deno.errors.FilesystemLoop);
  assertThrows(() => look("/a\0b"), Error);
  assertThrows(() => look(`/${"x".repeat(5000)}`), Error, "name too long");
});

/** Looks at files without a library, then with one, and prints the states and refusals. */
const PROGRAM = `
  import { openDevice } from "@gridstride/cuda";
  const { fileStates, mayReadAll } = await import(
    "${new URL("../../src/ffi/file_states.ts", import.meta.url)}");
  const look = (path) => {
    try {
      return [...fileStates([path], { followsLinks: true })];
    } catch (error) {
      return error.constructor.name + ": " + error.message;
    }
  };
  const paths = JSON.parse(Deno.args[0]);
  const before = paths.map(look);
  using device = openDevice("host");
  console.log(JSON.stringify({ all: mayReadAll(), before, after: paths.map(look) }));
`;

/** What a process with certain permissions sees of files. */
async function lookIn(
  permissions: readonly string[],
  paths: readonly string[],
): Promise<{ all: boolean; before: unknown[]; after: unknown[] }> {
  const { stdout, stderr } = await runProgram(PROGRAM, {
    permissions: ["--allow-ffi", "--allow-env", "--no-check", ...permissions],
    args: [JSON.stringify(paths)],
    environment: { GRIDSTRIDE_LIBRARY: library.path },
  });
  assertEquals(stderr, "");
  return JSON.parse(stdout);
}

Deno.test("the library looks at nothing that Deno would not, and tells the same as without it", async () => {
  using folder = new TemporaryDirectory();
  const open = folder.file(new Uint8Array(3), "open");
  const closed = folder.file(new Uint8Array(5), "closed");
  const paths = [open, closed];
  const states = paths.map((path) => stateOf(path, true));
  const refused = `NotCapable: Cannot look at ${closed} as reading it is not permitted`;
  const everything = await lookIn(["--allow-read"], paths);
  assertEquals(everything, { all: true, before: states, after: states });
  const some = [[`--allow-read=${open}`], ["--allow-read", `--deny-read=${closed}`]];
  for (const permissions of some) {
    const seen = await lookIn(permissions, paths);
    const expected = [states[0], refused];
    assertEquals(seen, { all: false, before: expected, after: expected }, permissions.join(" "));
  }
});
