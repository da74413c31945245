import { assertEquals } from "@std/assert";
import { diagnosticText } from "../../../src/launch/compile/compile_error.ts";
import {
  readNvrtcDiagnostics,
  unopenedHeader,
} from "../../../src/launch/compile/nvrtc_diagnostics.ts";

const SOURCE = `#include "own.h"
__global__ void k(int* x) {
\t\tint a = 1; y[0] = 1;
  /* äöü */ w = 2;
}
template <class T> __device__ T f(T a) { return a.x; }
`;

const texts = {
  originals: new Map([
    ["saxpy.cu", SOURCE],
    ["own.h", "inline int foo(int a) {\n  return b;\n}\n"],
    ["cuda_fp16.h", "// line 1\nstruct __half;\n"],
  ]),
  own: new Set(["saxpy.cu", "own.h"]),
};

function read(log: string) {
  return readNvrtcDiagnostics(log, texts);
}

Deno.test("readNvrtcDiagnostics() reads file, line and character of an error", () => {
  const log = `saxpy.cu(3): error: identifier "y" is undefined
  \t\tint a = 1; y[0] = 1;
  \t\t           ^

saxpy.cu(4): error: identifier "w" is undefined
    /* äöü */ w = 2;
              ^

2 errors detected in the compilation of "saxpy.cu".
`;
  assertEquals(read(log), [
    {
      severity: "error",
      message: 'identifier "y" is undefined',
      file: "saxpy.cu",
      line: 3,
      column: 14,
      text: "\t\tint a = 1; y[0] = 1;",
    },
    {
      severity: "error",
      message: 'identifier "w" is undefined',
      file: "saxpy.cu",
      line: 4,
      column: 13,
      text: "  /* äöü */ w = 2;",
    },
  ]);
  assertEquals(
    diagnosticText(read(log)[0]!).split("\n").slice(1),
    ["    3 | \t\tint a = 1; y[0] = 1;", "      | \t\t           ^"],
  );
});

Deno.test("readNvrtcDiagnostics() sorts by severity and drops warnings about the language", () => {
  const log = `saxpy.cu(3): warning #177-D: variable "a" was declared but never referenced
  \t\tint a = 1; y[0] = 1;
  \t\t    ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

cuda_fp16.h(2): warning #47-D: incompatible redefinition of macro "NAN"
  struct __half;
         ^

own.h(2): error: identifier "b" is undefined
    return b;
           ^
saxpy.cu(6): note #3322-D: number of parameters does not match the call
`;
  assertEquals(read(log).map(({ severity, file, line }) => `${severity} ${file}:${line}`), [
    "error own.h:2",
    "warning saxpy.cu:3",
    "note saxpy.cu:6",
  ]);
});

Deno.test("readNvrtcDiagnostics() joins the lines of a message", () => {
  const log = `saxpy.cu(3): error: no instance of function template "f" matches the argument list
            argument types are: (int, int)
  \t\tint a = 1; y[0] = 1;
  \t\t           ^

saxpy.cu(6): error: expression must have class type but it has type "int"
  template <class T> __device__ T f(T a) { return a.x; }
                                                  ^
          detected during instantiation of "T f(T) [with T=int]" at line 3
`;
  assertEquals(read(log).map(({ message, column }) => [message, column]), [
    [
      'no instance of function template "f" matches the argument list ' +
      "argument types are: (int, int)",
      14,
    ],
    ['expression must have class type but it has type "int"', 49],
  ]);
});

Deno.test("readNvrtcDiagnostics() shows an error in the language at its origin in the program", () => {
  const log = `cuda_fp16.h(2): error: incomplete type is not allowed
  struct __half;
         ^
          detected during:
            instantiation of class "holder<T> [with T=__half]" at line 1
            instantiation of "void g<T>() [with T=int]" at line 3 of saxpy.cu

1 error detected in the compilation of "saxpy.cu".
`;
  assertEquals(read(log), [{
    severity: "error",
    message: "incomplete type is not allowed",
    file: "saxpy.cu",
    line: 3,
    text: "\t\tint a = 1; y[0] = 1;",
  }]);
});

Deno.test("readNvrtcDiagnostics() names a missing kernel as in the request", () => {
  const log = `__nv_name_map(2): error: identifier "nothere" is undefined
  #pragma nv_mangled_name nothere<int>
                          ^

__nv_name_map(2): error: Error in parsing name expression for lowered name lookup. Input name ` +
    `expression was: " nothere<int>"
  #pragma nv_mangled_name nothere<int>
                          ^

2 errors detected in the compilation of "saxpy.cu".
`;
  const expected = [{
    severity: "error" as const,
    message: 'in the expression nothere<int>: identifier "nothere" is undefined',
  }];
  assertEquals(read(log), expected);
  // NVRTC 11 shows no lines.
  assertEquals(read(log.replaceAll(/^ .*\n/gm, "")), expected);
});

Deno.test("readNvrtcDiagnostics() reads errors of the assembler", () => {
  const log = `ptxas application ptx input, line 23; error   : Unknown modifier '.bar'
ptxas error   : Entry function '_Z1kPi' uses too much shared data (0x13880 bytes, 0xc000 max)
ptxas fatal   : Ptx assembly aborted due to errors
ptxas warning : For profile sm_90 adjusting per thread register count of 16 to lower bound of 24
`;
  assertEquals(read(log), [
    { severity: "error", message: "Unknown modifier '.bar'" },
    {
      severity: "error",
      message: "Entry function '_Z1kPi' uses too much shared data (80000 bytes, 49152 max)",
    },
    {
      severity: "warning",
      message: "For profile sm_90 adjusting per thread register count of 16 to lower bound of 24",
    },
  ]);
});

Deno.test("readNvrtcDiagnostics() reads errors without a place", () => {
  assertEquals(
    read(`At end of source: error: expected a "}"
nvrtc: error: unrecognized option --foo found
nvrtc: warning: "--std (-std)=c++17" followed by "--std (-std)=c++20"
Command-line error: invalid macro definition: A=2 +
saxpy.cu(1): catastrophic error: #error directive: this is bad
  #error this is bad
   ^
`).map(({ severity, message, line }) => [severity, message, line]),
    [
      ["error", 'expected a "}"', undefined],
      ["error", "unrecognized option --foo found", undefined],
      ["error", "invalid macro definition: A=2 +", undefined],
      ["error", "#error directive: this is bad", 1],
      ["warning", '"--std (-std)=c++17" followed by "--std (-std)=c++20"', undefined],
    ],
  );
});

Deno.test("readNvrtcDiagnostics() reads logs of NVRTC 11", () => {
  const log = `saxpy.cu(3): error: identifier "y" is undefined

saxpy.cu(4): warning #177-D: variable "q" was declared but never referenced

1 error detected in the compilation of "saxpy.cu".
`;
  assertEquals(read(log).map(({ line, column, text }) => [line, column, text]), [
    [3, undefined, "\t\tint a = 1; y[0] = 1;"],
    [4, undefined, "  /* äöü */ w = 2;"],
  ]);
});

Deno.test("readNvrtcDiagnostics() lists the searched places of a missing header", () => {
  for (const verb of ["cannot", "could not"]) {
    const log =
      `saxpy.cu(1): catastrophic error: ${verb} open source file "own2.h" (no directories in ` +
      `search list)\n  #include "own.h"\n                  ^\n`;
    assertEquals(unopenedHeader(log), "own2.h");
    const searched = (header: string) => `${header} is nowhere`;
    const [found] = readNvrtcDiagnostics(log, { ...texts, searched });
    assertEquals(found!.message, 'cannot open source file "own2.h": own2.h is nowhere');
  }
  assertEquals(unopenedHeader("saxpy.cu(1): error: x"), undefined);
});

Deno.test("readNvrtcDiagnostics() survives any text", () => {
  assertEquals(read("saxpy.cu(999): error: x\n"), [
    { severity: "error", message: "x", file: "saxpy.cu", line: 999 },
  ]);
  for (const log of ["", "\n\n", "   ^", "^", "saxpy.cu(", "error:", "\0(1): error: \0"]) read(log);
});

Deno.test("readNvrtcDiagnostics() finds errors among reports of the assembler", () => {
  const message = "Entry function '_Z1kPf' uses too much shared data (80000 bytes, 49152 max)";
  const refusal = message.replace("80000", "0x13880").replace("49152", "0xc000");
  const report = "ptxas info    : Function properties for _Z1kPf";
  // NVRTC reports first, and puts a NUL between; nvcc refuses first.
  for (
    const log of [
      `${report}\nptxas         .     0 bytes stack frame\n\0ptxas error   : ${refusal}\n`,
      `ptxas error   : ${refusal}\n${report}\n    0 bytes stack frame, 0 bytes spill stores\n`,
    ]
  ) {
    assertEquals(read(log), [{ severity: "error", message }]);
  }
});

Deno.test("readNvrtcDiagnostics() shows an unclosed bracket where it opens", () => {
  const log = `At end of source: error: expected a "}"
saxpy.cu(2): note #3196-D: to match this "{"
  __global__ void k(int* x) {
                            ^

1 error detected in the compilation of "saxpy.cu".
`;
  assertEquals(read(log), [{
    severity: "error",
    message: 'expected a "}" to match this "{"',
    file: "saxpy.cu",
    line: 2,
    column: 27,
    text: "__global__ void k(int* x) {",
  }]);
});

Deno.test("readNvrtcDiagnostics() corrects the mark in a renamed line", () => {
  const shown = "  __attribute__((global)) void k(int* x) {";
  for (
    const [word, column] of [["void", 12], ["x)", 24], ["global", undefined], ["{", 27]] as const
  ) {
    const mark = `${" ".repeat(shown.indexOf(word))}^`;
    const [found] = read(`saxpy.cu(2): error: no good\n${shown}\n${mark}\n`);
    assertEquals(found!.column, column, word);
  }
});
