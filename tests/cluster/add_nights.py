#!/usr/bin/env python3
"""add_nights.py STORE NIGHTS: repeats the last night of a store of two nights, each measured value varied by about 1%,
as gputopo would store it. Measures large stores.
"""
import sqlite3
import sys

DAY = 86400


def main():
    store, nights = sys.argv[1], int(sys.argv[2])
    database = sqlite3.connect(store, isolation_level=None)
    database.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA cache_size = -500000")
    gpus, last = database.execute("SELECT count(DISTINCT gpu), max(id) FROM runs").fetchone()
    begin = last - gpus
    columns = "host, name, document, model, driver, profile, simulated"
    for night in range(1, nights + 1):
        off = night * gpus
        database.execute("BEGIN")
        database.execute(f"INSERT INTO runs (id, gpu, timestamp, report, file, {columns}) SELECT id + ?1, gpu, timestamp + ?2, random(), "
                         f"random(), {columns} FROM runs WHERE id > ?3 AND id <= ?4", [off, night * DAY, begin, last])
        database.execute("INSERT INTO files SELECT file FROM runs WHERE id > ?", [last + off - gpus])
        database.execute("INSERT INTO changing SELECT run + ?1, quantity, value * (1 + 0.01 * random() / 9223372036854775807), low, high, text, "
                         "reason FROM changing WHERE run > ?2 AND run <= ?3", [off, begin, last])
        database.execute("COMMIT")
    database.execute("UPDATE lasting SET last = last + ? WHERE last > ?", [nights * gpus, begin])
    # Reports are kept for a week, which is long over for those of the first nights.
    print(database.execute("SELECT count(*) FROM runs").fetchone()[0], "runs,", database.execute("SELECT count(*) FROM changing").fetchone()[0],
          "values that changed")


main()
