// A tensor in host memory, as the reference, the host target and the tools pass it. Not a device
// tensor and not a file format: those are the runtime's.
#ifndef ATTNC_SUPPORT_HOSTTENSOR_H
#define ATTNC_SUPPORT_HOSTTENSOR_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attnc {

/// Element types of specs, tensors and packages.
enum class DType { F16, BF16, F32, F64, I32, I64, Bool, F8E4M3, F8E5M2 };

/// "f16", "bf16", …: the spelling of specs and packages.
const char *dtypeName(DType dtype);
/// False if `name` is no dtype.
bool parseDType(const std::string &name, DType &dtype);
/// Bytes an element.
int64_t dtypeSize(DType dtype);

/// Shape in elements, strides in elements (may be 0 for a broadcast dimension), shared storage.
struct HostTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape, strides;
  std::shared_ptr<std::vector<uint8_t>> storage;
  /// Offset of element (0, …, 0) in elements.
  int64_t offset = 0;

  /// A contiguous tensor, zero-filled.
  static HostTensor empty(DType dtype, std::vector<int64_t> shape);
  /// A tensor of logical order [batch, head, seq, dim] whose memory order is batch, seq, head, dim.
  static HostTensor emptyBSHD(DType dtype, std::vector<int64_t> shape);

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t numElements() const;
  uint8_t *data() const { return storage->data() + offset * dtypeSize(dtype); }

  /// Element at a logical index, converted (exactly where f64 can hold it).
  double get(const std::vector<int64_t> &index) const;
  /// Rounds to nearest even in the tensor's type.
  void set(const std::vector<int64_t> &index, double value);
};

/// Value of one stored element, and the stored bits of one value (round to nearest even).
///
/// F16 and BF16 overflow to infinity. The fp8 types saturate finite values, as PTX's cvt.satfinite
/// does; an infinity stays one in F8E5M2 and is NaN in F8E4M3 (the "fn" format, which has none).
/// Integers round to nearest even and saturate, NaN gives 0; Bool is one byte, 0 or 1.
double loadElement(const uint8_t *address, DType dtype);
void storeElement(uint8_t *address, DType dtype, double value);

} // namespace attnc

#endif // ATTNC_SUPPORT_HOSTTENSOR_H
