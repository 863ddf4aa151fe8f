#!/usr/bin/env python3
"""write_fleet.py REPORT FOLDER COUNT [SEED [DATE]]: writes COUNT reports of GPUs like REPORT's, thin as a node keeps them
(no samples, no conditions). Chips differ by 1%, and three of them have memory that is a tenth slower.

Measures the time for a large fleet; tests/support/fleet_model.h tests the judgement.
"""
import json
import pathlib
import random
import sys

KEPT = ("value", "unit", "low", "high", "source", "reason", "detail")


def thin(node):
    """The attributes that a node keeps, without their evidence."""
    result = {}
    for key, value in node.items():
        if not isinstance(value, dict):
            result[key] = value
        elif "source" not in value:
            result[key] = thin(value)
        elif value.get("reason") != "not_applicable" and not isinstance(value.get("value"), list):
            result[key] = {name: value[name] for name in KEPT if name in value}
    return result


def vary(node, draw, factor):
    """Varies each measured number and its interval by about 1%."""
    for key, value in node.items():
        if not isinstance(value, dict):
            continue
        if "source" not in value:
            vary(value, draw, factor if key == "device" else 1)
        elif value["source"] == "measured" and isinstance(value.get("value"), float):
            off = (1 + 0.01 * draw.gauss(0, 1)) * (factor if "bandwidth" in key else 1)
            for name in ("value", "low", "high"):
                if value.get(name) is not None:
                    value[name] *= off


def main():
    report, folder, count, seed, *date = sys.argv[1:] + ["1"] * (len(sys.argv) == 4)
    base = json.loads(pathlib.Path(report).read_text())
    text = json.dumps({key: thin(base[key]) if key in ("device", "compute", "memory") else base[key] for key in base
                       if key != "timing"} | {"timing": {"total_seconds": 4.0, "probes": []}})
    if date:
        text = text.replace(base["timestamp"][:10], date[0])
    draw = random.Random(int(seed))
    slow = set(draw.sample(range(int(count)), 3))
    for i in range(int(count)):
        one = json.loads(text)
        # Numbers without a decimal point would be counts.
        for attributes in one["memory"].values():
            for name, attribute in attributes.items():
                if isinstance(attribute, dict) and "bandwidth" in name and "value" in attribute:
                    attribute["value"] = float(attribute["value"])
        vary(one["memory"], draw, 0.9 if i in slow else 1)
        place = pathlib.Path(folder) / f"rack{i // 800:02}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"node{i // 8:04}-gpu{i % 8}.json").write_text(json.dumps(one))
    print("slow:", ", ".join(f"rack{i // 800:02}/node{i // 8:04}-gpu{i % 8}" for i in sorted(slow)))


if __name__ == "__main__":
    main()
