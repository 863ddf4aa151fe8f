#!/usr/bin/env python3
"""queries.py STORE REPORT PAGE: reads a store, made from this report alone, with Python's sqlite3, the sqlite3 shell and
pandas. Every value of the report must be in the views, and the recipes of docs/fleet.md (PAGE) must work.
"""
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys


def check_values(store, report):
    database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    for view in ("readings", "latest"):
        rows = {row["path"]: row for row in database.execute(f"SELECT * FROM {view}")}
        compared = 0
        for element, attributes in report["memory"].items():
            for name, attribute in attributes.items():
                if not isinstance(attribute, dict) or type(attribute.get("value")) not in (int, float):
                    continue
                row = rows[f"{'memory.device' if element == 'device' else element}.{name}"]
                assert row["value"] == attribute["value"], (element, name)
                assert (row["unit"] or "") == attribute["unit"] and row["source"] == attribute["source"], (element, name)
                if attribute["low"] is not None:  # the interval must not be narrower
                    assert row["low"] <= attribute["low"] and row["high"] >= attribute["high"], (element, name)
                assert row["model"] == report["device"]["name"] and row["name"] == "a" and row["host"] is None
                assert row["simulated"] == 0 and row["time"] == report["timestamp"]
                compared += 1
        assert compared > 80, compared
        assert rows["l2.index"]["text"] == "hashed"
        assert rows["l2.slices"]["reason"] == "device_error" and rows["l2.slices"]["value"] is None
        print(f"{compared} values of {len(rows)} rows of {view} are as in the report")


def check_plans(store):
    """A question about one path, or about the newest runs, reads no other values."""
    database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    for sql in ("SELECT gpu, value FROM latest WHERE path = 'l2.latency'", "SELECT time, value FROM readings WHERE path = 'l2.latency'"):
        plan = "\n".join(row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {sql}"))
        assert not re.search(r"SCAN (v|changing|lasting)", plan), plan
        assert "SEARCH v USING PRIMARY KEY (run=? AND quantity=?)" in plan, plan


def check_recipes(store, page):
    recipes = re.findall(r"(?:^    .*\n)+", page, re.MULTILINE)
    os.chdir(pathlib.Path(store).parent)
    ran = 0
    for recipe in (recipe.replace("\n    ", "\n").strip() for recipe in recipes):
        if recipe.startswith("sqlite3 fleet.db"):
            said = subprocess.run(recipe, shell=True, capture_output=True, text=True, check=True).stdout
            assert said.strip(), recipe
        elif re.match(r"import (\w+, )*(pandas|duckdb)", recipe):
            try:
                exec(recipe, {})  # pylint: disable=exec-used
            except ModuleNotFoundError as error:
                print(f"not tried: {error}")
                continue
        else:
            continue
        ran += 1
        print(f"works: {recipe.splitlines()[0]} ...")
    assert ran >= 2, ran


def main():
    store, report, page = sys.argv[1:]
    check_values(store, json.loads(pathlib.Path(report).read_text()))
    check_plans(store)
    check_recipes(store, pathlib.Path(page).read_text())


main()
