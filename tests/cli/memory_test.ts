// `gridstride memory replay` and `gridstride memory report`.

import "../support/cache_directory.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  memoryReportFigures,
  memoryReportText,
  REPLAY_POLICIES,
  type ReplayResult,
} from "../../src/lab/memory/mod.ts";
import { SMALL_SNAPSHOT } from "../lab/memory/report/small_snapshot.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { assertFails, type Output, runInProcess } from "./in_process.ts";

/** Runs `memory report` on a file with this content. */
async function report(
  content: string,
  args: (folder: string) => readonly string[],
  check: (result: Output, folder: string) => void | Promise<void>,
): Promise<void> {
  using folder = TemporaryDirectory.of({ "snapshot.json": content });
  await check(await runInProcess(["memory", "report", ...args(folder.path)]), folder.path);
}

const TEXT = JSON.stringify(SMALL_SNAPSHOT);
const file = (folder: string) => [`${folder}/snapshot.json`];

Deno.test("`memory report` writes a page beside the file and prints its path", () =>
  report(TEXT, file, async ({ code, stdout, stderr }, folder) => {
    assertEquals([code, stdout, stderr], [0, `${folder}/snapshot.html\n`, ""]);
    assertMatch(await Deno.readTextFile(`${folder}/snapshot.html`), /^<!DOCTYPE html>/);
  }));

Deno.test("`memory report --output` writes the page to a file", () =>
  report(
    TEXT,
    (folder) => [...file(folder), "--output", `${folder}/other.html`],
    async ({ code, stdout }, folder) => {
      assertEquals([code, stdout], [0, `${folder}/other.html\n`]);
      assert((await Deno.stat(`${folder}/other.html`)).size > 10_000);
    },
  ));

Deno.test("`memory report` prints the figures and the text of the library", async () => {
  await report(TEXT, (folder) => [...file(folder), "--text"], ({ code, stdout }) => {
    assertEquals([code, stdout], [0, `${memoryReportText(SMALL_SNAPSHOT)}\n`]);
  });
  await report(TEXT, (folder) => [...file(folder), "--json"], ({ code, stdout }) => {
    assertEquals([code, JSON.parse(stdout)], [0, memoryReportFigures(SMALL_SNAPSHOT)]);
  });
});

Deno.test("`memory report` exits with 1 for an invalid file, with its name and field", async () => {
  const [segment, ...rest] = SMALL_SNAPSHOT.segments;
  const [block, ...blocks] = segment!.blocks;
  const segments = [{ ...segment, blocks: [{ ...block, bytes: -1 }, ...blocks] }, ...rest];
  for (
    const [content, message] of [
      [JSON.stringify({ ...SMALL_SNAPSHOT, segments }), "segments[0].blocks[0].bytes"],
      [JSON.stringify({ ...SMALL_SNAPSHOT, format: "another" }), "format"],
      [TEXT.slice(0, -1), "JSON"],
      ["", "JSON"],
      ["nonsense", "JSON"],
    ] as const
  ) {
    await report(content, file, ({ code, stdout, stderr }, folder) => {
      assertEquals([code, stdout], [1, ""], stderr);
      assertEquals(stderr.trim().split("\n").length, 1, stderr);
      assertStringIncludes(stderr, `${folder}/snapshot.json`);
      assertStringIncludes(stderr, message);
    });
  }
});

Deno.test("`memory report` exits with 1 for a file that it cannot read or write", async () => {
  for (
    const [args, name] of [
      [(folder: string) => [`${folder}/absent.json`], "absent.json"],
      [(folder: string) => [folder], "Cannot read "],
      [(folder: string) => [...file(folder), "--output", `${folder}/no/such.html`], "such.html"],
    ] as const
  ) {
    await report(TEXT, args, ({ code, stdout, stderr }) => {
      assertEquals([code, stdout], [1, ""], stderr);
      assertEquals(stderr.trim().split("\n").length, 1, stderr);
      assertStringIncludes(stderr, name);
    });
  }
});

Deno.test("`memory report` does not overwrite the snapshot", async () => {
  const names = [
    (folder: string) => `${folder}/./snapshot.json`,
    (folder: string) => `${folder}/../${folder.split("/").at(-1)}/snapshot.json`,
    (folder: string) => {
      Deno.symlinkSync(`${folder}/snapshot.json`, `${folder}/link.html`);
      return `${folder}/link.html`;
    },
  ];
  for (const name of names) {
    const args = (folder: string) => [...file(folder), "--output", name(folder)];
    await report(TEXT, args, async ({ code, stderr }, folder) => {
      assertEquals(code, 2);
      assertStringIncludes(stderr, "FILE itself");
      assertEquals(await Deno.readTextFile(`${folder}/snapshot.json`), TEXT);
    });
  }
});

Deno.test("`memory report` exits with 2 for invalid options", async () => {
  await assertFails(2, (args) => runInProcess(["memory", "report", ...args]), [
    [[], "missing required argument 'FILE'"],
    [["a", "b"], "too many arguments"],
    [["a", "--json", "--text"], "both --json and --text"],
    [["a", "--text", "--output", "b"], "--output"],
    [["a.html"], "FILE itself"],
  ]);
});

const TRACE = "gridstride memory trace 1\n# Three blocks.\na 0 3000000 0\nf 0\na 1 2000000 0\n" +
  "a 2 100 0\nend 4\n";

/** Runs `gridstride memory` in a folder with these files. */
async function memory(args: readonly string[], files: Readonly<Record<string, string>> = {}) {
  using folder = TemporaryDirectory.of(files);
  const paths = new Map(Object.keys(files).map((name) => [name, `${folder.path}/${name}`]));
  const given = args.map((argument) => paths.get(argument) ?? argument);
  return { ...await runInProcess(["memory", ...given]), paths };
}

Deno.test("`memory replay --json` prints a row for each policy", async () => {
  const { code, stdout, stderr, paths } = await memory(["replay", "small.trace", "--json"], {
    "small.trace": TRACE,
  });
  assertEquals([code, stderr], [0, ""]);
  const rows = JSON.parse(stdout) as ReplayResult[];
  assertEquals(rows.map(({ policy }) => policy), REPLAY_POLICIES.map(({ name }) => name));
  for (const row of rows) {
    assertEquals(
      Object.keys(row).join(),
      "trace,policy,peakLive,peakReserved,ratio,upstreamCalls,retries,outOfMemory," +
        "nanosecondsPerOperation",
    );
    assertEquals([row.trace, row.peakLive, row.outOfMemory], [paths.get("small.trace"), 3e6, 0]);
    assertEquals(row.ratio, row.peakReserved / row.peakLive);
  }
});

Deno.test("`memory replay` prints a table of at most 100 columns for each trace", async () => {
  const args = ["replay", "a.trace", "b.trace", "--policy", "gridstride-plain"];
  const { code, stdout } = await memory(args, {
    "a.trace": TRACE,
    "b.trace": TRACE.replace("Three blocks.", "words ".repeat(50)),
  });
  assertEquals(code, 0);
  const lines = stdout.split("\n");
  assertEquals(lines.filter((line) => [...line].length > 100), []);
  assertEquals(lines.filter((line) => line.startsWith("gridstride-plain")).length, 2);
  assertStringIncludes(stdout, "a.trace: Three blocks.");
  assertMatch(stdout, /^gridstride-plain +2\.9 MiB +\d+ MiB +\d\.\d{3} +\d+ +0 +0 +\d+$/m);
});

Deno.test("`memory replay --capacity` limits the memory of the device", async () => {
  const args = ["replay", "small.trace", "--json", "--policy", "gridstride-plain", "--capacity"];
  const refused = async (capacity: string) => {
    const { stdout } = await memory([...args, capacity], { "small.trace": TRACE });
    return (JSON.parse(stdout) as ReplayResult[]).map(({ outOfMemory }) => outOfMemory);
  };
  assertEquals(await refused("64MiB"), [0]);
  assertEquals(await refused("2MiB"), [2]);
});

Deno.test("`memory replay --multiplier` multiplies the sizes of a minimalloc instance", async () => {
  const args = ["replay", "--json", "--policy", "gridstride"];
  const files = { "a.csv": "id,lower,upper,size\na,0,3,4\n" };
  const { stdout } = await memory([...args, "a.csv", "--multiplier", "1024"], files);
  assertEquals((JSON.parse(stdout) as ReplayResult[]).map(({ peakLive }) => peakLive), [4096]);
});

Deno.test("`memory replay` escapes control sequences of a file", async () => {
  const evil = "\u001b[31m\u009b31m\u0007\u202e";
  const { code, stdout } = await memory(["replay", "a.trace", "--policy", "gridstride-plain"], {
    "a.trace": TRACE.replace("Three blocks.", `Red ${evil} ink`),
  });
  assertEquals(code, 0);
  assertStringIncludes(stdout, "a.trace: Red [31m 31m ink\n");
  const column = await memory(["replay", "a.csv"], { "a.csv": `id,lower,upper,size,${evil}\n` });
  assertEquals(column.code, 1);
  assertStringIncludes(column.stderr, 'it is "\\u{1b}[31m\\u{9b}31m\\u{7}\\u{202e}"\n');
});

Deno.test("`memory replay` exits with 2 for invalid options", async () => {
  await assertFails(2, memory, [
    [["replay", "a", "--policy", "tcmalloc"], "gridstride, gridstride-plain"],
    [["replay", "a", "--policy", "tcmalloc"], '"tcmalloc"'],
    [["replay", "--policy"], "--policy"],
    [["replay", "a", "--capacity", "much"], "--capacity"],
    [["replay", "a", "--capacity", "0"], "--capacity"],
    [["replay", "a", "--capacity", "129T"], "140737488355328 bytes"],
    [["replay", "a", "--multiplier", "0"], "--multiplier"],
    [["replay"], "missing required argument 'TRACE'"],
    [["replay", "--jason"], "--jason"],
    [["reploy"], "Did you mean replay?"],
  ]);
});

Deno.test("`memory replay` exits with 1 for an invalid trace, with its file and line", async () => {
  const missing = await memory(["replay", "no/such.trace"]);
  assertEquals([missing.code, missing.stdout], [1, ""]);
  assertStringIncludes(missing.stderr, "no/such.trace");
  const short = await memory(["replay", "short.trace"], { "short.trace": TRACE.slice(0, -7) });
  assertEquals([short.code, short.stdout], [1, ""]);
  assertStringIncludes(short.stderr, "short.trace");
  const twice = await memory(["replay", "twice.trace", "--json"], {
    "twice.trace": TRACE.replace("a 1 2000000 0", "f 0"),
  });
  assertEquals([twice.code, twice.stdout], [1, ""]);
  assertMatch(twice.stderr, /twice\.trace.*line 5/);
});

Deno.test("`memory --help` lists the commands and policies", async () => {
  const group = await memory(["--help"]);
  assertEquals(group.code, 0);
  assertStringIncludes(group.stdout, "replay");
  const none = await memory([]);
  assertEquals([none.code, none.stdout], [2, ""]);
  const { stdout } = await memory(["replay", "--help"]);
  for (const { name, description } of REPLAY_POLICIES) {
    assertStringIncludes(stdout.replaceAll("\n", " "), ` ${name}: ${description}. `);
  }
});
