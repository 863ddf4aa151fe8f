#!/usr/bin/env python3
"""check_includes.py [ROOT]: checks that includes go cli -> discover -> probe -> device, stats, model; report -> model.

Reads every #include "..." of src and include under ROOT (by default this project) and names those that the table below
does not allow. Exits with 1 if there are any.
"""
import fnmatch
import pathlib
import re
import sys

# The allowed includes of each layer besides its own files: other layers, or single files as in the #include. A layer is
# a folder of src with its public headers: include/gputopo/LAYER.h and include/gputopo/LAYER/.
ALLOWED = {
    "error": [],  # the exceptions, which every layer may throw
    "file": ["error"],  # reading and writing files
    "operation": [],  # the GPU's operations, which programs and reports name
    "space": [],  # the names of the memory spaces, for elements and programs
    "times": [],  # where the time of a device goes
    "outcome": [],  # good, bad or not judged
    "inventory": [],  # the GPUs that the PCI bus shows
    "model": ["error", "space", "times", "operation", "outcome"],
    "program": ["error", "space", "operation", "file/limits.h", "file/shown.h"],
    "stats": ["error", "gputopo/program*.h"],  # the bins of a histogram
    "device": ["error", "inventory", "file", "space", "times", "operation", "program", "model/round_up.h", "model/likeness.h"],
    "probe": ["error", "space", "times", "operation", "gputopo/device.h", "gputopo/program*.h", "stats", "model"],
    "discover": ["error", "file/host.h", "space", "times", "operation", "gputopo/device.h", "gputopo/program*.h",
                 "stats", "model", "probe"],
    "report": ["error", "file", "space", "times", "operation", "model", "outcome"],
    "cache": ["error", "file", "device", "model", "report"],  # results, kept for the next time
    # the time of a kernel on the GPU of a report
    "kernel_model": ["error", "file", "operation", "model", "report"],
    # the links of a node, and reports of nodes
    "node": ["error", "file", "stats", "model", "report", "program", "outcome", "inventory", "gputopo/links.h",
             "device/node/places_json.h"],
    # outliers among the reports of many GPUs
    "fleet": ["error", "file", "model", "report", "stats", "outcome",
              "gputopo/node.h", "node/judgement.h"],
    "cli": ["error", "outcome", "inventory", "file", "space", "times", "operation", "model", "program", "stats",
            "device", "probe", "discover", "report", "cache", "kernel_model", "node", "fleet"],
    "library": ["error", "file", "gputopo/device.h", "gputopo/device_lock.h", "gputopo/discover.h", "model", "report", "cache"],
}
# The folders of a layer, each with the folders of the layer that it may include. "" is the folder of the layer itself.
FOLDERS = {
    "probe": {
        "bench": [], "survey": ["bench"], "bandwidth": ["bench", "survey"], "capacity": ["bench", "survey"],
        "compute": ["bench"], "warps": ["bench", "survey"], "cluster": ["bench", "survey", "bandwidth", "compute"],
        "sharing": ["bench", "survey"], "structure": ["bench", "survey", "capacity"],
        "partitions": ["bench", "survey", "capacity"], "latency": ["bench", "survey", "partitions"],
        "tlb": ["bench", "survey"], "code": ["bench", "survey", "capacity"],
    },
    "device": {
        "driver": [], "replay": ["driver"], "node": ["driver", "sim/machine"], "launch": ["driver"],
        "cuda": ["driver", "launch", "node"], "hip": ["driver", "launch", "node"],
        "sim/machine": ["driver"], "sim/cache": ["sim/machine"], "sim/memory": ["sim/cache", "sim/machine"],
        "sim/programs": ["sim/memory", "sim/machine"],
        "sim": ["driver", "sim/machine", "sim/memory", "sim/programs"],
        "": ["driver", "cuda", "hip", "node", "replay", "sim/machine", "sim"],
    },
    "discover": {"findings": [], "measure": ["findings"], "": ["findings", "measure"]},
    "report": {
        "words": [], "json": ["words"], "drawing": ["words"], "terminal": ["words", "drawing"],
        "compare": ["words", "drawing", "json"], "html": ["words", "drawing", "json", "compare"],
        "export": ["words", "drawing"], "": ["words", "drawing", "json", "html", "compare", "terminal"],
    },
}
# Public headers whose names differ from their layers': include/gputopo/HEADER.h.
LAYER_OF_HEADER = {"catalogue": "model", "device_lock": "device", "links": "device", "attributes.def": "model", "elements.def": "model",
                   "operations.def": "operation", "export": "report",
                   "gputopo": "library", "gputopo.hpp": "library"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def layer_of(path):
    """The layer of a file, named as in the #include: "probe/capacity/size.h", "gputopo/device.h"."""
    first, *rest = path.split("/")
    name = rest[0].removesuffix(".h") if first == "gputopo" and rest else first
    return LAYER_OF_HEADER.get(name, name)


def folder_of(path):
    """The folder of a file of src within its layer: "bench" of "probe/bench/probe_runner.h", "" of "report/formats.h"."""
    return "/".join(path.split("/")[1:-1])


def folders_allow(name, included):
    """Whether the table of folders lets the file of src `name` include another file of its layer."""
    folders = FOLDERS.get(name.split("/")[0])
    if folders is None or included.split("/")[0] != name.split("/")[0]:
        return True
    folder = folder_of(name)
    return folder in folders and folder_of(included) in [folder, *folders[folder]]


def is_allowed(layer, included):
    # A * in the table matches folders, too: "gputopo/program*.h" are all public headers of the programs.
    return layer_of(included) in [layer, *ALLOWED[layer]] or any(fnmatch.fnmatch(included, a) for a in ALLOWED[layer])


def violations(root):
    found = []
    for folder in ("src", "include"):
        for file in sorted((root / folder).rglob("*.[ch]*")):
            name = file.relative_to(root / folder).as_posix()
            layer = layer_of(name)
            if layer not in ALLOWED:
                found.append(f"{folder}/{name}: the table of tests/source/check_includes.py has no layer {layer}")
                continue
            for included in INCLUDE.findall(file.read_text()):
                if not any((root / place / included).is_file() for place in ("src", "include")):
                    found.append(f"{folder}/{name}: {included} is neither in src nor in include")
                elif not is_allowed(layer, included):
                    found.append(f"{folder}/{name}: {layer} may not include {included}")
                elif folder == "src" and not folders_allow(name, included):
                    found.append(f"{folder}/{name}: {layer}/{folder_of(name)} may not include {included}")
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    found = violations(root if root.is_dir() else root.parents[2])
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
