# Finds Debian's LLVM/MLIR 22.1 and wraps its library macros. Nothing clever.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
add_definitions(${LLVM_DEFINITIONS_LIST})
# The packages are built without RTTI; ours must agree.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
if(NOT ATTNC_ENABLE_ASSERTIONS)
  add_compile_definitions(NDEBUG)
endif()

# One precompiled header for every compiler library: MLIR's headers dominate build time.
add_library(attnc_pch OBJECT ${CMAKE_CURRENT_LIST_DIR}/Pch.cpp)
target_precompile_headers(attnc_pch PRIVATE ${CMAKE_CURRENT_LIST_DIR}/Pch.h)

# attnc_add_library(NAME SOURCES… DEPENDS tablegen-targets… LINK_LIBS libs…)
#
# With the shared LLVM libraries, MLIR* link names collapse into libMLIR.so; with ATTNC_STATIC_LLVM
# the archives are linked.
function(attnc_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_precompile_headers(${name} REUSE_FROM attnc_pch)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} attnc_llvm)
endfunction()

# The LLVM/MLIR an attnc executable links: the shared libraries day to day, archives for the bundle.
add_library(attnc_llvm INTERFACE)
if(ATTNC_STATIC_LLVM)
  include(AttncStaticLLVM)
else()
  target_link_libraries(attnc_llvm INTERFACE MLIR LLVM)
endif()
