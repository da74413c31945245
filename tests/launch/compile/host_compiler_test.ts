import "../../support/cache_directory.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { openLibrary } from "../../../src/ffi/open_library.ts";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { CompilerUnavailableError } from "../../../src/launch/compile/compile_error.ts";
import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";
import { HostCompiler } from "../../../src/launch/compile/host_compiler.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { request } from "./host_request.ts";

const library = openLibrary("host");

const GCC = "g++";
const CLANG = "clang++";

/** The compiler of this name, or undefined if it does not start. */
async function compilerNamed(name: string): Promise<HostCompiler | undefined> {
  const environment = (variable: string) => variable === "CXX" ? name : Deno.env.get(variable);
  const compiler = new HostCompiler(library, environment);
  try {
    await compiler.identity(request(""));
    return compiler;
  } catch (error) {
    if (!(error instanceof CompilerUnavailableError)) throw error;
    console.log(`${name} is not installed: its messages are not tested`);
    return undefined;
  }
}

const compilers = (await Promise.all([GCC, CLANG].map(compilerNamed)))
  .filter((compiler) => compiler !== undefined);
/** Whichever there is: one of them built the library. */
const compiler = compilers[0]!;

/** The error of a source that does not compile. */
function failure(
  compiler: HostCompiler,
  source: string,
  changes: Partial<CompileRequest> = {},
): Promise<CompileError> {
  return assertRejects(() => compiler.compile(request(source, changes)), CompileError);
}

/** What an error's diagnostics mark: line, and the text from the marked character on. */
function marks({ diagnostics }: CompileError): string[] {
  return diagnostics.filter(({ severity }) => severity === "error")
    .map(({ file, line, column, text }) => `${file}:${line} ${text?.slice((column ?? 1) - 1)}`);
}

Deno.test("compile() passes defines, options and headers, and returns warnings", async () => {
  const source = `#include "outer.h"
#include <deep/inner.h>
static_assert(WIDTH == 7 && OUTER == 8 && INNER == 9 && OPTION == 10, "not as given");
__device__ int f(float x) { int unused = 0; return x; }
namespace n { template <int N> __global__ void k(float* x) { x[0] = N; } __constant__ int c[3]; }
`;
  const { log, loweredNames } = await compiler.compile(request(source, {
    headers: new Map([
      ["outer.h", '#include "deep/inner.h"\n#define OUTER (INNER - 1)\n'],
      ["deep/inner.h", "#define INNER 9\n"],
    ]),
    defines: new Map([["WIDTH", "3 + 4"]]),
    options: ["-DOPTION=10", "-Wunused-variable"],
    expressions: ["n::k< 3 >", "n::k<(4 > 3)>", "&n::c"],
  }));
  assertMatch(log, /^test\.cu:4:\d+: warning: .*unused/);
  assertEquals([...loweredNames], [
    ["n::k< 3 >", "n::k< 3 >"],
    ["n::k<(4 > 3)>", "n::k<(4 > 3)>"],
    ["&n::c", "n::c"],
  ]);
});

/** Errors that are found in one go, each at a name of its own. */
const MISTAKES = `#include "own.h"
extern __shared__ float shared[];
__device__ int first() { return üm1; }
__global__ void second(float* x) {
  extern __shared__ int s[]; s[0] = mistake2; shared[0] = mistake3; // ü
\tx[0] = /* ü */ mistake4;
}
template <class T> __device__ void third(T x) { x.mistake5(); }
__global__ void fourth() { third(1); }
__global__ void fifth() { asm("mistake6"); }
`;

Deno.test("compile() throws errors with file, line and character for every compiler", async () => {
  for (const compiler of compilers) {
    const headers = new Map([["own.h", "\n\nint h = mistake0;\n"]]);
    const found = marks(await failure(compiler, MISTAKES, { headers }));
    const begins = [
      "own.h:3 mistake0;",
      "test.cu:3 üm1; }",
      "test.cu:5 mistake2;",
      "test.cu:5 mistake3; // ü",
      "test.cu:6 mistake4;",
      "test.cu:8 ",
      "test.cu:10 asm",
    ];
    for (const begin of begins) {
      assert(
        found.some((mark) => mark.startsWith(begin)),
        `${compiler.label}: no ${begin} in\n${found.join("\n")}`,
      );
    }
    assertEquals(found.filter((mark) => !/^(?:test\.cu|own\.h):/.test(mark)), []);
  }
});

Deno.test("compile() reports errors behind the source in terms of the source", async () => {
  const source = "__device__ float helper(float x);\n__global__ void k(float* x) { x[0] = " +
    "helper(1); }\ntemplate <class T> __global__ void t(T* x) {}\n";
  for (const compiler of compilers) {
    const [missing, header, open, unknown] = await Promise.all([
      failure(compiler, source, { expressions: ["k"] }),
      failure(compiler, 'int a;\n  #include "absent.h"\n'),
      failure(compiler, "__global__ void k() {\n  if (true) {\n}\n\n"),
      failure(compiler, source.replace("helper(1)", "1"), {
        expressions: ["k", "absent", "t<int, 2>", "&absent_too"],
      }),
    ]);
    assertEquals(marks(missing), ["test.cu:1 helper(float x);"]);
    assertMatch(missing.message, /undefined reference to 'helper\(float\)'/);
    assertEquals(marks(header), ['test.cu:2 "absent.h"']);
    assertEquals(marks(open), ["test.cu:3 }"]);
    assertMatch(open.message, /the source ends in the middle of a declaration/);
    assertEquals(
      unknown.diagnostics.map(({ message }) => message.replace(/(?<=: )use.*|'.*/, "…")),
      [
        "in the expression absent: …",
        "in the expression t<int, 2>: it must name exactly one kernel or variable",
        "in the expression &absent_too: …",
      ],
    );
    for (const { log } of [missing, header, open, unknown]) assert(!log.includes("compile-"), log);
  }
});

Deno.test("compile() reports an unclosed macro call at the end of the source", async () => {
  const sources = [
    "__global__ void __launch_bounds__(\n#if 0\n32)\n#endif\nk(int* x) { }\n\n",
    "#define F(x) x\n__global__ void k(int* x) {\n  F( x[0] = 1; }\n",
  ];
  for (const compiler of compilers) {
    for (const source of sources) {
      const { diagnostics } = await failure(compiler, source, { expressions: ["k"] });
      assertMatch(diagnostics.map(({ message }) => message).join("\n"), /unterminated/);
      const lines = source.trimEnd().split("\n").length;
      for (const { file, line } of diagnostics) {
        assertStrictEquals(file, "test.cu");
        assert(line !== undefined && line >= 1 && line <= lines, `line ${line}`);
      }
    }
  }
});

Deno.test("compile() accepts any name and any end of a source", async () => {
  const { message, diagnostics } = await failure(compiler, "int a = b; // \\", {
    name: "größe (1)?.cu",
  });
  assertStrictEquals(diagnostics[0]!.file, "größe (1)?.cu");
  assert(message.startsWith(`Cannot compile größe (1)?.cu with ${compiler.label}:\n`));
  const { format } = await compiler.compile(request("\uFEFF__global__ void k() {} // \\", {
    expressions: ["k"],
  }));
  assertStrictEquals(format, "library");
});

Deno.test("identity() covers headers in directories of the options", async () => {
  using folder = new TemporaryDirectory();
  const write = (name: string, text: string) =>
    Deno.writeTextFileSync(`${folder.path}/${name}`, text);
  write("outer.h", '#include "inner.h"\n');
  write("inner.h", "#define VALUE 1\n");
  const own = new Map([["own.h", "#include <outer.h>"]]);
  const asked = [
    request("#include <outer.h>\n", { options: ["-isystem", folder.path] }),
    request("", { options: [`-I${folder.path}`, "-imacros", "outer.h"] }),
    request(`#include "${folder.path}/outer.h"\n`),
    request('#include "own.h"\n', { headers: own, options: ["-idirafter", folder.path] }),
  ];
  const identities = () => Promise.all(asked.map((one) => compiler.identity(one)));
  const [before, again] = [await identities(), await identities()];
  assertEquals(again, before);
  write("inner.h", "#define VALUE 2\n");
  const after = await identities();
  for (const [index, identity] of after.entries()) {
    assertNotEquals(identity, before[index], JSON.stringify(asked[index]));
  }
});

Deno.test("compile() ignores header directories of the environment", async () => {
  using folder = new TemporaryDirectory();
  Deno.writeTextFileSync(`${folder.path}/ambient.h`, "");
  const before = Deno.env.get("CPATH");
  Deno.env.set("CPATH", folder.path);
  try {
    const error = await failure(compiler, '#include "ambient.h"\n');
    assertMatch(error.message, /ambient\.h/);
  } finally {
    if (before === undefined) Deno.env.delete("CPATH");
    else Deno.env.set("CPATH", before);
  }
});
