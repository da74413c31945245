import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { namedFile, readNamed } from "../../../src/launch/module/named_file.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const ACTION = "compile a source";

Deno.test("namedFile() accepts a path or a file URL", () => {
  assertEquals(namedFile("a/b 100%.cu", ACTION), { path: "a/b 100%.cu", name: "b 100%.cu" });
  assertEquals(namedFile(new URL("file:///a/b%20c.cu"), ACTION), {
    path: "/a/b c.cu",
    name: "b c.cu",
  });
  assertEquals(namedFile("/", ACTION).name, "kernel.cu");
});

Deno.test("namedFile() refuses other values", () => {
  const refused = [
    ["", "it is"],
    ["a\0b", "it is"],
    [7, "it is 7"],
    [undefined, "it is undefined"],
    [new URL("https://example.com/a.cu"), "https://example.com/a.cu"],
    [new URL("file:///100%.cu"), "file:///100%.cu"],
    [new URL("file://elsewhere/a.cu"), "file://elsewhere/a.cu"],
  ] as const;
  for (const [file, message] of refused) {
    const error = assertThrows(() => namedFile(file, ACTION, "image"), TypeError, message);
    assert(error.message.startsWith("Cannot compile a source as image must be a text"));
  }
});

Deno.test("readNamed() keeps Deno's error class and names the file", async () => {
  using directory = new TemporaryDirectory();
  const file = namedFile(directory.file(new Uint8Array([97, 98])), ACTION);
  assertEquals(await readNamed(file, ACTION, Deno.readTextFile), "ab");
  assertEquals(await readNamed(file, ACTION, Deno.readFile), new Uint8Array([97, 98]));
  const missing = namedFile(`${directory.path}/missing.cu`, ACTION);
  const error = await assertRejects(
    () => readNamed(missing, ACTION, Deno.readTextFile),
    Deno.errors.NotFound,
  );
  assert(error.message.startsWith(`Cannot compile a source as "${missing.path}" cannot be read`));
  assert(error.message.endsWith("(os error 2)"), error.message);
  await assertRejects(
    () => readNamed(namedFile("/dev/zero", ACTION), ACTION, Deno.readTextFile),
    Deno.errors.NotSupported,
    'Cannot compile a source as "/dev/zero" cannot be read: it is a device',
  );
  const folder = namedFile(directory.path, ACTION);
  await assertRejects(
    () => readNamed(folder, ACTION, Deno.readFile),
    Error,
    "Cannot compile a source as",
  );
});
