// What the host device's compiler makes, and what it says, is the same with the precompiled header
// as without; and it is asked to use one only where that is so.

import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { readDeviceSource } from "../../../src/launch/source/device_source.ts";
import { repositoryPath } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { request } from "./host_request.ts";
import { COMPILERS, PreludeFixture } from "./prelude_fixture.ts";

const KERNEL = `extern "C" __global__ void k(float* x) {
  __shared__ float tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  assert(x[0] > 0);
  x[threadIdx.x] = tile[31 - threadIdx.x];
}
`;

const HEADERS = `#include <cuda_runtime.h>
#include <string.h>
#define NDEBUG
#include <assert.h>
`;

const GCC = { ignore: !COMPILERS.includes("g++") };

/** A sample of the tests, with all that it declares. */
function sample(name: string): CompileRequest {
  const text = Deno.readTextFileSync(repositoryPath(`tests/launch/sources/${name}.cu`));
  const source = readDeviceSource(text, { name });
  const kernels = source.kernels.filter(({ isTemplate }) => !isTemplate);
  return request(source.text, {
    name,
    expressions: [
      ...kernels.map(({ expression }) => expression),
      ...source.variables.map(({ expression }) => `&${expression}`),
    ],
  });
}

/** What compilers say, without the names that they make up for object files. */
function withoutObjects(log: string): string {
  return log.replaceAll(/\b\S+\.o\b/g, "….o");
}

for (const name of COMPILERS) {
  Deno.test(`${name}: images are the same bytes with the precompiled header`, async () => {
    using made = await PreludeFixture.share(name);
    using plain = await PreludeFixture.plain(name);
    const asked = [
      request(""),
      // Headers that the prelude holds already, and one that is to be read anew.
      request(`${HEADERS}${KERNEL}`, { expressions: ["k"] }),
      request(`#include "own.h"\n${KERNEL}`, {
        headers: new Map([["own.h", "static_assert(sizeof(float4) == 16);\n"]]),
        expressions: ["k"],
      }),
      ...(name === "g++" ? ["groups", "half_matmul"] : ["groups"]).map(sample),
    ];
    for (const each of asked) {
      const { image, log } = await made.compiler.compile(each);
      const expected = await plain.compiler.compile(each);
      assert(image.length > 0 && log === "");
      assertEquals(image, expected.image, `${each.name}: ${each.source.slice(0, 40)}`);
    }
    assertEquals(made.calls, asked.map(() => true));
    assertEquals(plain.calls, asked.map(() => false));
  });

  Deno.test(`${name}: errors and warnings are the same to the letter`, async () => {
    using made = await PreludeFixture.share(name);
    using plain = await PreludeFixture.plain(name);
    const mistakes: readonly CompileRequest[] = [
      request('__global__ void k(float* x) { x[0] = undeclared; }\n#include "absent.h"\n'),
      request("__device__ float f(float);\n__global__ void k(float* x) { x[0] = f(1); }\n", {
        expressions: ["k"],
      }),
      // Found in the language's headers, and told with the way that leads there.
      request("struct S {};\n__global__ void k(S* x) { atomicAdd(x, S()); float4 f = S(); }\n"),
      request("int __syncthreads;\ntypedef int float4;\nint atomicAdd(int*, int) { return 1; }\n"),
      request("__global__ void k() {\n  if (true) {\n}\n", { expressions: ["k", "absent"] }),
    ];
    // To g++, which most have, all of them; each is compiled three times.
    const told = name === "g++" ? mistakes : mistakes.slice(0, 2);
    for (const each of told) {
      const [error, expected] = await Promise.all([made, plain].map(({ compiler }) => {
        return assertRejects(() => compiler.compile(each), CompileError);
      }));
      assertEquals(error!.message, expected!.message);
      assertEquals(error!.diagnostics, expected!.diagnostics);
      assertEquals(withoutObjects(error!.log), withoutObjects(expected!.log));
    }
    const warned = request("__device__ int f(int x) { return x / 0; }\n");
    const [{ image, log }, expected] = await Promise.all([
      made.compiler.compile(warned),
      plain.compiler.compile(warned),
    ]);
    assert(/division by zero/.test(log), log);
    assertEquals([log, image], [expected.log, expected.image]);
    // Each was tried with the precompiled header first, and none counts against that.
    const tries = [...told, warned].flatMap(() => [true, false]);
    assertEquals(made.calls, tries);
  });

  Deno.test(`${name}: a macro that the language's headers read means the same`, async () => {
    using made = await PreludeFixture.share(name);
    using plain = await PreludeFixture.plain(name);
    const images: Uint8Array[] = [];
    const macros = [
      ["SIZE", "4"],
      ["NDEBUG", "1"],
      // A parameter's name in our headers, and a word of the compiler's own.
      ["condition", "nothing"],
      ["__FAST_MATH__", "1"],
    ] as const;
    for (const [macro, value] of name === "g++" ? macros : macros.slice(0, 2)) {
      const each = request(KERNEL, {
        defines: new Map([[macro, value]]),
        expressions: ["k"],
      });
      const { image, unseen } = await made.compiler.compile(each);
      assertEquals(image, (await plain.compiler.compile(each)).image, macro);
      // Where g++ does not take the precompiled header it reads the header beside it.
      assertEquals(unseen, undefined, macro);
      images.push(image);
    }
    assertNotEquals(images[0], images[1]);
    assertEquals(made.calls, images.map(() => name === "g++"));
  });

  Deno.test(`${name}: a file that no key knows of is told of all the same`, async () => {
    using made = await PreludeFixture.share(name);
    using folder = new TemporaryDirectory();
    const file = folder.file(new TextEncoder().encode("static_assert(true);\n"), "hidden.h");
    const source = `#define HIDDEN "${file}"\n#include HIDDEN\n`;
    assertEquals((await made.compiler.compile(request(source))).unseen, [file]);
    assertEquals((await made.compiler.compile(request("#include <vector>\n"))).unseen, undefined);
    assertEquals(made.calls, [true, true]);
  });
}

Deno.test("g++ takes it unless the headers would have seen a macro", GCC, async () => {
  // Has g++ write down the headers that it opens: a precompiled one with ! where it is used.
  const noting = 'case "$*" in *" -o "*) exec 2>>"$fixture/headers"; set -- -H "$@";; esac';
  using made = await PreludeFixture.copy(noting);
  for (const macro of ["SIZE", "NDEBUG", "stddef", "_GNU_SOURCE"]) {
    const defines = new Map([[macro, "1"]]);
    await made.compiler.compile(request("", { defines }));
  }
  const marks = Deno.readTextFileSync(`${made.path}/headers`).split("\n")
    .filter((line) => line.endsWith("/prelude.h.gch"));
  // _GNU_SOURCE is what g++ defines itself, and to the same value.
  assertEquals(marks.map((mark) => mark[0]), ["!", "x", "!", "!"]);
});

Deno.test("options, and headers that hide others, do without it", GCC, async () => {
  using made = await PreludeFixture.share("g++");
  const hiding = [
    ["string.h", "#include_next <string.h>\n"],
    // Of the C library's own, and one that the standard library only looks for.
    ["bits/types.h", "#include_next <bits/types.h>\n"],
    ["tbb/tbb.h", ""],
  ] as const;
  await made.compiler.compile(request("", { options: ["-O1"] }));
  for (const header of hiding) {
    await made.compiler.compile(request("", { headers: new Map([header]) }));
  }
  assertEquals(made.calls, [false, ...hiding.map(() => false)]);
});

Deno.test("many compilations at a time share the precompiled header", GCC, async () => {
  using made = await PreludeFixture.share("g++");
  const sizes = [1, 2, 3, 5, 7];
  const images = await Promise.all(sizes.map(async (size) => {
    const defines = new Map([["SIZE", `${size}`]]);
    const source = "__device__ int sizes[SIZE];\n";
    return (await made.compiler.compile(request(source, { defines, expressions: ["&sizes"] })))
      .image;
  }));
  assertEquals(new Set(images.map((image) => image.toBase64())).size, sizes.length);
  assertEquals(made.calls, sizes.map(() => true));
});

for (
  const [what, script] of [
    ["ends with an internal error", "echo 'internal compiler error: in gt_pch' >&2; exit 4"],
    ["is killed", "kill -9 $$"],
    ["cannot map it", "echo 'fatal error: had to relocate PCH' >&2; exit 1"],
  ] as const
) {
  Deno.test(`a compiler that ${what} with it is asked without, then and later`, GCC, async () => {
    using made = await PreludeFixture.copy(`case "$*" in *-include*) ${script};; esac`);
    const asked = request(KERNEL, { expressions: ["k"] });
    const { log, image } = await made.compiler.compile(asked);
    assertEquals(log, "");
    assert(image.length > 0);
    await made.compiler.compile(asked);
    assertEquals(made.calls, [true, false, false]);
  });
}

for (
  const [what, change] of [
    ["is being made anew", 'mv "$fixture/host_prelude/prelude.h" "$fixture/kept"'],
    ["has just become another", 'echo "int other;" >> "$fixture/host_prelude/prelude.h"'],
  ] as const
) {
  Deno.test(
    `what is compiled while it ${what} is compiled without, and only that`,
    GCC,
    async () => {
      const script = `case "$*" in *-include*) [ -f "$fixture/once" ] || { ${change}; };; esac`;
      using made = await PreludeFixture.copy(script);
      const before = Deno.readTextFileSync(`${made.prelude}/prelude.h`);
      const asked = request(KERNEL, { expressions: ["k"] });
      await made.compiler.compile(asked);
      assertEquals(made.calls, [true, false]);
      Deno.writeTextFileSync(`${made.path}/once`, "");
      Deno.writeTextFileSync(`${made.prelude}/prelude.h`, before);
      await made.compiler.compile(asked);
      assertEquals(made.calls, [true, false, true]);
    },
  );
}

for (
  const [what, damage] of [
    ["cut off", (path: string) => Deno.truncateSync(path, 10_000)],
    ["another file", (path: string) => Deno.writeTextFileSync(path, "gpch")],
    ["changed in one byte", (path: string) => {
      const bytes = Deno.readFileSync(path);
      bytes[bytes.length >> 1]! ^= 1;
      Deno.writeFileSync(path, bytes);
    }],
    ["gone", (path: string) => Deno.removeSync(path)],
  ] as const
) {
  Deno.test(`a precompiled header that is ${what} is not used`, GCC, async () => {
    using made = await PreludeFixture.copy();
    await made.compiler.compile(request(""));
    damage(`${made.prelude}/prelude.h.gch`);
    await made.compiler.compile(request(""));
    assertEquals(made.calls, [true, false]);
  });
}
