// Uploads of files.

import { pathToFileURL } from "node:url";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { DeviceBuffer } from "../../../mod.ts";
import { uploadFile, uploadFileInto } from "../../../src/memory/upload/file_upload.ts";
import { UploadRing } from "../../../src/memory/upload/upload_ring.ts";
import { device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";
import { patternBytes, TemporaryDirectory } from "../../support/temporary_file.ts";
import { heldResources } from "./held_resources.ts";

const { context } = device;
const SLOT = 65536;
const SIZES = [0, 1, 2, 4093, SLOT - 1, SLOT, SLOT + 1, 2 * SLOT, 5 * SLOT - 1, 5 * SLOT + 1];

Deno.test("uploadFile() copies a file of any size and leaks nothing", async () => {
  using directory = new TemporaryDirectory();
  await using ring = UploadRing.create(context, { slots: 3, slotBytes: SLOT, readers: 2 });
  for (const size of [...SIZES, 1_000_003]) {
    const bytes = patternBytes(size, size);
    const path = directory.file(bytes);
    const before = heldResources(context);
    {
      using buffer = await uploadFile(context, path, { ring });
      assertEquals([buffer.dtype, buffer.length], ["uint8", size]);
      assert((await buffer.toArray()).every((byte, i) => byte === bytes[i]), `${size} bytes`);
    }
    const after = heldResources(context);
    assertEquals([after.files, after.buffers], [before.files, before.buffers]);
  }
});

Deno.test("uploadFile() converts a part of a file to elements", async () => {
  using directory = new TemporaryDirectory();
  const numbers = Float32Array.from({ length: 1000 }, (_, i) => i / 7);
  const path = directory.file(new Uint8Array([255, ...new Uint8Array(numbers.buffer)]));
  using all = await uploadFile(context, path, { dtype: "float32", offset: 1 });
  assertEquals(await all.toArray(), numbers);
  using part = await uploadFile(context, path, { dtype: "float32", offset: 5, bytes: 40 });
  assertEquals(await part.toArray(), numbers.slice(1, 11));
  using none = await uploadFile(context, path, { dtype: "float64", offset: 4001 });
  assertEquals([none.length, none.dtype], [0, "float64"]);
});

Deno.test("uploadFile() takes a file URL and a relative path", async () => {
  using directory = new TemporaryDirectory();
  const bytes = patternBytes(1021);
  const path = directory.file(bytes, "a file, 100 % ünïcode.bin");
  using byUrl = await uploadFile(context, pathToFileURL(path));
  assertEquals(await byUrl.toArray(), bytes);
  const up = Deno.cwd().split("/").slice(1).map(() => "..").join("/");
  using byRelativePath = await uploadFile(context, `${up}${path}`);
  assertEquals(await byRelativePath.toArray(), bytes);
});

Deno.test("uploadFileInto() fills a buffer, or exactly a view", async () => {
  using directory = new TemporaryDirectory();
  const bytes = patternBytes(1000);
  const path = directory.file(bytes);
  using buffer = device.allocate("uint8", 1200, { fill: 7 });
  await uploadFileInto(buffer.view(100, 1100), path);
  const array = await buffer.toArray();
  assertEquals(array.slice(100, 1100), bytes);
  assert([...array.slice(0, 100), ...array.slice(1100)].every((byte) => byte === 7));
  await uploadFileInto(buffer.view(0, 10), path, { offset: 990 });
  assertEquals((await buffer.toArray()).slice(0, 10), bytes.slice(990));
  await uploadFileInto(buffer.view(0, 0), path, { offset: 1000 });
});

Deno.test("uploadFile() reads beyond 4 GiB", async () => {
  using directory = new TemporaryDirectory();
  const path = directory.sparseFile(5 * 2 ** 30);
  const bytes = patternBytes(100_003);
  const offset = 2 ** 32 + 12345;
  {
    using file = Deno.openSync(path, { write: true });
    file.seekSync(offset, Deno.SeekMode.Start);
    file.writeSync(bytes);
  }
  using around = await uploadFile(context, path, { offset: offset - 1, bytes: bytes.length + 2 });
  assertEquals(await around.toArray(), new Uint8Array([0, ...bytes, 0]));
  using end = await uploadFile(context, path, { offset: 5 * 2 ** 30 - 3 });
  assertEquals(await end.toArray(), new Uint8Array(3));
});

Deno.test("onProgress() gets growing numbers that end with all bytes", async () => {
  using directory = new TemporaryDirectory();
  await using ring = UploadRing.create(context, { slots: 4, slotBytes: 1000, readers: 3 });
  for (const size of [0, 1, 999, 1000, 10_007]) {
    const seen: number[] = [];
    using buffer = await uploadFile(context, directory.file(patternBytes(size)), {
      ring,
      onProgress: ({ bytes, totalBytes }) => {
        assertEquals(totalBytes, size);
        seen.push(bytes);
      },
    });
    assertEquals(buffer.length, size);
    assertEquals(seen.at(-1), size);
    assertEquals(seen.length, Math.max(1, Math.ceil(size / 1000)));
    assert(seen.every((bytes, i) => i === 0 || bytes > seen[i - 1]!), seen.join());
  }
});

Deno.test("uploadFile() refuses paths as Deno does and closes all files", async () => {
  using directory = new TemporaryDirectory();
  const before = heldResources(context);
  const { errors } = Deno;
  const refused = async <E extends Error>(
    path: string | URL,
    type: new (message: string) => E,
    text: string,
  ) => {
    const { message } = await assertRejects(() => uploadFile(context, path), type);
    assertStringIncludes(message, text);
  };
  const missing = `${directory.path}/missing`;
  await refused(missing, errors.NotFound, `Cannot open ${JSON.stringify(missing)} as there is no`);
  await refused(directory.path, TypeError, "as it is not a regular file");
  await refused("", TypeError, "path must be a text that is not empty");
  await refused("a\0b", Error, "");
  await refused(new URL("https://example.org/x"), TypeError, "file");
  await refused(3 as unknown as string, TypeError, "it is 3");
  await refused(`${directory.file(new Uint8Array(1))}/below`, Error, "");
  if (Deno.build.os === "linux") {
    const pipe = `${directory.path}/pipe`;
    await new Deno.Command("mkfifo", { args: [pipe] }).output();
    for (const path of [pipe, "/dev/zero"]) await refused(path, TypeError, "not a regular file");
  }
  assertEquals(heldResources(context), before);
});

Deno.test("uploadFile() refuses parts outside the file", async () => {
  using directory = new TemporaryDirectory();
  const path = directory.file(patternBytes(8));
  const before = heldResources(context);
  const upload = (options: object) => () => uploadFile(context, path, options);
  const rejects = (options: object, text: string) =>
    assertRejects(upload(options), RangeError, text);
  await rejects({ offset: 9 }, "offset must be an integer in 0..8: it is 9");
  for (const offset of [-1, 0.5, NaN]) await rejects({ offset }, `it is ${offset}`);
  await rejects({ bytes: 9 }, "bytes from 0 on must be an integer in 0..8: it is 9");
  await rejects({ offset: 4, bytes: 5 }, "bytes from 4 on must be an integer in 0..4: it is 5");
  await rejects({ bytes: 6, dtype: "float32" }, "must be a multiple of 4 bytes: it is 6");
  const wrong = { dtype: '"float"', stream: "a Stream", ring: "an UploadRing" };
  for (const [name, text] of Object.entries({ ...wrong, signal: "an AbortSignal" })) {
    await assertRejects(upload({ [name]: name === "dtype" ? "float" : {} }), TypeError, text);
  }
  await assertRejects(upload({ onProgress: 1 }), TypeError, "onProgress must be a function");
  await assertRejects(() => uploadFile(context, path, null as never), TypeError, "options");
  await assertRejects(() => uploadFile({} as never, path), TypeError, "context");
  using long = device.allocate("float32", 3);
  await assertRejects(() => uploadFileInto(long, path), RangeError, "0..8: it is 12");
  await assertRejects(() => uploadFileInto({} as DeviceBuffer, path), TypeError, "DeviceBuffer");
  const freed = device.allocate("uint8", 1);
  freed.free();
  await assertRejects(() => uploadFileInto(freed, path), TypeError, "disposed");
  long.free();
  assertEquals(heldResources(context), before);
});

Deno.test("uploadFile() needs the permission to read", async () => {
  using directory = new TemporaryDirectory();
  const [allowed, denied] = [`${directory.path}/allowed`, `${directory.path}/denied`];
  for (const path of [allowed, denied]) Deno.mkdirSync(path);
  for (const path of [`${allowed}/file`, `${denied}/file`]) Deno.writeTextFileSync(path, "secret");
  Deno.symlinkSync("/proc/self/environ", `${allowed}/environment`);
  const module = import.meta.resolve("../../../src/memory/upload/file_upload.ts");
  const program = `
    import { openDevice } from "@gridstride/cuda";
    import { uploadFile } from "${module}";
    const [label, ...paths] = Deno.args;
    using device = openDevice(label);
    for (const path of paths) {
      try {
        using buffer = await uploadFile(device.context, path);
        console.log(buffer.length);
      } catch (error) {
        console.log(error.name, error instanceof Deno.errors.NotCapable, error.message);
      }
    }
  `;
  const paths = ["file", "../denied/file", "environment"].map((name) => `${allowed}/${name}`);
  const args = [device.label, ...paths.toSpliced(1, 0, `${denied}/file`)];
  const { library } = context;
  const permissions = [`--allow-ffi=${library.path}`, "--allow-env", `--allow-read=${allowed}`];
  const environment = { GRIDSTRIDE_LIBRARY: library.path };
  const { stdout, stderr } = await runProgram(program, { permissions, environment, args });
  const lines = stdout.trim().split("\n");
  assertEquals(lines.length, 4, stderr);
  assertEquals(lines[0], "6");
  const refusal = "NotCapable true Cannot open";
  assertStringIncludes(
    lines[1]!,
    `${refusal} a file as permission to read "${denied}/file" is not`,
  );
  assertStringIncludes(lines[1]!, `run again with --allow-read=${denied}/file`);
  assertStringIncludes(lines[2]!, refusal);
  if (Deno.build.os === "linux") assertStringIncludes(lines[3]!, "NotCapable true");
});
