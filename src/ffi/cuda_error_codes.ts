/**
 * The error codes of the CUDA runtime as of CUDA 13.0, with meaning and advice.
 *
 * @module
 */

/**
 * Records of a number and a name, a line with the meaning, and lines with the advice. Codes without
 * advice are retired. `error_codes.ts` adds to the advice of a sticky error and of a kernel's fault.
 *
 * A sticky error leaves the context unusable. The CUDA documentation states this for all but two:
 * an uncorrectable memory error (214) and an NVLink error (220) have the same effect.
 */
export const CUDA_RECORDS = `
0 cudaSuccess
  The call succeeded.
  No action is necessary.
1 cudaErrorInvalidValue
  An argument of the call is outside what CUDA allows.
  Check sizes, addresses and offsets; an address may belong to freed memory.
2 cudaErrorMemoryAllocation
  The device has no room for the requested memory or resource.
  Free buffers, use smaller batches, or choose a device with more free memory.
3 cudaErrorInitializationError
  The CUDA driver and runtime could not be started.
  Run nvidia-smi; if it fails too, reload the driver (nvidia-uvm included) or restart.
4 cudaErrorCudartUnloading
  The process is ending and the driver is gone already.
  Dispose devices and buffers before the program ends, for example with using.
5 cudaErrorProfilerDisabled
  The profiler interface is off because another profiler runs the program.
  Start and stop profiling from that profiler, or run the program without it.
6 cudaErrorProfilerNotInitialized
  The profiler was stopped before it was set up.
7 cudaErrorProfilerAlreadyStarted
  The profiler was started twice.
8 cudaErrorProfilerAlreadyStopped
  The profiler was stopped twice.
9 cudaErrorInvalidConfiguration
  The grid, block or shared memory of the launch exceeds the limits of the device.
  Compare grid, block and shared memory with the limits in the device's information.
12 cudaErrorInvalidPitchValue
  A pitch is smaller than the row it holds or larger than the device allows.
  Use a pitch of at least the row's width and at most maxPitch.
13 cudaErrorInvalidSymbol
  No device variable has this name.
  Check the spelling; in C++ the variable needs extern "C" or its mangled name.
16 cudaErrorInvalidHostPointer
  A host address is not valid.
17 cudaErrorInvalidDevicePointer
  A device address is not valid.
18 cudaErrorInvalidTexture
  A texture is not valid.
  Gridstride does not make this call: report it with the program that caused it.
19 cudaErrorInvalidTextureBinding
  A texture is used without being bound.
  Gridstride does not make this call: report it with the program that caused it.
20 cudaErrorInvalidChannelDescriptor
  A texture's channel format or one of its dimensions is not valid.
  Gridstride does not make this call: report it with the program that caused it.
21 cudaErrorInvalidMemcpyDirection
  A copy names a direction that does not exist.
  Gridstride does not make this call: report it with the program that caused it.
22 cudaErrorAddressOfConstant
  The address of a constant variable was taken.
23 cudaErrorTextureFetchFailed
  A texture fetch failed in device emulation.
24 cudaErrorTextureNotBound
  A texture was not bound in device emulation.
25 cudaErrorSynchronizationError
  Synchronising failed in device emulation.
26 cudaErrorInvalidFilterSetting
  A texture of integers was read with linear filtering.
  Read it with point filtering, or store floats in it.
27 cudaErrorInvalidNormSetting
  A texture's type cannot be read as a normalised float.
  Read it as its own type, or store 8- or 16-bit integers in it.
28 cudaErrorMixedDeviceExecution
  Device and emulated code were mixed.
31 cudaErrorNotYetImplemented
  The call does not exist yet.
32 cudaErrorMemoryValueTooLarge
  An emulated address exceeds 32 bits.
34 cudaErrorStubLibrary
  The libcuda that was loaded is the toolkit's stub for linking, not a driver.
  Take the toolkit's lib64/stubs out of LD_LIBRARY_PATH and install the NVIDIA driver.
35 cudaErrorInsufficientDriver
  There is no NVIDIA driver, or it is older than the CUDA runtime of the library.
  Install or update the NVIDIA driver; doctor shows which versions are there.
36 cudaErrorCallRequiresNewerDriver
  The installed driver is too old for this call.
  Update the NVIDIA driver, or build the library with an older toolkit; doctor shows both.
37 cudaErrorInvalidSurface
  A surface is not valid.
  Gridstride does not make this call: report it with the program that caused it.
43 cudaErrorDuplicateVariableName
  Two device variables of the program have the same name.
  Rename one of them, or make both static.
44 cudaErrorDuplicateTextureName
  Two textures of the program have the same name.
  Rename one of them, or make both static.
45 cudaErrorDuplicateSurfaceName
  Two surfaces of the program have the same name.
  Rename one of them, or make both static.
46 cudaErrorDevicesUnavailable
  All devices are busy, or their compute mode keeps this process out.
  Find the processes that use them with nvidia-smi; set the compute mode to Default, or wait.
49 cudaErrorIncompatibleDriverContext
  Another library has made a driver context that the runtime cannot use.
  Let that library use the device's primary context, or open the device here first.
52 cudaErrorMissingConfiguration
  A kernel was launched without a launch configuration.
  Gridstride does not make this call: report it with the program that caused it.
53 cudaErrorPriorLaunchFailure
  An earlier launch failed in device emulation.
65 cudaErrorLaunchMaxDepthExceeded
  Kernels that launch kernels are nested too deeply.
  Launch the inner kernel from the host, or nest fewer launches inside kernels.
66 cudaErrorLaunchFileScopedTex
  A kernel launched by a kernel uses a file-scope texture.
  Pass a texture object to it instead.
67 cudaErrorLaunchFileScopedSurf
  A kernel launched by a kernel uses a file-scope surface.
  Pass a surface object to it instead.
68 cudaErrorSyncDepthExceeded
  A kernel synchronised at a deeper nesting than the device has reserved memory for.
  Launch the inner kernel from the host, or nest fewer launches inside kernels.
69 cudaErrorLaunchPendingCountExceeded
  More launches from inside kernels are pending than the device keeps track of.
  Launch the inner kernel from the host, or nest fewer launches inside kernels.
98 cudaErrorInvalidDeviceFunction
  The kernel does not exist, or was not compiled for this architecture.
  Build the library for this GPU: set CUDA_ARCH to its architecture or to native.
100 cudaErrorNoDevice
  The driver works but shows no CUDA device.
  See whether CUDA_VISIBLE_DEVICES hides them, and whether nvidia-smi lists any.
101 cudaErrorInvalidDevice
  No device has this ordinal, or it does not support the operation.
  List the devices and use one of their ordinals.
102 cudaErrorDeviceNotLicensed
  The virtual GPU has no valid license.
  Have the NVIDIA vGPU license client of this machine renew it.
103 cudaErrorSoftwareValidityNotEstablished
  A self-test of the CUDA runtime or driver failed.
  Reinstall the NVIDIA driver; if that does not help, the files on disk are damaged.
127 cudaErrorStartupFailure
  The CUDA runtime failed inside while starting.
  Start the program again; if it persists, reinstall the NVIDIA driver.
200 cudaErrorInvalidKernelImage
  The compiled kernel code is damaged or of a format the driver does not know.
  Pass the complete machine code of a module, or rebuild the library.
201 cudaErrorDeviceUninitialized
  The thread has no context, or the context was destroyed.
  Open the device again; another library may have reset it.
205 cudaErrorMapBufferObjectFailed
  A graphics buffer could not be mapped.
  Check the order of mapping and unmapping where memory is shared with graphics.
206 cudaErrorUnmapBufferObjectFailed
  A graphics buffer could not be unmapped.
  Check the order of mapping and unmapping where memory is shared with graphics.
207 cudaErrorArrayIsMapped
  An array that is still mapped cannot be destroyed.
  Check the order of mapping and unmapping where memory is shared with graphics.
208 cudaErrorAlreadyMapped
  The resource is mapped already.
  Check the order of mapping and unmapping where memory is shared with graphics.
209 cudaErrorNoKernelImageForDevice
  There is no kernel code that this device can run.
  Compile it for this device, if it is a module's. Else: Build the library for this GPU: set
  CUDA_ARCH to its architecture or to native.
210 cudaErrorAlreadyAcquired
  The resource has been acquired already.
  Check the order of mapping and unmapping where memory is shared with graphics.
211 cudaErrorNotMapped
  The resource is not mapped.
  Check the order of mapping and unmapping where memory is shared with graphics.
212 cudaErrorNotMappedAsArray
  The resource is not mapped as an array.
  Check the order of mapping and unmapping where memory is shared with graphics.
213 cudaErrorNotMappedAsPointer
  The resource is not mapped as an address.
  Check the order of mapping and unmapping where memory is shared with graphics.
214 cudaErrorECCUncorrectable (sticky)
  The device's memory had an error that its error correction could not repair.
  If nvidia-smi -q -d ECC counts more of them, have the GPU checked.
215 cudaErrorUnsupportedLimit
  This device does not have the requested limit.
  Leave the limit alone on this device.
216 cudaErrorDeviceAlreadyInUse
  The device is in an exclusive mode and another process uses it.
  Wait for the other process, or set the compute mode to Default with nvidia-smi -c 0.
217 cudaErrorPeerAccessUnsupported
  The two devices cannot address each other's memory.
  Copy through the host, or use devices that nvidia-smi topo -p2p r shows as connected.
218 cudaErrorInvalidPtx
  The driver could not compile the PTX for this GPU.
  Compile for an architecture not newer than this GPU's.
219 cudaErrorInvalidGraphicsContext
  The OpenGL or DirectX context is not usable for sharing.
  Check the order of mapping and unmapping where memory is shared with graphics.
220 cudaErrorNvlinkUncorrectable (sticky)
  An NVLink connection had an error that could not be repaired.
  If it comes back, look at nvidia-smi nvlink -e and have the machine checked.
221 cudaErrorJitCompilerNotFound
  The driver's PTX compiler, libnvidia-ptxjitcompiler, is missing.
  Install the driver completely. Build the library for this GPU: set CUDA_ARCH to its architecture
  or to native.
222 cudaErrorUnsupportedPtxVersion
  The PTX comes from a toolkit newer than the driver understands.
  Update the NVIDIA driver. Build the library for this GPU: set CUDA_ARCH to its architecture or to
  native.
223 cudaErrorJitCompilationDisabled
  Compiling PTX is switched off (CUDA_DISABLE_PTX_JIT) and there is no code for this GPU.
  Unset CUDA_DISABLE_PTX_JIT. Build the library for this GPU: set CUDA_ARCH to its architecture or
  to native.
224 cudaErrorUnsupportedExecAffinity
  The device cannot limit a context to some of its multiprocessors in this way.
  Do not set an execution affinity, or run under MPS on a device that supports it.
225 cudaErrorUnsupportedDevSideSync
  The kernel calls cudaDeviceSynchronize on the device, which is no longer possible.
  Remove the call: let the host launch what comes after it.
226 cudaErrorContained (sticky)
  The device had a hardware or NVLink fault that was kept from spreading.
  If it comes back, look for Xid messages in the kernel log.
300 cudaErrorInvalidSource
  The kernel source or image that was given cannot be read.
  Check that it is complete and of the kind the call expects.
301 cudaErrorFileNotFound
  A file was not found.
  Check the path.
302 cudaErrorSharedObjectSymbolNotFound
  A shared library lacks a symbol that CUDA needs.
  Define it, if it is a module's; else reinstall the NVIDIA driver.
303 cudaErrorSharedObjectInitFailed
  A shared library failed to start.
  See the module's log, if it is one; else reinstall the NVIDIA driver, also in a container.
304 cudaErrorOperatingSystem
  A call to the operating system failed.
  Check access to /dev/nvidia*, and the limits on locked memory and open files (ulimit -a).
400 cudaErrorInvalidResourceHandle
  A stream, event or other handle is not valid, or belongs to another device.
  Use handles with the device that made them and not after they were disposed.
401 cudaErrorIllegalState
  The resource is in a state in which it cannot do this.
  Check the order of calls on it.
402 cudaErrorLossyQuery
  The answer would leave out something that this version of the call cannot express.
  Build the library with a newer CUDA toolkit.
500 cudaErrorSymbolNotFound
  No kernel, variable or driver function has this name.
  Check the spelling; C++ names are mangled unless declared extern "C".
600 cudaErrorNotReady
  The work is not finished yet; this is an answer, not a failure.
  Query again later, or wait for the stream or event.
700 cudaErrorIllegalAddress (sticky fault)
  A kernel read or wrote an address that is not its to use.
  Check the kernel's pointers, and its indices against the lengths of buffers and of its own arrays.
701 cudaErrorLaunchOutOfResources
  The launch needs more registers or arguments than the device has.
  Use a smaller block, or limit the kernel's registers with __launch_bounds__.
702 cudaErrorLaunchTimeout (sticky)
  The kernel ran longer than the display driver, or the host device's kernelTimeout, allows.
  Split the work into shorter launches, use a GPU without a display, or raise kernelTimeout.
703 cudaErrorLaunchIncompatibleTexturing
  The kernel uses textures in a mode that this context does not have.
  Use texture objects.
704 cudaErrorPeerAccessAlreadyEnabled
  Peer access is enabled already.
  Enable peer access once per pair of devices, and disable it only afterwards.
705 cudaErrorPeerAccessNotEnabled
  Peer access is not enabled.
  Enable peer access once per pair of devices, and disable it only afterwards.
708 cudaErrorSetOnActiveProcess
  A setting that must come first came after the device was in use.
  Make the setting before anything else uses CUDA in this process.
709 cudaErrorContextIsDestroyed
  The context was destroyed, or never completely created.
  Another library may have reset the device: open it again after that.
710 cudaErrorAssert (sticky)
  An assert in a kernel failed.
  Read the assertion on stderr.
711 cudaErrorTooManyPeers
  The hardware has no room for another peer.
  Enable peer access between fewer devices, and copy through the host elsewhere.
712 cudaErrorHostMemoryAlreadyRegistered
  The memory is pinned already, or a part of it is.
  Pin each piece of memory once and share the pinned buffer.
713 cudaErrorHostMemoryNotRegistered
  The memory is not pinned.
  Release a pinned buffer once, with what pinned it.
714 cudaErrorHardwareStackError (sticky fault)
  A kernel's call stack was damaged or overflowed.
  Avoid deep recursion and large local arrays.
715 cudaErrorIllegalInstruction (sticky)
  A kernel ran into an instruction that does not exist.
  Rebuild for this GPU; a kernel may also have jumped through a bad pointer.
716 cudaErrorMisalignedAddress (sticky fault)
  A kernel read or wrote an address that is not a multiple of the element's size.
  Check vector types such as float4 over views with an offset.
717 cudaErrorInvalidAddressSpace (sticky fault)
  A kernel used an address of the wrong memory: global, shared or local.
  Check conversions between generic and shared addresses.
718 cudaErrorInvalidPc (sticky fault)
  A kernel jumped to a place that is no code.
  Check function pointers and virtual calls in the kernel.
719 cudaErrorLaunchFailure (sticky fault)
  A kernel failed while running, often by a bad address or a trap.
  Check indices into shared memory as well as into buffers.
720 cudaErrorCooperativeLaunchTooLarge
  A cooperative launch has more blocks than the device can hold at once.
  Launch at most the resident blocks per multiprocessor times the multiprocessors.
721 cudaErrorTensorMemoryLeak (sticky)
  A kernel ended without freeing all of its tensor memory.
  Pair every tcgen05.alloc with a tcgen05.dealloc on every path.
800 cudaErrorNotPermitted
  The operation is not permitted here.
  Profiling counters and some other functions need administrator rights: see the driver's settings.
801 cudaErrorNotSupported
  This device, driver or system cannot do this.
  Check the device's information for the feature before using it.
802 cudaErrorSystemNotReady
  The system is not ready for CUDA: a daemon that it needs does not run.
  On machines with NVSwitch start nvidia-fabricmanager, of the driver's version.
803 cudaErrorSystemDriverMismatch
  The kernel driver and the CUDA driver library are of different versions.
  Restart after updating the driver; in a container, take the host's libcuda.
804 cudaErrorCompatNotSupportedOnDevice
  The forward-compatibility package does not support this GPU.
  Remove cuda-compat from LD_LIBRARY_PATH, and update the driver instead.
805 cudaErrorMpsConnectionFailed
  The MPS server cannot be reached.
  See the logs of nvidia-cuda-mps-control, and start the server again if need be.
806 cudaErrorMpsRpcFailure
  A call to the MPS server failed.
  See the logs of nvidia-cuda-mps-control, and start the server again if need be.
807 cudaErrorMpsServerNotReady
  The MPS server takes no clients just now.
  See the logs of nvidia-cuda-mps-control, and start the server again if need be.
808 cudaErrorMpsMaxClientsReached
  The MPS server has as many clients as it can have.
  Run fewer processes on the device.
809 cudaErrorMpsMaxConnectionsReached
  The device has as many MPS connections as it can have.
  Run fewer processes, or set CUDA_DEVICE_MAX_CONNECTIONS lower.
810 cudaErrorMpsClientTerminated (sticky)
  The MPS server has ended this client.
  Another client may have caused the fault.
811 cudaErrorCdpNotSupported
  Kernels cannot launch kernels in this configuration, such as under MPS.
  Launch from the host, or run without MPS.
812 cudaErrorCdpVersionMismatch
  Kernels that launch kernels were built for two versions of that mechanism.
  Compile all of them with the same toolkit and options.
900 cudaErrorStreamCaptureUnsupported
  A capturing stream cannot do this.
  Do this operation before the capture begins, or after it ends.
901 cudaErrorStreamCaptureInvalidated
  An earlier error has made this capture useless.
  Mend the first error, then capture again.
902 cudaErrorStreamCaptureMerge
  A wait would join two captures that have nothing to do with each other.
  Capture both parts from one origin stream.
903 cudaErrorStreamCaptureUnmatched
  The capture did not begin on this stream.
  End a capture on the stream on which it began.
904 cudaErrorStreamCaptureUnjoined
  A stream that joined the capture was not led back to its origin.
  Let the origin stream wait for an event of every stream that took part.
905 cudaErrorStreamCaptureIsolation
  Captured work would depend on work outside of the capture.
  Do this operation before the capture begins, or after it ends.
906 cudaErrorStreamCaptureImplicit
  Work on the legacy default stream would depend on the capture.
  Use streams of your own for everything while a capture runs.
907 cudaErrorCapturedEvent
  An event recorded during capture cannot be queried or waited for.
  Record the event again outside of the capture.
908 cudaErrorStreamCaptureWrongThread
  The capture was ended by another thread than began it.
  Begin and end a capture in the same worker, or use the relaxed mode.
909 cudaErrorTimeout
  Waiting took longer than its time limit.
  Wait again, or longer.
910 cudaErrorGraphExecUpdateFailure
  The graph differs in more than an instantiated graph can take over.
  Instantiate the changed graph anew.
911 cudaErrorExternalDevice (sticky)
  A device outside of CUDA has signalled that shared data is not valid.
  Look for the cause in the other interface.
912 cudaErrorInvalidClusterSize
  The cluster of blocks has a size that the device does not allow.
  Use at most 8 blocks per cluster, and a grid that is a multiple of it.
913 cudaErrorFunctionNotLoaded
  The call needs a kernel that has not been loaded yet.
  Launch the kernel or read its attributes first, or set CUDA_MODULE_LOADING=EAGER.
914 cudaErrorInvalidResourceType
  A resource is not of a type that the operation takes.
  Check the types of the resources that are passed together.
915 cudaErrorInvalidResourceConfiguration
  The resources are too few or do not fit the operation.
  Check the number and the layout of the requested resources.
999 cudaErrorUnknown
  Something failed inside CUDA that has no code of its own.
  Look for Xid messages in the kernel log; restart the process, then the machine.
10000 cudaErrorApiFailureBase
  The base to which very old CUDA versions added driver errors.
`;
