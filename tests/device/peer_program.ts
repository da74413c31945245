/**
 * Kernels and copies between peers, and between devices that are none. `several_devices_test.ts`
 * starts it with the fakes of `GRIDSTRIDE_FAKE=2x64MiB@8.9;64MiB@8.9`.
 *
 * @module
 */

import { assertEquals, assertThrows } from "@std/assert";
import { CudaError, type Device, MultiDeviceMemory, openDevice, type Stream } from "../../mod.ts";

using first = openDevice("host:0");
using peer = openDevice("host:1");
using stranger = openDevice("host:2");
const AXPY = "axpy_float32(float a, const float* x, float* y, unsigned long long n)";
const ONE = { grid: 1, block: 1 };
const kernelsOf = (device: Device) => device.kernels.load(AXPY);
const filled = async (device: Device, fill: number) => {
  const buffer = device.allocate("float32", 4, { fill });
  await device.done();
  return buffer;
};

using x = await filled(peer, 3);
using y = await filled(first, 10);
using far = await filled(stranger, 7);
const launch = () => kernelsOf(first).launch(ONE, 2, x, y, 4);

// Access is enabled for one direction.
assertEquals(first.canAccessPeer(peer), true);
const refused = "of a device to which enablePeerAccess() gave it access: it is memory of host:";
assertThrows(launch, TypeError, `${refused}1`);
first.enablePeerAccess(peer);
launch();
assertEquals([...await y.toArray()], [16, 16, 16, 16]);
using later = await filled(peer, 1);
kernelsOf(first).launch(ONE, 2, later, y, 4);
assertEquals([...await y.toArray()], [18, 18, 18, 18]);
assertThrows(() => kernelsOf(peer).launch(ONE, 2, y, x, 4), TypeError, `${refused}0`);
assertThrows(() => first.kernels.add(y, x, y), TypeError, "y must be on host:0: it is on host:1");

// The peer's pool waits for the stream that uses its memory.
const users: Stream[] = [];
const { context, dtype, address, length, stream, disposed } = x;
const recordStream = (user: Stream) => void users.push(user);
const memory = { context, dtype, address, length, stream, disposed, recordStream };
kernelsOf(first).launch(ONE, 0, memory, y, 4);
assertEquals(users, [first.stream]);

// Devices that are no peers copy through the host.
for (const [one, other] of [[first, stranger], [stranger, peer]] as const) {
  assertEquals(one.canAccessPeer(other), false);
  const error = assertThrows(() => one.enablePeerAccess(other), CudaError);
  assertEquals(error.codeName, "cudaErrorPeerAccessUnsupported");
}
assertThrows(() => kernelsOf(first).launch(ONE, 2, far, y, 4), TypeError, `${refused}2`);
const manager = new MultiDeviceMemory([first.memory, peer.memory, stranger.memory]);
assertEquals(manager.copy(far, y), "staged");
assertEquals([...await y.toArray()], [7, 7, 7, 7]);
far.copyFrom(x);
assertEquals([...await far.toArray()], [3, 3, 3, 3]);
assertEquals(manager.copy(x, y), "peer");
