// cuDNN accepts every operation of the attention graphs: finalising them needs the library, no GPU.
#include "CudnnGraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace attnc::bench;

TEST(CudnnGraph, EveryOperationAndTheGraphAreAccepted) {
  Result<const cudnn::Api *> api = cudnn::load();
  if (!api.ok())
    GTEST_SKIP() << api.status().message();
  for (const char *regime : {"prefill", "decode"})
    for (bool causal : {false, true})
      for (const char *dtype : {"bf16", "fp16"}) {
        Config c;
        c.regime = regime;
        c.batch = 4;
        c.n = 1024;
        c.hq = 32;
        c.hkv = 8;
        c.causal = causal;
        c.dtype = dtype;
        const Status s = cudnn::SdpaPlan::create(**api, nullptr, c).status();
        // Without a device the heuristics are the first thing that has nothing to say.
        EXPECT_EQ(s.code(), StatusCode::Unsupported) << s.message();
        EXPECT_THAT(s.message(), testing::HasSubstr("heuristics offered no engine"));
      }
}

TEST(CudnnGraph, ARejectedDescriptorNamesTheCall) {
  Result<const cudnn::Api *> api = cudnn::load();
  if (!api.ok())
    GTEST_SKIP() << api.status().message();
  cudnn::Descriptors d(**api);
  d.finalize(d.make(cudnn::tensorDescriptor, "the tensor"), "the tensor"); // It has no dimensions.
  ASSERT_FALSE(d.status().ok());
  EXPECT_THAT(d.status().message(), testing::HasSubstr("the tensor: CUDNN_STATUS_BAD_PARAM"));
  EXPECT_EQ(d.make(cudnn::matmulDescriptor, "more"), nullptr) << "the first failure stays";
}
