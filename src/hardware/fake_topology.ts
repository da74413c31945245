/**
 * The grammar of `GRIDSTRIDE_FAKE`, which replaces the hardware of the machine:
 *
 * ```text
 * none
 * ITEM(,ITEM)*         ITEM = [COUNTx]SIZE(GiB|MiB)@CAPABILITY     4x24GiB@8.9,80GiB@9.0
 * BACKEND(,BACKEND)*   BACKEND = cuda | rocm | metal | webgpu
 * ```
 *
 * COUNT and SIZE are decimal integers without leading zeros; the three forms do not mix.
 *
 * @module
 */

import { KNOWN_CAPABILITIES } from "./capability_table.ts";
import { EnvironmentError } from "./environment_error.ts";

/** The variable this grammar is of. */
export const FAKE_VARIABLE = "GRIDSTRIDE_FAKE";

/** A family of GPU programming interfaces that detection looks for. */
export type Backend = "cuda" | "rocm" | "metal" | "webgpu";

/** All backends, in the order reports list them. */
export const BACKENDS: readonly Backend[] = ["cuda", "rocm", "metal", "webgpu"];

/** A device that the host library is to show. */
export interface FakeDevice {
  /** Total memory in bytes. */
  readonly totalMemory: number;
  /** One of the known compute capabilities, such as `"8.9"`. */
  readonly computeCapability: string;
}

/** What `GRIDSTRIDE_FAKE` asks for. */
export type FakeSetting =
  | { readonly kind: "none" }
  | { readonly kind: "topology"; readonly devices: readonly FakeDevice[] }
  | { readonly kind: "backends"; readonly backends: readonly Backend[] };

/** Most devices of a topology. */
export const MAXIMUM_FAKE_DEVICES = 64;

/**
 * Most memory of one fake device in bytes, 1 TiB. The host library reserves that many addresses
 * per device, and 64 such devices still fit the 47 bits of address a process has.
 */
export const MAXIMUM_FAKE_MEMORY: number = 2 ** 40;

/** The device that the fake backend `cuda` adds. */
const BACKEND_DEVICE: FakeDevice = { totalMemory: 16 * 2 ** 30, computeCapability: "8.9" };

const GRAMMAR = "none, or [COUNTx]SIZE(GiB|MiB)@CAPABILITY separated by commas " +
  '(such as "4x24GiB@8.9,80GiB@9.0"), or a list of cuda, rocm, metal, webgpu';

const ITEM = /^(?:([1-9]\d*)x)?([1-9]\d*)(GiB|MiB)@(\d+\.\d+)$/;
const UNITS: Readonly<Record<string, number>> = { GiB: 2 ** 30, MiB: 2 ** 20 };

function isBackend(text: string): text is Backend {
  return (BACKENDS as readonly string[]).includes(text);
}

function refuse(value: string, offence: string): never {
  throw new EnvironmentError(FAKE_VARIABLE, value, GRAMMAR, offence);
}

function parseItem(value: string, item: string): FakeDevice[] {
  const quoted = JSON.stringify(item);
  if (item === "none" || isBackend(item)) refuse(value, `${quoted} does not mix with devices`);
  const match = ITEM.exec(item);
  if (match === null) refuse(value, `${quoted} is no device`);
  const count = Number(match[1] ?? "1");
  if (count > MAXIMUM_FAKE_DEVICES) {
    refuse(value, `COUNT must be in 1..${MAXIMUM_FAKE_DEVICES} in ${quoted}`);
  }
  const totalMemory = Number(match[2]) * UNITS[match[3]!]!;
  if (totalMemory > MAXIMUM_FAKE_MEMORY) refuse(value, `SIZE must be at most 1024GiB in ${quoted}`);
  const computeCapability = match[4]!;
  if (!KNOWN_CAPABILITIES.includes(computeCapability)) {
    refuse(value, `CAPABILITY must be one of ${KNOWN_CAPABILITIES.join(", ")} in ${quoted}`);
  }
  return Array.from({ length: count }, () => ({ totalMemory, computeCapability }));
}

function parseTopology(value: string, items: readonly string[]): FakeSetting {
  const devices = items.flatMap((item) => parseItem(value, item));
  if (devices.length > MAXIMUM_FAKE_DEVICES) {
    refuse(value, `it has ${devices.length} devices, more than ${MAXIMUM_FAKE_DEVICES}`);
  }
  return { kind: "topology", devices };
}

function parseBackends(value: string, items: readonly string[]): FakeSetting {
  const backends: Backend[] = [];
  for (const item of items) {
    if (!isBackend(item)) refuse(value, `${JSON.stringify(item)} is no backend`);
    if (backends.includes(item)) refuse(value, `${JSON.stringify(item)} comes twice`);
    backends.push(item);
  }
  return { kind: "backends", backends };
}

/**
 * Reads a value of `GRIDSTRIDE_FAKE`.
 *
 * @param value The variable's value, such as `"4x24GiB@8.9"`.
 * @throws {EnvironmentError} If it does not follow the grammar; the empty string does not.
 */
export function parseFakeSetting(value: string): FakeSetting {
  if (value === "") refuse(value, "it is empty");
  if (value === "none") return { kind: "none" };
  const items = value.split(",");
  return isBackend(items[0]!) ? parseBackends(value, items) : parseTopology(value, items);
}

/**
 * The devices that a setting shows: those of a topology; for fake backends one device of 16 GiB
 * and capability 8.9 if `cuda` is among them.
 */
export function fakeDevices(setting: FakeSetting): readonly FakeDevice[] {
  switch (setting.kind) {
    case "none":
      return [];
    case "topology":
      return setting.devices;
    case "backends":
      return setting.backends.includes("cuda") ? [BACKEND_DEVICE] : [];
  }
}
