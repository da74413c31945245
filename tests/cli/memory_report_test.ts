import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { memoryReportFigures, memoryReportText } from "../../src/lab/memory/mod.ts";
import { SMALL_SNAPSHOT } from "../lab/memory/report/small_snapshot.ts";
import { runCommandLine } from "../support/subprocess.ts";

/** Runs `memory report` on a file with this content, in a folder of its own. */
async function report(
  content: string,
  args: (folder: string) => readonly string[],
  check: (
    result: Awaited<ReturnType<typeof runCommandLine>>,
    folder: string,
  ) => void | Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/snapshot.json`, content);
    await check(await runCommandLine(["memory", "report", ...args(folder)]), folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const TEXT = JSON.stringify(SMALL_SNAPSHOT);
const file = (folder: string) => [`${folder}/snapshot.json`];

Deno.test("memory report writes a page beside the file and prints its path", () =>
  report(TEXT, file, async ({ code, stdout, stderr }, folder) => {
    assertEquals([code, stdout, stderr], [0, `${folder}/snapshot.html\n`, ""]);
    assertMatch(await Deno.readTextFile(`${folder}/snapshot.html`), /^<!DOCTYPE html>/);
  }));

Deno.test("memory report --output writes the page there", () =>
  report(
    TEXT,
    (folder) => [...file(folder), "--output", `${folder}/other.html`],
    async ({ code, stdout }, folder) => {
      assertEquals([code, stdout], [0, `${folder}/other.html\n`]);
      assert((await Deno.stat(`${folder}/other.html`)).size > 10_000);
    },
  ));

Deno.test("memory report --text and --json print what the library says", async () => {
  await report(TEXT, (folder) => [...file(folder), "--text"], ({ code, stdout }) => {
    assertEquals([code, stdout], [0, `${memoryReportText(SMALL_SNAPSHOT)}\n`]);
  });
  await report(TEXT, (folder) => [...file(folder), "--json"], ({ code, stdout }) => {
    assertEquals([code, JSON.parse(stdout)], [0, memoryReportFigures(SMALL_SNAPSHOT)]);
  });
});

Deno.test("memory report of a bad file is exit code 1 and one line with file and field", async () => {
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

Deno.test("memory report that cannot read or write is exit code 1 and names the file", async () => {
  for (
    const [args, name] of [
      [(folder: string) => [`${folder}/absent.json`], "absent.json"],
      [(folder: string) => [folder], "Cannot report on"],
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

Deno.test("memory report never writes the page over the snapshot, by whatever name", async () => {
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

Deno.test("memory report with bad usage is exit code 2 and says what is wrong", async () => {
  for (
    const [args, message] of [
      [[], "FILE is missing"],
      [["a", "b"], '"b"'],
      [["a", "--json", "--text"], "exclude"],
      [["a", "--text", "--output", "b"], "--output"],
      [["a.html"], "FILE itself"],
    ] as const
  ) {
    const { code, stdout, stderr } = await runCommandLine(["memory", "report", ...args]);
    assertEquals([code, stdout], [2, ""], args.join(" "));
    assertStringIncludes(stderr, message);
  }
});
