/* The header is C, and the example of docs/Runtime.md compiles and runs: planExample is that text,
 * which a test compares. */
#include "attnc/Runtime/attnc_rt.h"

static attnc_status planExample(const void *bytes, size_t size, size_t *workspace) {
  attnc_package *package = NULL;
  attnc_kernel *kernel = NULL;
  attnc_plan *plan = NULL;
  attnc_sizes sizes = ATTNC_SIZES_INIT;
  sizes.batch = 4;
  sizes.max_len_q = 1;
  sizes.max_len_kv = 4096;
  sizes.splits = 2;
  attnc_status status = attnc_package_load_memory(bytes, size, &package);
  if (status == ATTNC_OK)
    status = attnc_kernel_create(package, -1, &kernel); /* -1: sizes only, no GPU */
  if (status == ATTNC_OK)
    status = attnc_plan_create(kernel, &sizes, &plan);
  if (status == ATTNC_OK)
    status = attnc_plan_workspace_size(plan, workspace);
  attnc_plan_destroy(plan);
  attnc_kernel_destroy(kernel);
  attnc_package_destroy(package);
  return status;
}

int attncHeaderTest(void) {
  attnc_sizes sizes = ATTNC_SIZES_INIT;
  return sizes.struct_size == sizeof(attnc_sizes) && sizes.batch == 1 && attnc_version()[0] != '\0';
}

attnc_status attncPlanExample(const void *bytes, size_t size, size_t *workspace) {
  return planExample(bytes, size, workspace);
}
