"""Nearly correct stores of fleets (SQLite databases): rows, the schema and pages are changed."""
import sqlite3

from mutation import payloads
from mutation.documents import LARGEST_BYTES, damaged

PAGE = 4096
TABLES = ["texts", "quantities", "files", "runs", "changing", "lasting", "documents"]
NUMBERS = [0, 1, -1, 2, 127, 65536, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63), 253402300799, 1e308, -1e308, 5e-324, 1e18, 3.5,
           float("inf"), None]


def _columns(store, table):
    return [row[1] for row in store.execute(f"PRAGMA table_info({table})")]


def values(store, chance):
    """Changes values of some rows of a table."""
    table = chance.choice(TABLES + ["changing", "lasting", "runs", "texts"])
    column = chance.choice(_columns(store, table))
    rows = store.execute(f"SELECT {column} FROM {table}").fetchall()
    for _ in range(chance.choice([1, 1, 3, 30])):
        others = [chance.choice(rows)[0]] if rows else []
        texts = [chance.choice(payloads.TEXTS).decode(errors="replace"), chance.choice(payloads.WORDS)]
        long = [b"x" * chance.choice([4096, 4097, 1_000_000]), "y" * 4097]
        value = chance.choice(chance.choice([NUMBERS, texts, others or texts, long]))
        where = chance.choice([f"{column} = ?", f"{column} > ?", "? IS NOT 7"])
        store.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {where}", [value, chance.choice(rows)[0] if rows else 0])


def lost_rows(store, chance):
    table = chance.choice(TABLES)
    column = chance.choice(_columns(store, table))
    store.execute(f"DELETE FROM {table} WHERE {column} % ? = 0", [chance.choice([1, 2, 3, 7])])


def more_rows(store, chance):
    count = chance.choice([10, 1000, 30_000])
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) "
    statement = chance.choice(["INSERT OR IGNORE INTO runs SELECT NULL, i, i, i, i, i, i, i, i, i, i % 2 FROM n",
                               "INSERT OR IGNORE INTO runs SELECT 1000000 + i, 1, i, i, 1, 1, 1, 1, 1, 1, 0 FROM n",
                               "INSERT OR IGNORE INTO lasting SELECT 1, i, 0, 1 << 40, i, 0, 0, NULL, NULL FROM n",
                               "INSERT OR IGNORE INTO quantities SELECT NULL, 'p' || i || '.latency', 'cycles', 'measured' FROM n",
                               "INSERT OR IGNORE INTO changing SELECT id, i, i, 1 << 60, -1.5, i, NULL FROM n, runs LIMIT 100000"])
    store.execute(numbers + statement)


def schema(store, chance):
    kind = chance.randrange(4)
    if kind == 0:
        store.executescript(chance.choice(["CREATE TABLE own (a)", "CREATE VIEW own AS SELECT * FROM runs", "ANALYZE", "DROP VIEW latest",
                                           "CREATE TRIGGER own AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
                                           "CREATE INDEX own ON changing (value)", "DROP TABLE documents", "ALTER TABLE runs ADD COLUMN own"]))
    elif kind == 1:
        store.executescript(f"PRAGMA {chance.choice(['user_version', 'application_id'])} = {chance.choice([0, 1, 2, -1, 1 << 30])}")
    else:
        store.execute("PRAGMA writable_schema = ON")
        column, value = chance.choice([("rootpage", chance.choice([0, 1, 2, 3, 5, 1 << 31, -1])), ("sql", chance.choice(["", None, "CREATE", "x" * 90_000])),
                                       ("name", chance.choice(["runs", "", "sqlite_own"])), ("type", chance.choice(["view", "table", "index", ""]))])
        store.execute(f"UPDATE sqlite_master SET {column} = ? WHERE rowid = ?", [value, chance.randrange(1, 12)])


def header(data, chance):
    at = chance.choice([16, 18, 19, 20, 21, *range(24, 100)])
    return data[:at] + bytes([chance.choice([0, 1, 2, 4, 127, 255])]) + data[at + 1:]


def page(data, chance):
    """Changes the head of a page, its pointers, or all of it."""
    pages = len(data) // PAGE
    one, other = chance.randrange(pages), chance.randrange(pages)
    begin = one * PAGE + (100 if one == 0 else 0)
    out = bytearray(data)
    kind = chance.randrange(4)
    if kind == 0:
        out[one * PAGE:(one + 1) * PAGE] = data[other * PAGE:(other + 1) * PAGE]
    elif kind == 1:
        out[begin + chance.randrange(12)] = chance.choice([0, 1, 2, 5, 10, 13, 255])
    elif kind == 2:
        out[begin + 8:begin + 12] = (other + 1).to_bytes(4, "big")
        for cell in range(min(int.from_bytes(data[begin + 3:begin + 5], "big"), 1000)):
            place = one * PAGE + int.from_bytes(data[begin + 12 + 2 * cell:begin + 14 + 2 * cell], "big")
            out[place:place + 4] = (chance.choice([one, other]) + 1).to_bytes(4, "big")
    else:
        for _ in range(chance.choice([1, 10, 100])):
            out[begin + chance.randrange(PAGE - 100)] = chance.randrange(256)
    return bytes(out[:len(data)])


ROWS = [(values, 20), (lost_rows, 4), (more_rows, 5), (schema, 6)]
BYTES = [(header, 4), (page, 10)]


def _changed(data, kind, chance):
    store = sqlite3.connect(":memory:")
    store.deserialize(data)
    kind(store, chance)
    store.commit()
    return store.serialize()


def mutated(data, chances):
    """The store with one mutation for each of `chances`, and the names of these. Bytes are changed last."""
    names = []
    kinds, weights = zip(*ROWS, *BYTES)
    chosen = [(chance.choices(kinds, weights)[0] if chance.random() < 0.92 else None, chance) for chance in chances]
    for kind, chance in chosen:
        if kind in (one for one, _ in ROWS):
            try:
                data = _changed(data, kind, chance)
                names.append(kind.__name__)
            except sqlite3.Error:
                continue  # an earlier mutation left nothing to change
    for kind, chance in chosen:
        if kind in (header, page) and len(data) >= PAGE:
            data = kind(data, chance)
            names.append(kind.__name__)
        elif kind is None or not names:
            data, name = damaged(data, chance)
            names.append(name)
    return data[:LARGEST_BYTES], names
