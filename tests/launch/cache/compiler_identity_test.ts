// What a compiler is, is found once for each state of its files.

import { assertEquals, assertRejects } from "@std/assert";
import { configureKernelCache } from "../../../src/launch/cache/cache_settings.ts";
import { rememberedIdentity } from "../../../src/launch/cache/compiler_identity.ts";
import { runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

/** Says that a file was changed so many seconds ago; its other time stays the present. */
function age(path: string, seconds: number): void {
  const then = new Date(Date.now() - seconds * 1000);
  Deno.utimeSync(path, then, then);
}

async function withCache(run: (folder: TemporaryDirectory) => Promise<void>): Promise<void> {
  using folder = new TemporaryDirectory();
  try {
    configureKernelCache({ directory: `${folder.path}/cache` });
    await run(folder);
  } finally {
    configureKernelCache();
  }
}

/** Finds an answer and counts how often. */
class Finder {
  count = 0;
  readonly find = (): Promise<readonly string[]> =>
    Promise.resolve([`answer ${++this.count}`, "second line"]);
}

Deno.test("an identity is found once, for all who ask at the same time or later", () =>
  withCache(async () => {
    const finder = new Finder();
    const basis = { subject: "c++", files: [Deno.execPath()], settings: ["-O2"] };
    const ask = () => rememberedIdentity(basis, finder.find);
    const answers = await Promise.all([ask(), ask()]);
    answers.push(await ask());
    assertEquals(answers, Array(3).fill(["answer 1", "second line"]));
  }));

Deno.test("that of a file that may be changed again within one step of its times is found again", () =>
  withCache(async (folder) => {
    const finder = new Finder();
    const basis = { subject: "c++", files: [folder.file(new Uint8Array(3))], settings: [] };
    const ask = () => rememberedIdentity(basis, finder.find);
    await Promise.all([ask(), ask()]);
    assertEquals(finder.count, 1);
    assertEquals(await ask(), ["answer 2", "second line"]);
  }));

Deno.test("a change of subject, settings, or a file's size, time or place finds it again", () =>
  withCache(async (folder) => {
    const finder = new Finder();
    const file = folder.file(new Uint8Array(3));
    age(file, 100);
    const basis = { subject: "c++", files: [file], settings: ["-O2", "x"] };
    const ask = (change: Partial<typeof basis>) =>
      rememberedIdentity({ ...basis, ...change }, finder.find);
    await ask({});
    await ask({ subject: "cc" });
    await ask({ settings: ["-O2x"] });
    await ask({ settings: ["x", "-O2"] });
    await ask({ files: [] });
    await ask({ files: [file, file] });
    assertEquals(finder.count, 6);
    age(file, 50);
    await ask({});
    Deno.writeFileSync(file, new Uint8Array(4));
    await ask({});
    Deno.removeSync(file);
    Deno.writeFileSync(file, new Uint8Array(4));
    await ask({});
    assertEquals(finder.count, 9);
    await ask({ files: [] });
    assertEquals(finder.count, 9);
  }));

Deno.test("what fails is not remembered, and files that are not there are no error", () =>
  withCache(async (folder) => {
    const basis = { subject: "c++", files: [folder.file(new Uint8Array(3))], settings: [] };
    const fail = () => Promise.reject(new TypeError("no compiler"));
    await assertRejects(() => rememberedIdentity(basis, fail), TypeError, "no compiler");
    const finder = new Finder();
    assertEquals((await rememberedIdentity(basis, finder.find))[0], "answer 1");
    const absent = { ...basis, files: [`${folder.path}/absent`] };
    await rememberedIdentity(absent, finder.find);
    await rememberedIdentity(absent, finder.find);
    assertEquals(finder.count, 3);
  }));

Deno.test("a fresh process remembers, unless the file has just changed or the answer is damaged", async () => {
  using folder = new TemporaryDirectory();
  const file = folder.file(new Uint8Array(3));
  const module = new URL("../../../src/launch/cache/", import.meta.url).href;
  const program = `
    import { configureKernelCache } from "${module}cache_settings.ts";
    import { rememberedIdentity } from "${module}compiler_identity.ts";
    configureKernelCache({ directory: ${JSON.stringify(`${folder.path}/cache`)} });
    const basis = { subject: "c++", files: [${JSON.stringify(file)}], settings: [] };
    let found = 0;
    const answer = await rememberedIdentity(basis, () => Promise.resolve([\`\${++found}\`, "ä"]));
    console.log(found, ...answer);`;
  const ask = async () => {
    const { stdout, stderr } = await runProgram(program, { permissions: ["-A", "--no-check"] });
    assertEquals(stderr, "");
    return stdout.trim();
  };
  assertEquals(await ask(), "1 1 ä");
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["file 1.bin"]);
  // The time of the last change of a file's status cannot be set, only waited for.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  assertEquals(await ask(), "1 1 ä");
  assertEquals(await ask(), "0 1 ä");
  const [path] = filesBelow(`${folder.path}/cache/compilers/entries`);
  const whole = Deno.readFileSync(path!);
  for (const damaged of [whole.with(50, whole[50]! ^ 1), whole.slice(0, -1), new Uint8Array()]) {
    Deno.writeFileSync(path!, damaged);
    assertEquals(await ask(), "1 1 ä");
    assertEquals(await ask(), "0 1 ä");
  }
});

Deno.test("a search is made again when something of what it looked at has changed, else not", () =>
  withCache(async (folder) => {
    const path = (name: string) => `${folder.path}/${name}`;
    Deno.mkdirSync(path("first"));
    Deno.mkdirSync(path("second"));
    const program = folder.file(new Uint8Array(3), "second/g++");
    const finder = new Finder();
    let searches = 0;
    const files = () => {
      searches++;
      return Promise.resolve({ files: [program], places: [path("absent"), path("first")] });
    };
    const ask = (...settings: readonly string[]) =>
      rememberedIdentity({ subject: "c++", settings, files }, finder.find);
    // The time of the last change of a file's status cannot be set, only waited for.
    const settle = () => new Promise((resolve) => setTimeout(resolve, 2_100));
    await ask();
    await ask();
    assertEquals([searches, finder.count], [2, 2], "it may be changed again unnoticed");
    await settle();
    await ask();
    await ask();
    assertEquals([searches, finder.count], [3, 3]);
    await ask("another");
    assertEquals([searches, finder.count], [4, 4]);
    // A name that is new where the search looked first, and a place that was not there.
    Deno.writeFileSync(path("first/g++"), new Uint8Array(3));
    await ask();
    assertEquals([searches, finder.count], [5, 5]);
    Deno.removeSync(path("first/g++"));
    await settle();
    await ask();
    await ask();
    assertEquals([searches, finder.count], [6, 6]);
    Deno.mkdirSync(path("absent"));
    await ask();
    assertEquals([searches, finder.count], [7, 7]);
    Deno.removeSync(path("absent"));
    await ask();
    assertEquals([searches, finder.count], [7, 7], "it is as it was");
    Deno.removeSync(program);
    await ask();
    assertEquals([searches, finder.count], [8, 8]);
  }));

function filesBelow(directory: string): string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${directory}/${name}`) : [`${directory}/${name}`]
  );
}
