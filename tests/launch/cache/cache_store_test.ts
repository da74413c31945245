import { assert, assertEquals, assertRejects } from "@std/assert";
import { CacheDirectoryError } from "../../../src/ffi/cache_directory.ts";
import { CacheStore } from "../../../src/launch/cache/cache_store.ts";
import { patternBytes, TemporaryDirectory } from "../../support/temporary_file.ts";

/** The key that begins with these digits. */
function key(start: number): string {
  return start.toString(16).padStart(4, "0").padEnd(64, "a");
}

function storeIn(folder: TemporaryDirectory, maxBytes: number): CacheStore {
  const root = `${folder.path}/cache`;
  return new CacheStore({ root, directory: `${root}/kernels`, maxBytes, mayWrite: true });
}

/** Where the store of a folder has the file of a key. */
function pathOf(folder: TemporaryDirectory, name: string): string {
  return `${folder.path}/cache/kernels/entries/${name.slice(0, 2)}/${name.slice(2)}`;
}

/** Says that a file was last used so many seconds ago. */
function age(folder: TemporaryDirectory, name: string, seconds: number): void {
  const then = new Date(Date.now() - seconds * 1000);
  Deno.utimeSync(pathOf(folder, name), then, then);
}

async function keysOf(store: CacheStore): Promise<string[]> {
  return (await store.list()).map(({ key }) => key);
}

Deno.test("CacheStore.write() stores and replaces files of any size", async () => {
  using folder = new TemporaryDirectory();
  const store = storeIn(folder, 2 ** 20);
  assertEquals(await store.read(key(1)), undefined);
  for (const [index, length] of [0, 1, 4095, 4096, 4097, 500_003].entries()) {
    assertEquals(await store.write(key(index), patternBytes(length, index)), 0);
    assertEquals(await store.read(key(index)), patternBytes(length, index));
  }
  await store.write(key(0), patternBytes(7));
  assertEquals(await store.read(key(0)), patternBytes(7));
  assertEquals((await store.list()).length, 6);
  // Files are private, and none is temporary.
  const modes = ["", "/kernels", "/kernels/entries", "/kernels/entries/00", "/kernels/temporary"]
    .map((path) => Deno.statSync(`${folder.path}/cache${path}`).mode! & 0o777);
  assertEquals(modes, [0o700, 0o700, 0o700, 0o700, 0o700]);
  assertEquals(Deno.statSync(pathOf(folder, key(1))).mode! & 0o777, 0o600);
  assertEquals([...Deno.readDirSync(`${folder.path}/cache/kernels/temporary`)], []);
});

Deno.test("CacheStore.write() evicts the least recently used files", async () => {
  using folder = new TemporaryDirectory();
  const store = storeIn(folder, 1000);
  for (let i = 0; i < 10; i++) {
    await store.write(key(i), patternBytes(100));
    age(folder, key(i), 100 - i);
  }
  assert(await store.read(key(0)) !== undefined, "the oldest is used");
  // 100 bytes are needed and a sixteenth of the store, 62 bytes, is freed with them.
  assertEquals(await store.write(key(10), patternBytes(100)), 2);
  const left = await keysOf(store);
  assertEquals(left.sort(), [0, 3, 4, 5, 6, 7, 8, 9, 10].map(key));
});

Deno.test("CacheStore.write() never exceeds the size limit", async () => {
  for (const maxBytes of [1, 17, 1000, 4096]) {
    using folder = new TemporaryDirectory();
    const store = storeIn(folder, maxBytes);
    let state = maxBytes;
    for (let i = 0; i < 60; i++) {
      state = (state * 1103515245 + 12345) % 2 ** 31;
      await store.write(key(state % 40), patternBytes(state % (maxBytes + 1)));
      const files = await store.list();
      const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
      assert(total <= maxBytes, `${total} of ${maxBytes} bytes after ${i + 1} files`);
      assert(files.some((file) => file.key === key(state % 40)), "the newest is there");
    }
  }
});

Deno.test("CacheStore.write() counts the files of other stores", async () => {
  using folder = new TemporaryDirectory();
  const store = storeIn(folder, 1000);
  const other = storeIn(folder, 1000);
  for (let i = 0; i < 30; i++) {
    await (i % 2 === 0 ? store : other).write(key(i), patternBytes(100));
    const total = (await store.list()).reduce((sum, { bytes }) => sum + bytes, 0);
    assert(total <= 1000 + 62, `${total} bytes: each may be a sixteenth behind the other`);
  }
  await Promise.all(Array.from({ length: 40 }, (_, i) => store.write(key(i), patternBytes(90))));
  const total = (await store.list()).reduce((sum, { bytes }) => sum + bytes, 0);
  assert(total <= 1000 && total >= 800, `${total} bytes after concurrent writes`);
});

Deno.test("CacheStore.write() removes temporary files after an hour", async () => {
  using folder = new TemporaryDirectory();
  await storeIn(folder, 1000).write(key(1), patternBytes(10));
  const temporary = `${folder.path}/cache/kernels/temporary`;
  for (const [name, minutes] of [["1.old", 61], ["2.new", 59]] as const) {
    Deno.writeTextFileSync(`${temporary}/${name}`, "half of an entry");
    const then = new Date(Date.now() - minutes * 60_000);
    Deno.utimeSync(`${temporary}/${name}`, then, then);
  }
  await storeIn(folder, 1000).write(key(2), patternBytes(10));
  assertEquals([...Deno.readDirSync(temporary)].map(({ name }) => name), ["2.new"]);
});

Deno.test("CacheStore.clear() removes entries and no other files", async () => {
  using folder = new TemporaryDirectory();
  const store = storeIn(folder, 1000);
  assertEquals(await store.clear(), { entries: 0, bytes: 0 });
  for (const i of [1, 2, 3]) await store.write(key(i), patternBytes(100 + i));
  const foreign = [
    `${folder.path}/cache/other`,
    `${folder.path}/cache/kernels/entries/00/notes.txt`,
    `${folder.path}/cache/kernels/entries/README`,
  ];
  for (const path of foreign) Deno.writeTextFileSync(path, "mine");
  assertEquals(await store.clear(), { entries: 3, bytes: 306 });
  assertEquals(await store.list(), []);
  for (const path of foreign) assertEquals(Deno.readTextFileSync(path), "mine");
});

Deno.test("CacheStore refuses a directory that others may write to", async () => {
  for (const path of ["", "/kernels", "/kernels/entries", "/kernels/entries/00"]) {
    using folder = new TemporaryDirectory();
    const store = storeIn(folder, 1000);
    await store.write(key(1), patternBytes(10));
    Deno.chmodSync(`${folder.path}/cache${path}`, 0o777);
    await assertRejects(() => store.read(key(1)), CacheDirectoryError, "others may write");
    await assertRejects(() => store.write(key(2), patternBytes(1)), CacheDirectoryError, "others");
  }
});

Deno.test("CacheStore.read() ignores links, pipes and directories", async () => {
  using folder = new TemporaryDirectory();
  const store = storeIn(folder, 1000);
  await store.write(key(1), patternBytes(10));
  const path = pathOf(folder, key(1));
  const elsewhere = folder.file(patternBytes(10));
  Deno.removeSync(path);
  Deno.symlinkSync(elsewhere, path);
  await assertRejects(() => store.read(key(1)), CacheDirectoryError, "symbolic link");
  Deno.removeSync(path);
  await new Deno.Command("mkfifo", { args: ["-m", "600", path] }).output();
  assertEquals(await store.read(key(1)), undefined);
  Deno.removeSync(path);
  Deno.mkdirSync(path, { mode: 0o700 });
  assertEquals(await store.read(key(1)), undefined);
  await assertRejects(() => store.write(key(1), patternBytes(1)), Error);
  assertEquals([...Deno.readDirSync(`${folder.path}/cache/kernels/temporary`)], []);
});
