/**
 * Chooses the tests that use a device, by their sources: a test uses a device if it, a module of
 * `tests/` that it imports, or a program of `tests/` that it names, opens one, calls the native library,
 * or runs the command line. What a test computes without any of these is the same on every machine, as
 * is what a test says of itself that it needs no GPU: it compiles, or runs on the host device only.
 *
 * @module
 */

/** Folders whose tests are about the sources and the published package, not about a device. */
export const OTHER_SUBJECTS: readonly string[] = ["bench", "docs", "publish", "style", "types"];

/** Opens a device, or a library; `runCommandLine()` does so in a process of its own. */
const USES_DEVICE =
  /\b(?:openDevice|defaultDevice|openNativeLibrary|builtLibrary|listDevices|runCommandLine)\(|\bgs_[a-z]+_|nativeProgram/;

/** Makes tensors, on the default device. */
const MAKES_TENSORS = /from "[^"]*\/(?:device\/)?(?:tensor|ternary)\.ts"/;

/** Names an example, all of which use a device. */
const RUNS_EXAMPLES = /["'`/]examples\//;

const USES = [USES_DEVICE, MAKES_TENSORS, RUNS_EXAMPLES];

/** A comment that names a test which may never end on a GPU: it runs first, and alone. */
const MAY_HANG = /^\/\/ May hang on a GPU\b/m;

/** A comment that leaves a test out. */
export const NEEDS_NO_GPU = /^\/\/ Needs no GPU\b/m;

/** A file of `tests/` that a text imports or names. */
const NAMED = /["'`]((?:\.{1,2}\/|tests\/)?[\w/.-]+\.(?:ts|cu|cpp))["'`]/g;

/** The tests of a repository that use a device. */
export interface DeviceTests {
  /** All of them, the longest sources first: the last to start should be short. */
  readonly files: readonly string[];
  /** Those that may hang. */
  readonly suspects: readonly string[];
}

/** Chooses the tests below the folder `tests/` of a repository. */
export function deviceTests(root: URL): DeviceTests {
  const texts = new Map(
    filesBelow(root, "tests/").map((file) =>
      [file, Deno.readTextFileSync(new URL(file, root))] as const
    ),
  );
  const known = new Map<string, boolean>();
  const usesDevice = (file: string): boolean => {
    const decided = known.get(file);
    if (decided !== undefined) return decided;
    const text = texts.get(file);
    if (text === undefined) return false;
    known.set(file, false); // of modules that import each other
    const uses = USES.some((pattern) => pattern.test(text)) ||
      [...text.matchAll(NAMED)].some(([, name]) => usesDevice(pathOf(name!, file)));
    known.set(file, uses);
    return uses;
  };
  const subject = (file: string) => file.split("/")[1]!;
  const length = (file: string) => texts.get(file)!.length;
  const files = [...texts.keys()].filter((file) =>
    file.endsWith("_test.ts") && !OTHER_SUBJECTS.includes(subject(file)) &&
    !NEEDS_NO_GPU.test(texts.get(file)!) && usesDevice(file)
  ).toSorted((one, other) => length(other) - length(one) || (one < other ? -1 : 1));
  return { files, suspects: files.filter((file) => MAY_HANG.test(texts.get(file)!)) };
}

/** The path in the repository of a file that another one names. */
function pathOf(name: string, from: string): string {
  if (name.startsWith("tests/")) return name;
  return new URL(name, `file:///${from}`).pathname.slice(1);
}

function filesBelow(root: URL, folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, root))].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(root, `${folder}${name}/`) : [`${folder}${name}`]
  ).filter((file) => /\.(?:ts|cu|cpp)$/.test(file)).sort();
}
