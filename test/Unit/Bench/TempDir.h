// A directory that a test fills and that goes with it.
#ifndef ATTNC_TEST_UNIT_BENCH_TEMPDIR_H
#define ATTNC_TEST_UNIT_BENCH_TEMPDIR_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

struct TempDir {
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "attnc-bench-XXXXXX").string();
    if (mkdtemp(name.data()))
      path = name;
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  std::string file(const std::string &name) const { return path + "/" + name; }
  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
  std::string read(const std::string &name) const {
    std::ifstream in(file(name));
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  std::string path;
};

#endif // ATTNC_TEST_UNIT_BENCH_TEMPDIR_H
