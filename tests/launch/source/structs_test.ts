// Structs are laid out as by the compiler, or refused with the reason.

import "../../support/cache_directory.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { readStructs } from "../../../mod.ts";
import { findProgram, runProgram } from "../../../src/ffi/build/programs.ts";
import { repositoryPath } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const SOURCE = `
  #define N 2
  constexpr int M = N + 1;
  const unsigned int K{M * 4};
  using real = double;
  typedef unsigned int word;
  struct Forward;
  struct Empty {};
  struct Plain { float x = 0, y[4] {}; unsigned long long id; float3 p; bool b; word w[N][M]; };
  struct alignas(16) Aligned { int a; };
  struct __attribute__((aligned(16))) AlignedToo { int a; };
  struct __align__(4 * N) Member {
    float a;
    __host__ __device__ Member(float x) : a(x) {}
    Member() = default;
    ~Member() = default;
    float operator()(int i) const { return a < i ? a : i; }
    static const int k = 3;
    friend bool operator==(Member, Member);
  };
  namespace n {
  struct In { int v[M][N]; char c; };
  class Out {
   public:
    In in, more[3];
    const volatile real r;
   private:
    short s[K];
  };
  namespace deep { struct In { double d; }; struct User { In in; n::In other; ::n::Out out; }; }
  }
  typedef struct { float a; char tail; } Old;
  typedef struct Tag { Old o; struct Forward2; n::Out out; double2 v; } Tagged;
  struct Outer { struct Inner { char d[3]; }; enum Kind { A, B }; using T = int; Inner inner[2]; half h; };
  struct Derived : Plain { int z; };
  struct Pointer { float* p; };
  struct Reference { float& r; };
  struct Function { void (*call)(int); };
  struct ArrayPointer { int (*rows)[3]; };
  struct Double { int a; float a; };
  struct Bits { int a : 3; };
  struct Virtual { virtual void f(); int a; };
  struct Templated { Pair<int, 2> p; };
  template <class T> struct Parameter { T t; };
  struct Union { union { int a; float b; }; };
  struct Self { Self s; };
  struct Unknown { Nothing n; };
  struct Square { Old grid[2][2]; };
  struct Late { int x[UNKNOWN]; };
  struct Packed { char c; int i; } __attribute__((packed));
  struct __attribute__((packed)) PackedFirst { char c; int i; };
  struct OverAligned { alignas(16) int i; };
  struct Attributed { int i __attribute__((aligned(16))); };
  struct Again { int a; };
  struct Again { int b; };
  #ifdef __UNSEEN__
  struct Doubtful { int a; };
  struct Partly {
  #endif
  #ifndef __UNSEEN__
  struct Partly { int a;
  #endif
  };
  void f() { struct Local { int a; }; }
`;

const { structs, refused } = readStructs(SOURCE);

Deno.test("readStructs() describes structs of scalars, vectors, arrays and such structs", () => {
  assertEquals(Object.keys(structs).sort(), [
    ...["Aligned", "AlignedToo", "Empty", "Inner", "Member", "Old", "Out", "Outer", "Outer::Inner"],
    ...["Plain", "Tagged", "User", "deep::In", "deep::User"],
    ...["n::In", "n::Out", "n::deep::In", "n::deep::User"],
  ]);
  assertEquals(structs["Out"], structs["n::Out"]);
});

Deno.test("readStructs() gives the reason why it cannot describe a struct", () => {
  const others = "Reference Function ArrayPointer Bits Templated Union OverAligned Attributed";
  for (const name of others.split(" ")) assertStringIncludes(refused[name]!, "is not declared by");
  for (
    const [name, reason] of Object.entries({
      Derived: "it is derived from another",
      Pointer: "its member float * p is not declared by a type and a name alone",
      Double: "two of its members are called a",
      Again: "it is declared more than once",
      Virtual: "it has virtual functions",
      Self: "its member s is of type Self",
      Unknown: "its member n is of type Nothing",
      Square: "is an array of arrays of structs",
      Late: "has an extent that is unknown",
      Packed: "something follows its body",
      PackedFirst: "the value of its __attribute__ is unknown",
      Doubtful: "a condition that only the compiler can decide",
    })
  ) {
    assertStringIncludes(refused[name] ?? `${name} is not refused`, reason);
  }
});

const compiler = findProgram("g++", (name) => Deno.env.get(name));

Deno.test({
  name: `readStructs() lays structs out as g++ does${compiler ? "" : " (skipped: no g++)"}`,
  ignore: compiler === undefined,
}, async () => {
  using folder = new TemporaryDirectory();
  const described = Object.entries(structs).filter(([name, struct]) => name === struct.name);
  const source = SOURCE.slice(0, SOURCE.indexOf("struct Derived"));
  const checks = described.flatMap(([name, { bytes, alignment, fields }]) => [
    `static_assert(sizeof(${name}) == ${bytes} && alignof(${name}) == ${alignment}, "${name}");`,
    ...fields.map((field) =>
      `static_assert(offsetof(${name}, ${field.name}) == ${field.offset}, "${name}::${field.name}");`
    ),
  ]);
  const text = `#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cstddef>\n` +
    `#define private public\n${source}\n${checks.join("\n")}`;
  const file = folder.file(new TextEncoder().encode(text), "structs.cpp");
  const include = `-I${repositoryPath("csrc/host/include")}`;
  const { success, stderr } = await runProgram(
    [compiler!],
    ["-std=c++17", "-fsyntax-only", "-w", include, file],
  );
  assertEquals([success, stderr], [true, ""]);
});

Deno.test("readStructs() reads headers, with the macros of the caller", () => {
  const headers = { "box.h": "#if WIDE\nstruct Box { double a[WIDE]; };\n#endif" };
  const source = '#include "box.h"\nstruct Two { Box a, b; };';
  const wide = readStructs(source, { headers, defines: { WIDE: 3 } });
  assertEquals(wide.structs["Two"]!.bytes, 48);
  assertEquals(Object.keys(readStructs(source, { headers }).structs), []);
  const packed = readStructs("#pragma pack(1)\nstruct S { char c; int i; };");
  assertStringIncludes(packed.refused["S"]!, "#pragma pack");
  const twice = readStructs("struct S { int a; };\nnamespace n { struct S { int a; }; }");
  assertEquals(Object.keys(twice.structs), ["S", "n::S"]);
  assertThrows(() => readStructs(4 as never), TypeError, "must be a text");
  assertThrows(() => readStructs("", 4 as never), TypeError, "options");
});
