import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { REPLAY_POLICIES, type ReplayResult } from "../../src/lab/memory/mod.ts";
import { runCommandLine } from "../support/subprocess.ts";

const TRACE = "gridstride memory trace 1\n# Three blocks.\na 0 3000000 0\nf 0\na 1 2000000 0\n" +
  "a 2 100 0\nend 4\n";

/** Runs `gridstride memory …` in a folder with the given files. */
async function memory(args: readonly string[], files: Readonly<Record<string, string>> = {}) {
  const directory = await Deno.makeTempDir();
  try {
    const paths = new Map<string, string>();
    for (const [name, text] of Object.entries(files)) {
      const path = `${directory}/${name}`;
      await Deno.writeTextFile(path, text);
      paths.set(name, path);
    }
    const given = args.map((argument) => paths.get(argument) ?? argument);
    return { ...await runCommandLine(["memory", ...given]), paths };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("memory replay --json has the documented shape, a row per policy", async () => {
  const { code, stdout, stderr, paths } = await memory(["replay", "small.trace", "--json"], {
    "small.trace": TRACE,
  });
  assertEquals([code, stderr], [0, ""]);
  const rows = JSON.parse(stdout) as ReplayResult[];
  assertEquals(rows.map(({ policy }) => policy), REPLAY_POLICIES.map(({ name }) => name));
  for (const row of rows) {
    assertEquals(Object.keys(row), [
      "trace",
      "policy",
      "peakLive",
      "peakReserved",
      "ratio",
      "upstreamCalls",
      "retries",
      "outOfMemory",
      "nanosecondsPerOperation",
    ]);
    assertEquals([row.trace, row.peakLive, row.outOfMemory], [paths.get("small.trace"), 3e6, 0]);
    assertEquals(row.ratio, row.peakReserved / row.peakLive);
  }
});

Deno.test("memory replay prints tables of at most 100 columns, grouped by trace", async () => {
  const { code, stdout } = await memory([
    "replay",
    "a.trace",
    "b.trace",
    "--policy",
    "gridstride-plain",
  ], {
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

Deno.test("memory replay takes a capacity", async () => {
  const args = ["replay", "small.trace", "--json", "--policy", "gridstride-plain", "--capacity"];
  const files = { "small.trace": TRACE };
  const refused = async (capacity: string) => {
    const { stdout } = await memory([...args, capacity], files);
    return (JSON.parse(stdout) as ReplayResult[]).map(({ outOfMemory }) => outOfMemory);
  };
  assertEquals(await refused("64MiB"), [0]);
  assertEquals(await refused("2MiB"), [2]);
});

Deno.test("memory replay --multiplier scales the sizes of a minimalloc instance", async () => {
  const args = ["replay", "--json", "--policy", "gridstride"];
  const files = { "a.csv": "id,lower,upper,size\na,0,3,4\n" };
  const { stdout } = await memory([...args, "a.csv", "--multiplier", "1024"], files);
  assertEquals((JSON.parse(stdout) as ReplayResult[]).map(({ peakLive }) => peakLive), [4096]);
});

Deno.test("memory replay prints nothing of a file that a terminal would obey", async () => {
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

Deno.test("bad usage of memory is exit code 2 and one line that says what is allowed", async () => {
  for (
    const [args, message] of [
      [["replay", "--policy", "tcmalloc"], "gridstride, gridstride-plain"],
      [["replay", "--policy", "tcmalloc"], '"tcmalloc"'],
      [["replay", "--policy"], "--policy"],
      [["replay", "--capacity", "much"], "--capacity"],
      [["replay", "--capacity", "0"], "--capacity"],
      [["replay", "--capacity", "129T"], "128T"],
      [["replay", "--multiplier", "0"], "--multiplier"],
      [["replay"], "TRACE is missing"],
      [["replay", "--jason"], "--jason"],
      [["replace"], "replay"],
    ] as const
  ) {
    const { code, stdout, stderr } = await memory(args);
    assertEquals([code, stdout], [2, ""], args.join(" "));
    assertEquals(stderr.trim().split("\n").length, 1, stderr);
    assertStringIncludes(stderr, message);
  }
  const option = await runCommandLine(["devices", "--policy", "gridstride-plain"]);
  assertEquals([option.code, option.stdout], [2, ""]);
  assertStringIncludes(option.stderr, "--policy");
});

Deno.test("a trace that cannot be read is exit code 1 and names file and line", async () => {
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

Deno.test("memory has help, for itself and each command", async () => {
  const group = await memory(["--help"]);
  assertEquals(group.code, 0);
  assertStringIncludes(group.stdout, "replay");
  const none = await memory([]);
  assertEquals([none.code, none.stdout], [2, ""]);
  assertStringIncludes(none.stderr, "replay");
  const replay = await memory(["replay", "--help"]);
  assertEquals(replay.code, 0);
  assertEquals(replay.stdout.split("\n").filter((line) => [...line].length > 100), []);
  const words = replay.stdout.replaceAll(/\s+/g, " ");
  for (const { name, description } of REPLAY_POLICIES) {
    assertStringIncludes(words, ` ${name}: ${description}`);
  }
});
