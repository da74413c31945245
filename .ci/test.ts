/**
 * Runs all tests in several processes: `deno task test`. Threads, as in `deno test --parallel`, would
 * share the allocation counts of the native library, which many tests compare.
 *
 * Arguments are those of `deno test`: `deno task test tests/memory`.
 *
 * @module
 */

import { ROOT } from "./steps.ts";
import {
  addTestSummaries,
  formatTestSummary,
  hasTestSummary,
  readTestSummary,
  type TestSummary,
} from "./test_summary.ts";

const TEST = ["test", "-A", "--no-check"];

/** Maximum number of processes at a time: more need memory and gain little. */
const MAX_PROCESSES = 4;

/** Processes beyond the processors, because many tests wait for a compiler or a timer. */
const SPARE_PROCESSES = 2;

/** Processes in succession, with blocks of each order: the more, the nearer their ends. */
const SHARES = 3;

/**
 * Folders whose kernels run with blocks that start with their last warp. Of a missing barrier nothing
 * is seen where the first warp, which often writes what the others read, runs first.
 */
const REVERSED = ["tests/tensor/", "tests/ternary/"];

/**
 * Folders whose files run a few at a time in one isolate: in one of its own each file takes 0.14 s to
 * load the package. Files of other folders change what a process has once.
 */
const JOINED = ["tests/hardware/", "tests/lab/", "tests/memory/", "tests/stream/"];

/** Files in an isolate. */
const JOINED_FILES = 8;

/** The same tests in fewer files. */
function joined(files: readonly string[]): string[] {
  const isJoined = (file: string) => JOINED.some((folder) => file.startsWith(folder));
  const left = files.filter((file) => !isJoined(file));
  const together = files.filter(isJoined);
  const groups = dealt(together, Math.ceil(together.length / JOINED_FILES));
  const folder = Deno.makeTempDirSync({ prefix: "gridstride-tests-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  return left.concat(groups.map((group, index) => {
    const file = `${folder}/${index}_test.ts`;
    const imports = group.map((name) => `import ${JSON.stringify(new URL(name, ROOT).href)};\n`);
    Deno.writeTextFileSync(file, imports.join(""));
    return file;
  }));
}

/** The test files below a folder of the repository. */
function testFiles(folder: string): string[] {
  return [...Deno.readDirSync(new URL(`${folder}/`, ROOT))].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return testFiles(path);
    return name.endsWith("_test.ts") ? [path] : [];
  }).sort();
}

/** Deals files out one by one, because long tests lie in the same folders. */
function dealt(files: readonly string[], shares: number): string[][] {
  return Array.from(
    { length: shares },
    (_, share) => files.filter((_, index) => index % shares === share),
  );
}

/** The heading of the failures in the output of `deno test`. */
const ERRORS = /^ ERRORS \s*$/;

/** The result of a process. */
interface Outcome {
  readonly success: boolean;
  /** The end of its output: failures and counts. */
  readonly end: string;
  readonly summary: TestSummary | undefined;
}

/**
 * Prints the output of a process line by line, without its failures: those of several processes would
 * be mixed.
 *
 * @returns The whole output, and the failures.
 */
async function passOn(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<{ log: string; end: string }> {
  const encoder = new TextEncoder();
  const log: string[] = [];
  let end: string | undefined;
  let rest = "";
  const take = async (line: string) => {
    log.push(line);
    if (end === undefined && ERRORS.test(line)) end = "";
    if (end !== undefined) end += `${line}\n`;
    else await Deno.stdout.write(encoder.encode(`${line}\n`));
  };
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) await take(line);
  }
  if (rest !== "") await take(rest);
  return { log: log.join("\n"), end: end ?? "" };
}

/** Test files that run in one process. */
interface Share {
  readonly files: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

async function runTests({ files, env }: Share): Promise<Outcome> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...TEST, ...files],
    cwd: ROOT,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const { log, end } = await passOn(child.stdout);
  const { success } = await child.status;
  return { success, end, summary: hasTestSummary(log) ? readTestSummary(log) : undefined };
}

async function runAll(): Promise<number> {
  const processes = Math.max(
    1,
    Math.min(MAX_PROCESSES, navigator.hardwareConcurrency + SPARE_PROCESSES),
  );
  const files = joined(testFiles("tests"));
  const isReversed = (file: string) => REVERSED.some((folder) => file.startsWith(folder));
  const shares: Share[] = [true, false].flatMap((reversed) =>
    dealt(files.filter((file) => isReversed(file) === reversed), SHARES * processes)
      .map((files) => ({ files, env: reversed ? { GRIDSTRIDE_HOST_ORDER: "reverse" } : {} }))
  );
  const outcomes: Outcome[] = [];
  const takeShares = async () => {
    for (let share = shares.shift(); share !== undefined; share = shares.shift()) {
      outcomes.push(await runTests(share));
    }
  };
  await Promise.all(Array.from({ length: processes }, takeShares));
  const summaries = outcomes.flatMap(({ summary }) => summary === undefined ? [] : [summary]);
  const { passed, failed, ignored } = addTestSummaries(summaries);
  const success = outcomes.every((outcome) => outcome.success);
  for (const { end } of outcomes) if (end !== "") console.log(`\n${end}`);
  // The format of `deno test`, which readTestSummary() reads.
  console.log(
    `\n${success ? "ok" : "FAILED"} | ${passed} passed | ${failed} failed` +
      (ignored === 0 ? "" : ` | ${ignored} ignored`),
  );
  if (summaries.length < outcomes.length) {
    console.error("Not all tests were run: a process ended before its end");
  }
  console.error(
    `${formatTestSummary({ passed, failed, ignored })}, in ${outcomes.length} processes, ` +
      `${processes} at a time`,
  );
  return success ? 0 : 1;
}

async function runSome(args: readonly string[]): Promise<number> {
  const command = new Deno.Command(Deno.execPath(), { args: [...TEST, ...args], cwd: ROOT });
  return (await command.spawn().status).code;
}

Deno.exit(Deno.args.length === 0 ? await runAll() : await runSome(Deno.args));
