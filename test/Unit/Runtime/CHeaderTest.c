/* The header is C: this file only has to compile and link. */
#include "attnc/Runtime/attnc_rt.h"

int attncHeaderTest(void) {
  attnc_sizes sizes = ATTNC_SIZES_INIT;
  return sizes.struct_size == sizeof(attnc_sizes) && sizes.batch == 1 &&
         attnc_version()[0] != '\0';
}
