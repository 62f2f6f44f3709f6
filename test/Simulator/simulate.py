"""Compiles a spec for a GPU target, runs its kernels on the simulator and compares them with fp64.

  python test/Simulator/simulate.py --spec examples/llama3-8b-prefill.yaml --target sm_90a \\
      --shape b=1,sq=130,skv=200 --heads q=4,kv=1

Exit codes: 0 right, 1 wrong numbers or a fault, 2 bad usage.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from machine import Counts, run_launch
from memory import GUARD_BYTE, SimulationFault
from package import Binding, Package
from problem import Array, Problem, Shape
from ptx import PtxError
from reference import evaluate
from spec import Spec

ROOT = Path(__file__).resolve().parents[2]
# A rounding of the result and one of each probability, in the outputs' and the matrix unit's type.
EPSILON = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 2.0**-20}
LSE_ABSOLUTE, LSE_RELATIVE = 1e-4, 1e-5


class UsageError(Exception):
    pass


@dataclass
class Report:
    ok: bool
    lines: list[str]
    counts: Counts


def find_attnc() -> str:
    return os.environ.get("ATTNC") or str(ROOT / "build" / "bin" / "attnc")


def with_heads(text: str, heads: str) -> str:
    """The spec with other numbers of heads, also in the extents of its arguments."""
    match = re.fullmatch(r"q=(\d+),kv=(\d+)", heads)
    if not match:
        raise UsageError(f"--heads is q=N,kv=M, not '{heads}'")
    old = re.search(r"^heads:\s*(?:\{\s*q:\s*)?(\d+).*$", text, re.M)
    text = text[:old.start()] + f"heads: {{q: {match[1]}, kv: {match[2]}}}" + text[old.end():]
    return re.sub(rf"\[{old[1]}\b", f"[{match[1]}", text)


def compile_package(spec: Path, target: str, config: str | None, heads: str | None) -> Package:
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / spec.name
        text = spec.read_text()
        source.write_text(with_heads(text, heads) if heads else text)
        output = Path(directory) / "kernel.attnpkg"
        command = [find_attnc(), "compile", str(source), "--target", target, "--emit=package", "-o", str(output)]
        if config:
            command.append(f"--config={config}")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UsageError(f"{' '.join(command)} failed with code {done.returncode}:\n{done.stderr}")
        return Package.load(output)


def poison(array: Array) -> np.ndarray:
    return np.full(array.data.nbytes, 0xFF, np.uint8)


def simulate(package: Package, shape: Shape, seed: int, multiprocessors: int, splits: int,
             scalars: dict[str, float] | None = None) -> Report:
    """Runs a package on a random problem and compares every output."""
    spec = Spec.parse(package.manifest["spec"])
    problem = Problem(spec, shape, seed, scalars)
    binding = Binding(package, problem.symbols(splits, multiprocessors), problem.scalars)
    outputs = package.manifest["problem"]["outputs"]
    for name, array in problem.arrays.items():
        written = name in outputs
        data = poison(array) if written else array.data
        binding.bind(name, array.dtype, data, array.shape, array.strides, written)
    binding.memory.seal()
    counts = Counts()
    for launch in binding.launches():
        part = run_launch(launch, seed)
        counts.instructions += part.instructions
        counts.ctas += part.ctas
        for name, number in part.by_name.items():
            counts.by_name[name] = counts.by_name.get(name, 0) + number
    lines, ok = [], True
    expected = evaluate(problem)
    for name in outputs:
        array = problem.arrays[name]
        raw = binding.tensors[name].buffer.data.view(array.data.dtype).reshape(array.data.shape)
        found = Array(array.dtype, raw, array.shape, array.strides).logical()
        good, line = compare(name, found, expected, spec)
        ok &= good
        lines.append(line)
    memory = binding.memory
    if (memory.bytes[memory.state == 0] != GUARD_BYTE).any():
        ok = False
        lines.append("guard bytes were overwritten")
    return Report(ok, lines, counts)


def compare(name: str, found: np.ndarray, expected: dict[str, np.ndarray], spec: Spec) -> tuple[bool, str]:
    want = expected[name]
    if name == "o":
        epsilon = max(EPSILON[spec.dtype_o], EPSILON[spec.dtype_kv])
        bound = 2 * epsilon * expected["weight"] + 1e-6
    else:
        bound = LSE_ABSOLUTE + LSE_RELATIVE * np.abs(np.where(np.isfinite(want), want, 0))
    with np.errstate(invalid="ignore"):
        error = np.where(found == want, 0, np.abs(found - want))  # equal infinities differ by nothing
    wrong = ~(error <= bound)
    finite = np.where(np.isfinite(error), error, np.inf)
    relative = float((finite / bound).max(initial=0))
    line = f"{name} {'x'.join(map(str, want.shape))}: max_abs {finite.max(initial=0):.3g}, " \
           f"{relative:.2f} of the bound, {int(wrong.sum())} wrong"
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        line += f"; first at {list(index)}: {found[index]:.6g}, fp64 says {want[index]:.6g}"
    return not wrong.any(), line


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", type=Path, required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--shape", default="b=1,sq=130,skv=130", help="b=N,sq=N,skv=N")
    parser.add_argument("--heads", help="q=N,kv=M: fewer heads than the spec has, to be quicker")
    parser.add_argument("--config", help="as attnc compile --config")
    parser.add_argument("--seed", type=int, default=0, help="of the data and the schedule")
    parser.add_argument("--multiprocessors", type=int, default=2, help="of the GPU that a persistent grid fills")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--arg", action="append", default=[], help="NAME=VALUE of a scalar argument")
    parser.add_argument("--instructions", action="store_true", help="print the counts of every instruction")
    options = parser.parse_args(arguments)
    try:
        shape = Shape.parse(options.shape)
        scalars = {name: float(value) for name, value in (item.split("=") for item in options.arg)}
        package = compile_package(options.spec, options.target, options.config, options.heads)
    except (UsageError, ValueError) as error:
        print(f"simulate: error: {error}", file=sys.stderr)
        return 2
    start = time.monotonic()
    try:
        report = simulate(package, shape, options.seed, options.multiprocessors, options.splits, scalars)
    except (SimulationFault, PtxError) as fault:
        print(f"simulate: fault: {fault}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - start
    for line in report.lines:
        print(line)
    wgmmas = sum(n for name, n in report.counts.by_name.items() if name.startswith("wgmma.mma_async"))
    print(f"{report.counts.ctas} blocks, {report.counts.instructions} warp instructions "
          f"({report.counts.instructions // max(1, report.counts.ctas)} a block), {wgmmas} wgmma, {seconds:.1f} s")
    if options.instructions:
        for name, number in sorted(report.counts.by_name.items(), key=lambda item: -item[1]):
            print(f"{number:10} {name}")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
