// The JSON schema of a spec, for editors and other programs. A unit test holds it to the parser.
#include "attnc/Spec/Spec.h"

namespace attnc {

llvm::StringRef specSchema() {
  return R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "attnc spec",
  "description": "An attention variant. Every key is described in docs/Spec.md.",
  "type": "object",
  "additionalProperties": false,
  "required": ["attn", "name", "kind", "heads", "dim", "dtype"],
  "properties": {
    "attn": {"const": 1, "description": "version of the spec language"},
    "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_-]{0,127}$"},
    "kind": {"enum": ["prefill", "decode"]},
    "heads": {
      "description": "query and KV heads; q is a multiple of kv",
      "oneOf": [
        {"$ref": "#/$defs/heads"},
        {"type": "object", "additionalProperties": false, "required": ["q", "kv"],
         "properties": {"q": {"$ref": "#/$defs/heads"}, "kv": {"$ref": "#/$defs/heads"}}}
      ]
    },
    "dim": {
      "oneOf": [
        {"$ref": "#/$defs/dim"},
        {"type": "object", "additionalProperties": false, "required": ["qk", "v"],
         "properties": {"qk": {"$ref": "#/$defs/dim"}, "v": {"$ref": "#/$defs/dim"}}}
      ]
    },
    "dtype": {
      "oneOf": [
        {"$ref": "#/$defs/float"},
        {"type": "object", "additionalProperties": false, "required": ["q"],
         "properties": {"q": {"$ref": "#/$defs/float"}, "kv": {"$ref": "#/$defs/float"},
                        "o": {"$ref": "#/$defs/float"}}}
      ]
    },
    "layout": {"enum": ["bshd", "bhsd"], "default": "bshd"},
    "seq": {
      "oneOf": [
        {"const": "dense"},
        {"type": "object", "additionalProperties": false,
         "properties": {
           "q": {"description": "most query tokens of a decode: N or 1..N, N up to 64",
                 "oneOf": [{"type": "integer", "minimum": 1, "maximum": 64},
                           {"type": "string", "pattern": "^1\\.\\.[1-9][0-9]?$"}]},
           "kv": {"enum": ["dense", "lens"]},
           "varlen": {"const": "cu_seqlens"}}}
      ]
    },
    "kv": {
      "oneOf": [
        {"const": "dense"},
        {"type": "string", "pattern": "^paged\\(page=[1-9][0-9]{0,4}\\)$"},
        {"type": "object", "additionalProperties": false, "required": ["paged"],
         "properties": {"paged": {"type": "object", "additionalProperties": false, "required": ["page"],
           "properties": {"page": {"type": "integer", "minimum": 1, "maximum": 65536}}}}}
      ]
    },
    "args": {
      "type": "object", "maxProperties": 32,
      "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"},
      "additionalProperties": {
        "oneOf": [
          {"type": "string", "pattern": "^(f16|bf16|f32|i32|bool)( *\\[.*\\])?$"},
          {"type": "object", "additionalProperties": false, "required": ["tensor"],
           "properties": {
             "tensor": {"enum": ["f16", "bf16", "f32", "i32", "bool"]},
             "rank": {"type": "integer", "minimum": 1, "maximum": 5},
             "shape": {"type": "array", "minItems": 1, "maxItems": 5,
                       "items": {"oneOf": [{"const": "?"}, {"type": "integer", "minimum": 1}]}}}}
        ]
      }
    },
    "mask": {"oneOf": [{"$ref": "#/$defs/mask"},
                       {"type": "array", "maxItems": 16, "items": {"$ref": "#/$defs/mask"}}]},
    "score": {"oneOf": [{"$ref": "#/$defs/score"},
                        {"type": "array", "maxItems": 16, "items": {"$ref": "#/$defs/score"}}]},
    "bias": {"$ref": "#/$defs/float"},
    "sinks": {"type": "boolean", "default": false},
    "scale": {"type": "number", "exclusiveMinimum": 0},
    "out": {
      "default": ["o"],
      "oneOf": [{"const": "o"},
                {"type": "array", "minItems": 1, "maxItems": 2, "uniqueItems": true,
                 "contains": {"const": "o"}, "items": {"enum": ["o", "lse"]}}]
    },
    "split_kv": {"default": "auto",
                 "oneOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": 256}]}
  },
  "$defs": {
    "heads": {"type": "integer", "minimum": 1, "maximum": 1024},
    "dim": {"type": "integer", "minimum": 8, "maximum": 576, "multipleOf": 8},
    "float": {"enum": ["f16", "bf16", "f32"]},
    "bound": {"type": "integer", "minimum": -1, "maximum": 1073741824},
    "mask": {
      "oneOf": [
        {"type": "string", "description": "causal, causal_top_left, none, or an expression of type bool"},
        {"type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
         "properties": {
           "causal": {"enum": ["bottom_right", "top_left"]},
           "window": {"oneOf": [
             {"type": "array", "minItems": 2, "maxItems": 2, "items": {"$ref": "#/$defs/bound"}},
             {"type": "object", "additionalProperties": false,
              "properties": {"left": {"$ref": "#/$defs/bound"}, "right": {"$ref": "#/$defs/bound"}}}]},
           "window_tokens": {"type": "integer", "minimum": 1, "maximum": 1073741824},
           "prefix_lm": {"type": "string"},
           "document": {"type": "string"},
           "expr": {"type": "string"}}}
      ]
    },
    "score": {
      "oneOf": [
        {"type": "string", "description": "alibi, none, or an expression of type f32"},
        {"type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
         "properties": {
           "softcap": {"type": "number", "exclusiveMinimum": 0},
           "alibi": {"type": "string"},
           "expr": {"type": "string"}}}
      ]
    }
  }
}
)json";
}

} // namespace attnc
