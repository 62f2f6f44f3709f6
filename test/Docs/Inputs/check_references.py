# Checks what Markdown pages name: relative links, `paths/in/the/tree`, and tests written as `Suite.Name`.
import pathlib
import re
import sys

# Files that a reader of a tutorial makes.
MADE = {"lib/Dialect/Tile/Transforms/ExpandSaturate.cpp", "test/Dialect/Tile/expand-saturate.mlir"}


def main(root):
    root = pathlib.Path(root)
    tests = set()
    for source in (root / "test").rglob("*.cpp"):
        for suite, name in re.findall(r"TEST(?:_F|_P)?\((\w+), (\w+)\)", source.read_text()):
            tests.add(f"{suite}.{name}")
    suites = {test.split(".")[0] for test in tests}
    tops = {path.name for path in root.iterdir() if path.is_dir()} - {"build"}
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    problems, checked = [], 0
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        where = page.relative_to(root)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if "://" not in target:
                checked += 1
                if not (page.parent / target).exists():
                    problems.append(f"{where}: link to {target}, which does not exist")
        for code in re.findall(r"`([^`\n]+)`", text):
            if re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", code) and code.split("/")[0] in tops \
                    and "XToY" not in code and code not in MADE:
                checked += 1
                if not (root / code).exists():
                    problems.append(f"{where}: names {code}, which does not exist")
            suite = re.fullmatch(r"(\w+)\.([A-Z]\w+)", code)
            if suite and suite[1] in suites:
                checked += 1
                if code not in tests:
                    problems.append(f"{where}: names the test {code}, which does not exist")
    print("\n".join(problems))
    print(f"{len(pages)} pages, {checked} names checked, {len(problems)} wrong")
    return 1 if problems or checked < 50 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
