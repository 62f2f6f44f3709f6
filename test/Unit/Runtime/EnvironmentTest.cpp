// The environment report is valid JSON and complete on any machine.
#include "attnc/Runtime/Environment.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace attnc::rt;

TEST(Environment, EveryPartIsFoundOrSaysWhyNot) {
  const auto json = nlohmann::json::parse(environmentJson());
  EXPECT_EQ(json.at("runtime"), runtimeVersion());
  for (const char *part : {"driver", "nvml", "nvrtc", "nvjitlink", "ptxas", "cudnn"}) {
    SCOPED_TRACE(part);
    const auto &value = json.at(part);
    if (value.at("found").get<bool>())
      EXPECT_FALSE(value.at("path").get<std::string>().empty());
    else
      EXPECT_FALSE(value.at("reason").get<std::string>().empty());
  }
  EXPECT_TRUE(json.at("gpus").is_array());
  if (json.at("gpus").empty())
    EXPECT_TRUE(json.at("driver").contains("gpu_reason") || json.at("driver").at("found"));
  EXPECT_TRUE(json.at("remarks").is_array());
  EXPECT_TRUE(json.at("assemblers").is_array());
}
