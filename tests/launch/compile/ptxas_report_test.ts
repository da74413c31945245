// The resources of kernels are read out of what ptxas prints, each to its own kernel, in all the forms
// in which it prints them.

import { assertEquals } from "@std/assert";
import { ptxasResources, withoutReports } from "../../../src/launch/compile/ptxas_report.ts";

const LOG = `saxpy.cu(3): warning #177-D: variable "q" was declared but never referenced

ptxas info    : 44 bytes gmem, 16 bytes cmem[3]
ptxas info    : Compiling entry function '_Z4tileIfLi32EEvPT_i' for 'sm_90'
ptxas info    : Function properties for _Z4tileIfLi32EEvPT_i
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 1 barriers, 128 bytes smem
ptxas info    : Compile time = 2.729 ms
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for helper
ptxas         .     48 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for k
ptxas         .     816 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers, 816 bytes cumulative stack size
ptxas info    : Compiling entry function 'old' for 'sm_80'
ptxas info    : Function properties for old
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, 49152 bytes smem, 360 bytes cmem[0]
`;

Deno.test("each kernel has its registers, shared memory and local memory", () => {
  assertEquals(
    ptxasResources(LOG),
    new Map([
      ["_Z4tileIfLi32EEvPT_i", { registers: 14, sharedMemory: 128, localMemory: 0 }],
      ["k", { registers: 40, sharedMemory: 0, localMemory: 816 }],
      ["old", { registers: 8, sharedMemory: 49152, localMemory: 0 }],
    ]),
  );
});

Deno.test("a log without reports, or cut off in one, has no kernels", () => {
  assertEquals(ptxasResources("").size, 0);
  assertEquals(ptxasResources(LOG.slice(0, LOG.indexOf("Used 14"))).size, 0);
});

Deno.test("reports are taken out of a log, warnings stay", () => {
  assertEquals(
    withoutReports(LOG).trim(),
    'saxpy.cu(3): warning #177-D: variable "q" was declared but never referenced',
  );
});
