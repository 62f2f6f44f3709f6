# The few lines of safetensors that the tests need, with the standard library only.
import json
import struct


def write(path, tensors):
    """tensors: name → (dtype, shape, bytes)"""
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def read(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    return {
        name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
        for name, entry in header.items()
    }


def bf16(values):
    """Truncates: exact for small integers."""
    return b"".join(struct.pack("<f", value)[2:] for value in values)


def from_bf16(data):
    return [
        struct.unpack("<f", b"\0\0" + data[i : i + 2])[0] for i in range(0, len(data), 2)
    ]
