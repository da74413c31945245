/**
 * What the native library can say of the NVIDIA driver, and what that means.
 *
 * @module
 */

import { cudaVersionText } from "./device_information.ts";
import { cudaErrorCode } from "../ffi/cuda_error_codes.ts";

/** What trying to open the CUDA library and asking it for devices came to. */
export type NativeCudaState =
  /** The library file is nowhere, or cannot be opened. */
  | { readonly kind: "no-library"; readonly detail: string }
  /** The process may not open it. */
  | { readonly kind: "permission"; readonly detail: string }
  /** It was opened and asked. */
  | {
    readonly kind: "asked";
    /** The status of counting devices: 0 or a CUDA error code. */
    readonly status: number;
    /** The number of devices; 0 unless the status is 0. */
    readonly deviceCount: number;
    /** Newest CUDA version the driver supports, as CUDA encodes it; 0 without a driver. */
    readonly driverVersion: number;
    /** Version of the CUDA runtime in the library, as CUDA encodes it. */
    readonly runtimeVersion: number;
  };

/** Asks the native library; the FFI layer implements it. Must neither throw nor prompt. */
export interface NativeCudaProbe {
  /** Opens the library if that has not happened yet and asks it. */
  state(): NativeCudaState;
}

/** Why CUDA cannot be used. */
export type CudaObstacleCode =
  | "no-library"
  | "permission"
  | "no-driver"
  | "driver-too-old"
  | "no-device"
  | "driver-error";

/** What stands in the way of CUDA, and what to do. */
export interface CudaObstacle {
  /** The cause, for programs. */
  readonly code: CudaObstacleCode;
  /** The cause in one sentence. */
  readonly reason: string;
  /** What to do, in one or two sentences. */
  readonly fix: string;
}

const STUB_LIBRARY = 34;
const INSUFFICIENT_DRIVER = 35;
const NO_DEVICE = 100;

const INSTALL_DRIVER = "Install the NVIDIA driver (on WSL2: on Windows, not inside Linux); in a " +
  "container, start it with the NVIDIA container toolkit and --gpus all.";

type AskedState = Extract<NativeCudaState, { kind: "asked" }>;

function noDevice(): CudaObstacle {
  return {
    code: "no-device",
    reason: "The NVIDIA driver works but shows no device",
    fix: "See whether CUDA_VISIBLE_DEVICES hides the devices and whether nvidia-smi lists them.",
  };
}

/** CUDA answers "insufficient driver" both for an old driver and for none. */
function insufficientDriver(state: AskedState): CudaObstacle {
  if (state.driverVersion === 0) {
    return { code: "no-driver", reason: "There is no NVIDIA driver", fix: INSTALL_DRIVER };
  }
  const driver = cudaVersionText(state.driverVersion);
  const runtime = cudaVersionText(state.runtimeVersion);
  return {
    code: "driver-too-old",
    reason: `The NVIDIA driver supports CUDA ${driver}, the library was built with CUDA ${runtime}`,
    fix: `Update the NVIDIA driver to one for CUDA ${runtime} or newer, or build the library ` +
      `with a CUDA ${driver} toolkit.`,
  };
}

function driverError(status: number): CudaObstacle {
  const { name, meaning, advice } = cudaErrorCode(status);
  return {
    code: "driver-error",
    reason: `The NVIDIA driver failed with ${name} (${status}): ${meaning}`,
    fix: advice,
  };
}

function askedObstacle(state: AskedState): CudaObstacle | undefined {
  switch (state.status) {
    case 0:
      return state.deviceCount > 0 ? undefined : noDevice();
    case NO_DEVICE:
      return noDevice();
    case INSUFFICIENT_DRIVER:
      return insufficientDriver(state);
    case STUB_LIBRARY:
      return {
        code: "no-driver",
        reason: "The libcuda that was found is the toolkit's stub, not a driver",
        fix: `Take the toolkit's lib64/stubs out of LD_LIBRARY_PATH. ${INSTALL_DRIVER}`,
      };
    default:
      return driverError(state.status);
  }
}

/** What stands in the way of CUDA; undefined if nothing does. */
export function cudaObstacle(state: NativeCudaState): CudaObstacle | undefined {
  switch (state.kind) {
    case "no-library":
      return {
        code: "no-library",
        reason: `The native CUDA library cannot be opened: ${state.detail}`,
        fix: "Build it: deno run -A jsr:@gridstride/cuda/build (nvcc and a C++17 compiler are " +
          "needed), or name it in GRIDSTRIDE_LIBRARY.",
      };
    case "permission":
      return {
        code: "permission",
        reason: `The process may not open the native CUDA library: ${state.detail}`,
        fix: "Run Deno with --allow-ffi, or --allow-ffi=<path of the library>.",
      };
    case "asked":
      return askedObstacle(state);
  }
}
