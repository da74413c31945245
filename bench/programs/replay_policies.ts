/**
 * Replays traces against the memory pool of this package and the models of other allocators.
 *
 * usage: replay_policies.ts [TRACE...] [--json], with TRACE a file or the name of a generated trace
 */

import { textTable } from "../../src/cli/format.ts";
import {
  type MemoryTrace,
  readTrace,
  replayFigures,
  replayTrace,
} from "../../src/lab/memory/mod.ts";
import { ALL_POLICIES } from "../memory_models/policies.ts";
import { BUILT_IN_TRACES } from "../traces/built_in_traces.ts";

const names = Deno.args.filter((argument) => argument !== "--json");
const traces = names.length === 0
  ? BUILT_IN_TRACES.map(({ create }) => create())
  : names.map((name): MemoryTrace =>
    BUILT_IN_TRACES.find((trace) => trace.name === name)?.create() ??
      readTrace(Deno.readFileSync(name), name)
  );
const rows = traces.flatMap((trace) =>
  ALL_POLICIES.map((policy) => replayFigures(replayTrace(trace, policy)))
);
if (Deno.args.includes("--json")) console.log(JSON.stringify(rows, null, 2));
else {
  const columns = Object.keys(rows[0]!);
  const cells = rows.map((row) => Object.values(row).map((value) => String(value ?? "")));
  console.log(textTable(columns, cells));
}
