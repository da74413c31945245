/**
 * `gridstride analyze`: how warps access memory, from indices.
 *
 * @module
 */

import { AccessAnalyzer, type AccessReport } from "../lab/analysis/mod.ts";
import { type IndexSource, indexSource } from "./analyze_source.ts";
import { describeAccess } from "./analyze_text.ts";
import { type Command, EXIT, type Invocation, printResult, UsageError } from "./command.ts";
import { FileProblem } from "./file_problem.ts";
import { pictureFile } from "./picture_file.ts";
import { integerOption, textOption } from "./run_options.ts";

/** Lanes of a warp, and requests that a picture shows. */
const LANES = 32;
const PICTURED_REQUESTS = 4;

/** Bytes that a lane can access as one element. */
const ELEMENT_BYTES: readonly string[] = ["1", "2", "4", "8", "12", "16"];

/** What the command prints as JSON. */
function figuresOf(report: AccessReport, advice: string) {
  const { kind, stride, confidence, outliers, requests, sectors } = report;
  const { idealSectors, efficiency, bankConflicts } = report;
  return {
    kind,
    stride,
    confidence,
    outliers,
    requests,
    sectors,
    idealSectors,
    efficiency,
    bankConflicts,
    advice,
    ...report.reuse === null ? {} : { reuse: report.reuse },
  };
}

function elementBytesOf(invocation: Invocation): number {
  const text = textOption(invocation, "element-bytes") ?? "4";
  if (ELEMENT_BYTES.includes(text)) return Number(text);
  throw new UsageError(
    `Cannot use --element-bytes as it must be one of ${ELEMENT_BYTES.join(", ")}: it is "${text}"`,
  );
}

/** Adds all indices, and returns the first of them, for the picture. */
function addAll(analyzer: AccessAnalyzer, source: IndexSource): number[] {
  const first: number[] = [];
  for (const piece of source.pieces()) {
    try {
      analyzer.add(piece);
    } catch (error) {
      // Only files have anything that is no index: what is typed was checked.
      if (!(error instanceof RangeError)) throw error;
      throw new FileProblem(`${source.subject}: ${error.message}`);
    }
    const missing = PICTURED_REQUESTS * LANES - first.length;
    if (missing > 0) first.push(...Array.from(piece.subarray(0, missing), Number));
  }
  return first;
}

async function analyze(invocation: Invocation): Promise<void> {
  const picture = pictureFile(invocation);
  const elementBytes = elementBytesOf(invocation);
  const offset = integerOption(invocation, "offset", 0, Number.MAX_SAFE_INTEGER) ?? 0;
  const isShared = invocation.options["shared"] === true;
  if (isShared && offset !== 0) {
    throw new UsageError("Cannot use --offset with --shared as shared memory begins at bank 0");
  }
  const source = indexSource(invocation);
  const reuse = invocation.options["reuse"] === true;
  const analyzer = new AccessAnalyzer({ elementBytes, offset, reuse });
  const indices = addAll(analyzer, source);
  const report = analyzer.report();
  const advice = isShared ? report.bankAdvice : report.advice;
  const { subject } = source;
  if (picture !== undefined) {
    const { accessPicture, bankPicture } = await import("./pictures/access_pictures.ts");
    const draw = isShared ? bankPicture : accessPicture;
    picture.write(draw({ subject, indices, elementBytes, offset, report, advice }));
  }
  printResult(
    invocation,
    figuresOf(report, advice),
    () => describeAccess(report, { subject, elementBytes, isShared, advice }),
  );
}

/** The command. */
export const ANALYZE: Command = {
  name: "analyze",
  summary: "how warps access memory: sectors, efficiency, bank conflicts, advice",
  help: `gridstride analyze FILE.npy [options]
gridstride analyze --stride N [--count N] [options]
gridstride analyze --indices 0,1,2… [options]

Says which pattern indices follow and what it costs: the sectors of 32 bytes that each request of a
warp touches, what of them is used, bank conflicts if the indices went to shared memory, and what to
do about it. Index i belongs to lane i % 32. It takes no device.

FILE.npy is an array of integers of any width, or of floating-point numbers that are integers. It is
read in pieces, however large it is, with its last index fastest.

  --stride N          indices that are N apart; negative: backwards, 0: all the same
  --indices LIST      the indices themselves
  --count N           how many: of a stride 1024 by default, else all there are
  --element-bytes N   bytes of an element: 1, 2, 4, 8, 12 or 16; 4 by default
  --offset N          byte at which element 0 lies; 0 by default
  --reuse             how often lines are accessed again, and after how many others
  --shared            the indices are of shared memory: its banks are what counts and is drawn
  --picture FILE      draws the first four requests, as .svg or .html

With --json: { kind, stride, confidence, outliers, requests, sectors, idealSectors, efficiency,
bankConflicts, advice }, and of --reuse { reuse: { granularity, counts, firstTouches, sampled,
standardError } }: counts by the lines accessed in between, 0, 1, 2 to 3, 4 to 7 and so on.
Exit code 1 when FILE cannot be read, or holds what is no index.`,
  options: {
    values: ["stride", "indices", "count", "element-bytes", "offset", "picture"],
    flags: ["reuse", "shared"],
  },
  async run(invocation) {
    try {
      await analyze(invocation);
      return EXIT.done;
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      console.error(error.message);
      return EXIT.failed;
    }
  },
};
