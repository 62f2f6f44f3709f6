# Links LLVM's and MLIR's archives into attnc_llvm, for binaries that run without LLVM installed.
#
# Debian's MLIR archives name libLLVM.so in their CMake link interface, so the imported targets cannot be
# used: the archives are passed as files, all of them in one group. The linker takes from an archive only
# what something refers to, so the list's length costs link time and no size.
file(GLOB attnc_llvm_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
if(NOT attnc_llvm_archives)
  message(FATAL_ERROR "ATTNC_STATIC_LLVM needs the archives of libmlir-22-dev and llvm-22-dev; "
                      "found none in ${LLVM_LIBRARY_DIR}")
endif()

find_library(ATTNC_ZSTD_ARCHIVE libzstd.a REQUIRED)
find_library(ATTNC_ZLIB_ARCHIVE libz.a REQUIRED)
target_link_libraries(attnc_llvm INTERFACE
  -Wl,--start-group ${attnc_llvm_archives} -Wl,--end-group
  ${ATTNC_ZSTD_ARCHIVE} ${ATTNC_ZLIB_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_options(attnc_llvm INTERFACE
  -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed -Wl,-z,relro -Wl,-O1)
