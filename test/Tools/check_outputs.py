# Case M1's answer: bottom-right causal gives rows 2.5 and 3.0, LSE ln 4 and ln 5.
import math
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import safetensors

tensors = safetensors.read(sys.argv[1])
dtype, shape, data = tensors["o"]
assert (dtype, shape) == ("BF16", [1, 2, 4, 64]), (dtype, shape)
rows = safetensors.from_bf16(data)
assert rows == [2.5] * 256 + [3.0] * 256, rows
dtype, shape, data = tensors["lse"]
assert (dtype, shape) == ("F32", [1, 4, 2]), (dtype, shape)
for index, value in enumerate(struct.unpack("<8f", data)):
    assert abs(value - math.log(4 + index % 2)) < 1e-6, (index, value)
