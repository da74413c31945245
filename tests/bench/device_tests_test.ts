// The tests that `deno task gpu check` runs.

import { assert, assertEquals } from "@std/assert";
import { deviceTests, NEEDS_NO_GPU, OTHER_SUBJECTS } from "../../.ci/gpu/device_tests.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const ROOT = new URL("../../", import.meta.url);

/** Imports the device that `GRIDSTRIDE_DEVICE` names, or names it to a process. */
const UNDER_TEST = /"[./]*\/support\/(?:device|tensor_forms)\.ts"|GRIDSTRIDE_DEVICE/;

Deno.test("deviceTests() follows imports and named programs, and leaves out other subjects", () => {
  using root = TemporaryDirectory.of({
    "tests/a/opens_test.ts": 'import { openDevice } from "../../mod.ts"; openDevice("host");',
    "tests/a/imports_test.ts": 'import { x } from "../support/device.ts"; // and a longer text',
    "tests/support/device.ts": "export const x = openDevice();",
    "tests/a/names_test.ts": 'runFile("tests/a/named_program.ts")',
    "tests/a/named_program.ts": 'import { zeros } from "../../src/device/tensor.ts";',
    "tests/a/example_test.ts": 'import "../../examples/first.ts";',
    "tests/a/hangs_test.ts": "// May hang on a GPU: it waits for itself.\ndefaultDevice();",
    "tests/a/compiles_test.ts": "// Of a library.\n// Needs no GPU: it compiles.\ngs_abi_version",
    "tests/a/pure_test.ts": 'import { y } from "./pure.ts"; parse("May hang on a GPU");',
    "tests/a/pure.ts": 'import "./pure_test.ts"; export const y = 1;',
    "tests/style/words_test.ts": 'count("openDevice()"); openDevice();',
  });
  const { files, suspects } = deviceTests(new URL(`file://${root.path}/`));
  const names = files.map((file) => file.replace(/.*\/|_test\.ts/g, ""));
  assertEquals(names.toSorted(), ["example", "hangs", "imports", "names", "opens"]);
  assertEquals(suspects, ["tests/a/hangs_test.ts"]);
  const lengths = files.map((file) => Deno.statSync(`${root.path}/${file}`).size);
  assertEquals(lengths, lengths.toSorted((a, b) => b - a));
});

Deno.test("deviceTests() chooses every test that imports the device under test", () => {
  const { files, suspects } = deviceTests(ROOT);
  const known = ["tests/device/sticky_error_test.ts", "tests/cli/run_test.ts"];
  for (const file of known) assert(files.includes(file), file);
  for (const file of ["tests/launch/launch_plan_test.ts", "tests/memory/dtype_test.ts"]) {
    assert(!files.includes(file), file);
  }
  const folders = new Set(files.map((file) => file.split("/")[1]!));
  const all = [...Deno.readDirSync(new URL("tests/", ROOT))].filter(({ isDirectory }) =>
    isDirectory
  )
    .map(({ name }) => name);
  const left = all.filter((name) => !folders.has(name) && !OTHER_SUBJECTS.includes(name));
  assertEquals(left, ["support"]);
  const chosen = new Set(files);
  const texts = all.filter((name) => !OTHER_SUBJECTS.includes(name)).flatMap(below)
    .map((file) => [file.slice(file.lastIndexOf("tests/")), Deno.readTextFileSync(file)] as const);
  const underTest = texts.filter(([, text]) => UNDER_TEST.test(text));
  assertEquals(underTest.map(([file]) => file).filter((file) => !chosen.has(file)), []);
  // Compilations take most of the time of a GPU host.
  const compiling = texts.filter(([, text]) =>
    /NativeBuild\.open|"\.\/recording_device\.ts"/.test(text)
  );
  assert(compiling.length > 8);
  const silent = compiling.filter(([, text]) => !NEEDS_NO_GPU.test(text) && !UNDER_TEST.test(text));
  assertEquals(silent.map(([file]) => file), []);
  assert(suspects.length > 0 && suspects.every((file) => chosen.has(file)));
});

function below(folder: string): string[] {
  const url = new URL(`tests/${folder}/`, ROOT);
  return [...Deno.readDirSync(url)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? below(`${folder}/${name}`)
      : name.endsWith("_test.ts")
      ? [new URL(name, url).pathname]
      : []
  );
}
