# What every lit test sees: where tools are, which substitutions and which optional features.
import json
import os
import subprocess

import lit.formats

config.name = "attnc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Unit", "Fuzz", "Bench"]

config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.attnc_binary_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.attnc_binary_dir, "bin"),
        config.llvm_tools_dir,
        config.environment.get("PATH", ""),
    ]
)
# No test depends on what was tuned on this machine.
config.environment["ATTNC_TUNING"] = "none"
# Where the assembler is found; tests of the environment itself set their own.
for name in ("ATTNC_CUDA_PATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%examples", os.path.join(config.attnc_source_dir, "examples")))
config.substitutions.append(("%python", config.python))
# Documentation: the source tree, and the generated pages.
config.substitutions.append(("%root", config.attnc_source_dir))
config.substitutions.append(("%docs", os.path.join(config.attnc_binary_dir, "docs")))


def environment():
    """The machine as `attnc env` sees it; empty when attnc is not built."""
    attnc = os.path.join(config.attnc_binary_dir, "bin", "attnc")
    if not os.path.exists(attnc):
        return {}
    out = subprocess.run([attnc, "env", "--json"], capture_output=True, check=True, timeout=60)
    return json.loads(out.stdout)


# `assembler`: PTX can be assembled without a GPU. `gpu`: kernels can be launched.
# Tests that need what this machine lacks are counted as unsupported, and the reason is printed.
machine = environment()
if any(machine.get(tool, {}).get("found") for tool in ("nvjitlink", "ptxas")):
    config.available_features.add("assembler")
elif machine:
    lit_config.note("no nvJitLink and no ptxas here: tests that assemble PTX are unsupported")
if machine.get("gpus"):
    config.available_features.add("gpu")
