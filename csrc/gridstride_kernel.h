/*
 * gridstride_kernel.h — the part of the C ABI about kernels: built-in ones, those of modules
 * that are loaded, and NVRTC, which compiles them. The rules of the seam are in gridstride.h, which
 * includes this file.
 */
#ifndef GRIDSTRIDE_KERNEL_H
#define GRIDSTRIDE_KERNEL_H

#include "gridstride.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- kernels ------------------------------------------------------------------------------ */

/* The number of built-in kernels; their ids are 1 to that number. */
GS_API int32_t gs_kernel_count(double* result);

/* The built-in kernel's declaration as its types say it, without parameter names:
 * "axpy_float32(float,const float*,float*,unsigned long long)". */
GS_API int32_t gs_kernel_describe(int32_t kernel, char* text, int32_t capacity);

/* The id of the built-in kernel of this NUL-terminated name. result[0]: id. */
GS_API int32_t gs_kernel_find(const char* name, double* result);

/* [waits] Loads the machine code of a kernel, built in or of a module, for the device. Otherwise
 * CUDA does so at the first launch, and may wait for all work of the device: a kernel that waits
 * for another one needs this for both before. gs_module_load does it for all kernels of the module,
 * if the driver can list them. */
GS_API int32_t gs_kernel_load(int32_t device, int32_t kernel);

/* result[0]: whether the kernel is loaded, 1 or 0. GS_ERROR_UNSUPPORTED if the driver, older than
 * CUDA 12.4, does not tell. */
GS_API int32_t gs_kernel_loaded(int32_t device, int32_t kernel, double* result);

/* Of a kernel, built in or of a module: result[0] most threads per block, [1] registers per thread,
 * [2] static shared bytes, [3] constant bytes, [4] local bytes per thread, [5] most dynamic shared
 * bytes, [6] binary, [7] PTX version. */
GS_API int32_t gs_kernel_attributes(int32_t device, int32_t kernel, double* result);

/* Allows launches of the kernel with this much dynamic shared memory (beyond 48 KiB). */
GS_API int32_t gs_kernel_reserve(int32_t device, int32_t kernel, double bytes);

/* How many blocks of so many threads and so much dynamic shared memory a multiprocessor runs at
 * once. result[0]: that number. */
GS_API int32_t gs_kernel_residency(int32_t device, int32_t kernel, int32_t threads,
                                   double shared_bytes, double* result);

/* Hot. device, stream; operand[0] kernel, [1-3] grid, [4-6] block, [7] dynamic shared bytes,
 * [8] number of arguments, 64 at most, [11] flags: GS_LAUNCH_COOPERATIVE, [12] cluster: its extents
 * x + 256 y + 65536 z, or 0 for none. argument: each argument takes one slot, one of more than 8
 * bytes as many as its bytes fill. Numbers (also addresses and 64-bit integers below 2^53) are
 * doubles; where bit i of the two 32-bit words operand[9] (arguments 0-31) and operand[10] (32-63)
 * is set, and for every parameter of kind GS_PARAMETER_BYTES, the slots hold the argument's raw
 * bytes instead. Enqueues. */
GS_API int32_t gs_kernel_launch(void);

#define GS_LAUNCH_COOPERATIVE 1

/* ---- modules: kernels that are loaded ------------------------------------------------------ */

/* The kind of a parameter of a module's kernel, as the caller passes it. */
#define GS_PARAMETER_BOOLEAN 0
#define GS_PARAMETER_SIGNED 1
#define GS_PARAMETER_UNSIGNED 2
#define GS_PARAMETER_FLOAT16 3
#define GS_PARAMETER_BFLOAT16 4
#define GS_PARAMETER_FLOAT32 5
#define GS_PARAMETER_FLOAT64 6
#define GS_PARAMETER_POINTER 7
#define GS_PARAMETER_BYTES 8 /* raw bytes: structs, vectors, narrower floats */

/* Takes a copy of machine code for a device: a cubin, a fat binary or PTX for CUDA, a shared
 * library for the host device. GS_ERROR_IMAGE where it is for CUDA and is none of these, or is cut
 * off. Nothing is loaded yet. result[0]: module handle. */
GS_API int32_t gs_module_create(int32_t device, const void* image, double bytes, double* result);

/* [waits] Loads it, which compiles PTX; done again, does nothing. Until then the functions for its
 * kernels and variables are cudaErrorIllegalState. */
GS_API int32_t gs_module_load(int32_t module);

/* The log of the last load, from the driver or from the loader of the host device; empty before. */
GS_API int32_t gs_module_log(int32_t module, char* text, int32_t capacity);

/* [waits] Unloads the module with its kernels and variables. Enqueued launches still run: it waits
 * for the device, which no thread may do while one of its streams is captured. If it fails after
 * that wait, the module stays, without its kernels. The caller no longer launches graphs that
 * captured these kernels. */
GS_API int32_t gs_module_destroy(int32_t module);

/* The name, as the module has it, of its kernel of this number, from 0; GS_ERROR_NOT_FOUND behind
 * the last, GS_ERROR_UNSUPPORTED where the driver cannot list them. */
GS_API int32_t gs_module_kernel_name(int32_t module, int32_t index, char* text, int32_t capacity);

/* Where a kernel's parameter of this number, from 0, is, as it was compiled; GS_ERROR_NOT_FOUND
 * when there is no such kernel, GS_ERROR_UNSUPPORTED if the driver has no such function. result[0]
 * offset, [1] bytes, 0 behind the last parameter. */
GS_API int32_t gs_module_parameter(int32_t module, const char* name, int32_t index, double* result);

/* The kernel of this name as the module has it, for launches with these parameters: of each its
 * kind and its bytes, two numbers. GS_ERROR_NOT_FOUND when there is none, GS_ERROR_LAUNCH if their
 * number or sizes differ from the compiled kernel's, GS_ERROR_CAPACITY if they fill more slots than
 * there are, GS_ERROR_UNSUPPORTED if the driver cannot report the compiled parameters. result[0]:
 * kernel id, the same for the same kernel and parameters; it ends with the module. */
GS_API int32_t gs_module_kernel(int32_t module, const char* name, const int32_t* parameters,
                                int32_t count, double* result);

/* The module's variable of this name as the module has it, __device__ or __constant__;
 * GS_ERROR_NOT_FOUND when there is none. result[0] address, [1] bytes; they end with the module. */
GS_API int32_t gs_module_variable(int32_t module, const char* name, double* result);

/* ---- NVRTC -------------------------------------------------------------------------------- */

/* Opens NVRTC, once: the builtins library first, both by path; of an empty path nothing for the
 * builtins. A library without a slash is searched for as the system does. result[0] major, [1]
 * minor version; text: where the library lies, or why it cannot be opened, cut off where there is
 * no room. Versions before 12.0 are GS_ERROR_UNSUPPORTED; until one is open, so are the other
 * functions. Later calls keep the library that was opened first. */
GS_API int32_t gs_nvrtc_open(const char* builtins, const char* library, char* text,
                             int32_t capacity, double* result);

/* The architectures it compiles for, such as 90, where there is room for all of them. result[0]:
 * how many there are. */
GS_API int32_t gs_nvrtc_architectures(int32_t* architectures, int32_t capacity, double* result);

/* Takes a copy of a program: NUL-terminated texts, one behind the other: the source, its name, the
 * options, then of each header its name and content, then the name expressions. result[0]: program
 * handle. */
GS_API int32_t gs_nvrtc_create(const char* texts, double bytes, int32_t options, int32_t headers,
                               int32_t expressions, double* result);

/* [waits] Compiles it; done again, answers the same. A status of NVRTC where that fails, and the
 * log says why. */
GS_API int32_t gs_nvrtc_compile(int32_t program);

/* Ends a compilation of the program early, where NVRTC is 12.9 or newer. */
GS_API int32_t gs_nvrtc_cancel(int32_t program);

#define GS_NVRTC_LOG 0
#define GS_NVRTC_PTX 1
#define GS_NVRTC_CUBIN 2

/* An output of the compilation, without the NUL at the end of texts. GS_ERROR_NOT_FOUND before
 * it is compiled, and for an output that it does not have: PTX if it failed, a cubin for a
 * virtual architecture. result[0]: its bytes, which are written to output if there is room for
 * all of them. */
GS_API int32_t gs_nvrtc_output(int32_t program, int32_t kind, void* output, double capacity,
                               double* result);

/* The name that a name expression, of this number from 0, has in the machine code. */
GS_API int32_t gs_nvrtc_lowered_name(int32_t program, int32_t expression, char* text,
                                     int32_t capacity);

/* Forgets the program; a compilation under way still ends. */
GS_API int32_t gs_nvrtc_destroy(int32_t program);

/* ---- cuBLASLt ----------------------------------------------------------------------------- */

/* Opens cuBLASLt, once, as gs_nvrtc_open opens NVRTC. result[0]: its version. */
GS_API int32_t gs_cublaslt_open(const char* library, char* text, int32_t capacity, double* result);

/* A product D = epilogue(alpha A B + beta C), all by column, with the numbers of cublasLt.h: [0]
 * compute type, [1] scale type, [2] and [3] whether A and B are transposed, [4] epilogue, [5] type
 * of the bias and [6] its alignment in bytes, [7] products, [8] largest workspace in bytes, [9]
 * mask of reduction schemes; then of A, B, C and D each: type, rows, columns and leading dimension
 * as stored, elements from one product to the next, alignment in bytes. */
#define GS_CUBLASLT_PRODUCT_SLOTS 34
#define GS_CUBLASLT_ALGORITHM_BYTES 64
#define GS_CUBLASLT_ALGORITHMS 8

/* Makes the descriptors of a product. result[0]: its handle. */
GS_API int32_t gs_cublaslt_prepare(int32_t device, const double* product, double* result);

/* The algorithms that cuBLASLt proposes for a product, the best first, written one behind the other
 * for as many as there is room. result[0]: how many; result[1 + i]: bytes of workspace of each. */
GS_API int32_t gs_cublaslt_algorithms(int32_t product, void* algorithms, int32_t capacity,
                                      double* result);

/* Enqueues a product by an algorithm of it, also of another process with the same library on a
 * device of the same kind. operands: addresses of [0] A, [1] B, [2] C, [3] D and
 * [4] the bias, [5] alpha, [6] beta, [7] address of the workspace and [8] its bytes. */
#define GS_CUBLASLT_OPERAND_SLOTS 9
GS_API int32_t gs_cublaslt_matmul(int32_t product, int32_t stream, const void* algorithm,
                                  const double* operands);

/* Forgets the descriptors of a product. */
GS_API int32_t gs_cublaslt_destroy(int32_t product);

#ifdef __cplusplus
}
#endif

#endif
