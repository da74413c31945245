/**
 * Writes the figures of a GPU into `docs/performance.md`:
 *
 *   deno task performance [REPORT…]
 *
 * The reports are files of `deno task gpu measure` on one GPU, by default all `*-measure.json` of
 * `bench/results/`. Of work that several have measured, the last one counts.
 *
 * @module
 */

import type { GpuReport } from "../bench/report/gpu_report.ts";
import { performanceSection, replaceSection } from "../bench/report/performance_page.ts";
import { ROOT } from "./steps.ts";

const results = new URL("bench/results/", ROOT);
const all = () =>
  [...Deno.readDirSync(results)].map(({ name }) => name)
    .filter((name) => name.endsWith("-measure.json")).map((name) => new URL(name, results));
const paths = Deno.args.length === 0 ? all() : Deno.args;
const reports = paths.map((path): GpuReport => JSON.parse(Deno.readTextFileSync(path)))
  .toSorted((a, b) => a.date.localeCompare(b.date));
const page = new URL("docs/performance.md", ROOT);
const text = replaceSection(
  Deno.readTextFileSync(page),
  "## On a GPU",
  performanceSection(reports),
);
Deno.writeTextFileSync(page, text);
const { success } = await new Deno.Command(Deno.execPath(), {
  args: ["fmt", "--quiet", page.pathname],
  stdin: "null",
}).spawn().status;
if (!success) Deno.exit(1);
