import { assertEquals } from "@std/assert";
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

/** Each diagnostic as `severity file:line:column message`. */
function read(log: string): string[] {
  return readNvrtcDiagnostics(log, texts).map(({ severity, message, file, line, column, text }) => {
    assertEquals(text, texts.originals.get(file ?? "")?.split("\n")[(line ?? 0) - 1]);
    const place = [file, line, column].filter((part) => part !== undefined).join(":");
    return [severity, place, message].filter((part) => part !== "").join(" ");
  });
}

Deno.test("readNvrtcDiagnostics() reads file, line and character, and sorts by severity", () => {
  const log = `saxpy.cu(3): warning #177-D: variable "a" was declared but never referenced
  \t\tint a = 1; y[0] = 1;
  \t\t    ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

cuda_fp16.h(2): warning #47-D: incompatible redefinition of macro "NAN"
  struct __half;
         ^

saxpy.cu(4): error: identifier "w" is undefined
    /* äöü */ w = 2;
              ^

saxpy.cu(3): error: no instance of function template "f" matches the argument list
            argument types are: (int, int)
  \t\tint a = 1; y[0] = 1;
  \t\t           ^

saxpy.cu(6): error: expression must have class type but it has type "int"
  template <class T> __device__ T f(T a) { return a.x; }
                                                  ^
          detected during instantiation of "T f(T) [with T=int]" at line 3

saxpy.cu(6): note #3322-D: number of parameters does not match the call
own.h(2): error: identifier "b" is undefined

4 errors detected in the compilation of "saxpy.cu".
`;
  assertEquals(read(log), [
    'error saxpy.cu:4:13 identifier "w" is undefined',
    'error saxpy.cu:3:14 no instance of function template "f" matches the argument list ' +
    "argument types are: (int, int)",
    'error saxpy.cu:6:49 expression must have class type but it has type "int"',
    'error own.h:2 identifier "b" is undefined',
    'warning saxpy.cu:3:7 variable "a" was declared but never referenced',
    "note saxpy.cu:6 number of parameters does not match the call",
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
  assertEquals(read(log), ["error saxpy.cu:3 incomplete type is not allowed"]);
});

Deno.test("readNvrtcDiagnostics() names a missing kernel as in the request", () => {
  const line = "  #pragma nv_mangled_name nothere<int>\n                          ^\n\n";
  const log = `__nv_name_map(2): error: identifier "nothere" is undefined\n${line}` +
    "__nv_name_map(2): error: Error in parsing name expression for lowered name lookup. Input " +
    `name expression was: " nothere<int>"\n${line}`;
  const expected = ['error in the expression nothere<int>: identifier "nothere" is undefined'];
  assertEquals(read(log), expected);
  // NVRTC 11 shows no lines.
  assertEquals(read(log.replaceAll(/^ .*\n/gm, "")), expected);
});

Deno.test("readNvrtcDiagnostics() reads messages without a place", () => {
  const shared = "Entry function '_Z1kPi' uses too much shared data (0x13880 bytes, 0xc000 max)";
  const log = `At end of source: error: expected a "}"
nvrtc: error: unrecognized option --foo found
nvrtc: warning: "--std (-std)=c++17" followed by "--std (-std)=c++20"
Command-line error: invalid macro definition: A=2 +
ptxas info    : Function properties for _Z1kPf
ptxas         .     0 bytes stack frame
\0ptxas application ptx input, line 23; error   : Unknown modifier '.bar'
ptxas error   : ${shared}
    0 bytes stack frame, 0 bytes spill stores
ptxas fatal   : Ptx assembly aborted due to errors
ptxas warning : For profile sm_90 adjusting per thread register count
`;
  assertEquals(read(log), [
    'error expected a "}"',
    "error unrecognized option --foo found",
    "error invalid macro definition: A=2 +",
    "error Unknown modifier '.bar'",
    "error Entry function '_Z1kPi' uses too much shared data (80000 bytes, 49152 max)",
    'warning "--std (-std)=c++17" followed by "--std (-std)=c++20"',
    "warning For profile sm_90 adjusting per thread register count",
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

Deno.test("readNvrtcDiagnostics() shows an unclosed bracket where it opens", () => {
  const log = `At end of source: error: expected a "}"
saxpy.cu(2): note #3196-D: to match this "{"
  __global__ void k(int* x) {
                            ^
`;
  assertEquals(read(log), ['error saxpy.cu:2:27 expected a "}" to match this "{"']);
});
