# NVIDIA's header-only cudnn-frontend and the headers it includes: cuDNN's and the CUDA runtime's.
# They come from a CUDA toolkit or from the wheels that `./dev bench` installs into .venv; no library
# is linked. Defines CudnnFrontend::headers.
file(GLOB attnc_site_packages ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages)
set(attnc_cuda_includes $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include)
foreach(site ${attnc_site_packages})
  file(GLOB found ${site}/nvidia/*/include)
  list(APPEND attnc_cuda_includes ${found})
endforeach()
list(TRANSFORM attnc_site_packages APPEND /include OUTPUT_VARIABLE attnc_frontend_includes)

# NO_CACHE: a later configure must see wheels that were installed since.
set(CudnnFrontend_FRONTEND CudnnFrontend_FRONTEND-NOTFOUND)
foreach(header FRONTEND=cudnn_frontend.h CUDNN=cudnn.h CUDA=cuda_fp16.h CRT=crt/host_config.h)
  string(REGEX MATCH "^([A-Z]+)=(.*)$" _ ${header})
  unset(CudnnFrontend_${CMAKE_MATCH_1})
  find_path(CudnnFrontend_${CMAKE_MATCH_1} ${CMAKE_MATCH_2} NO_CACHE
    HINTS ${attnc_frontend_includes} ${attnc_cuda_includes})
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudnnFrontend REQUIRED_VARS
  CudnnFrontend_FRONTEND CudnnFrontend_CUDNN CudnnFrontend_CUDA CudnnFrontend_CRT)
if(CudnnFrontend_FOUND AND NOT TARGET CudnnFrontend::headers)
  set(attnc_cudnn_headers ${CudnnFrontend_FRONTEND} ${CudnnFrontend_CUDNN} ${CudnnFrontend_CUDA}
    ${CudnnFrontend_CRT})
  list(REMOVE_DUPLICATES attnc_cudnn_headers)
  add_library(CudnnFrontend::headers INTERFACE IMPORTED)
  target_include_directories(CudnnFrontend::headers SYSTEM INTERFACE ${attnc_cudnn_headers})
endif()
