// The standard headers of the native sources. Each release of libstdc++ includes fewer headers from
// its own: what one version of g++ brings along, the next one lacks.

import { assertEquals } from "@std/assert";
import { dirname, join } from "node:path";
import { filesBelow, textOf } from "./repository.ts";

/** Names of namespace `std` by the header that declares them. */
const NAMES: Readonly<Record<string, string>> = {
  algorithm: "adjacent_find all_of any_of clamp copy copy_n equal fill fill_n find find_if " +
    "find_if_not for_each is_sorted lower_bound max_element none_of remove_if replace reverse " +
    "rotate search sort stable_sort transform unique upper_bound",
  array: "array",
  atomic: "atomic atomic_ref memory_order_acq_rel memory_order_acquire memory_order_relaxed " +
    "memory_order_release memory_order_seq_cst",
  cctype: "isalnum isalpha isdigit isprint isspace tolower toupper",
  chrono: "chrono milli",
  cmath: "ceil exp fabs floor fma isinf isnan ldexp log2 nearbyint pow sqrt trunc",
  condition_variable: "condition_variable condition_variable_any",
  cstdint: "int16_t int32_t int64_t int8_t intptr_t uint16_t uint32_t uint64_t uint8_t uintptr_t",
  cstdio: "fclose fflush fgets fopen fprintf fputs fread fwrite printf puts snprintf sscanf " +
    "vfprintf vsnprintf",
  cstdlib: "_Exit abort atexit calloc exit free getenv malloc quick_exit realloc strtod strtol " +
    "strtoul strtoull",
  cstring: "memchr memcmp memcpy memmove memset strchr strcmp strcpy strerror strlen strncmp " +
    "strncpy strrchr strspn strstr",
  ctime: "clock time",
  deque: "deque",
  exception: "current_exception exception_ptr rethrow_exception terminate",
  fstream: "ifstream ofstream",
  functional: "function hash invoke reference_wrapper",
  limits: "numeric_limits",
  map: "map multimap",
  memory: "enable_shared_from_this make_shared make_unique shared_ptr unique_ptr weak_ptr",
  mutex: "call_once lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock",
  new: "bad_alloc launder nothrow",
  numeric: "accumulate gcd iota lcm",
  optional: "nullopt optional",
  set: "multiset set",
  shared_mutex: "shared_lock shared_mutex",
  sstream: "istringstream ostringstream stringstream",
  stdexcept: "invalid_argument logic_error out_of_range runtime_error",
  string: "getline stoi stoul stoull to_string",
  string_view: "string_view",
  system_error: "errc error_code generic_category system_error",
  thread: "this_thread thread",
  tuple: "tie tuple",
  unordered_map: "unordered_map",
  unordered_set: "unordered_set",
  variant: "variant visit",
  vector: "vector",
};

const HEADER_OF = new Map(
  Object.entries(NAMES).flatMap(([header, names]) =>
    names.split(" ").map((name) => [name, header] as const)
  ),
);

const FILES = new Set(
  ["csrc/", "tests/native/"].flatMap((folder) => filesBelow(folder))
    .filter((file) => /\.(?:cu|cpp|cuh|h)$/.test(file) || !file.includes(".")),
);

/** The folders that compilers search for the files of the repository. */
const FOLDERS = ["csrc", "csrc/host/include", "tests/native"];

/** The standard headers that a file includes, by itself or through files of the repository. */
function standardHeaders(file: string, seen = new Set<string>()): Set<string> {
  const headers = new Set<string>();
  if (seen.has(file)) return headers;
  seen.add(file);
  for (const [, name] of textOf(file).matchAll(/^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]/gm)) {
    const places = [dirname(file), ...FOLDERS].map((folder) => join(folder, name!));
    const own = places.find((place) => FILES.has(place));
    // csrc/host/include has standard headers of its own, which include the system's.
    headers.add(name!);
    if (own === undefined) continue;
    for (const header of standardHeaders(own, seen)) headers.add(header);
  }
  return headers;
}

function missingHeaders(file: string): string[] {
  const text = textOf(file).replaceAll(/\/\/.*|"(?:[^"\\\n]|\\.)*"|\/\*[^]*?\*\//g, " ");
  const used = new Set([...text.matchAll(/\bstd::(\w+)/g)].map(([, name]) => name!));
  const included = standardHeaders(file);
  return [...used].flatMap((name) => {
    const header = HEADER_OF.get(name);
    if (header === undefined || included.has(header)) return [];
    return [`${file}: std::${name} needs <${header}>`];
  });
}

Deno.test("native sources include the standard header of each name of std that they use", () => {
  assertEquals([...FILES].flatMap(missingHeaders), []);
});
