import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  type NvrtcAttempt,
  type NvrtcCandidate,
  searchNvrtc,
} from "../../../src/launch/compile/nvrtc_search.ts";
import { runProgram } from "../../support/subprocess.ts";

/** A file system with empty files, removed at the end. */
function machine(...files: readonly string[]): { root: string } & Disposable {
  const root = Deno.realPathSync(Deno.makeTempDirSync());
  for (const file of files) {
    Deno.mkdirSync(`${root}${file.slice(0, file.lastIndexOf("/"))}`, { recursive: true });
    Deno.writeTextFileSync(`${root}${file}`, "");
  }
  return { root, [Symbol.dispose]: () => Deno.removeSync(root, { recursive: true }) };
}

function search(
  root: string,
  variables: Readonly<Record<string, string>> = {},
): { candidates: NvrtcCandidate[]; attempts: NvrtcAttempt[] } {
  const environment = (name: string) => variables[name];
  const found = [...searchNvrtc({ environment, root, processor: "x86_64" })];
  return {
    candidates: found.filter((it): it is NvrtcCandidate => "library" in it),
    attempts: found.filter((it): it is NvrtcAttempt => "path" in it),
  };
}

/** The libraries found by path, below the root. */
function libraries(root: string, variables?: Readonly<Record<string, string>>): string[] {
  return search(root, variables).candidates.map(({ library }) => library)
    .filter((library) => library.startsWith("/")).map((library) => library.slice(root.length));
}

Deno.test("searchNvrtc() searches all places in order", () => {
  using found = machine(
    "/home/toolkit/lib64/libnvrtc.so.12",
    "/path/toolkit/lib/libnvrtc.so.13",
    "/tools/bin/nvcc",
    "/tools/targets/x86_64-linux/lib/libnvrtc.so.13",
    "/usr/local/cuda/lib64/libnvrtc.so.13",
    "/usr/local/cuda-12.9/lib64/libnvrtc.so.12",
    "/usr/local/cuda-13.1/lib64/libnvrtc.so.13",
    "/usr/local/cuda-13.10/lib64/libnvrtc.so.13",
    "/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
    "/conda/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
    "/python/bin/python3",
    "/python/lib/python3.13/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
    "/home/.local/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
    "/usr/lib/python3/dist-packages/nvidia/cu13/lib/libnvrtc.so.13",
    "/extra/libnvrtc.so.12",
    "/usr/lib/x86_64-linux-gnu/libnvrtc.so.11.2",
    "/usr/lib64/libnvrtc.so.12",
  );
  const { root } = found;
  const variables = {
    CUDA_HOME: `${root}/home/toolkit`,
    CUDA_PATH: `${root}/path/toolkit`,
    PATH: `${root}/nowhere:relative:${root}/tools/bin:${root}/python/bin`,
    VIRTUAL_ENV: `${root}/venv`,
    CONDA_PREFIX: `${root}/conda`,
    HOME: `${root}/home`,
    LD_LIBRARY_PATH: `${root}/extra:`,
  };
  assertEquals(libraries(root, variables), [
    "/home/toolkit/lib64/libnvrtc.so.12",
    "/path/toolkit/lib/libnvrtc.so.13",
    "/tools/targets/x86_64-linux/lib/libnvrtc.so.13",
    "/usr/local/cuda/lib64/libnvrtc.so.13",
    "/usr/local/cuda-13.10/lib64/libnvrtc.so.13",
    "/usr/local/cuda-13.1/lib64/libnvrtc.so.13",
    "/usr/local/cuda-12.9/lib64/libnvrtc.so.12",
    "/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
    "/conda/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
    "/python/lib/python3.13/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
    "/home/.local/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
    "/usr/lib/python3/dist-packages/nvidia/cu13/lib/libnvrtc.so.13",
    "/extra/libnvrtc.so.12",
    "/usr/lib/x86_64-linux-gnu/libnvrtc.so.11.2",
    "/usr/lib64/libnvrtc.so.12",
  ]);
  const names = search(root, variables).candidates.slice(-3);
  assertEquals(names.map(({ library, builtins }) => [library, builtins]), [
    ["libnvrtc.so.13", ""],
    ["libnvrtc.so.12", ""],
    ["libnvrtc.so.11.2", ""],
  ]);
});

Deno.test("searchNvrtc() takes the newest library with its builtins", () => {
  using one = machine(
    "/usr/local/cuda/lib64/libnvrtc.so",
    "/usr/local/cuda/lib64/libnvrtc.so.9",
    "/usr/local/cuda/lib64/libnvrtc.so.12",
    "/usr/local/cuda/lib64/libnvrtc_static.a",
    "/usr/local/cuda/lib64/libnvrtc.alt.so.13",
    "/usr/local/cuda/lib64/libnvrtc-builtins.so.11.8",
    "/usr/local/cuda/lib64/libnvrtc-builtins.so.12.4",
    "/usr/local/cuda/lib64/libnvrtc-builtins.so.12.10",
  );
  const [{ library, builtins }] = search(one.root).candidates as [NvrtcCandidate];
  assertEquals(library, `${one.root}/usr/local/cuda/lib64/libnvrtc.so.12`);
  assertEquals(builtins, `${one.root}/usr/local/cuda/lib64/libnvrtc-builtins.so.12.10`);
  // What a link leads to knows the minor version.
  const folder = `${one.root}/usr/local/cuda/lib64`;
  Deno.renameSync(`${folder}/libnvrtc.so.12`, `${folder}/libnvrtc.so.12.4.127`);
  Deno.symlinkSync("libnvrtc.so.12.4.127", `${folder}/libnvrtc.so.12`);
  const [linked] = search(one.root).candidates as [NvrtcCandidate];
  assertEquals(linked.builtins, `${folder}/libnvrtc-builtins.so.12.4`);
});

Deno.test("searchNvrtc() visits a linked directory once", () => {
  using one = machine("/usr/local/cuda-13.0/lib64/libnvrtc.so.13");
  Deno.symlinkSync("cuda-13.0", `${one.root}/usr/local/cuda`);
  assertEquals(libraries(one.root, { CUDA_HOME: `${one.root}/usr/local/cuda-13.0` }), [
    "/usr/local/cuda-13.0/lib64/libnvrtc.so.13",
  ]);
});

Deno.test("searchNvrtc() uses only GRIDSTRIDE_NVRTC when it is set", () => {
  using one = machine(
    "/a/libnvrtc.so.13",
    "/a/libnvrtc-builtins.so.13.0",
    "/usr/local/cuda/lib64/libnvrtc.so.13",
    "/empty/x",
  );
  const { root } = one;
  for (const chosen of [`${root}/a`, `${root}/a/libnvrtc.so.13`]) {
    assertEquals(search(root, { GRIDSTRIDE_NVRTC: chosen }), {
      candidates: [{
        library: `${root}/a/libnvrtc.so.13`,
        builtins: `${root}/a/libnvrtc-builtins.so.13.0`,
        origin: "GRIDSTRIDE_NVRTC",
      }],
      attempts: [],
    });
  }
  for (
    const [chosen, reason] of [["relative/lib", /absolute path/], [
      `${root}/empty`,
      /no libnvrtc/,
    ]] as const
  ) {
    const { candidates, attempts } = search(root, { GRIDSTRIDE_NVRTC: chosen });
    assertEquals(candidates, []);
    assertMatch(attempts[0]!.reason, reason);
  }
  // The loader reports the missing file.
  assertEquals(search(root, { GRIDSTRIDE_NVRTC: "/nowhere/x.so" }).candidates.length, 1);
  assert(search(root, { GRIDSTRIDE_NVRTC: "" }).candidates.length > 1, "an empty one is unset");
});

Deno.test("searchNvrtc() gives the reason for every failed place", () => {
  using one = machine("/usr/local/cuda/lib64/libcudart.so", "/usr/lib64/libc.so");
  const { attempts } = search(one.root, { CUDA_HOME: `${one.root}/gone` });
  assertEquals(
    attempts.map(({ path, origin, reason }) => [path.slice(one.root.length), origin, reason]),
    [
      ["/gone/lib64", "CUDA_HOME", "there is no such directory"],
      ["/usr/local/cuda/lib64", "the toolkit's default directory", "it holds no libnvrtc.so"],
      ["/usr/lib64", "the system's libraries", "it holds no libnvrtc.so"],
    ],
  );
});

Deno.test("searchNvrtc() never prompts without permission to read", async () => {
  const { code, stdout, stderr } = await runProgram(
    `
    import { searchNvrtc } from "${
      import.meta.resolve("../../../src/launch/compile/nvrtc_search.ts")
    }";
    const environment = (name) => ({ CUDA_HOME: "/opt/cuda" })[name];
    console.log(JSON.stringify([...searchNvrtc({ environment })]));
  `,
    { permissions: [] },
  );
  assertEquals(code, 0, stderr);
  const found = JSON.parse(stdout) as (NvrtcAttempt & NvrtcCandidate)[];
  assertEquals(
    found[0],
    {
      path: "/opt/cuda/lib64",
      origin: "CUDA_HOME",
      reason: "it may not be read: run again with --allow-read=/opt/cuda/lib64",
    } as NvrtcAttempt & NvrtcCandidate,
  );
  assertEquals(found.slice(-3).map(({ library }) => library), [
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so.11.2",
  ]);
});
