"""Nearly correct stores of fleets (Arrow files): read into messages, changed, and written again.

Supports only the parts of Arrow that gputopo's stores use: https://arrow.apache.org/docs/format/Columnar.html.
"""
import struct

from mutation import payloads
from mutation.documents import LARGEST_BYTES, damaged

MAGIC = b"ARROW1"
UTF8 = 5
EXTREMES = [0, 1, -1, 2, 7, 8, 63, 64, 127, 128, 255, 65535, 65536, 1 << 22, (1 << 22) + 1, 1 << 30, (1 << 31) - 1, -(1 << 31), 1 << 31,
            (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 62), (1 << 63) - 1, -(1 << 63), -8, -64]
FORMATS = {1: "<b", 2: "<h", 4: "<i", 8: "<q"}


# ---- FlatBuffers ----

class Table:
    def __init__(self, data, at):
        self.data = data
        self.at = at
        self.fields = at - struct.unpack_from("<i", data, at)[0]

    def place(self, index):
        size = struct.unpack_from("<H", self.data, self.fields)[0]
        offset = struct.unpack_from("<H", self.data, self.fields + 4 + 2 * index)[0] if 4 + 2 * index < size else 0
        return self.at + offset if offset else None

    def number(self, index, size, absent=0):
        place = self.place(index)
        return absent if place is None else struct.unpack_from(FORMATS[size], self.data, place)[0]

    def target(self, index):
        place = self.place(index)
        return None if place is None else place + struct.unpack_from("<I", self.data, place)[0]

    def table(self, index):
        target = self.target(index)
        return None if target is None else Table(self.data, target)

    def text(self, index):
        target = self.target(index)
        return b"" if target is None else self.data[target + 4:target + 4 + struct.unpack_from("<I", self.data, target)[0]]

    def structs(self, index, form):
        target = self.target(index)
        if target is None:
            return []
        count = struct.unpack_from("<I", self.data, target)[0]
        size = struct.calcsize(form)
        return [list(struct.unpack_from(form, self.data, target + 4 + i * size)) for i in range(count)]

    def tables(self, index):
        target = self.target(index)
        if target is None:
            return []
        places = range(target + 4, target + 4 + 4 * struct.unpack_from("<I", self.data, target)[0], 4)
        return [Table(self.data, place + struct.unpack_from("<I", self.data, place)[0]) for place in places]


def root(data):
    return Table(data, struct.unpack_from("<I", data, 0)[0])


class Numbers:
    """A field of a table: a number of `size` bytes."""

    def __init__(self, size, value):
        self.size = size
        self.value = value

    def packed(self):
        return (self.value & ((1 << 8 * self.size) - 1)).to_bytes(self.size, "little")


class Builder:
    """A buffer whose root is a table: {index: Numbers | bytes (a string) | dict (a table) | [dict] | (form, structs, how often)}."""

    def __init__(self, table):
        self.out = bytearray(4)
        struct.pack_into("<I", self.out, 0, self.table(table))
        self.align(8)

    def align(self, size, extra=0):
        self.out += bytes(-(len(self.out) + extra) % size)

    def table(self, fields):
        order = sorted(fields, key=lambda index: -getattr(fields[index], "size", 4))
        vtable_size = 4 + 2 * (max(fields, default=-1) + 1)
        self.align(8, vtable_size + 4)  # eight-byte numbers follow the first four bytes of the table
        vtable = len(self.out)
        self.out += bytes(vtable_size)
        at = len(self.out)
        self.out += struct.pack("<i", at - vtable)
        pending = []
        for index in order:
            field = fields[index]
            struct.pack_into("<H", self.out, vtable + 4 + 2 * index, len(self.out) - at)
            if isinstance(field, Numbers):
                self.out += field.packed()
            else:
                self.align(4)
                pending.append((len(self.out), field))
                self.out += bytes(4)
        struct.pack_into("<HH", self.out, vtable, vtable_size, len(self.out) - at)
        for place, field in pending:
            struct.pack_into("<I", self.out, place, self.target(field) - place)
        return at

    def target(self, field):
        if isinstance(field, dict):
            return self.table(field)
        self.align(4)
        if isinstance(field, bytes):
            at = len(self.out)
            self.out += struct.pack("<I", len(field)) + field + b"\0"
            return at
        if isinstance(field, tuple):
            form, structs, times = field
            self.align(8, 4)
            at = len(self.out)
            self.out += struct.pack("<I", len(structs) * times)
            self.out += b"".join(struct.pack(form, *values) for values in structs) * times
            return at
        at = len(self.out)
        self.out += struct.pack("<I", len(field)) + bytes(4 * len(field))
        written = {}  # writes a table once, even if the vector has it several times
        for i, table in enumerate(field):
            if id(table) not in written:
                written[id(table)] = self.table(table)
            place = at + 4 + 4 * i
            struct.pack_into("<I", self.out, place, written[id(table)] - place)
        return at


def _pack_block(block):
    return [_within(block[0], 8), _within(block[1], 4), 0, _within(block[2], 8)]


def _within(value, size):
    value &= (1 << 8 * size) - 1
    return value - (1 << 8 * size) if value >> (8 * size - 1) else value


# ---- The store ----

class Batch:
    """Rows of columns, or the entries of a dictionary."""

    def __init__(self, message, body):
        self.header = message.number(1, 1)
        part = message.table(2)
        self.dictionary = part.number(0, 8) if self.header == 2 else None
        self.is_delta = part.number(2, 1) if self.header == 2 else 0
        batch = part.table(1) if self.header == 2 else part
        self.rows = batch.number(0, 8)
        self.nodes = batch.structs(1, "<qq")
        self.buffers = batch.structs(2, "<qq")
        self.body = body

    def copy(self):
        other = object.__new__(Batch)
        other.__dict__.update(self.__dict__)
        other.nodes = [list(node) for node in self.nodes]
        other.buffers = [list(buffer) for buffer in self.buffers]
        return other

    def texts(self):
        offsets, data = self.buffers[1], self.buffers[2]
        ends = struct.unpack_from(f"<{self.rows + 1}i", self.body, offsets[0])
        whole = self.body[data[0]:data[0] + data[1]]
        return [whole[begin:end] for begin, end in zip(ends, ends[1:])]

    def set_texts(self, texts):
        ends, end = [0], 0
        for text in texts:
            end += len(text)
            ends.append(end)
        offsets = struct.pack(f"<{len(ends)}i", *ends)
        offsets += bytes(-len(offsets) % 8)
        data = b"".join(texts)
        self.rows = len(texts)
        self.nodes = [[len(texts), 0]]
        self.buffers = [[0, 0], [0, 4 * len(ends)], [len(offsets), len(data)]]
        self.body = offsets + data + bytes(-len(data) % 8)

    def message(self):
        batch = {0: Numbers(8, self.rows), 1: ("<qq", [[_within(v, 8) for v in node] for node in self.nodes], 1),
                 2: ("<qq", [[_within(v, 8) for v in buffer] for buffer in self.buffers], 1)}
        part = batch
        if self.header == 2:
            part = {0: Numbers(8, self.dictionary), 1: batch, 2: Numbers(1, self.is_delta)}
        metadata = bytes(Builder({0: Numbers(2, 4), 1: Numbers(1, self.header), 2: part, 3: Numbers(8, len(self.body))}).out)
        return struct.pack("<II", 0xFFFFFFFF, len(metadata)) + metadata


class Store:
    def __init__(self, data):
        if not data.startswith(MAGIC) or not data.endswith(MAGIC):
            raise ValueError("no Arrow file")
        try:
            self._read(data)
        except (struct.error, IndexError, AttributeError) as error:
            raise ValueError(str(error)) from error

    def _read(self, data):
        length = struct.unpack_from("<i", data, len(data) - 10)[0]
        footer = root(data[len(data) - 10 - length:len(data) - 10])
        schema = footer.table(1)
        self.endianness = schema.number(0, 2)
        self.fields = [self._field(field) for field in schema.tables(1)]
        self.metadata = [{0: pair.text(0), 1: pair.text(1)} for pair in schema.tables(2)]
        blocks = [footer.structs(which, "<qiiq") for which in (2, 3)]
        self.batches = [[self._batch(data, block) for block in part] for part in blocks]
        self.start = data[:min((block[0] for part in blocks for block in part), default=8)]
        self.blocks = [None, None]  # replace those that follow from the batches
        self.repeats = [1, 1]  # of each list of blocks

    @staticmethod
    def _field(field):
        result = {0: field.text(0), 1: Numbers(1, field.number(1, 1)), 2: Numbers(1, field.number(2, 1))}
        kind = field.table(3)
        result[3] = {0: Numbers(2, kind.number(0, 2))} if kind is not None and kind.place(0) else {}
        encoding = field.table(4)
        if encoding is not None:
            index = encoding.table(1)
            result[4] = {0: Numbers(8, encoding.number(0, 8)),
                         1: {0: Numbers(4, index.number(0, 4)), 1: Numbers(1, index.number(1, 1))}}
        return result

    @staticmethod
    def _batch(data, block):
        offset, metadata_length, _, body_length = block
        body = data[offset + metadata_length:offset + metadata_length + body_length]
        return Batch(root(data[offset + 8:offset + metadata_length]), body)

    def written(self):
        out = bytearray(self.start)
        vectors = []
        for part, batches in enumerate(self.batches):
            blocks = []
            for batch in batches:
                out += bytes(-len(out) % 8)
                message = batch.message()
                blocks.append([len(out), len(message), len(batch.body)])
                out += message + batch.body
            blocks = self.blocks[part](blocks) if self.blocks[part] else blocks
            times = min(self.repeats[part], 1 + LARGEST_BYTES // 24 // max(1, len(blocks)))
            vectors.append(("<qiiq", [_pack_block(block) for block in blocks], times))
        schema = {0: Numbers(2, self.endianness), 1: self.fields, 2: self.metadata}
        footer = bytes(Builder({0: Numbers(2, 4), 1: schema, 2: vectors[0], 3: vectors[1]}).out)
        return bytes(out) + footer + struct.pack("<i", len(footer)) + MAGIC


# ---- Mutations of a store ----

def _any_batch(store, chance, part=None):
    batches = [batch for one in store.batches for batch in one] if part is None else store.batches[part]
    return chance.choice(batches) if batches else None


def texts(store, chance):
    batch = _any_batch(store, chance, 0)
    if batch is None or not batch.rows:
        return
    entries = batch.texts()
    for _ in range(chance.choice([1, 1, 3])):
        entries[chance.randrange(len(entries))] = chance.choice(payloads.TEXTS + [word.encode() for word in payloads.WORDS])
    if chance.random() < 0.1:
        entries[chance.randrange(len(entries))] = b"x" * chance.choice([4096, 4097, 1_000_000])
    if chance.random() < 0.1:
        entries += [b"%d" % i for i in range(chance.choice([10, 100_000]))]
    batch.set_texts(entries)


def numbers(store, chance):
    """Changes values of a column of a batch."""
    batch = _any_batch(store, chance, 1)
    if batch is None or not batch.buffers:
        return
    # The last ten belong to columns of numbers, after those of dictionary indices.
    offset, length = chance.choice(batch.buffers[-10:] if chance.random() < 0.8 else batch.buffers)
    body = bytearray(batch.body)
    for _ in range(chance.choice([1, 4, 100, 1000])):
        if length < 8:
            break
        at = offset + chance.randrange(length // 8) * 8
        value = chance.choice([struct.pack("<d", chance.choice([0.0, -0.0, -1.0, 1e308, -1e308, 5e-324, 1e-300, float("inf"), float("nan"),
                                                                1e18, 3.5, 1e9])),
                               struct.pack("<q", chance.choice(EXTREMES[:16])), struct.pack("<ii", 0, chance.randrange(8)),
                               struct.pack("<q", _within(chance.choice(EXTREMES), 8))])
        if at + 8 <= len(body):
            body[at:at + 8] = value
    batch.body = bytes(body)


def places(store, chance):
    """Changes lengths and offsets within a batch."""
    batch = _any_batch(store, chance)
    if batch is None:
        return
    kind = chance.randrange(5)
    if kind == 0:
        batch.rows = chance.choice(EXTREMES + [batch.rows - 1, batch.rows + 1])
    elif kind == 1 and batch.nodes:
        chance.choice(batch.nodes)[chance.randrange(2)] = chance.choice(EXTREMES)
    elif kind == 2 and batch.buffers:
        chance.choice(batch.buffers)[chance.randrange(2)] = chance.choice(EXTREMES)
    elif kind == 3:
        which = chance.choice([batch.nodes, batch.buffers])
        which *= chance.choice([0, 2, 1000])
    else:
        rows = chance.choice([1 << 20, 1 << 22])
        # All columns share the same bytes, or have none.
        batch.rows = rows
        batch.nodes = [[rows, 0] for _ in batch.nodes]
        batch.body = bytes(min(8 * rows, LARGEST_BYTES))
        batch.buffers = [[0, len(batch.body)] for _ in batch.buffers]


def blocks(store, chance):
    part = chance.randrange(2)
    value, which = chance.choice(EXTREMES), chance.randrange(3)

    def change(found):
        if found:
            chance.choice(found)[which] = value
        return found
    store.blocks[part] = change


def repeated_blocks(store, chance):
    store.repeats[chance.randrange(2)] = chance.choice([0, 2, 100, 10_000, 1_000_000])


def repeated_batches(store, chance):
    part = store.batches[chance.randrange(2)]
    if part:
        part.insert(chance.randrange(len(part) + 1), chance.choice(part).copy())


def deltas(store, chance):
    """Dictionaries that extend themselves many times."""
    for batch in store.batches[0]:
        if chance.random() < 0.7:
            batch.is_delta = chance.choice([1, 1, 0, -1])
    if chance.random() < 0.6:
        store.repeats[0] = chance.choice([2, 100, 10_000, 100_000])
    if store.batches[0] and chance.random() < 0.5:
        batch = chance.choice(store.batches[0])
        batch.set_texts([chance.choice([b"", b"x", b"y" * 4096]) for _ in range(chance.choice([1, 1000]))])


def dictionary_ids(store, chance):
    batch = _any_batch(store, chance, 0)
    if batch is not None:
        batch.dictionary = chance.choice([0, 1, 2, 3, -1, 100, 1 << 62, chance.choice(store.batches[0]).dictionary])
    field = chance.choice(store.fields)
    if 4 in field and chance.random() < 0.5:
        field[4][0] = Numbers(8, chance.choice([0, 1, 2, -1, 1 << 40]))


def metadata(store, chance):
    if not store.metadata:
        return
    pair = store.metadata[0]
    kind = chance.randrange(4)
    if kind == 0:
        store.metadata = [pair] * chance.choice([2, 1000, 20_000])
    elif kind == 1:
        pair[chance.randrange(2)] = chance.choice(payloads.TEXTS + [b"1" * 1_000_000])
    elif kind == 2:
        # A vector of offsets that all point to one long pair.
        store.metadata = [pair] + [{0: b"k" * chance.choice([10, 100_000]), 1: b"v"}] * chance.choice([10, 20_000, 40_000])
    else:
        store.metadata = []


def columns(store, chance):
    kind = chance.randrange(6)
    field = chance.choice(store.fields)
    if kind == 0:
        field[0] = chance.choice(payloads.TEXTS + [other[0] for other in store.fields])
    elif kind == 1:
        field[2] = Numbers(1, chance.choice([0, 2, 3, 5, 6, 10, 127, -1]))
    elif kind == 2:
        field[3] = {0: Numbers(2, chance.choice([0, 1, 2, 3, 100, -1]))}
    elif kind == 3:
        store.fields += [field] * chance.choice([1, 45, 46, 1000, 20_000])
    elif kind == 4:
        store.fields.remove(field)
    else:
        chance.shuffle(store.fields)


def encodings(store, chance):
    field = chance.choice(store.fields)
    if 4 in field and chance.random() < 0.8:
        field[4][1] = {0: Numbers(4, chance.choice([0, 8, 16, 32, 64, 128, -8])), 1: Numbers(1, chance.choice([0, 1]))}
    elif 4 in field:
        del field[4]
    else:
        store.endianness = chance.choice([0, 1, 2])


KINDS = [(texts, 16), (numbers, 16), (places, 6), (blocks, 4), (repeated_blocks, 3), (repeated_batches, 2), (deltas, 4), (dictionary_ids, 2),
         (metadata, 3), (columns, 4), (encodings, 3)]


def mutated(data, chances):
    """The store with one mutation for each of `chances`, and the names of these."""
    names = []
    try:
        store = Store(data)
    except ValueError:
        store = None
    if store is not None:
        kinds, weights = zip(*KINDS)
        for chance in chances:
            if chance.random() < 0.92:
                kind = chance.choices(kinds, weights)[0]
                try:
                    kind(store, chance)
                except (struct.error, IndexError):
                    continue  # an earlier mutation left nothing to change
                names.append(kind.__name__)
        data = store.written()
    for chance in chances[len(names):]:
        data, name = damaged(data, chance)
        names.append(name)
    return data, names
