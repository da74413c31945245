/**
 * All tests, shared out among processes, one at a time for each processor: `deno task test`. The
 * native library counts what is allocated in a process, and many tests what it has counted, so that
 * these are processes and not the threads of `deno test --parallel`.
 *
 * With arguments it is `deno test` itself: `deno task test tests/memory`.
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

/** More than this use the memory of a machine with many processors for little. */
const MOST_PROCESSES = 4;

/** To begin a process takes a second; with more of them all end at about the same time. */
const HANDS = 3;

/** The test files below a folder of the repository. */
function testFiles(folder: string): string[] {
  return [...Deno.readDirSync(new URL(`${folder}/`, ROOT))].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return testFiles(path);
    return name.endsWith("_test.ts") ? [path] : [];
  }).sort();
}

/**
 * Deals files out one by one, as the long ones lie in the same folders: into several hands for each
 * process, which takes the next one when it has ended.
 */
function dealt(files: readonly string[], hands: number): string[][] {
  return Array.from(
    { length: hands },
    (_, hand) => files.filter((_, index) => index % hands === hand),
  );
}

/** Where `deno test` begins to say what has failed, once all tests have run. */
const ERRORS = /^ ERRORS \s*$/;

/** What became of one of the processes. */
interface Outcome {
  readonly success: boolean;
  /** What it said in the end: errors, and the counts. */
  readonly end: string;
  readonly summary: TestSummary | undefined;
}

/**
 * Passes on what a process prints, line by line, but its errors: those of several processes would
 * be mixed.
 *
 * @returns All of it, and what was not passed on.
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

async function runTests(files: readonly string[]): Promise<Outcome> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...TEST, ...files],
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const { log, end } = await passOn(child.stdout);
  const { success } = await child.status;
  return { success, end, summary: hasTestSummary(log) ? readTestSummary(log) : undefined };
}

async function runAll(): Promise<number> {
  const processes = Math.max(1, Math.min(MOST_PROCESSES, navigator.hardwareConcurrency));
  const hands = dealt(testFiles("tests"), HANDS * processes);
  const outcomes: Outcome[] = [];
  const takeHands = async () => {
    for (let hand = hands.shift(); hand !== undefined; hand = hands.shift()) {
      outcomes.push(await runTests(hand));
    }
  };
  await Promise.all(Array.from({ length: processes }, takeHands));
  const summaries = outcomes.flatMap(({ summary }) => summary === undefined ? [] : [summary]);
  const { passed, failed, ignored } = addTestSummaries(summaries);
  const success = outcomes.every((outcome) => outcome.success);
  for (const { end } of outcomes) if (end !== "") console.log(`\n${end}`);
  // As `deno test` ends, so that the same reads it.
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
