# Runs the ```console blocks of a Markdown page and compares what they print, so that a page cannot rot.
#
#   $ attnc check SPEC      a command, run by bash at the root of the source tree (pipefail, one
#                           scratch directory $TMP for the page); its stderr is part of its output
#   text                    what it prints, line by line
#   …                       alone on a line: any lines; within a line: any text
#
# A block ```console numbers holds where every number may differ: timings, sizes, register counts.
# A block ```console values holds where SSA values (%12, %arg3) may have other names.
# A command that fails must show it by a last line `[exit N]`.
import re
import subprocess
import sys
import tempfile


def blocks(text):
    """(line number, info string, lines) of every console block."""
    start, info, lines = None, "", []
    for number, line in enumerate(text.split("\n"), 1):
        if start is None and line.startswith("```console"):
            start, info, lines = number, line[len("```console"):].strip(), []
        elif start is not None and line.startswith("```"):
            yield start, info, lines
            start = None
        elif start is not None:
            lines.append((number, line))


def pattern(line, info):
    parts = []
    for piece in line.rstrip().split("…"):
        escaped = re.escape(piece)
        if "values" in info:
            escaped = re.sub(r"%\w+", r"%\\w+", escaped)
        if "numbers" in info:
            # A number and the blanks that align it.
            escaped = re.sub(r"(?:\\ )*\d+(?:\\\.\d+)?(?:[eE](?:\\?[-+])?\d+)?",
                             lambda m: r"\s*[\d.]+(?:[eE][-+]?\d+)?", escaped)
            escaped = re.sub(r"(?:\\ ){2,}", r"\\s+", escaped)
        parts.append(escaped)
    return re.compile(".*".join(parts) + r"\s*\Z")


def mismatch(expected, actual, info):
    """None, or (line number, text) of the first expected line that the output lacks."""
    position, anywhere = 0, False
    for number, line in expected:
        if line.strip() == "…":
            anywhere = True
            continue
        expression = pattern(line, info)
        found = position
        while found < len(actual) and not expression.match(actual[found]):
            found += 1
            if not anywhere:
                break
        if found >= len(actual) or not expression.match(actual[found]):
            return number, line
        position, anywhere = found + 1, False
    if position < len(actual) and not anywhere:
        return (expected[-1][0] if expected else 0), "(nothing more) but got: " + actual[position]
    return None


def main(root, page):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    commands, failures = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for start, info, lines in blocks(text):
            groups = []
            for number, line in lines:
                if line.startswith("$ "):
                    groups.append((number, [line[2:]], []))
                elif groups and line.startswith("> ") and not groups[-1][2]:
                    groups[-1][1].append(line[2:])
                elif groups:
                    groups[-1][2].append((number, line))
                else:
                    sys.exit(f"{page}:{number}: output before any command")
            for number, command, expected in groups:
                commands += 1
                done = subprocess.run(["bash", "-c", "set -o pipefail; TMP=" + scratch + "\n"
                                       + "\n".join(command)], cwd=root, text=True, timeout=300,
                                      encoding="utf-8", stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT)
                actual = done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []
                if done.returncode:
                    actual.append(f"[exit {done.returncode}]")
                wrong = mismatch(expected, actual, info)
                if wrong:
                    failures += 1
                    print(f"{page}:{wrong[0]}: not printed by `{command[0]}`: {wrong[1]}")
                    print("\n".join("    " + line for line in actual[:400]))
    if not commands:
        sys.exit(f"{page}: no ```console block; nothing was checked")
    print(f"{page}: {commands} commands run, {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
