/**
 * The device that tests run on: that of `GRIDSTRIDE_DEVICE`, else the host device.
 *
 * It and both libraries are opened when this module is loaded, because the resource sanitizer takes a
 * library that is opened inside a test for a leak.
 *
 * @module
 */

import "./cache_directory.ts";
import { type Device, listDevices, openDevice } from "../../mod.ts";

/** The device under test. */
export const device: Device = openDevice(Deno.env.get("GRIDSTRIDE_DEVICE") ?? "host");

listDevices();

/** Options of a test of what only the host device has or lacks: it does not hold for a GPU. */
export const onHostDevice: { readonly ignore: boolean } = { ignore: device.info.kind !== "host" };

/** More elements than a launch has threads. */
const LARGE = device.info.kind === "cuda" ? 1_000_003 : 250_007;

/** Element counts that break things: none, one, warp and block boundaries, primes, many blocks. */
export const BREAKING_SIZES: readonly number[] = [
  0,
  1,
  2,
  31,
  32,
  33,
  255,
  256,
  257,
  1021,
  4096,
  65537,
  LARGE,
];
