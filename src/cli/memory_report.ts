/**
 * `gridstride memory report`: a memory snapshot for people.
 *
 * @module
 */

import { resolve } from "node:path";
import {
  memoryReport,
  memoryReportFigures,
  memoryReportText,
  type MemorySnapshot,
  readSnapshot,
  SnapshotError,
} from "../lab/memory/mod.ts";
import { type Command, EXIT, type Invocation, printText, UsageError } from "./command.ts";
import { FileProblem, isAboutFile } from "./file_problem.ts";

function fileOf({ positional }: Invocation): string {
  const [file, extra] = positional;
  if (file === undefined) throw new UsageError("Cannot report as FILE is missing");
  if (extra !== undefined) {
    throw new UsageError(`Cannot report as there must be one FILE: there is "${extra}" too`);
  }
  return file;
}

/** Where the page goes; `undefined` when no page was asked for. */
function outputOf({ json, options }: Invocation, file: string): string | undefined {
  const { text, output } = options;
  if (json && text === true) {
    throw new UsageError("Cannot report as --json and --text exclude each other");
  }
  if (json || text === true) {
    if (output === undefined) return undefined;
    throw new UsageError(
      `Cannot report as --output is for the page, and --${json ? "json" : "text"} makes none`,
    );
  }
  const path = typeof output === "string" ? output : `${file.replace(/\.[^./\\]+$/, "")}.html`;
  if (!isSameFile(path, file)) return path;
  throw new UsageError(`Cannot report as --output must not be FILE itself: it is "${path}"`);
}

/** Whether two paths lead to one file, also through links; of what is not there only by name. */
function isSameFile(path: string, other: string): boolean {
  if (resolve(path) === resolve(other)) return true;
  try {
    return Deno.realPathSync(path) === Deno.realPathSync(other);
  } catch (error) {
    if (isAboutFile(error)) return false;
    throw error;
  }
}

async function snapshotOf(file: string): Promise<MemorySnapshot> {
  try {
    return readSnapshot(await Deno.readFile(file));
  } catch (error) {
    if (error instanceof SnapshotError) throw new FileProblem(`${file}: ${error.message}`);
    if (!isAboutFile(error)) throw error;
    throw new FileProblem(`Cannot report on ${file} as it must be readable: ${error.message}`);
  }
}

async function write(path: string, text: string): Promise<void> {
  try {
    await Deno.writeTextFile(path, text);
  } catch (error) {
    if (!isAboutFile(error)) throw error;
    throw new FileProblem(`Cannot write the report as ${path} must be writable: ${error.message}`);
  }
}

async function report(invocation: Invocation): Promise<void> {
  const file = fileOf(invocation);
  const output = outputOf(invocation, file);
  const snapshot = await snapshotOf(file);
  if (output !== undefined) {
    await write(output, memoryReport(snapshot));
    printText(output);
  } else if (invocation.json) {
    printText(JSON.stringify(memoryReportFigures(snapshot), null, 2));
  } else {
    printText(memoryReportText(snapshot));
  }
}

/** The command. */
export const MEMORY_REPORT: Command = {
  name: "report",
  summary: "show a memory snapshot as a page or as text",
  help: `gridstride memory report FILE [--output FILE.html] [--json | --text]

Makes one HTML page of a memory snapshot: memory and fragmentation over time, every segment and
block to scale, and the sites that hold memory. The page needs no server, no network and no other
file. It is written beside FILE, with .html in place of its extension, and its path is printed.

FILE is a snapshot of a memory pool (JSON).

With --text: the report as text of at most 100 columns, on stdout.
With --json: { source, takenAt, device, totals, reservedPerLive, externalFragmentation,
internalFragmentation, segments, sites, oldest }; sizes in bytes, ages in milliseconds.
Exit code 1 when FILE cannot be read or the page not be written.`,
  options: { values: ["output"], flags: ["text"] },
  async run(invocation) {
    try {
      await report(invocation);
      return EXIT.done;
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      console.error(error.message);
      return EXIT.failed;
    }
  },
};
