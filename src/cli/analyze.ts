/**
 * `gridstride analyze`: the memory access pattern of indices.
 *
 * @module
 */

import { TensorFileError } from "../device/tensor.ts";
import { formatBytes } from "../lab/memory/mod.ts";
import {
  AccessAnalyzer,
  type AccessReport,
  type IndexArray,
  type ReuseHistogram,
} from "../lab/analysis/mod.ts";
import {
  type Command,
  FileProblem,
  type Invocation,
  printResult,
  readFile,
  UsageError,
} from "./command.ts";
import { formatPercent, plural, textTable, wrapText } from "./format.ts";
import { readNpyIndices } from "./npy.ts";
import { integerOption, refuseOption, textOption } from "./options.ts";
import { pictureFile } from "./picture_file.ts";

const LANES = 32;
const PICTURED_REQUESTS = 4;
const ELEMENT_BYTES: readonly string[] = ["1", "2", "4", "8", "12", "16"];
const MAX_INDEX = Number.MAX_SAFE_INTEGER;
/** Indices of `--stride` by default: 32 requests. */
const STRIDE_COUNT = 1024;
/** Indices of a stride that are generated at once. */
const PIECE = 2 ** 16;

interface IndexSource {
  readonly subject: string;
  readonly pieces: Iterable<IndexArray>;
}

async function sourceOf(invocation: Invocation): Promise<IndexSource> {
  const [file] = invocation.positional;
  const stride = textOption(invocation, "stride");
  const indices = textOption(invocation, "indices");
  const given = [file, stride, indices].filter((source) => source !== undefined).length;
  if (given !== 1) {
    throw new UsageError(
      "Cannot run gridstride analyze as there must be exactly one of FILE.npy, --stride and --indices: " +
        `there are ${given}`,
    );
  }
  const count = integerOption(invocation, "count", 0, MAX_INDEX);
  if (stride !== undefined) return strideIndices(stride, count ?? STRIDE_COUNT);
  const list = file === undefined ? listedIndices(indices!) : await fileIndices(file);
  const subject = file ?? plural(list.length, "index", "indices");
  return { subject, pieces: [list.subarray(0, count)] };
}

async function fileIndices(path: string): Promise<IndexArray> {
  const file = await readFile(path);
  try {
    return readNpyIndices(file);
  } catch (error) {
    if (!(error instanceof TensorFileError)) throw error;
    throw new FileProblem(`Cannot analyze ${path} as it ${error.problem}`);
  }
}

function listedIndices(text: string): Float64Array<ArrayBuffer> {
  const parts = text.split(",");
  const wrong = parts.find((part) => !/^\d+$/.test(part) || Number(part) > MAX_INDEX);
  if (wrong === undefined) return Float64Array.from(parts, Number);
  return refuseOption("indices", `a list of integers in 0..${MAX_INDEX}, such as 0,1,2`, wrong);
}

function strideIndices(text: string, count: number): IndexSource {
  const stride = /^-?\d+$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(stride)) {
    refuseOption("stride", `an integer in ${-MAX_INDEX}..${MAX_INDEX}`, text);
  }
  const last = Math.max(0, count - 1) * Math.abs(stride);
  if (last > MAX_INDEX) {
    throw new UsageError(
      `Cannot use --stride as ${count} indices must stay below 2^53: the last one is ${last}`,
    );
  }
  // A negative stride begins at the last index, because indices are not negative.
  const start = stride < 0 ? last : 0;
  const Piece = last < 2 ** 32 ? Uint32Array : Float64Array;
  const pieces = function* () {
    for (let from = 0; from < count; from += PIECE) {
      const piece = new Piece(Math.min(PIECE, count - from));
      yield piece.map((_, i) => start + stride * (from + i));
    }
  };
  return { subject: `stride ${stride}`, pieces: pieces() };
}

/** Passes all indices to the analyzer and returns the first ones for the picture. */
function addAll(analyzer: AccessAnalyzer, { subject, pieces }: IndexSource): number[] {
  const pictured: number[] = [];
  for (const piece of pieces) {
    try {
      analyzer.add(piece);
    } catch (error) {
      // Only a file can contain invalid indices: the options are checked above.
      if (!(error instanceof RangeError)) throw error;
      throw new FileProblem(`${subject}: ${error.message}`);
    }
    const missing = PICTURED_REQUESTS * LANES - pictured.length;
    if (missing > 0) pictured.push(...Array.from(piece.subarray(0, missing), Number));
  }
  return pictured;
}

async function analyze(invocation: Invocation): Promise<void> {
  const writePicture = pictureFile(invocation);
  const bytes = textOption(invocation, "element-bytes") ?? "4";
  if (!ELEMENT_BYTES.includes(bytes)) {
    refuseOption("element-bytes", `one of ${ELEMENT_BYTES.join(", ")}`, bytes);
  }
  const elementBytes = Number(bytes);
  const offset = integerOption(invocation, "offset", 0, MAX_INDEX) ?? 0;
  const isShared = invocation.options["shared"] === true;
  if (isShared && offset !== 0) {
    throw new UsageError("Cannot use --offset with --shared: shared memory begins at bank 0");
  }
  const source = await sourceOf(invocation);
  const { subject } = source;
  const reuse = invocation.options["reuse"] === true;
  const analyzer = new AccessAnalyzer({ elementBytes, offset, reuse });
  const indices = addAll(analyzer, source);
  const report = analyzer.report();
  const advice = isShared ? report.bankAdvice : report.advice;
  if (writePicture !== undefined) {
    const { accessPicture } = await import("./pictures/access_picture.ts");
    const access = { subject, indices, elementBytes, offset, isShared, report, advice };
    await writePicture(accessPicture(access));
  }
  const { kind, stride, confidence, outliers, requests, sectors, idealSectors } = report;
  const { efficiency, bankConflicts } = report;
  const figures = {
    ...{ kind, stride, confidence, outliers, requests, sectors, idealSectors, efficiency },
    ...{ bankConflicts, advice, ...report.reuse !== null && { reuse: report.reuse } },
  };
  printResult(invocation, figures, () => {
    const head = `${subject}: ${plural(report.count, "access", "accesses")} of ` +
      `${formatBytes(elementBytes)}, ${patternOf(report)}`;
    return [
      head,
      trafficTable(report, isShared),
      isShared ? "" : `coalescing efficiency ${formatPercent(efficiency)}`,
      report.reuse === null ? "" : reuseTable(report.reuse),
      wrapText(advice),
    ].filter((part) => part !== "").join("\n\n");
  });
}

/** The pattern in words: `strided by 2`. */
function patternOf({ kind, stride, tile, confidence, outliers }: AccessReport): string {
  const shape = kind === "strided"
    ? ` by ${stride}`
    : tile !== null
    ? `, ${tile.rows} runs of ${tile.columns}, ${tile.pitch} apart`
    : "";
  if (outliers === 0) return kind + shape;
  return `${kind}${shape} (${formatPercent(confidence)}, ${plural(outliers, "outlier")})`;
}

function trafficTable(report: AccessReport, isShared: boolean): string {
  const { requests, sectors, idealSectors, lines, bankConflicts } = report;
  const each = (count: number) => requests === 0 ? "–" : String(+(count / requests).toFixed(2));
  const all = ["requests", requests, "", ""];
  const conflicts = [bankConflicts, each(bankConflicts), 0];
  const rows = isShared ? [all, ["bank conflicts", ...conflicts]] : [
    all,
    ["sectors of 32 bytes", sectors, each(sectors), each(idealSectors)],
    ["lines of 128 bytes", lines, each(lines), ""],
    ["bank conflicts in shared memory", ...conflicts],
  ];
  const cells = rows.map((row) => row.map(String));
  return textTable(["", "all", "per request", "ideal"], cells, "<>>>");
}

const BAR_WIDTH = 24;

function reuseTable({ counts, firstTouches, sampled, standardError }: ReuseHistogram): string {
  const total = counts.reduce((sum, count) => sum + count, firstTouches);
  const titles = counts.map((_, entry) =>
    entry < 2 ? String(entry) : `${2 ** (entry - 1)} to ${2 ** entry - 1}`
  );
  const rows = [...counts, firstTouches].map((count, entry) => {
    const share = total === 0 ? 0 : count / total;
    const bar = "█".repeat(Math.round(share * BAR_WIDTH));
    return [titles[entry] ?? "first access", formatPercent(share), bar];
  });
  const sample = sampled === 1
    ? ""
    : `\nestimated from ${formatPercent(sampled)} of the lines, standard error ${
      formatPercent(standardError)
    }`;
  return textTable(["lines accessed in between", "accesses", ""], rows, "<>") + sample;
}

export const ANALYZE: Command = {
  name: "analyze",
  summary: "analyze memory accesses: sectors, bank conflicts, advice",
  arguments: "[FILE.npy]",
  description: `Finds the pattern of memory accesses and its cost: the 32-byte sectors that each
request of a warp transfers, the share of their bytes that is used, and the bank conflicts in
shared memory. Thread i accesses the element with index i of the list, and each 32 threads are one
warp. No device is used.

FILE.npy is an array of integers, or of floating-point numbers without fractions, in row-major
order.`,
  options: {
    "--stride <N>": "use the indices 0, N, 2N…; a negative N counts backwards, 0 repeats index 0",
    "--indices <LIST>": "use these indices",
    "--count <N>": "use the first N indices; by default all, and 1024 with --stride",
    "--element-bytes <N>": "bytes of an element: 1, 2, 4, 8, 12 or 16; 4 by default",
    "--offset <N>": "byte address of element 0; 0 by default",
    "--reuse": "show how many other cache lines are accessed between two accesses of a line",
    "--shared": "analyze accesses to shared memory: bank conflicts instead of sectors",
    "--picture <FILE>": "draw the first four requests to an .svg or .html file",
  },
  details: `With --json: { kind, stride, confidence, outliers, requests, sectors, idealSectors,
efficiency, bankConflicts, advice }. With --reuse also { reuse: { granularity, counts,
firstTouches, sampled, standardError } }, where counts has one entry for 0, 1, 2 to 3, 4 to 7…
lines in between.

Exit code 1 if FILE cannot be read, or contains an invalid index.`,
  run: analyze,
};
