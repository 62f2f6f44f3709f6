# exitcode.py CODE [--stdout FILE] COMMAND…: passes output on and succeeds when the command exits with CODE.
import subprocess
import sys

expected = int(sys.argv[1])
command = sys.argv[2:]
stdout = None
if command[0] == "--stdout":
    stdout = open(command[1], "wb")
    command = command[2:]
found = subprocess.run(command, stdout=stdout).returncode
if found != expected:
    print(f"{command} exited with {found}, expected {expected}", file=sys.stderr)
sys.exit(found != expected)
