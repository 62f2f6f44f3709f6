# exitcode.py CODE [--stdout FILE] [--address-space GIB] [--file-size BYTES] COMMAND…: passes output on and
# succeeds when the command exits with CODE. A limit on the size of files stands for a full disk.
import resource
import subprocess
import sys

expected = int(sys.argv[1])
command = sys.argv[2:]
stdout = None
if command[0] == "--stdout":
    stdout = open(command[1], "wb")
    command = command[2:]
limit = None
if command[0] == "--address-space":
    limit = int(command[1]) << 30
    command = command[2:]
file_size = None
if command[0] == "--file-size":
    file_size = int(command[1])
    command = command[2:]


def prepare():
    if file_size:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


found = subprocess.run(command, stdout=stdout, preexec_fn=prepare).returncode
if found != expected:
    print(f"{command} exited with {found}, expected {expected}", file=sys.stderr)
sys.exit(found != expected)
