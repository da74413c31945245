// Saved files when the disk is full or a tensor fails: the old file stays.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { bytesPerElement } from "../../mod.ts";
import { DeviceTrace, saveTrace } from "../../src/lab/trace/mod.ts";
import { writeFile } from "../../src/cli/command.ts";
import {
  fromTypedArray,
  loadNpz,
  loadSafetensors,
  saveNpy,
  saveNpz,
  saveSafetensors,
  take,
  type Tensor,
  tensor,
  TensorFileError,
  zeros,
} from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { python } from "../support/python.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const place = { device };

type Save = (path: string, x: Tensor) => Promise<void>;

const SAVES: Readonly<Record<string, Save>> = {
  saveNpy,
  saveNpz: (path, x) => saveNpz(path, { first: x, x }),
  "saveNpz, compressed": (path, x) => saveNpz(path, { first: x, x }, { compress: true }),
  saveSafetensors: (path, x) => saveSafetensors(path, { first: x, x }),
};

function contentOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    [...Deno.readDirSync(folder)].map(({ name }) =>
      [name, Deno.readTextFileSync(`${folder}/${name}`)] as const
    ),
  );
}

Deno.test("A save of a failing or disposed tensor leaves the old file as it was", async () => {
  using folder = TemporaryDirectory.of({ file: "old" });
  const path = `${folder.path}/file`;
  using x = tensor([1, 2], place);
  for (const [name, save] of Object.entries(SAVES)) {
    using wrong = tensor(99n, place);
    using indices = wrong.reshape([1]);
    using bad = take(x, indices);
    await assertRejects(() => save(path, bad), RangeError, "indices must be in");
    assertEquals(contentOf(folder.path), { file: "old" }, name);
    if (name === "saveNpy") continue;
    // The second tensor ends while the first one is written.
    const gone = zeros([2], place);
    const saving = (name === "saveSafetensors" ? saveSafetensors : saveNpz)(path, { x, gone });
    gone.dispose();
    await assertRejects(() => saving, TypeError, "disposed");
    assertEquals(contentOf(folder.path), { file: "old" }, name);
  }
});

/** A file system of 64 KiB; undefined where this process may not mount one. */
function smallDisk(): (Disposable & { readonly path: string }) | undefined {
  const folder = new TemporaryDirectory();
  const { path } = folder;
  try {
    const args = ["-t", "tmpfs", "-o", "size=64k", "gridstride-test", path];
    if (new Deno.Command("mount", { args, stderr: "null" }).outputSync().success) {
      return {
        path,
        [Symbol.dispose]() {
          new Deno.Command("umount", { args: [path] }).outputSync();
          folder[Symbol.dispose]();
        },
      };
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  folder[Symbol.dispose]();
  return undefined;
}

Deno.test({
  name: "A save on a full disk rejects with the path, and leaves the old file as it was",
  ignore: Deno.build.os !== "linux",
  async fn() {
    using disk = smallDisk();
    if (disk === undefined) {
      console.log("skipped: this process may not mount a small file system");
      return;
    }
    using trace = new DeviceTrace(device);
    using small = zeros([100], place);
    // Random enough not to be compressed to less than the disk.
    const noise = Float32Array.from({ length: 40_000 }, (_, at) => Math.sin(at * at));
    using large = fromTypedArray(noise, [noise.length], place);
    const recording = await trace.stop();
    const saves: Readonly<Record<string, Save>> = {
      ...SAVES,
      saveTrace: (path) => saveTrace(path, [recording]),
      "a file of the command line": (path) => writeFile(path, new Uint8Array(50_000)),
    };
    const path = `${disk.path}/file`;
    Deno.writeTextFileSync(path, "old");
    const refused = async (name: string, x: Tensor) => {
      const before = contentOf(disk.path);
      const { message } = await assertRejects(() => saves[name]!(path, x), Error, undefined, name);
      assertStringIncludes(message, `${path}`, name);
      assertStringIncludes(message, "No space left on device", name);
      assertEquals(contentOf(disk.path), before, name);
    };
    const fillers: string[] = [];
    try {
      for (let at = 0;; at++) {
        Deno.writeFileSync(`${disk.path}/${at}`, new Uint8Array(4096));
        fillers.push(`${disk.path}/${at}`);
      }
    } catch {
      Deno.removeSync(`${disk.path}/${fillers.length}`);
    }
    for (const name of Object.keys(saves)) await refused(name, small);
    // The begin of a file fits, its end does not.
    for (const filler of fillers.slice(8)) Deno.removeSync(filler);
    for (const name of Object.keys(saves).filter((it) => it !== "saveTrace")) {
      await refused(name, large);
    }
    for (const name of Object.keys(SAVES)) await saves[name]!(path, small);
  },
});

const NAMES = ["/x", "../../x", "./a", "a//b", "C:x", "a/../b", "", "a\\b", "a/", "é", "x.npy"];

Deno.test("`loadNpz()` reads every name that `saveNpz()` writes, and NumPy", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/x.npz`;
  using x = tensor([1, 2], place);
  await saveNpz(path, Object.fromEntries(NAMES.map((name) => [name, x])));
  const check = async () => {
    const loaded = await loadNpz(path, place);
    assertEquals(Object.keys(loaded), NAMES);
    for (const it of Object.values(loaded)) it.dispose();
  };
  await check();
  const before = Deno.readFileSync(path);
  for (
    const [name, problem] of [
      ["a\0b", "must have no NUL"],
      ["a".repeat(70_000), "must have at most 65531 bytes: it has 70000"],
      ["\ud800", "must be well-formed Unicode"],
    ] as const
  ) {
    await assertRejects(() => saveNpz(path, { [name]: x }), RangeError, problem);
  }
  assertEquals(Deno.readFileSync(path), before);
  const text = await python(
    "numpy",
    `import numpy as np
print(np.load("x.npz").files)
np.savez("x.npz", **{name: np.float32([1, 2]) for name in np.load("x.npz").files})`
      .replaceAll('"x.npz"', JSON.stringify(path)),
  );
  if (text !== undefined) await check();
});

Deno.test("`loadNpz()` names an array that an archive has twice", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/x.npz`;
  using x = tensor([1, 2], place);
  await saveNpz(path, { twice: x, twicf: x });
  const bytes = Deno.readFileSync(path);
  const name = new TextEncoder().encode("twicf");
  for (let at = 0; at < bytes.length; at++) {
    if (name.every((byte, index) => bytes[at + index] === byte)) bytes[at + 4]!--;
  }
  const { message } = await assertRejects(() => loadNpz(bytes, place), TensorFileError);
  assertEquals(message, 'Cannot read the file as it has "twice" twice');
});

Deno.test("`loadSafetensors()` refuses a header that has a key twice", async () => {
  const entry = '{"dtype":"U8","shape":[0],"data_offsets":[0,0]}';
  const file = (header: string) => {
    const text = new TextEncoder().encode(header);
    return new Uint8Array([text.length, 0, 0, 0, 0, 0, 0, 0, ...text]);
  };
  const { tensors } = await loadSafetensors(
    file(`{"a":${entry},"{":${entry},"\\\\\\"":${entry} }`),
    place,
  );
  assertEquals(Object.keys(tensors), ["a", "{", '\\"']);
  for (const it of Object.values(tensors)) it.dispose();
  const cases = {
    a: `{"a":${entry},"b":${entry},"\\u0061" :${entry}}`,
    shape: `{"a":${entry.replace("}", ',"shape":[0]}')}}`,
  };
  for (const [key, header] of Object.entries(cases)) {
    const load = () => loadSafetensors(file(header), place);
    await assertRejects(load, TensorFileError, `has "${key}" twice in its header`);
  }
});

Deno.test("`saveSafetensors()` aligns the elements of every tensor", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/x.safetensors`;
  const dtypes = ["uint8", "float16", "int64", "bool", "float32", "float64", "int16"] as const;
  const saved = dtypes.map((dtype, index) =>
    [`${index}`, zeros([3], { ...place, dtype }) as Tensor] as const
  );
  await saveSafetensors(path, Object.fromEntries(saved));
  const bytes = Deno.readFileSync(path);
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  for (const [name, x] of saved) {
    const [begin] = header[name].data_offsets;
    assertEquals((8 + length + begin) % bytesPerElement(x.dtype), 0, x.dtype);
    x.dispose();
  }
});
