import { assertEquals } from "@std/assert";
import {
  absentHeader,
  holdsHeader,
  searchToolkitHeaders,
} from "../../../src/launch/compile/toolkit_headers.ts";

function machine(files: Readonly<Record<string, string>>): { root: string } & Disposable {
  const root = Deno.realPathSync(Deno.makeTempDirSync());
  for (const [file, text] of Object.entries(files)) {
    Deno.mkdirSync(`${root}${file.slice(0, file.lastIndexOf("/"))}`, { recursive: true });
    Deno.writeTextFileSync(`${root}${file}`, text);
  }
  return { root, [Symbol.dispose]: () => Deno.removeSync(root, { recursive: true }) };
}

const runtime = (version: number) => `/* CUDA */\n#define CUDART_VERSION  ${version}\n`;

/** NVRTC without a path. */
const NAMED = { library: "libnvrtc.so.13", version: [13, 0] } as const;

const unset = () => undefined;

Deno.test("searchToolkitHeaders() sorts directories by version", () => {
  using found = machine({
    "/python/nvidia/cu13/lib/libnvrtc.so.13": "",
    "/python/nvidia/cu13/include/nvrtc.h": "",
    "/python/nvidia/cuda_runtime/include/cuda_runtime_api.h": runtime(13000),
    "/home/include/cuda.h": "#define CUDA_VERSION 12090\n",
    "/usr/local/cuda-13.0/include/cuda_runtime_api.h": runtime(13000),
    "/usr/include/cuda_runtime_api.h": "no version",
  });
  const { root } = found;
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
    ["python/nvidia/cuda_runtime", "usr/local/cuda"].flatMap((home) => [
      `${root}/${home}/include`,
      `${root}/${home}/include/cccl`,
    ]),
  );
  assertEquals(others, [{ path: `${root}/home/include`, version: "12.9" }]);
  assertEquals(absent, [
    `${root}/python/nvidia/cu13/include (no CUDA headers)`,
    `${root}/python/nvidia/cuda_cccl/include (no CUDA headers)`,
    `${root}/usr/include (no CUDA headers)`,
  ]);
});

Deno.test("absentHeader() names both versions when another toolkit has the header", () => {
  using found = machine({
    "/usr/local/cuda/include/cuda_runtime_api.h": runtime(12080),
    "/usr/local/cuda/include/cuda_fp16.h": "",
  });
  const search = searchToolkitHeaders(NAMED, unset, found.root);
  assertEquals(
    absentHeader("cuda_fp16.h", search, []),
    "it must be of CUDA 13.0, as the compiler is, and that in " +
      `${found.root}/usr/local/cuda/include is of CUDA 12.8`,
  );
  assertEquals(holdsHeader(search.fitting, "cuda_fp16.h"), false);
});

Deno.test("absentHeader() lists the searched places", () => {
  using none = machine({ "/usr/include/stdio.h": "" });
  const { root } = none;
  assertEquals(
    absentHeader("cuda_fp16.h", searchToolkitHeaders(NAMED, unset, root), [
      "/mine",
    ]),
    "it is not in the headers of the request, /mine, the standard headers of Gridstride, and there " +
      `are no headers of CUDA 13.0 on this machine: not in ${root}/usr/local/cuda/include (no CUDA ` +
      `headers), ${root}/usr/include (no CUDA headers)`,
  );
  using toolkit = machine({
    "/usr/local/cuda/include/cuda_runtime_api.h": runtime(13000),
    "/usr/local/cuda/include/cccl/cub/cub.cuh": "",
  });
  const search = searchToolkitHeaders(NAMED, unset, toolkit.root);
  const include = `${toolkit.root}/usr/local/cuda/include`;
  assertEquals(
    absentHeader("typo.h", search, []),
    `it is not in the headers of the request, the standard headers of Gridstride, ${include}, ` +
      `${include}/cccl`,
  );
  assertEquals(holdsHeader(search.fitting, "cub/cub.cuh"), true);
});
