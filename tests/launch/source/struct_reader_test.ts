// Structs are read as the compiler lays them out, or are refused with the reason.

import "../../support/cache_directory.ts";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { readStructs } from "../../../mod.ts";
import { findProgram, runProgram } from "../../../src/ffi/build/programs.ts";
import { repositoryPath } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const SOURCE = `
  #define N 2
  #define FIELDS(T, name) T name; T name##s[N];
  constexpr int M = N + 1;
  const unsigned int K{M * 4};
  using real = double;
  typedef unsigned int word;
  struct Forward;
  struct Empty {};
  struct Plain { float x = 0, y[4] {}; unsigned long long id; float3 p; bool b; word w[N][M]; };
  struct alignas(16) Aligned { int a; };
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
  struct Made { FIELDS(short, a) FIELDS(double, b) };
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

Deno.test("structs of scalars, vectors, arrays and such structs are described", () => {
  assertEquals(Object.keys(structs).sort(), [
    ...["Aligned", "Empty", "Inner", "Made", "Member", "Old", "Out", "Outer", "Outer::Inner"],
    ...["Plain", "Tagged", "User", "deep::In", "deep::User"],
    ...["n::In", "n::Out", "n::deep::In", "n::deep::User"],
  ]);
  assertEquals(structs["Out"], structs["n::Out"]);
  assertEquals(structs["Made"]!.fields.map(({ name }) => name), ["a", "as", "b", "bs"]);
});

Deno.test("others are refused with the reason", () => {
  for (
    const [name, reason] of Object.entries({
      Derived: "it is derived from another",
      Pointer: "its member float * p is no value",
      Reference: "is no value",
      Function: "its member void ( * call ) ( int ) is not declared by a type",
      ArrayPointer: "is not declared by a type",
      Double: "two of its members are called a",
      Again: "it is declared more than once",
      Bits: "is a bit-field",
      Virtual: "it has virtual functions",
      Templated: "is of a template",
      Union: "a union without a name",
      Self: "its member s is of type Self",
      Unknown: "its member n is of type Nothing",
      Square: "is an array of arrays of structs",
      Late: "has an extent that cannot be told",
      Packed: "something follows its body",
      PackedFirst: "its __attribute__ cannot be told",
      OverAligned: "is not declared by a type and a name alone",
      Doubtful: "a condition that only the compiler can decide",
    })
  ) {
    assertStringIncludes(refused[name] ?? `${name} is not refused`, reason);
  }
});

const compiler = findProgram("g++", (name) => Deno.env.get(name));

Deno.test({
  name: `they are laid out as g++ does${compiler ? "" : " (skipped: no g++)"}`,
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

Deno.test("structs of headers are those of the source; macros of the caller decide", () => {
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

Deno.test("structs in each other are described as deep as their values can be written", () => {
  const source = Array.from(
    { length: 5000 },
    (_, i) => `struct S${i} { ${i === 0 ? "int x;" : `S${i - 1} inner;`} };\n`,
  ).join("");
  const { structs, refused } = readStructs(source);
  assertEquals(Object.keys(structs).length, 64);
  assertEquals(refused["S64"], "too many structs are in each other");
  assertStringIncludes(refused["S65"]!, "its member inner is of type S64");
});
