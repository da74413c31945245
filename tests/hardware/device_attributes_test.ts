// Every attribute id is that of the constant it is named for in the toolkit's driver_types.h.

import { assert, assertEquals } from "@std/assert";
import {
  DEVICE_ATTRIBUTES,
  VIRTUAL_MEMORY_MANAGEMENT,
} from "../../src/hardware/device_information.ts";
import { TOPOLOGY_RECORD_SLOTS } from "../../src/hardware/fake_topology.ts";
import { toolkitHeader } from "../support/cuda_toolkit.ts";

const driverTypes = toolkitHeader("driver_types.h");
const driver = toolkitHeader("cuda.h");

Deno.test({
  name: `DEVICE_ATTRIBUTES are those of driver_types.h${
    driverTypes === undefined ? " (skipped: no CUDA toolkit)" : ""
  }`,
  ignore: driverTypes === undefined,
  fn() {
    const values = new Map(
      [...driverTypes!.matchAll(/\bcudaDevAttr(\w+)\s*=\s*(\d+)/g)]
        .map(([, name, value]) => [name!, Number(value)]),
    );
    for (const [name, id] of Object.entries(DEVICE_ATTRIBUTES)) {
      assertEquals(values.get(name[0]!.toUpperCase() + name.slice(1)), id, name);
    }
  },
});

Deno.test({
  name: `VIRTUAL_MEMORY_MANAGEMENT is that of cuda.h${
    driver === undefined ? " (skipped: no CUDA toolkit)" : ""
  }`,
  ignore: driver === undefined,
  fn() {
    const value = /CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = (\d+)/.exec(driver!);
    assertEquals(Number(value![1]), VIRTUAL_MEMORY_MANAGEMENT);
  },
});

Deno.test("`DEVICE_ATTRIBUTES` are distinct and fit a topology record", () => {
  const ids = [...Object.values(DEVICE_ATTRIBUTES), VIRTUAL_MEMORY_MANAGEMENT];
  assertEquals(new Set<number>(ids).size, ids.length);
  for (const id of ids) assert(id >= 1 && 1 + id < TOPOLOGY_RECORD_SLOTS);
});
