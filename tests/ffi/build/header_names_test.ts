import { assertEquals } from "@std/assert";
import {
  includedNames,
  isBelow,
  searchedDirectories,
  searchedNames,
} from "../../../src/ffi/build/header_names.ts";

Deno.test("includedNames() finds every name, in whatever condition", () => {
  const text = `#include <a.h>
  #  include "b/c.h" // why
#if 0
#include_next <d.h>
#endif
#if defined(__has_include) && __has_include(<e/e.h>) || __has_include ( "f.h" )
#elif __has_include_next(<g.h>)
#import "h.h"
#include MACRO
const char* text = "#include <none.h>";
`;
  assertEquals(includedNames(text), ["a.h", "b/c.h", "d.h", "h.h", "e/e.h", "f.h", "g.h"]);
  assertEquals(includedNames(""), []);
});

Deno.test("searchedNames() is every way in which directories lead to a file", () => {
  const directories = ["/usr/include/c++/12", "/usr/include", "/usr/bin/../lib/include"];
  assertEquals(searchedNames("/usr/include/c++/12/bits/a.h", directories), [
    "bits/a.h",
    "c++/12/bits/a.h",
  ]);
  assertEquals(searchedNames("/usr/include/x/../b.h", directories), ["b.h"]);
  assertEquals(searchedNames("/usr/bin/../lib/include/c.h", directories), ["c.h"]);
  assertEquals(searchedNames("/usr/includes/d.h", directories), []);
});

Deno.test("isBelow() is of names that stay in the directory", () => {
  assertEquals(["a.h", "a/b.h", "..a/b.h"].map(isBelow), [true, true, true]);
  assertEquals(["/a.h", "../a.h", "a/../../b.h", ".."].map(isBelow), [false, false, false, false]);
});

Deno.test("searchedDirectories() reads what compilers print", () => {
  const log = `ignoring nonexistent directory "/x"
#include "..." search starts here:
 /quoted only
#include <...> search starts here:
 /a/language
 /usr/bin/../include with space
 /System/Library/Frameworks (framework directory)
End of search list.
# 1 "/dev/null"
`;
  assertEquals(searchedDirectories(log), ["/a/language", "/usr/bin/../include with space"]);
  assertEquals(searchedDirectories("g++: error\n"), []);
});
