import { assertEquals, assertThrows } from "@std/assert";
import {
  DESCRIBE_GPU,
  readGpuDescription,
  readLoadSamples,
} from "../../bench/report/nvidia_smi.ts";

Deno.test("readGpuDescription() reads each property of the first GPU", () => {
  const line = "NVIDIA H200, 9.0, 580.159.04, 143771 MiB, 700.00 W, 345 MHz, 3201 MHz, 1980 MHz";
  assertEquals(readGpuDescription(`${line}\n${line.replace("H200", "L4")}\n`), {
    name: "NVIDIA H200",
    computeCapability: "9.0",
    driver: "580.159.04",
    memory: "143771 MiB",
    powerLimit: "700.00 W",
    clocks: { sm: "345 MHz", memory: "3201 MHz", smMaximum: "1980 MHz" },
  });
  const asked = DESCRIBE_GPU.find((argument) => argument.startsWith("--query-gpu="))!;
  assertEquals(asked.split(",").length, line.split(",").length);
});

Deno.test("readGpuDescription() refuses anything else", () => {
  for (const text of ["", "No devices were found", "a, b, c, d, e, f, g", "a,,c,d,e,f,g,h"]) {
    assertThrows(() => readGpuDescription(text), Error, "nvidia-smi");
  }
});

Deno.test("readLoadSamples() skips truncated and malformed lines", () => {
  const text = "345, 3201, 76.51\n1980, 3201, 612.07\n[N/A], 3201, 1\n1980, 32";
  assertEquals(readLoadSamples(text), {
    sm: [345, 1980],
    memory: [3201, 3201],
    power: [76.51, 612.07],
  });
  assertEquals(readLoadSamples(""), { sm: [], memory: [], power: [] });
});
