import { assert, assertEquals, assertMatch } from "@std/assert";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import {
  absentHeader,
  holdsHeader,
  type NvrtcAttempt,
  type NvrtcCandidate,
  searchNvrtc,
  searchToolkitHeaders,
} from "../../../src/launch/compile/nvrtc_search.ts";
import { runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const { path } = openLibrary("host");

/** A file system with empty files. */
function machine(...files: readonly string[]): TemporaryDirectory {
  return TemporaryDirectory.of(Object.fromEntries(files.map((file) => [file, ""])));
}

function search(
  root: string,
  variables: Readonly<Record<string, string>> = {},
): { candidates: NvrtcCandidate[]; attempts: NvrtcAttempt[] } {
  const environment = (name: string) => variables[name];
  const found = [...searchNvrtc(environment, root)];
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
  const found = [
    "/home/toolkit/lib64/libnvrtc.so.12",
    "/path/toolkit/lib/libnvrtc.so.13",
    `/tools/targets/${Deno.build.arch}-linux/lib/libnvrtc.so.13`,
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
    `/usr/lib/${Deno.build.arch}-linux-gnu/libnvrtc.so.12`,
    "/usr/lib64/libnvrtc.so.12",
  ];
  using folder = machine("/tools/bin/nvcc", "/python/bin/python3", ...found);
  const root = folder.path;
  const variables = {
    CUDA_HOME: `${root}/home/toolkit`,
    CUDA_PATH: `${root}/path/toolkit`,
    PATH: `${root}/nowhere:relative:${root}/tools/bin:${root}/python/bin`,
    VIRTUAL_ENV: `${root}/venv`,
    CONDA_PREFIX: `${root}/conda`,
    HOME: `${root}/home`,
    LD_LIBRARY_PATH: `${root}/extra:`,
  };
  assertEquals(libraries(root, variables), found);
  assertEquals(
    search(root, variables).candidates.slice(-2).map(({ library }) => library),
    ["libnvrtc.so.13", "libnvrtc.so.12"],
  );
  // Two ways to one directory.
  Deno.symlinkSync("cuda-13.10", `${root}/usr/local/cuda-14.0`);
  assertEquals(libraries(root, variables).length, found.length);
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
  const [{ library, builtins }] = search(one.path).candidates as [NvrtcCandidate];
  assertEquals(library, `${one.path}/usr/local/cuda/lib64/libnvrtc.so.12`);
  assertEquals(builtins, `${one.path}/usr/local/cuda/lib64/libnvrtc-builtins.so.12.10`);
  // What a link leads to knows the minor version.
  const folder = `${one.path}/usr/local/cuda/lib64`;
  Deno.renameSync(`${folder}/libnvrtc.so.12`, `${folder}/libnvrtc.so.12.4.127`);
  Deno.symlinkSync("libnvrtc.so.12.4.127", `${folder}/libnvrtc.so.12`);
  const [linked] = search(one.path).candidates as [NvrtcCandidate];
  assertEquals(linked.builtins, `${folder}/libnvrtc-builtins.so.12.4`);
});

Deno.test("searchNvrtc() uses only GRIDSTRIDE_NVRTC when it is set", () => {
  using one = machine(
    "/a/libnvrtc.so.13",
    "/a/libnvrtc-builtins.so.13.0",
    "/usr/local/cuda/lib64/libnvrtc.so.13",
    "/empty/x",
  );
  const root = one.path;
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
  const failed = [["relative/lib", /absolute path/], [`${root}/empty`, /no libnvrtc/]] as const;
  for (const [chosen, reason] of failed) {
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
  const { attempts } = search(one.path, { CUDA_HOME: `${one.path}/gone` });
  assertEquals(
    attempts.map(({ path, origin, reason }) => [path.slice(one.path.length), origin, reason]),
    [
      ["/gone/lib64", "CUDA_HOME", "there is no such directory"],
      ["/usr/local/cuda/lib64", "the toolkit's default directory", "it holds no libnvrtc.so"],
      ["/usr/lib64", "the system's libraries", "it holds no libnvrtc.so"],
    ],
  );
});

Deno.test("searchNvrtc() never prompts without permission to read", async () => {
  const module = import.meta.resolve("../../../src/launch/compile/nvrtc_search.ts");
  const program = `import { searchNvrtc } from "${module}";
    const environment = (name) => ({ CUDA_HOME: "/opt/cuda" })[name];
    console.log(JSON.stringify([...searchNvrtc(environment)]));`;
  const { code, stdout, stderr } = await runProgram(program, { permissions: [] });
  assertEquals(code, 0, stderr);
  const [first] = JSON.parse(stdout) as NvrtcAttempt[];
  assertEquals(first!.reason, "it may not be read: run again with --allow-read=/opt/cuda/lib64");
});

Deno.test("findNvrtc() opens a library of a variable only with FFI permission for its path", async () => {
  const module = import.meta.resolve("../../../src/launch/compile/nvrtc_search.ts");
  using found = TemporaryDirectory.of({ "/lib64/libnvrtc.so.13": "no library" });
  const file = `${found.path}/lib64/libnvrtc.so.13`;
  // Behind CUDA_HOME come the system's libraries, of which this machine may have one.
  const program = `import { closedReason, findNvrtc, searchNvrtc } from "${module}";
    import { openNativeLibrary } from "${import.meta.resolve("../../../src/ffi/library.ts")}";
    const library = openNativeLibrary("${path}");
    try {
      findNvrtc(library, (name) => name === "GRIDSTRIDE_NVRTC" ? "${file}" : undefined);
    } catch (error) {
      console.log(error.message.split("\\n").find((line) => line.includes("${file}")).split("): ")[1]);
    }
    const [first] = searchNvrtc((name) => name === "CUDA_HOME" ? "${found.path}" : undefined);
    console.log(closedReason(first, [first.library, first.builtins]) ?? "no reason");`;
  const tried = async (...permissions: string[]) => {
    const { stdout, stderr } = await runProgram(program, {
      permissions: ["--allow-read", "--allow-env", ...permissions],
    });
    assertEquals(stderr, "");
    return stdout.trimEnd().split("\n");
  };
  const refused = `permission for FFI is not granted: run again with --allow-ffi=${file}`;
  assertEquals(await tried(`--allow-ffi=${path}`), [refused, refused]);
  const [opened, second] = await tried(`--allow-ffi=${path},${file}`);
  assertMatch(opened!, /file too short|invalid ELF|no such file/);
  assertEquals(second, "no reason");
});

const runtime = (version: number) => `/* CUDA */\n#define CUDART_VERSION  ${version}\n`;

/** NVRTC without a path. */
const NAMED = { library: "libnvrtc.so.13", version: [13, 0] } as const;

const unset = () => undefined;

const RUNTIME = "`pip install nvidia-cuda-runtime==13.0.*` installs those of CUDA";

Deno.test("searchToolkitHeaders() sorts directories by version", () => {
  using found = TemporaryDirectory.of({
    "/python/nvidia/cu13/lib/libnvrtc.so.13": "",
    "/python/nvidia/cu13/include/nvrtc.h": "",
    "/python/nvidia/cuda_runtime/include/cuda_runtime_api.h": runtime(13000),
    "/python/nvidia/curand/include/curand_kernel.h": "",
    "/home/include/cuda_runtime_api.h": runtime(12090),
    "/usr/local/cuda-13.0/include/cuda_runtime_api.h": runtime(13000),
    "/usr/include/cuda_runtime_api.h": "no version",
  });
  const root = found.path;
  Deno.symlinkSync("cuda-13.0", `${root}/usr/local/cuda`);
  const library = `${root}/python/nvidia/cu13/lib/libnvrtc.so.13`;
  const environment = (name: string) => name === "CUDA_PATH" ? `${root}/home` : undefined;
  const { fitting, others, absent } = searchToolkitHeaders(
    { library, version: [13, 0] },
    environment,
    root,
  );
  assertEquals(
    fitting,
    [
      ...["python/nvidia/cuda_runtime", "usr/local/cuda"].flatMap((home) => [
        `${root}/${home}/include`,
        `${root}/${home}/include/cccl`,
      ]),
      `${root}/python/nvidia/curand/include`,
    ],
  );
  assert(holdsHeader(fitting, "curand_kernel.h"));
  assertEquals(others, [{ path: `${root}/home/include`, version: "12.9" }]);
  assertEquals(absent, [
    `${root}/python/nvidia/cu13/include (no CUDA headers)`,
    `${root}/usr/include (no CUDA headers)`,
  ]);
});

Deno.test("searchToolkitHeaders() finds the headers of a Python package elsewhere", () => {
  const places = ["usr/lib/python3/dist-packages", "env/lib/python3.12/site-packages"];
  const versions = [[13000, "cu13"], [12060, "cuda_runtime"]] as const;
  for (const place of places) {
    for (const [version, folder] of versions) {
      const include = `/${place}/nvidia/${folder}/include`;
      using found = TemporaryDirectory.of({ [`${include}/cuda_runtime_api.h`]: runtime(version) });
      const environment = (name: string) =>
        name === "VIRTUAL_ENV" ? `${found.path}/env` : undefined;
      const wanted = [Math.floor(version / 1000), version % 1000 / 10] as const;
      const named = { library: "libnvrtc.so", version: wanted };
      const { fitting } = searchToolkitHeaders(named, environment, found.path);
      assertEquals(fitting[0], `${found.path}${include}`);
    }
  }
});

Deno.test("absentHeader() names both versions when another toolkit has the header", () => {
  using found = TemporaryDirectory.of({
    "/usr/local/cuda/include/cuda_runtime_api.h": runtime(12080),
    "/usr/local/cuda/include/cuda_fp16.h": "",
  });
  const search = searchToolkitHeaders(NAMED, unset, found.path);
  assertEquals(
    absentHeader("cuda_fp16.h", search, []),
    "it must be of CUDA 13.0, as the compiler is, and that in " +
      `${found.path}/usr/local/cuda/include is of CUDA 12.8. ${RUNTIME}`,
  );
  assertEquals(holdsHeader(search.fitting, "cuda_fp16.h"), false);
});

Deno.test("absentHeader() lists the searched places", () => {
  using none = TemporaryDirectory.of({ "/usr/include/stdio.h": "" });
  const root = none.path;
  assertEquals(
    absentHeader("cuda_fp16.h", searchToolkitHeaders(NAMED, unset, root), ["/mine"]),
    "it is not in the headers of the request, /mine, the standard headers of Gridstride, and there " +
      `are no headers of CUDA 13.0 on this machine: not in ${root}/usr/local/cuda/include (no CUDA ` +
      `headers), ${root}/usr/include (no CUDA headers). ${RUNTIME}`,
  );
});
