# Prints the manifest of a kernel package, and checks that its PTX is where the manifest says.
import json
import struct
import sys

data = open(sys.argv[1], "rb").read()
assert data[:8] == b"ATTNPKG1", data[:8]
(size,) = struct.unpack("<Q", data[8:16])
manifest = json.loads(data[16 : 16 + size])
ptx = manifest["blobs"]["ptx"]
start = 16 + size + ptx["offset"]
assert b".visible .entry" in data[start : start + ptx["size"]]
print(json.dumps(manifest, indent=1))
