# Fuzz targets of the runtime's readers.
attnc_add_fuzz_target(PackageFuzz LIBS attnc_rt SECONDS 3)
attnc_add_fuzz_target(SafetensorsFuzz LIBS attnc_rt SECONDS 3)

if(ATTNC_BUILD_FUZZERS)
  # The objects of the runtime with coverage and sanitizers; uninstrumented ones would hide both.
  target_compile_options(attnc_rt_objects PRIVATE -fsanitize=fuzzer-no-link,address,undefined)
  target_link_options(attnc_rt PUBLIC -fsanitize=address,undefined)
  target_link_options(attnc_rt_shared PUBLIC -fsanitize=address,undefined)
endif()
