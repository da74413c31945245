/**
 * Writes a report after every step, so that a run that is cut off loses nothing: a file of JSON, a page
 * and a log. Each is written beside its place and renamed, but the log, which only grows.
 *
 * @module
 */

import { join } from "node:path";
import { type GpuReport, resultName } from "./gpu_report.ts";
import { formatGpuReport } from "./markdown.ts";

/** The files of a report. */
export class ReportFiles {
  /** Their path without the suffix. */
  readonly path: string;
  readonly #report: GpuReport;

  /** Makes the folder and begins the log. */
  constructor(folder: string, report: GpuReport) {
    Deno.mkdirSync(folder, { recursive: true });
    this.path = join(folder, resultName(report));
    this.#report = report;
    Deno.writeTextFileSync(`${this.path}.log`, "");
    this.save();
  }

  /** Writes the report as it is now. */
  save(): void {
    replaceFile(`${this.path}.json`, `${JSON.stringify(this.#report, null, 2)}\n`);
    replaceFile(`${this.path}.md`, formatGpuReport(this.#report));
  }

  /** Appends the output of a program to the log. */
  log(title: string, output: string): void {
    const text = `\n== ${title}\n${output.trimEnd()}\n`;
    Deno.writeTextFileSync(`${this.path}.log`, text, { append: true });
  }
}

function replaceFile(path: string, text: string): void {
  const unfinished = `${path}.${Deno.pid}`;
  Deno.writeTextFileSync(unfinished, text);
  Deno.renameSync(unfinished, path);
}
