# Case M1 as a file: Q = 0 and V[j] = j + 1, two queries at the end of five keys.
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import safetensors

queries, keys, heads_q, heads_kv, dim = 2, 5, 4, 2, 64
zeros = [0.0] * (queries * heads_q * dim)
values = [float(j + 1) for j in range(keys) for _ in range(heads_kv * dim)]
safetensors.write(
    sys.argv[1],
    {
        "q": ("BF16", [1, queries, heads_q, dim], safetensors.bf16(zeros)),
        "k": ("BF16", [1, keys, heads_kv, dim], safetensors.bf16(values)),
        "v": ("BF16", [1, keys, heads_kv, dim], safetensors.bf16(values)),
    },
)
