// Runs a fuzz target without libFuzzer: replays files, then mutates seeds for some seconds. No
// coverage feedback; for that build with clang. A crash prints its input in hexadecimal.
//
//   PackageFuzz [--seconds=N] [--seed=N] [FILE|DIRECTORY]...
#include "FuzzTarget.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <unistd.h>

namespace {

std::string currentInput;

/// Writes the input at fault where a person finds it; only async-signal-safe calls.
void reportCrash(int signal) {
  static const char text[] = "fuzz: crash; the input follows in hexadecimal\n";
  (void)!::write(STDERR_FILENO, text, sizeof text - 1);
  static const char digits[] = "0123456789abcdef";
  for (unsigned char c : currentInput) {
    const char pair[2] = {digits[c >> 4], digits[c & 15]};
    (void)!::write(STDERR_FILENO, pair, 2);
  }
  (void)!::write(STDERR_FILENO, "\n", 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void runOne(std::string input) {
  currentInput = std::move(input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(currentInput.data()),
                         currentInput.size());
}

class Mutator {
public:
  Mutator(std::vector<std::string> seeds, std::vector<std::string> tokens, std::uint64_t seed)
      : seeds(std::move(seeds)), tokens(std::move(tokens)), random(seed) {}

  std::string next() {
    std::string input = seeds[pick(seeds.size())];
    for (std::size_t rounds = 1 + pick(6); rounds > 0; --rounds)
      mutate(input);
    return input;
  }

private:
  std::size_t pick(std::size_t count) { return count ? random() % count : 0; }

  void mutate(std::string &input) {
    const std::size_t at = pick(input.size() + 1);
    const std::size_t length = 1 + pick(pick(4) ? 8 : 200);
    switch (pick(9)) {
    case 0:
      if (at < input.size())
        input[at] = char(input[at] ^ (1 << pick(8)));
      break;
    case 1:
      if (at < input.size())
        input[at] = char(random());
      break;
    case 2:
      input.erase(at, length);
      break;
    case 3:
      input.insert(at, tokens[pick(tokens.size())]);
      break;
    case 4:
      replaceNumber(input, at);
      break;
    case 5:
      input.insert(at, input.substr(pick(input.size() + 1), length));
      break;
    case 6:
      input.resize(at);
      break;
    case 7: {
      const std::string &other = seeds[pick(seeds.size())];
      input.insert(at, other.substr(pick(other.size() + 1), length));
      break;
    }
    case 8:
      for (std::size_t i = at; i < std::min(at + 8, input.size()); ++i)
        input[i] = pick(2) ? '\xff' : '\0';
      break;
    }
  }

  /// Replaces the next run of digits by a number at a boundary.
  void replaceNumber(std::string &input, std::size_t at) {
    static const char *numbers[] = {"0",
                                    "-1",
                                    "1",
                                    "7",
                                    "2147483647",
                                    "2147483648",
                                    "4294967296",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "18446744073709551615",
                                    "-9223372036854775808",
                                    "1e9",
                                    "0.5",
                                    "1e400"};
    const std::size_t begin = input.find_first_of("0123456789", at);
    if (begin == std::string::npos)
      return;
    const std::size_t end = std::min(input.find_first_not_of("0123456789", begin), input.size());
    input.replace(begin, end - begin, numbers[pick(std::size(numbers))]);
  }

  std::vector<std::string> seeds, tokens;
  std::mt19937_64 random;
};

bool option(const char *argument, const char *name, const char *&value) {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0)
    return false;
  value = argument + length;
  return true;
}

bool replay(const std::filesystem::path &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    bool ok = true;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file())
        ok &= replay(entry.path());
    return ok;
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    std::fprintf(stderr, "fuzz: cannot open %s\n", path.c_str());
    return false;
  }
  runOne({std::istreambuf_iterator<char>(stream), {}});
  return true;
}

} // namespace

int main(int argc, char **argv) {
  double seconds = 0;
  std::uint64_t seed = 1;
  bool ok = true;
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL})
    std::signal(signal, reportCrash);
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    const char *value = nullptr;
    if (option(argv[i], "--seconds=", value))
      seconds = std::atof(value);
    else if (option(argv[i], "--seed=", value))
      seed = std::strtoull(value, nullptr, 10);
    else {
      ok &= replay(argv[i]);
      ++files;
    }
  }
  for (const std::string &input : fuzzSeeds())
    runOne(input);
  Mutator mutator(fuzzSeeds(), fuzzTokens(), seed);
  std::uint64_t runs = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end)
    for (int i = 0; i < 50; ++i, ++runs)
      runOne(mutator.next());
  std::printf("fuzz: %d files, %zu seeds, %llu mutations, no finding (seed %llu)\n", files,
              fuzzSeeds().size(), static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(seed));
  return ok ? 0 : 1;
}
