/* The C interface of the attnc runtime: load a kernel package, plan, run. For C, C++ and anything
 * that calls C. It launches attention kernels that `attnc compile` made; it compiles nothing
 * itself.
 *
 *   attnc_package *package;  attnc_kernel *kernel;  attnc_plan *plan;
 *   attnc_package_load_file("llama3-8b-prefill.sm_90a.attnpkg", &package);
 *   attnc_kernel_create(package, 0, &kernel);
 *   attnc_sizes sizes = ATTNC_SIZES_INIT;
 *   sizes.batch = 4; sizes.max_len_q = 1024; sizes.max_len_kv = 1024;
 *   attnc_plan_create(kernel, &sizes, &plan);
 *   attnc_plan_run(plan, tensors, 4, NULL, 0, workspace, workspace_bytes, stream);
 *
 * Rules that hold everywhere:
 * - Every function that can fail returns attnc_status; ATTNC_OK is 0. On failure the calling
 * thread's message is in attnc_last_error() until its next failing call, and out parameters are not
 * written.
 * - No C++ exception leaves a function.
 * - Handles are used from any thread. Destroying one while another thread uses it is an error. A
 * kernel keeps its package, a plan its kernel: destroy in any order. Destroying NULL does nothing.
 * - Lengths are in tokens, strides in elements, memory in bytes. Strings are UTF-8,
 * zero-terminated.
 */
#ifndef ATTNC_RUNTIME_ATTNC_RT_H
#define ATTNC_RUNTIME_ATTNC_RT_H

#include <stddef.h>
#include <stdint.h>

#if defined(ATTNC_RT_BUILDING)
#define ATTNC_RT_API __attribute__((visibility("default")))
#else
#define ATTNC_RT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Codes are those of the command line tools; see docs/Runtime.md. */
typedef enum attnc_status {
  ATTNC_OK = 0,
  ATTNC_COMPILE_FAILED = 1,   /* an assembler rejected the package's PTX */
  ATTNC_INVALID_ARGUMENT = 2, /* a file, size, tensor or pointer of the caller is wrong */
  ATTNC_UNSUPPORTED = 3,      /* valid, but not with this package on this device */
  ATTNC_ENVIRONMENT = 5,      /* driver, library, file system */
  ATTNC_OUT_OF_MEMORY = 6,
  ATTNC_INTERNAL = 70 /* a bug of attnc, including a kernel that faults */
} attnc_status;

typedef enum attnc_dtype {
  ATTNC_BF16 = 1,
  ATTNC_F16 = 2,
  ATTNC_F32 = 3,
  ATTNC_F64 = 4,
  ATTNC_I32 = 5,
  ATTNC_I64 = 6,
  ATTNC_U8 = 7,
  ATTNC_BOOL = 8,
  ATTNC_F8E4M3 = 9,
  ATTNC_F8E5M2 = 10
} attnc_dtype;

#define ATTNC_MAX_RANK 6

typedef struct attnc_package attnc_package; /* a loaded package; no device */
typedef struct attnc_kernel attnc_kernel;   /* a package on a device */
typedef struct attnc_plan attnc_plan;       /* a kernel with sizes */

/* "0.1.0". Never NULL. */
ATTNC_RT_API const char *attnc_version(void);

/* The message of this thread's last failing call, "" if there was none. Valid until the next
 * failing call of this thread. */
ATTNC_RT_API const char *attnc_last_error(void);

/* The assembler's or driver's full log that belongs to attnc_last_error(), "" if it has none. */
ATTNC_RT_API const char *attnc_last_error_log(void);

/* "ok", "unsupported", …. Never NULL. */
ATTNC_RT_API const char *attnc_status_name(attnc_status status);

/* ---- Packages
 * ------------------------------------------------------------------------------------ */

/* Reads a package file. ENVIRONMENT if it cannot be read, INVALID_ARGUMENT if it is not a
 * well-formed package, UNSUPPORTED if its format is newer. */
ATTNC_RT_API attnc_status attnc_package_load_file(const char *path, attnc_package **package);

/* The same from memory, which is copied. */
ATTNC_RT_API attnc_status attnc_package_load_memory(const void *data, size_t size,
                                                    attnc_package **package);

/* The manifest as JSON text. Lives as long as the package. */
ATTNC_RT_API const char *attnc_package_manifest(const attnc_package *package);

ATTNC_RT_API void attnc_package_destroy(attnc_package *package);

/* ---- Kernels
 * ------------------------------------------------------------------------------------- */

/* Loads the package's code on GPU `device` (the ordinal of the CUDA driver). Device -1 loads
 * nothing: plans of such a kernel tell sizes and cannot run, which needs no driver. The current
 * CUDA context of the thread is left as it is, here and everywhere else. */
ATTNC_RT_API attnc_status attnc_kernel_create(const attnc_package *package, int device,
                                              attnc_kernel **kernel);
ATTNC_RT_API void attnc_kernel_destroy(attnc_kernel *kernel);

/* ---- Plans
 * --------------------------------------------------------------------------------------- */

/* The sizes a package leaves open. Begin with ATTNC_SIZES_INIT: `struct_size` lets later versions
 * add fields. */
typedef struct attnc_sizes {
  size_t struct_size;
  int64_t batch;
  int64_t max_len_q;
  int64_t max_len_kv;        /* with kv_lens an upper bound of them */
  int64_t splits;            /* parts of the KV range; 0: chosen from the device */
  int64_t total_q, total_kv; /* varlen only: tokens of all sequences */
  int64_t pages, max_pages;  /* paged only: pages of the pool, columns of the block table */
  /* Lengths where the host knows them, else NULL; they are checked and copied.
   * kv_lens has `batch` entries, the offsets have batch + 1 and begin with 0. */
  const int32_t *host_kv_lens;
  const int32_t *host_cu_seqlens_q;
  const int32_t *host_cu_seqlens_kv;
} attnc_sizes;

#define ATTNC_SIZES_INIT                                                                           \
  { sizeof(attnc_sizes), 1, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL }

/* Checks sizes against the package. INVALID_ARGUMENT or UNSUPPORTED name the size. */
ATTNC_RT_API attnc_status attnc_plan_create(const attnc_kernel *kernel, const attnc_sizes *sizes,
                                            attnc_plan **plan);

/* Bytes of workspace a run needs; may be 0. */
ATTNC_RT_API attnc_status attnc_plan_workspace_size(const attnc_plan *plan, size_t *bytes);

/* The split count in use. */
ATTNC_RT_API attnc_status attnc_plan_splits(const attnc_plan *plan, int64_t *splits);

/* A tensor in device memory. Dimensions are in logical order [batch, head, seq, dim] whatever the
 * memory order:
 *   q [B,Hq,Sq,Dqk]  k [B,Hkv,Skv,Dqk]  v [B,Hkv,Skv,Dv]  o [B,Hq,Sq,Dv]  lse [B,Hq,Sq] (f32,
 * natural log) varlen: B is 1 and S the packed total; cu_seqlens_q, cu_seqlens_kv i32 [batch+1]
 *   kv_lens i32 [batch]; paged: k, v pools [pages,Hkv,page,D], block_table i32 [batch,max_pages]
 *   sinks f32 [Hq]; bias [B,Hq,Sq,Skv], a size of 1 or a stride of 0 broadcasts.
 * The innermost stride must be 1 except for bias. q, k, v and o need 16-byte aligned addresses and
 * strides that are multiples of 16 bytes. */
typedef struct attnc_tensor {
  const char *name; /* "q", "arg.table", … */
  void *data;       /* device address; may be NULL when a dimension is 0 */
  int32_t dtype;    /* attnc_dtype */
  int32_t rank;
  int64_t shape[ATTNC_MAX_RANK];
  int64_t strides[ATTNC_MAX_RANK];
  uint64_t extent_bytes; /* bytes that exist from data on, checked; 0: not known */
} attnc_tensor;

/* A scalar argument: "scale" or "arg.NAME". is_float tells which value counts. */
typedef struct attnc_scalar {
  const char *name;
  int32_t is_float;
  double real;
  int64_t integer;
} attnc_scalar;

/* Launches on `stream` (a CUstream or cudaStream_t; NULL is the legacy default stream) and returns
 * without waiting. Allocates nothing and may be captured into a CUDA graph. Nothing is launched
 * unless every argument is right. `workspace` is 256-byte aligned device memory that must stay
 * untouched until the work is done; concurrent runs need one each. A failure of the kernel itself
 * shows in a later synchronising call of the caller. */
ATTNC_RT_API attnc_status attnc_plan_run(const attnc_plan *plan, const attnc_tensor *tensors,
                                         size_t tensor_count, const attnc_scalar *scalars,
                                         size_t scalar_count, void *workspace,
                                         size_t workspace_bytes, void *stream);

ATTNC_RT_API void attnc_plan_destroy(attnc_plan *plan);

/* ---- Environment
 * --------------------------------------------------------------------------------- */

/* What this machine has, as JSON text. Free it with attnc_string_free. */
ATTNC_RT_API attnc_status attnc_environment_json(char **json);
ATTNC_RT_API void attnc_string_free(char *text);

#ifdef __cplusplus
}
#endif

#endif /* ATTNC_RUNTIME_ATTNC_RT_H */
