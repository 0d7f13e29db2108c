#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""check_nodal.py PICTURE.vtu FIELD [equal]: FIELD_nodal has one value at each node of each material, between those of the cells
that meet there, and if all cells are of one size their mean."""
import array
import base64
import collections
import re
import struct
import sys
import zlib


def arrays_of(file):
    """The arrays of a compressed VTU file by name, that of the points as an empty one."""
    found = {}
    kinds = {"Float32": "f", "Float64": "d", "Int32": "i", "Int64": "q", "UInt8": "B"}
    for head, data in re.findall(r"<DataArray ([^>]*)>\s*([^<]*)</DataArray>", open(file).read()):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', head))
        n_blocks = struct.unpack("<I", base64.b64decode(data[:8])[:4])[0]
        length = 4 * (3 + n_blocks)
        encoded = (length + 2) // 3 * 4
        sizes = struct.unpack("<%dI" % (3 + n_blocks), base64.b64decode(data[:encoded])[:length])[3:]
        body, values, at = base64.b64decode(data[encoded:]), array.array(kinds[attributes["type"]]), 0
        for size in sizes:
            values.frombytes(zlib.decompress(body[at : at + size]))
            at += size
        found[attributes.get("Name", "")] = values
    return found


picture, field = arrays_of(sys.argv[1]), sys.argv[2]
points, material, cells, nodal = (picture[name] for name in ("", "material", field, field + "_nodal"))
n = len(cells) // len(material)
largest = max(map(abs, cells))
at_node = collections.defaultdict(list)
for i, m in enumerate(material):
    at_node[(m, *(round(x, 5) for x in points[3 * i : 3 * i + 3]))].append(i)
for place, corners in at_node.items():
    for c in range(n):
        ours, theirs = [nodal[n * i + c] for i in corners], [cells[n * i + c] for i in corners]
        slack = 1e-5 * largest
        assert max(ours) - min(ours) <= slack, f"several values at {place}"
        assert min(theirs) - slack <= ours[0] <= max(theirs) + slack, f"no mean at {place}"
        assert "equal" not in sys.argv or abs(ours[0] - sum(theirs) / len(theirs)) <= slack, f"another mean at {place}"
assert max(abs(a - b) for a, b in zip(cells, nodal)) > 1e-3 * largest, "the cells have no other values"
assert len({place[1:] for place in at_node}) < len(at_node) or max(material) == min(material), "materials do not meet"
