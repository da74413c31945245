// The headers of a toolkit are those of NVRTC's own version; an error about a header names the versions,
// or the places it was looked for in.

import { assertEquals } from "@std/assert";
import { absentHeader, isInToolkit } from "../../../src/launch/compile/absent_header.ts";
import { searchToolkitHeaders } from "../../../src/launch/compile/toolkit_headers.ts";

function machine(files: Readonly<Record<string, string>>): { root: string } & Disposable {
  const root = Deno.realPathSync(Deno.makeTempDirSync());
  for (const [file, text] of Object.entries(files)) {
    Deno.mkdirSync(`${root}${file.slice(0, file.lastIndexOf("/"))}`, { recursive: true });
    Deno.writeTextFileSync(`${root}${file}`, text);
  }
  return { root, [Symbol.dispose]: () => Deno.removeSync(root, { recursive: true }) };
}

const runtime = (version: number) => `/* CUDA */\n#define CUDART_VERSION  ${version}\n`;

const unset = () => undefined;

Deno.test("directories of the version are told from those of others, and from none", () => {
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
  const { fitting, others, absent } = searchToolkitHeaders(library, [13, 0], environment, root);
  assertEquals(fitting.map(({ path }) => path), [
    `${root}/python/nvidia/cuda_runtime/include`,
    `${root}/usr/local/cuda/include`,
  ]);
  assertEquals(others.map(({ path, version }) => [path, ...version]), [
    [`${root}/home/include`, 12, 9],
  ]);
  assertEquals(absent, [
    `${root}/python/nvidia/cu13/include (no CUDA headers)`,
    `${root}/python/nvidia/cuda_cccl/include (no CUDA headers)`,
    `${root}/usr/include (no CUDA headers)`,
  ]);
});

Deno.test("a header of another version is refused with both versions", () => {
  using found = machine({
    "/usr/local/cuda/include/cuda_runtime_api.h": runtime(12080),
    "/usr/local/cuda/include/cuda_fp16.h": "",
  });
  const search = searchToolkitHeaders("libnvrtc.so.13", [13, 0], unset, found.root);
  assertEquals(
    absentHeader("cuda_fp16.h", search, []),
    "it must be of CUDA 13.0, as the compiler is, and that in " +
      `${found.root}/usr/local/cuda/include is of CUDA 12.8`,
  );
  assertEquals(isInToolkit("cuda_fp16.h", search), false);
});

Deno.test("a header that is nowhere names all places, and what there is no toolkit in", () => {
  using none = machine({ "/usr/include/stdio.h": "" });
  const { root } = none;
  assertEquals(
    absentHeader("cuda_fp16.h", searchToolkitHeaders("libnvrtc.so.13", [13, 0], unset, root), [
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
  const search = searchToolkitHeaders("libnvrtc.so.13", [13, 0], unset, toolkit.root);
  const include = `${toolkit.root}/usr/local/cuda/include`;
  assertEquals(
    absentHeader("typo.h", search, []),
    `it is not in the headers of the request, the standard headers of Gridstride, ${include}, ` +
      `${include}/cccl`,
  );
  assertEquals(isInToolkit("cub/cub.cuh", search), true);
});
