/**
 * The section of `docs/performance.md` that has the figures of a GPU, from the reports of
 * `deno task gpu measure`.
 *
 * @module
 */

import { type ComparedFigure, groupFigures, peersOf } from "./figure.ts";
import { formatDuration, formatNumber } from "./formats.ts";
import type { GpuReport } from "./gpu_report.ts";
import { PEER_NAMES } from "./peer_process.ts";

/** A table of figures. */
interface Section {
  readonly title: string;
  /** What a reader has to know, as Markdown. */
  readonly text?: string;
  /** The groups of its figures, with their areas: `tensor: tensors of 2^26 float32`. */
  readonly groups: RegExp;
  /** The name of a row by its group and title; undefined where it has none. */
  readonly row: (group: string, title: string) => string | undefined;
}

const operation = (title: string) => title === "copy" ? "a copy by CUDA" : `\`${title}\``;
const titleOnly = (_group: string, title: string) => operation(title);
const groupFirst = (group: string, title: string) => `${group}: ${operation(title)}`;
const OF_GROUP = /^(?:matmul|attention|ternaryMatmul)(?:\(\))?$/;
/** The group alone, but for work that has a title of its own. */
const groupOnly = (group: string, title: string) =>
  OF_GROUP.test(title) ? group : groupFirst(group, title);

const SECTIONS: readonly Section[] = [
  {
    title: "Tensors of 2^26 `float32`",
    text: "Rows have 1,024 elements where nothing else is said. The chain is of five operations.",
    groups: /^tensor: tensors of 2\^26 float32$/,
    row: titleOnly,
  },
  {
    title: "Tensors of 2^26 elements of 16 bits",
    groups: /^tensor: tensors of 2\^26 b?float16$/,
    row: (group, title) => `\`${group.split(" ").at(-1)}\`: ${operation(title)}`,
  },
  {
    title: "Tensors of 2^20 elements",
    text: "They stay in the cache of the GPU, and launches are most of their time.",
    groups: /^tensor: tensors of 2\^20 /,
    row: (group, title) => `\`${group.split(" ").at(-1)}\`: ${operation(title)}`,
  },
  {
    title: "Built-in kernels on buffers of 256 MiB",
    groups: /^kernel: /,
    row: titleOnly,
  },
  {
    title: "Matrix products",
    groups: /^matmul: /,
    row: (group, title) => groupOnly(group.replace("product of ", ""), title),
  },
  {
    title: "Attention",
    text: "A block of 4 means that one block of keys in four is visible.",
    groups: /^attention: /,
    row: (group, title) => groupOnly(group.replace("attention of ", ""), title),
  },
  {
    title: "Products with ternary weights",
    text: "Other libraries multiply by as many weights of `bfloat16`.",
    groups: /^ternary: /,
    row: (group, title) => groupOnly(group.replace("ternary ", ""), title),
  },
  {
    title: "Launches, and operations on 1,000 elements",
    text: "The host's time until the call returns.",
    groups: /^(?:launch: |tensor: tensors of 1 000 )/,
    row: groupFirst,
  },
  { title: "Streams and events", groups: /^stream: /, row: groupFirst },
  { title: "Allocations", groups: /^pool: /, row: groupFirst },
  { title: "Copies", groups: /^copy: /, row: groupFirst },
];

const day = (report: GpuReport) => report.date.slice(0, 10);
const shortCommit = ({ commit }: GpuReport) =>
  commit.replace(/^[0-9a-f]{12,}/, (it) => it.slice(0, 8));
const keyOf = ({ area, group, title, beside = "" }: ComparedFigure) =>
  [area, group, title, beside].join("\n");

/** The figures of all reports: of a work that several have, those of the last. */
function newestFigures(reports: readonly GpuReport[]): ComparedFigure[] {
  const figures = reports.flatMap(({ measure }) => measure?.figures ?? []);
  const newest = new Map(figures.map((figure) => [keyOf(figure), figure]));
  return groupFigures([...newest.values()]).flat();
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = header.map((_, column) => column === 0 ? "---" : "---:");
  return [line(header), line(rule), ...rows.map(line), ""];
}

/** A section; empty where nothing of it was measured. */
function formatSection(
  { title, text, groups, row }: Section,
  figures: readonly ComparedFigure[],
): string[] {
  const own = figures.filter((it) => groups.test(`${it.area}: ${it.group}`));
  const names = PEER_NAMES.filter((name) => own.some(({ library }) => library?.name === name));
  const rows = own.flatMap((ours) => {
    const name = ours.library === undefined ? row(ours.group, ours.title) : undefined;
    if (name === undefined) return [];
    const peers = peersOf(own, ours);
    const times = names.map((name) => {
      const peer = peers.find(({ library }) => library!.name === name);
      return peer === undefined ? "–" : formatDuration(peer.fastest);
    });
    const fastest = Math.min(...peers.map(({ fastest }) => fastest));
    const ratio = peers.length === 0 ? "–" : `${formatNumber(fastest / ours.fastest)} ×`;
    return [[name, formatDuration(ours.fastest), ...times, ...(names.length === 0 ? [] : [ratio])]];
  });
  if (rows.length === 0) return [];
  const header = ["", "time", ...names, ...(names.length === 0 ? [] : ["fastest by ours"])];
  return [`### ${title}`, "", ...(text === undefined ? [] : [text, ""]), ...table(header, rows)];
}

function describeRuns(reports: readonly GpuReport[]): string[] {
  const { name, gpu, machine, measure } = reports.at(-1)!;
  const clock = measure?.load == null ? "" : `, at most ${measure.load.sm[1]} MHz under load`;
  const driver = gpu === null ? "" : ` (driver ${gpu.driver}${clock})`;
  const runs = reports.map((report) => `on ${day(report)} at commit ${shortCommit(report)}`);
  const versions = new Map(
    reports.flatMap(({ measure }) =>
      (measure?.figures ?? []).flatMap(({ library }) =>
        library === undefined ? [] : [[library.name, library.version.split("+")[0]!] as const]
      )
    ),
  );
  versions.delete("compiled PyTorch");
  const libraries = [...versions].map((library) => library.join(" ")).join(", ");
  return [
    `Measured ${
      runs.join(", and ")
    } on an ${name}${driver} with ${machine.processors} processors and ` +
    `Deno ${machine.deno}${libraries === "" ? "" : `, beside ${libraries} on the same GPU`}. ` +
    (reports.length === 1 ? "" : "A row has our time of the last run that measured it. ") +
    (reports.every(({ finished }) => finished)
      ? ""
      : "A run was cut off at its time limit, so some work has no row. ") +
    "Each figure is the fastest sample, of work on the GPU by its events. Differences of 2 % are noise.",
    "",
    ...(versions.size === 0 ? [] : [
      "The last column is the time of the fastest other library by ours: below 1 we are slower.",
      "",
    ]),
  ];
}

/**
 * The section.
 *
 * @param reports Reports of one GPU, the oldest first.
 * @throws {RangeError} If there is none, or they are of several GPUs.
 */
export function performanceSection(reports: readonly GpuReport[]): string {
  const gpus = [...new Set(reports.map(({ name }) => name))];
  if (gpus.length !== 1) {
    throw new RangeError(
      `Cannot write the page as reports must be of one GPU: they are of ${
        gpus.join(", ") || "none"
      }`,
    );
  }
  const figures = newestFigures(reports);
  return [
    ...describeRuns(reports),
    ...SECTIONS.flatMap((section) => formatSection(section, figures)),
  ].join("\n");
}

/**
 * The page with another section, which is all between its heading and the next one.
 *
 * @throws {RangeError} If the page has no such heading.
 */
export function replaceSection(page: string, heading: string, text: string): string {
  const start = page.indexOf(`${heading}\n`);
  if (start < 0) throw new RangeError(`Cannot find ${heading} in the page`);
  const next = page.indexOf("\n## ", start);
  const end = next < 0 ? "" : page.slice(next);
  return `${page.slice(0, start)}${heading}\n\n${text.trimEnd()}\n${end}`;
}
