// What a fuzz target offers: libFuzzer's entry point, and seeds for our own driver.
#ifndef ATTNC_TEST_FUZZ_FUZZTARGET_H
#define ATTNC_TEST_FUZZ_FUZZTARGET_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

/// Feeds one input to the code under test. Anything but a normal return is a finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

/// Good inputs to mutate.
std::vector<std::string> fuzzSeeds();

/// Pieces that make sense in this format, to be spliced in.
std::vector<std::string> fuzzTokens();

/// A finding that is no crash: a property that does not hold. Active in every build type.
#define FUZZ_CHECK(condition)                                                                      \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);          \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)

#endif // ATTNC_TEST_FUZZ_FUZZTARGET_H
