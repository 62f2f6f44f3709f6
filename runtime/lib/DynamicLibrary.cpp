// dlopen over a list of places.
#include "attnc/Runtime/DynamicLibrary.h"

#include "StatusFormat.h"

#include <dlfcn.h>
#include <filesystem>
#include <link.h>

namespace attnc::rt {
namespace {

/// RTLD_LOCAL: two CUDA versions in one process (a framework's and ours) must not mix.
void *openFile(const std::string &name) { return ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); }

std::string linkerReason() {
  const char *reason = ::dlerror();
  return reason ? reason : "unknown reason";
}

std::string resolvedPath(void *handle, const std::string &fallback) {
  link_map *map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name)
    return map->l_name;
  return fallback;
}

} // namespace

Result<DynamicLibrary> DynamicLibrary::open(const LibraryRequest &request,
                                            const CudaLocations &locations) {
  DynamicLibrary library;
  if (!request.overrideVariable.empty())
    if (const auto file = locations.environment(request.overrideVariable)) {
      library.handle = openFile(*file);
      if (!library.handle)
        return environmentError("{}: {} is '{}', which cannot be loaded: {}", request.what,
                                request.overrideVariable, *file, linkerReason());
      library.file = resolvedPath(library.handle, *file);
      return library;
    }

  std::vector<std::string> candidates;
  if (request.inToolkit)
    for (const std::string &directory : locations.libraryDirs)
      for (const std::string &name : request.fileNames)
        candidates.push_back((std::filesystem::path(directory) / name).string());
  candidates.insert(candidates.end(), request.fileNames.begin(), request.fileNames.end());

  std::string broken;
  for (const std::string &candidate : candidates) {
    const bool isPath = candidate.find('/') != std::string::npos;
    std::error_code error;
    if (isPath && !std::filesystem::exists(candidate, error))
      continue;
    if ((library.handle = openFile(candidate))) {
      library.file = resolvedPath(library.handle, candidate);
      return library;
    }
    const std::string reason = linkerReason();
    // A file that is there but does not load is worth reporting; a name nobody knows is not.
    if (isPath)
      broken += fmt::format("; '{}' is there but does not load: {}", candidate, reason);
  }

  std::string names, places;
  for (const std::string &name : request.fileNames)
    names += (names.empty() ? "" : ", ") + name;
  if (request.inToolkit)
    for (const std::string &directory : locations.libraryDirs)
      places += directory + ", ";
  return environmentError("{} not found: looked for {} in {}the system's library path{}; {}{}{}",
                          request.what, names, places, broken, request.advice,
                          request.overrideVariable.empty()
                              ? std::string()
                              : ", or set " + request.overrideVariable + " to the file",
                          locations.remarkSuffix());
}

void *DynamicLibrary::symbol(const char *name) const { return ::dlsym(handle, name); }

} // namespace attnc::rt
