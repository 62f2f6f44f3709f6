// One shared library, opened at run time, with errors that say where it was looked for. Libraries
// stay open until the process ends: drivers do not survive being unloaded.
#ifndef ATTNC_RUNTIME_DYNAMICLIBRARY_H
#define ATTNC_RUNTIME_DYNAMICLIBRARY_H

#include "attnc/Runtime/CudaLocations.h"
#include "attnc/Runtime/Status.h"

#include <string>
#include <vector>

namespace attnc::rt {

struct LibraryRequest {
  /// For messages: "NVRTC".
  std::string what;
  /// File names to try in each place, newest first.
  std::vector<std::string> fileNames;
  /// A variable that names the file itself; set, it is used or it is an error.
  std::string overrideVariable;
  /// False for libraries that belong to the driver: the toolkit's directories hold only stubs of
  /// them, which must not be loaded.
  bool inToolkit = true;
  /// What to do when it is missing.
  std::string advice;
};

class DynamicLibrary {
public:
  /// \returns Environment: what is missing, every place tried with the linker's reason, the advice.
  static Result<DynamicLibrary> open(const LibraryRequest &request, const CudaLocations &locations);

  /// Address of a symbol, or null.
  void *symbol(const char *name) const;

  /// File that was opened, as the linker resolved it.
  const std::string &path() const { return file; }

private:
  void *handle = nullptr;
  std::string file;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_DYNAMICLIBRARY_H
