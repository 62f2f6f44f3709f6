// A run allocates nothing: this file replaces the allocation functions of the test executable by
// ones that count.
#include "TestPackages.h"
#include "attnc/Runtime/Plan.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> allocations{0};
} // namespace

void *operator new(std::size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
// The sanitizers bring this one themselves and would see ours free what theirs gave.
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
  ++allocations;
  return std::malloc(size ? size : 1);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

using namespace attnc::rt;
using namespace attnc::rt::testing;

namespace {

/// Launches nothing and keeps nothing.
class CountingLauncher : public Launcher {
public:
  Status launch(const LaunchRequest &) override {
    ++launches;
    return {};
  }
  long launches = 0;
};

TEST(Allocation, R8_ARunAllocatesNothing) {
  auto launcher = std::make_shared<CountingLauncher>();
  ProblemSizes sizes;
  sizes.batch = 4;
  sizes.maxLenQ = 1;
  sizes.maxLenKv = 1000;
  sizes.splits = 3;
  Result<Plan> plan =
      Plan::create(std::make_shared<const Package>(decodePackage()), launcher, sizes);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const TensorBinding tensors[] = {
      {"q", TensorView::contiguous(0x1000, DataType::BF16, {4, 8, 1, 64})},
      {"k", TensorView::contiguous(0x2000, DataType::BF16, {4, 2, 1000, 64})},
      {"v", TensorView::contiguous(0x3000, DataType::BF16, {4, 2, 1000, 64})},
      {"kv_lens", TensorView::contiguous(0x4000, DataType::I32, {4})},
      {"o", TensorView::contiguous(0x5000, DataType::BF16, {4, 8, 1, 64})}};
  const ScalarBinding scalars[] = {{"arg.cap", 30.0}, {"arg.win", 7}};
  // The counting works at all.
  const long atStart = allocations;
  ::operator delete(::operator new(4));
  ASSERT_EQ(allocations, atStart + 1);
  const long before = allocations;
  Status status;
  for (int i = 0; i < 100 && status.ok(); ++i)
    status = plan->run(tensors, 5, scalars, 2, 0x10000, plan->workspaceBytes(), nullptr);
  const long after = allocations;
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(after - before, 0);
  EXPECT_EQ(launcher->launches, 200);
}

} // namespace
