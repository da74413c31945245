import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { readOptions } from "../../../src/launch/compile/compiler_options.ts";
import { device } from "../../support/device.ts";
import { request } from "./host_request.ts";

const read = (target: "host" | "nvrtc", ...options: string[]) =>
  readOptions(request("", { options }), "NVRTC 13.0", target);

Deno.test("readOptions() reads directories, headers and architecture in all forms", () => {
  const nvrtc = (...options: string[]) => read("nvrtc", ...options);
  const forms = ["-I", "-I=", "-I ", "--include-path=", "-isystem", "-idirafter="];
  for (const form of forms) assertEquals(nvrtc(`${form}/a b`).directories, ["/a b"], form);
  const mixed = nvrtc("-I", "/a", "--include-path", "/b", "-w", "-I/c").directories;
  assertEquals(mixed, ["/a", "/b", "/c"]);
  assertEquals(nvrtc("-include=x.h", "--pre-include", "y.h").first, ["x.h", "y.h"]);
  assertEquals(nvrtc("-arch=sm_80", "--gpu-architecture", "sm_90a").architecture, "sm_90a");
  assertEquals(nvrtc().architecture, undefined);
});

Deno.test("readOptions() translates one option for both compilers, in order", () => {
  const options = "-O1 -DB -D A=1 -U C --use_fast_math -Xptxas -v,-O2 --fmad=false -G -Wall " +
    "-std=gnu++20 -lineinfo --maxrregcount 64 --expt-relaxed-constexpr -diag-suppress=177 -arch=sm_90";
  assertEquals(
    read("nvrtc", ...options.split(" ")).flags.join(" "),
    "--ptxas-options=-O1 --define-macro=B --define-macro=A=1 --undefine-macro=C " +
      "--use_fast_math --ptxas-options=-v --ptxas-options=-O2 --fmad=false --device-debug --std=c++20 --generate-line-info " +
      "--maxrregcount=64 --diag-suppress=177",
  );
  assertEquals(
    read("host", ...options.split(" ")).flags.join(" "),
    "-O1 -DB -DA=1 -UC -ffp-contract=off -g -Og -Wall -std=gnu++20 -g1",
  );
  assertEquals(read("host", "-isystem", "/s", "-iquote/q", "-imacros", "m.h").flags, [
    ..."-isystem/s -iquote/q -imacros m.h".split(" "),
  ]);
});

/** Options that start programs, load plug-ins, read or write files, or change the image's nature. */
const REFUSED = "--help --version -v -### -fsanitize=address -fsanitize=undefined -o -o/tmp/x -c " +
  "-xc -MD @list -fdump-tree-all --coverage -Wp,-I/x -Wa,-a=x -Wl,-T,x -fplugin=x -wrapper " +
  "-fmodule-mapper=|x --prefix=/x -B/x -time=x --time=x -specs=x --param -lm -L/x other.cpp " +
  "/x/other.o -march=native -Xcompiler -save-temps -pg -finstrument-functions -fauto-profile=x " +
  "-dc -dlto -optix-ir -rdc=true --pch --create-pch=x.pch --fdevice-time-trace=x -include-pch " +
  "-fopenmp -static -nostdlib -fno-pic -w=1 -G=x -O9 --config=x -Xclang -mllvm";

Deno.test("readOptions() refuses an option that is not in the list", () => {
  for (const target of ["host", "nvrtc"] as const) {
    for (const option of REFUSED.split(" ")) {
      const { message } = assertThrows(() => read(target, option, "x"), TypeError, option);
      const start = `Cannot compile test.cu with NVRTC 13.0 as the option ${option} is not allowed`;
      assert(message.startsWith(`${start}: the allowed options are -D NAME[=VALUE], -U`), message);
    }
  }
  assertThrows(() => read("nvrtc", "-imacros", "x"), TypeError, "is not allowed");
});

Deno.test("readOptions() refuses a missing or a wrong value", () => {
  for (const target of ["host", "nvrtc"] as const) {
    for (const option of ["-I", "--include-path=", "-arch", "-D", "-include=", "-Xptxas"]) {
      assertThrows(() => read(target, option), TypeError, "needs a value: it has none");
    }
    const wrong = "-Xptxas=-o,/tmp/x -Xptxas=-vx --maxrregcount=all -std=c99 -arch=native " +
      "-include=@list -include=-x -U=1 --fmad=2 -Wall=a,b --diag-suppress=all";
    for (const option of wrong.split(" ")) {
      const message = /^(?:-Wl|x)/.test(option) ? "not allowed" : "must have a value as in";
      assertThrows(() => read(target, option), TypeError, message, `${target} ${option}`);
    }
  }
});

Deno.test("`compile()` accepts the options of CUDA programs", async () => {
  const lists = [
    "-O0 -G -w -std=c++14",
    "-O3 --use_fast_math -lineinfo -Wall -Wno-unused -std=c++20 --maxrregcount=32 -Xptxas=-v",
    "-Og -g -ffast-math -fno-fast-math -fno-finite-math-only -DONE=1 -UONE --extended-lambda",
    "-O1 -Os -ffp-contract=off -fmad=false --restrict --expt-relaxed-constexpr -Iabsent",
  ];
  const source = "__global__ void k(int* x) { __shared__ int s; s = 2; __syncthreads(); *x = s; }";
  using x = device.allocate("int32", 1);
  for (const list of lists) {
    await x.copyFrom(new Int32Array(1));
    using module = await device.compile(source, { options: list.split(" ") });
    module.kernel("k").launch({ grid: 1, block: 32 }, x);
    assertEquals([...await x.toArray()], [2], list);
  }
});

Deno.test("`compile()` refuses an option and header names before the compiler runs", async () => {
  const compile = (options: Parameters<typeof device.compile>[1]) =>
    device.compile("__global__ void k() {}", { cache: false, ...options });
  const sanitized = compile({ options: ["-O2", "-fsanitize=address"] });
  await assertRejects(() => sanitized, TypeError, "the option -fsanitize=address is not allowed");
  const long = compile({ headers: { [`${"h".repeat(300)}.h`]: "" } });
  await assertRejects(() => long, RangeError, "at most 1024 bytes and 255 per part");
  const deep = compile({ headers: { ["h/".repeat(600) + "h"]: "" } });
  await assertRejects(() => deep, RangeError, "at most 1024 bytes and 255 per part");
  const nested = compile({ headers: { "a.h": "", "a.h/b.h": "" } });
  await assertRejects(() => nested, RangeError, "the folder of another one");
});
