/**
 * Names that only hosts have: standard headers, types and libraries.
 *
 * @module
 */

import type { ActiveToken } from "./preprocessor.ts";

function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** Headers that host code includes and device code does not need. */
const HOST_HEADERS = namesIn(`
  algorithm any atomic barrier bitset charconv chrono codecvt condition_variable coroutine deque
  exception execution filesystem format forward_list fstream future generator iomanip ios iosfwd
  iostream istream iterator latch list locale map memory memory_resource mutex numeric optional
  ostream print queue random ranges regex scoped_allocator semaphore set shared_mutex
  source_location span spanstream sstream stack stacktrace stdexcept stop_token streambuf string
  string_view strstream syncstream system_error thread typeindex typeinfo unordered_map
  unordered_set valarray variant vector functional complex bits/stdc++.h
  cctype cerrno clocale csetjmp csignal cstdarg cstdlib ctime cuchar cwchar cwctype cfenv
  ctype.h errno.h fcntl.h fenv.h getopt.h libgen.h locale.h malloc.h pthread.h sched.h setjmp.h
  signal.h stdarg.h stdlib.h strings.h time.h unistd.h wchar.h dirent.h dlfcn.h windows.h omp.h
  mpi.h numa.h
  cublas_v2.h cublas.h cublasLt.h cublasXt.h cufft.h cufftXt.h cusparse.h cusolverDn.h
  cusolverSp.h curand.h cudnn.h nccl.h nvml.h nvrtc.h cuda_profiler_api.h cudaProfiler.h
  cublas_api.h cublasmp.h cufftw.h cusolverMg.h cusolver_common.h cusparseLt.h cutensor.h cufile.h
  cudnn_frontend.h nvjpeg.h npp.h nvJitLink.h nvPTXCompiler.h nvshmem.h cupti.h
  cudaGL.h cudaEGL.h cudaVDPAU.h cuda_gl_interop.h cuda_egl_interop.h cuda_vdpau_interop.h
  cuda_d3d9_interop.h cuda_d3d10_interop.h cuda_d3d11_interop.h
  nvToolsExt.h nvToolsExtCuda.h nvToolsExtCudaRt.h nvToolsExtMeta.h nvToolsExtOpenCL.h
  nvToolsExtSync.h Python.h
  helper_cuda.h helper_functions.h helper_timer.h helper_string.h helper_image.h
  helper_cuda_drvapi.h helper_gl.h exception.h
`);

const HOST_HEADER_FOLDERS =
  /^(?:sys|arpa|netinet|linux|experimental|boost|gtest|thrust|nvtx3|GL|pybind11)\//;

/** Whether a header is one of PyTorch's: kernels of its extensions seldom use anything of it. */
export function isPyTorchHeader(header: string): boolean {
  return /^(?:torch|ATen|c10|caffe2|THC)\//.test(header);
}

/** Names of PyTorch in a line of code. */
export const PYTORCH_NAME: RegExp =
  /\b(?:torch|at|c10)\s*::|\b(?:AT|C10|TORCH)_[A-Z]|\bCUDA_KERNEL_LOOP/;

/** Whether a header is for hosts alone: a source for devices does without it. */
export function isHostHeader(header: string): boolean {
  return HOST_HEADERS.has(header) || HOST_HEADER_FOLDERS.test(header) || isPyTorchHeader(header);
}

const HOST_STANDARD_NAMES = namesIn(`
  string wstring u8string u16string u32string string_view vector deque list forward_list map
  multimap set multiset unordered_map unordered_multimap unordered_set unordered_multiset queue
  priority_queue stack bitset valarray any variant optional function unique_ptr shared_ptr weak_ptr
  make_unique make_shared allocator thread jthread mutex recursive_mutex shared_mutex lock_guard
  unique_lock scoped_lock condition_variable future promise async packaged_task atomic atomic_int atomic_uint atomic_bool atomic_flag ostream
  istream iostream ofstream ifstream fstream stringstream ostringstream istringstream cout cerr clog
  cin endl flush ios ios_base streambuf chrono filesystem this_thread execution random_device mt19937
  mt19937_64 default_random_engine minstd_rand uniform_real_distribution uniform_int_distribution
  normal_distribution bernoulli_distribution regex locale exception runtime_error logic_error
  invalid_argument out_of_range exception_ptr error_code FILE type_index type_info ranges views pmr
  once_flag
`);

/** Namespaces whose names only hosts have, where `::` follows. */
const HOST_NAMESPACES = /^(?:torch|at|c10|py|pybind11)$/;

/** The types among them that `using namespace std` lets stand alone. */
const UNQUALIFIED =
  /^(?:w?string|vector|deque|map|set|unordered_\w+|queue|thread|mutex|\w+stream)$/;

/** Names of C and CUDA libraries that device code does not have. */
const HOST_WORDS = new RegExp(
  "^(?:" + [
    "cuda(?!TextureObject|SurfaceObject)\\w+_t",
    "cudaDeviceProp|cudaUUID_t|cudaPitchedPtr|cudaExtent|cudaArray",
    "cuda(?:Mem|Ipc|External|Pointer|Func|Resource)[A-Z]\\w*",
    "CU(?:stream|event|context|module|function|device|deviceptr|result|graph|library|kernel)",
    "(?:cublas|cufft|cusparse|cusolver|cudnn|nccl|nvml|nvrtc|nvtx)[A-Z]\\w*|nvtx3",
    "curand(?:Generator|Status|RngType)\\w*",
    "thrust|boost|testing",
    "FILE|pthread_\\w+|va_list|jmp_buf|timeval|timespec|time_t|clock_t",
  ].join("|") + ")$",
);

/** The host's name that a token is; undefined for others. */
export function hostNameAt(
  tokens: readonly ActiveToken[],
  at: number,
  usesStandard: boolean,
): string | undefined {
  const { kind, text } = tokens[at]!;
  const before = tokens[at - 1]?.text;
  const next = tokens[at + 1];
  if (kind !== "word" || before === "." || before === "->") return undefined;
  if (text === "std" && next?.text === "::") {
    const name = tokens[at + 2]?.text ?? "";
    return HOST_STANDARD_NAMES.has(name) ? `std::${name}` : undefined;
  }
  if (before === "::") return undefined;
  if (HOST_WORDS.test(text)) return text;
  const isUsed = before === "namespace" && tokens[at - 2]?.text === "using";
  if (isUsed && HOST_NAMESPACES.test(text)) return text;
  if (next?.text === "::" && HOST_NAMESPACES.test(text)) {
    return `${text}::${tokens[at + 2]?.text ?? ""}`;
  }
  const isType = usesStandard && UNQUALIFIED.test(text);
  return isType && (next?.text === "<" || next?.kind === "word") ? text : undefined;
}
