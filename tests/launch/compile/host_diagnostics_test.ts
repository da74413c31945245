import { assertEquals } from "@std/assert";
import type { Diagnostic } from "../../../src/launch/compile/compile_error.ts";
import {
  type DiagnosticFile,
  readDiagnostics,
} from "../../../src/launch/compile/host_diagnostics.ts";

/** The lines of the program in these logs. */
const LINES: Readonly<Record<string, readonly string[]>> = {
  "k.cu": ["template <class T>", "\tint größe = yy;", "  k<int>();", '  asm("x");'],
};

/** Files of the language lie in `/language`, files of the compilation in `/private`. */
function fileOf(file: string): DiagnosticFile | undefined {
  if (file.startsWith("/private/")) return undefined;
  const lines = LINES[file];
  return {
    name: file.replace("/language/", ""),
    isProgram: lines !== undefined,
    lines: { textOf: (line) => lines?.[line - 1] },
  };
}

function read(log: string): string[] {
  const placeOf = (name: string) => name === "helper(float)" ? { file: "k.cu", line: 2 } : {};
  return readDiagnostics(log, fileOf, placeOf).map(describe);
}

function describe({ severity, message, file, line, column, text }: Diagnostic): string {
  const place = file === undefined
    ? ""
    : `${file}:${line}${column === undefined ? "" : `:${column}`} `;
  return `${place}${severity} ${message}${text === undefined ? "" : ` | ${text}`}`;
}

Deno.test("readDiagnostics() sorts by severity", () => {
  const log = `In file included from /private/source.cpp:1:
k.cu: In function 'void k()':
k.cu:1:3: warning: unused 'a' [-Wunused]
k.cu:3:5: error: 'b' was not declared in this scope; did you mean 'c'?
k.cu:3:7: note: 'c' declared here
/language/atomics.h:3:7: note: candidate: 'int atomicAdd(int*, int)'
/language/atomics.h:9:1: warning: something of the language
k.cu:1: fatal error: foo.h: No such file or directory
1 warning and 2 errors generated.
compilation terminated.`;
  assertEquals(read(log), [
    "k.cu:3:5 error 'b' was not declared in this scope; did you mean 'c'? |   k<int>();",
    "k.cu:1 error foo.h: No such file or directory | template <class T>",
    "k.cu:1:3 warning unused 'a' [-Wunused] | template <class T>",
    "k.cu:3:7 note 'c' declared here |   k<int>();",
  ]);
});

Deno.test("readDiagnostics() shows an error in the language at its origin in the program", () => {
  const gcc = `/language/module.h: In instantiation of 'void f() [with T = int]':
/language/module.h:10:3:   required from 'void g() [with T = int]'
k.cu:3:4:   required from here
/language/module.h:4:5: error: static assertion failed: no such type
/language/refused.h:13:3: error: static assertion failed: no PTX
k.cu:4:3: note: in expansion of macro 'asm'`;
  assertEquals(read(gcc), [
    "k.cu:3:4 error static assertion failed: no such type |   k<int>();",
    'k.cu:4:3 error static assertion failed: no PTX |   asm("x");',
    "k.cu:4:3 note in expansion of macro 'asm' |   asm(\"x\");",
  ]);
  const clang = `/language/module.h:4:5: error: static_assert failed "no such type"
/language/module.h:10:3: note: in instantiation of function template specialization 'f<int>' here
k.cu:3:3: note: in instantiation of function template specialization 'k<int>' requested here`;
  assertEquals(read(clang)[0], 'k.cu:3:3 error static_assert failed "no such type" |   k<int>();');
  const unknown = "/language/module.h:4:5: error: out of place";
  assertEquals(read(unknown), ["module.h:4:5 error out of place"]);
  assertEquals(read("/private/source.cpp:4:5: error: out of place"), ["error out of place"]);
});

Deno.test("readDiagnostics() reports each undefined function once", () => {
  const logs = [
    `/usr/bin/ld: /private/cc1.o: in function \`k(float*)':
/private/source.cpp:(.text+0x10): undefined reference to \`helper(float)'
/usr/bin/ld: source.cpp:(.text+0x20): undefined reference to \`helper(float)'
collect2: error: ld returned 1 exit status`,
    `ld.lld: error: undefined symbol: helper(float)
>>> referenced by k.cu
clang: error: linker command failed with exit code 1 (use -v to see invocation)`,
    `Undefined symbols for architecture arm64:
  "helper(float)", referenced from:
      k(float*) in source.o
ld: symbol(s) not found for architecture arm64
clang++: error: linker command failed with exit code 1 (use -v to see invocation)`,
  ];
  for (const log of logs) {
    assertEquals(read(log), ["k.cu:2 error undefined reference to 'helper(float)'"], log);
  }
  assertEquals(read("ld: a.o: undefined reference to `other'"), [
    "error undefined reference to 'other'",
  ]);
});

Deno.test("readDiagnostics() reports errors of programs without a place", () => {
  const logs = {
    "g++: error: unrecognized command-line option '-foo'":
      "error unrecognized command-line option '-foo'",
    "clang: error: unknown argument: '-foo'": "error unknown argument: '-foo'",
    "g++-12: fatal error: Killed signal terminated program cc1plus":
      "error Killed signal terminated program cc1plus",
    "k.cu:3:1: internal compiler error: Segmentation fault":
      "k.cu:3:1 error Segmentation fault |   k<int>();",
    "/usr/bin/ld: final link failed: No space left on device\ncollect2: error: ld returned 1 exit status":
      "error final link failed: No space left on device",
    // Nothing better is known of a driver's complaint alone.
    "collect2: error: ld returned 1 exit status": "error ld returned 1 exit status",
  };
  for (const [log, expected] of Object.entries(logs)) assertEquals(read(log), [expected]);
  assertEquals(read("nothing that could be read\n"), []);
});
