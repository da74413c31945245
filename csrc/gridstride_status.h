/*
 * gridstride_status.h — the statuses of gridstride.h that are not CUDA's.
 *
 * Beside these: -1000 - c is result c of NVRTC, and -2000 - c is status c of cuBLASLt.
 */
#ifndef GRIDSTRIDE_STATUS_H
#define GRIDSTRIDE_STATUS_H

#define GS_ERROR_ARGUMENT (-1)       /* a value is not an integer of the allowed range */
#define GS_ERROR_HANDLE (-2)         /* a handle is stale, forged or of another kind */
#define GS_ERROR_DEVICE (-3)         /* no device has this ordinal */
#define GS_ERROR_NO_BLOCK (-4)       /* this thread has registered no command block */
#define GS_ERROR_ALIGNMENT (-5)      /* an address or a block is not aligned as it must be */
#define GS_ERROR_OVERLAP (-6)        /* source and destination of a copy overlap */
#define GS_ERROR_UNSUPPORTED (-7)    /* this library or device has no such capability */
#define GS_ERROR_CAPACITY (-8)       /* an out-buffer is too small or a table is full */
#define GS_ERROR_NOT_FOUND (-9)      /* no kernel, call or function has this name */
#define GS_ERROR_HOST_MEMORY (-10)   /* the host has no memory left for the request */
#define GS_ERROR_FOREIGN (-11)       /* a handle belongs to another device than the call names */
#define GS_ERROR_CONFIGURED (-12)    /* the host topology is already set differently */
#define GS_ERROR_SYSTEM (-13)        /* an operating-system call failed */
#define GS_ERROR_INTERNAL (-14)      /* a defect of this library */
#define GS_ERROR_LAUNCH (-15)        /* arguments disagree with the kernel: their count or sizes */
#define GS_ERROR_IMAGE (-16)         /* machine code of another kind, version or device */

/* A result of NVRTC as a status. */
#define GS_ERROR_NVRTC(result) (-1000 - (result))

/* A status of cuBLASLt as a status. */
#define GS_ERROR_CUBLASLT(status) (-2000 - (status))

#endif
