// A package loaded on a device, ready to launch: picks cubin or PTX, assembles where needed, looks
// every entry function up.
#ifndef ATTNC_RUNTIME_EXECUTABLE_H
#define ATTNC_RUNTIME_EXECUTABLE_H

#include "attnc/Runtime/Launcher.h"
#include "attnc/Runtime/Module.h"
#include "attnc/Runtime/Package.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::rt {

/// How code for one target gets onto a device.
enum class LoadPath : std::uint8_t {
  Cubin,       ///< The package's cubin runs on the device.
  AssemblePtx, ///< The package's PTX is assembled for the device.
};

/// Decides from names alone. A cubin for sm_XY runs on the same major version from minor Y on; one
/// for sm_XYa only on X.Y. PTX runs on the same or any later version; PTX for sm_XYa only on X.Y.
/// \p deviceSm is "sm_90", without suffix. \returns Unsupported naming both and what to compile
/// for.
Result<LoadPath> chooseLoadPath(std::string_view packageTarget, std::string_view deviceSm,
                                bool hasCubin, bool hasPtx);

class Executable : public Launcher {
public:
  /// \returns Unsupported when the package cannot run on the device (the message says what to
  /// compile for), CompileFailed when its PTX is rejected, else the driver's failure.
  static Result<std::shared_ptr<Executable>> load(std::shared_ptr<Device> device,
                                                  const Package &package);

  Status begin() override;
  Status launch(const LaunchRequest &request) override;
  void end() override;
  Status encodeTensorMap(const TensorMapRequest &request, TensorMap &map) override;
  int multiprocessors() const override { return owner->properties().multiprocessors; }

  const std::shared_ptr<Device> &device() const { return owner; }
  const std::vector<Kernel> &kernels() const { return functions; }
  /// "cubin", "ptx by nvjitlink 13.0", …: what was loaded, for logs.
  const std::string &origin() const { return loadedFrom; }

private:
  explicit Executable(std::shared_ptr<Device> device) : owner(std::move(device)) {}

  std::shared_ptr<Device> owner;
  std::vector<Kernel> functions;
  std::string loadedFrom;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_EXECUTABLE_H
