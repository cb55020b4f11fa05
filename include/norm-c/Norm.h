/*===- norm-c/Norm.h - C API of norm ------------------------------*- C -*-===*\
|*                                                                            *|
|* Part of the norm project, under the Apache License v2.0 with LLVM          *|
|* Exceptions.                                                                *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Compiles MLIR text or bytecode to GPU or host code and runs it. See        *|
|* docs/CApi.md for a tour.                                                   *|
|*                                                                            *|
|* Rules that hold for all functions:                                         *|
|*  - One that can fail returns a status. Its last parameter `message`, where *|
|*    not null, receives a text that says what is wrong, to be freed by       *|
|*    `normcFree`, or null if nothing is.                                     *|
|*  - Handles are opaque, and destroyed by the function that says so; a null  *|
|*    handle is destroyed without effect. What a handle was made from may be  *|
|*    destroyed before it.                                                    *|
|*  - Any number of threads may use the same handle at once, except to set    *|
|*    options or callbacks and to destroy it.                                 *|
|*  - Nothing is printed, no exception gets out, and the thread's CUDA        *|
|*    context is what it was before the call.                                 *|
|*                                                                            *|
|* ABI: within one major version nothing here is removed or changes its       *|
|* meaning; functions and values may be added, and fields at the end of a     *|
|* struct, whose first field is its size as the caller knows it.              *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef NORM_C_NORM_H
#define NORM_C_NORM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NORMC_API __attribute__((visibility("default")))
#else
#define NORMC_API
#endif

/*===- Version ------------------------------------------------------------===*/

/** The ABI that this header describes. */
#define NORMC_ABI_MAJOR 1
#define NORMC_ABI_MINOR 1

/** The ABI of the library: `major << 16 | minor`. A program runs with a library
 *  of its own major and at least its own minor version. */
NORMC_API uint32_t normcGetAbiVersion(void);

/** The version of norm, `0.1.0`. Lives as long as the library. */
NORMC_API const char *normcGetVersionString(void);

/*===- Status -------------------------------------------------------------===*/

typedef int32_t NormcStatus;
enum {
  NORMC_SUCCESS = 0,
  /** A null pointer, a struct of no known size, an unknown option or value. */
  NORMC_INVALID_ARGUMENT = 1,
  /** The program can't be compiled; the message is the diagnostics. */
  NORMC_INVALID_PROGRAM = 2,
  /** There is no such device, or no driver for it. */
  NORMC_NO_DEVICE = 3,
  /** The arguments of a launch don't suit the executable; nothing ran. */
  NORMC_INVALID_LAUNCH = 4,
  /** The program isn't compiled, and the miss policy says not to. */
  NORMC_MISS = 5,
  /** The program isn't compiled yet; it is being compiled. */
  NORMC_PENDING = 6,
  /** The driver reports a failure. */
  NORMC_DEVICE_ERROR = 7,
  NORMC_OUT_OF_MEMORY = 8,
  NORMC_INTERNAL_ERROR = 9
};

/** Frees what a function gave out as a text. Null is fine. */
NORMC_API void normcFree(void *memory);

/*===- Options ------------------------------------------------------------===*/

typedef struct NormcOptions NormcOptions;

/** Options of a compilation, all at their defaults. */
NORMC_API NormcStatus normcOptionsCreate(NormcOptions **options,
                                         char **message);

/** Sets an option by name:
 *    target          `host`, or `sm_80` to `sm_121`; by default `host`, and
 *                    in a session the device's own
 *    emulate         `yes`: code of a GPU target for the emulated device
 *    form            `ptx` or `cubin` (which needs NVIDIA's ptxas) of a GPU
 *                    target; by default `ptx`. Sessions have `ptx` only
 *    entry           the function; by default the only public one, or `main`
 *    schedule        fields that override the model's, `threads=256`
 *    tuning          a file of schedules that were found by measuring, which
 *                    is read now, or `none`; by default those that are a part of
 *                    the library
 *    device          the product that they are looked up by, `NVIDIA H200`; by
 *                    default any of the target, and in a session its own
 *    ptx-version     `80` is PTX 8.0; by default the first with the target
 *    driver-version  least driver, as `cuDriverGetVersion` counts
 *    math            `exact`, the default, or `hardware`
 *    explain         `yes`: remark on what was fused and what wasn't
 *  An unknown name or a wrong value is NORMC_INVALID_ARGUMENT. */
NORMC_API NormcStatus normcOptionsSet(NormcOptions *options, const char *name,
                                      const char *value, char **message);

NORMC_API void normcOptionsDestroy(NormcOptions *options);

/*===- Programs by name ---------------------------------------------------===*/

/** The text of a common fusion, of a name (`add_rms_norm`) and fields
 *  (`columns=4096,dtype=bf16,quantize=f8E4M3FN:row`); null is no fields. Free
 *  `text` by `normcFree`. */
NORMC_API NormcStatus normcBuildProgram(const char *program, const char *fields,
                                        char **text, char **message);

/** All programs with their fields, for people. Free `text` by `normcFree`. */
NORMC_API NormcStatus normcListPrograms(char **text, char **message);

/*===- Compiler -----------------------------------------------------------===*/

typedef struct NormcCompiler NormcCompiler;
typedef struct NormcArtifact NormcArtifact;

typedef int32_t NormcSeverity;
enum { NORMC_REMARK = 0, NORMC_ERROR = 1 };

/** Is called, on the thread that compiles and maybe on several at once, with
 *  each diagnostic: `file:line:col: error: ...`, which lives as long as the
 *  call. It must not throw. */
typedef void (*NormcDiagnosticCallback)(NormcSeverity severity,
                                        const char *text, void *userData);

NORMC_API NormcStatus normcCompilerCreate(NormcCompiler **compiler,
                                          char **message);

/** Null is none. Sessions have the callback that was set when they were
 *  created. */
NORMC_API NormcStatus normcCompilerSetDiagnosticCallback(
    NormcCompiler *compiler, NormcDiagnosticCallback callback, void *userData,
    char **message);

NORMC_API void normcCompilerDestroy(NormcCompiler *compiler);

/** Compiles `length` bytes of MLIR text or bytecode, known as `fileName` (null:
 *  `program`) in diagnostics. Null options are the defaults. */
NORMC_API NormcStatus normcCompile(NormcCompiler *compiler, const char *text,
                                   size_t length, const char *fileName,
                                   const NormcOptions *options,
                                   NormcArtifact **artifact, char **message);

/** Writes the backward of a function: `derived` is the text with the functions
 *  that were added, to be compiled with one of them as the entry, and
 *  `description` tells of them as JSON (docs/CApi.md). `options` are, with
 *  spaces between, any of
 *    function=f             by default the only public one, or `main`
 *    wrt=0,1                arguments of which gradients are wanted; by default
 *                           all tensors of floats of 16 bits or more
 *    save=statistics        a forward that keeps what the backward then reads;
 *                           by default `none`
 *    gradient-type=1:f32    of argument 1; `f32` of all
 *    accumulate=1           adds to what the destination holds
 *  and null is none. Free both texts by `normcFree`. Since ABI 1.1. */
NORMC_API NormcStatus normcDifferentiate(NormcCompiler *compiler,
                                         const char *text, size_t length,
                                         const char *fileName,
                                         const char *options, char **derived,
                                         char **description, char **message);

/** An artifact from code and manifest that were kept. */
NORMC_API NormcStatus normcArtifactCreate(const void *code, size_t codeSize,
                                          const char *manifest,
                                          size_t manifestSize,
                                          NormcArtifact **artifact,
                                          char **message);

/** PTX text, a cubin, or an ELF object for the host. Lives as long as the
 *  artifact, and is followed by a zero byte. */
NORMC_API NormcStatus normcArtifactGetCode(const NormcArtifact *artifact,
                                           const void **code, size_t *size,
                                           char **message);

/** The manifest, JSON as docs/Manifest.md says. Lives as long as the artifact,
 *  and is followed by a zero byte. */
NORMC_API NormcStatus normcArtifactGetManifest(const NormcArtifact *artifact,
                                               const char **text, size_t *size,
                                               char **message);

NORMC_API void normcArtifactDestroy(NormcArtifact *artifact);

/*===- Devices ------------------------------------------------------------===*/

typedef struct NormcDevice NormcDevice;

typedef struct NormcDeviceOptions {
  size_t structSize; /**< sizeof(NormcDeviceOptions) */
  /** `host`, `cuda:N` (its primary context), `emulated` or `emulated:SEED` (a
   *  GPU's threads on the host, checked), `auto` (`cuda:0`, else `host`). Null
   *  where there is a context. */
  const char *name;
  /** A `CUcontext` that outlives all that is made from the device; or null. */
  void *cudaContext;
  /** The driver's library; null is `libcuda.so.1`. */
  const char *cudaLibrary;
  /** Threads of the host device; 0 for all cores. */
  uint32_t hostThreads;
  uint32_t reserved; /**< 0 */
} NormcDeviceOptions;

NORMC_API NormcStatus normcDeviceOpen(const NormcDeviceOptions *options,
                                      NormcDevice **device, char **message);

/** The target to compile for: `host`, `sm_90`. Lives as long as the device. */
NORMC_API const char *normcDeviceGetTarget(const NormcDevice *device);

/** What the option `device` takes: `NVIDIA H200`; where there is no product,
 *  the device's name. Lives as long as the device. Since ABI 1.1. */
NORMC_API const char *normcDeviceGetProduct(const NormcDevice *device);

/** The product, for people. Lives as long as the device. */
NORMC_API const char *normcDeviceGetDescription(const NormcDevice *device);

NORMC_API void normcDeviceDestroy(NormcDevice *device);

/*===- Tuning -------------------------------------------------------------===*/

/** Searches for schedules that are faster on the device than the model's, for
 *  about `seconds`, as docs/Tuning.md describes it. Each must give the same bits;
 *  one that doesn't is NORMC_INTERNAL_ERROR. `calls` are the calls that count,
 *  with `;` between: the shapes of all arguments and results in order, `scalar`
 *  for those without one, as in `16x4096,4096,16x4096`. They are made on random
 *  numbers, in memory of their own. What is found is added to `file`, a tuning
 *  file, unless that is null, and its text is given in `found`, unless that is
 *  null; free it by `normcFree`. Nobody else may use the device meanwhile, and
 *  should not want to. Since ABI 1.1. */
NORMC_API NormcStatus normcTune(NormcDevice *device, const char *text,
                                size_t length, const char *fileName,
                                const NormcOptions *options, const char *calls,
                                double seconds, const char *file, char **found,
                                char **message);

/*===- Executables --------------------------------------------------------===*/

typedef struct NormcExecutable NormcExecutable;

typedef int32_t NormcDType;
enum {
  NORMC_F64 = 0,
  NORMC_F32 = 1,
  NORMC_F16 = 2,
  NORMC_BF16 = 3,
  NORMC_F8E4M3FN = 4,
  NORMC_F8E5M2 = 5,
  NORMC_F8E8M0FNU = 6,
  NORMC_F4E2M1FN = 7, /**< two to a byte; extents and strides count elements */
  NORMC_I1 = 8,       /**< one byte, 0 or 1 */
  NORMC_I8 = 9,
  NORMC_I16 = 10,
  NORMC_I32 = 11,
  NORMC_I64 = 12
};

/** One argument of a launch; results are arguments too, after the others. */
typedef struct NormcArgument {
  /** Address of element 0, in memory of the device; of a scalar, in memory of
   *  the host. */
  void *data;
  const int64_t *shape; /**< `rank` extents */
  /** `rank` strides in elements; null for row-major without gaps. */
  const int64_t *strides;
  int32_t rank; /**< 0 for a scalar, and for a tensor of rank 0 */
  NormcDType dtype;
} NormcArgument;

enum {
  /** The counters in the workspace are zero: it was zeroed as a whole, and used
   *  since by launches of this executable with these extents only. */
  NORMC_WORKSPACE_CLEARED = 1
};

typedef struct NormcLaunch {
  size_t structSize;   /**< sizeof(NormcLaunch) */
  size_t argumentSize; /**< sizeof(NormcArgument) */
  const NormcArgument *arguments;
  size_t numArguments;
  /** A `CUstream` of the device's context; null is its default stream. */
  void *stream;
  /** Memory of the device at a multiple of 256, for this stream alone. Null:
   * the executable keeps one for each stream; a launch that is captured into a
   *  graph should have its own. */
  void *workspace;
  uint64_t workspaceSize; /**< bytes */
  /** The most CTAs that may run at once; 0 for any number. */
  uint64_t maxCtas;
  uint32_t flags;    /**< NORMC_WORKSPACE_CLEARED, or 0 */
  uint32_t reserved; /**< 0 */
} NormcLaunch;

/** Loads an artifact on a device. */
NORMC_API NormcStatus normcExecutableCreate(NormcDevice *device,
                                            const NormcArtifact *artifact,
                                            NormcExecutable **executable,
                                            char **message);

/** Bytes of workspace that a launch needs: depends on extents, alignments,
 *  strides and `maxCtas`. */
NORMC_API NormcStatus normcExecutableGetWorkspaceSize(
    const NormcExecutable *executable, const NormcLaunch *launch,
    uint64_t *size, char **message);

/** Checks the arguments and runs the kernels. On a CUDA device they are
 * enqueued on the stream, and haven't ended when this returns; on others they
 * have. A wrong argument is NORMC_INVALID_LAUNCH, and nothing runs. */
NORMC_API NormcStatus normcExecutableLaunch(NormcExecutable *executable,
                                            const NormcLaunch *launch,
                                            char **message);

/** JSON as docs/Manifest.md says. Lives as long as the executable. */
NORMC_API const char *
normcExecutableGetManifest(const NormcExecutable *executable);

typedef int32_t NormcRole;
enum { NORMC_INPUT = 0, NORMC_OUTPUT = 1, NORMC_SCALAR = 2 };

/** An extent or stride that isn't fixed. */
#define NORMC_ANY INT64_MIN

typedef struct NormcArgumentInfo {
  size_t structSize; /**< sizeof(NormcArgumentInfo), set by the caller */
  const char *name;
  NormcRole role;
  NormcDType dtype;
  int32_t rank;
  int32_t inPlaceOf;      /**< the input that an output must lie in, or -1 */
  const int64_t *shape;   /**< `rank` extents */
  const int64_t *strides; /**< `rank` strides, in elements */
  uint64_t alignment;     /**< of the address, bytes */
} NormcArgumentInfo;

NORMC_API size_t
normcExecutableGetNumArguments(const NormcExecutable *executable);

/** Pointers in `info` live as long as the executable. */
NORMC_API NormcStatus
normcExecutableGetArgumentInfo(const NormcExecutable *executable, size_t index,
                               NormcArgumentInfo *info, char **message);

/** Launches must have ended. */
NORMC_API void normcExecutableDestroy(NormcExecutable *executable);

/*===- Sessions: programs that are asked for again and again --------------===*/

typedef struct NormcSession NormcSession;

/** What to do where a program isn't compiled yet. */
typedef int32_t NormcMissPolicy;
enum {
  NORMC_MISS_COMPILE = 0,  /**< compile it, the caller waits; the default */
  NORMC_MISS_FALLBACK = 1, /**< compile it in the background: NORMC_PENDING */
  NORMC_MISS_ERROR = 2     /**< don't: NORMC_MISS */
};

/** The compiled programs of one device. Two requests with the same text and
 *  options compile once, also if they come at the same time. */
NORMC_API NormcStatus normcSessionCreate(NormcCompiler *compiler,
                                         NormcDevice *device,
                                         NormcSession **session,
                                         char **message);

NORMC_API NormcStatus normcSessionSetMissPolicy(NormcSession *session,
                                                NormcMissPolicy policy,
                                                char **message);

/** Keeps programs in a directory, and takes them from there instead of
 * compiling; any number of processes may use it. Without this call nothing is
 * kept. A null directory is `NORM_CACHE_DIR`, else `norm` in `XDG_CACHE_HOME`,
 * else
 *  `.cache/norm` in `HOME`. Beyond `limit` bytes (0: 2^30) what was used least
 *  recently is removed. A directory that can't be read or written to is none.
 *  To be called before programs are asked for. */
NORMC_API NormcStatus normcSessionSetDiskCache(NormcSession *session,
                                               const char *directory,
                                               uint64_t limit, char **message);

/** The executable of a program, a handle of its own that is to be destroyed.
 *  Parameters as of `normcCompile`. */
NORMC_API NormcStatus normcSessionGetExecutable(NormcSession *session,
                                                const char *text, size_t length,
                                                const char *fileName,
                                                const NormcOptions *options,
                                                NormcExecutable **executable,
                                                char **message);

/** Compiles a program now, whatever the policy. */
NORMC_API NormcStatus normcSessionPrewarm(NormcSession *session,
                                          const char *text, size_t length,
                                          const char *fileName,
                                          const NormcOptions *options,
                                          char **message);

/** Compilations begun so far. */
NORMC_API uint64_t normcSessionGetCompileCount(const NormcSession *session);

/** Waits for compilations in the background. */
NORMC_API void normcSessionDestroy(NormcSession *session);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NORM_C_NORM_H */
