"""Nearly correct documents (JSON, and CBOR as the same trees).

A tree consists of Object (ordered members, with possibly repeated keys), list, str, int, float, bool, None and Token
(bytes that are written unchanged). A slot is a pair (container, index): a value that can be replaced.
"""
import json
import re

from mutation import payloads

FREE_TEXTS = ("name", "comment", "source", "title", "label", "detail", "method", "unit", "driver", "driver_version", "pci_address", "host",
              "generator", "warnings", "cpus", "cpu", "architecture", "program", "notes", "flags", "probe", "failure", "numa_nodes")
FORMAT_KEYS = ("format", "version", "schema_version")
LARGEST_BYTES = 2 << 20
HUGE_BYTES = 40 << 20


class Object(list):
    """A list of members [key, value]."""


class _List:
    """Stands for a list that is no Object."""


class Token(bytes):
    """Bytes of a document. `is_json`: they are a JSON token, which other formats must convert."""
    is_json = True
    nesting = None
    raw_text = b""

    @classmethod
    def text(cls, content):
        token = cls(b'"' + b"".join(_escaped(byte) for byte in content) + b'"')
        token.raw_text = bytes(content)
        return token

    @classmethod
    def nested(cls, bracket, depth):
        token = cls(b"[" * depth + b"]" * depth if bracket == "[" else b'{"k":' * depth + b"0" + b"}" * depth)
        token.nesting = (bracket, depth)
        return token


def _escaped(byte):
    if byte in b'"\\':
        return b"\\" + bytes([byte])
    return b"\\u%04x" % byte if byte < 0x20 else bytes([byte])


# ---- JSON ----

def parsed(text):
    return json.loads(text, object_pairs_hook=lambda pairs: Object([key, value] for key, value in pairs))


def written(tree):
    parts = []
    _write(tree, parts.append)
    return b"".join(parts)


def _write(value, emit):
    kind = type(value)
    if kind is list:
        if all(type(item) in (int, float) for item in value):  # most bytes of a report
            emit(b"[" + ",".join(map(repr, value)).encode() + b"]")
            return
        emit(b"[")
        for i, item in enumerate(value):
            if i:
                emit(b",")
            _write(item, emit)
        emit(b"]")
    elif kind is Object:
        emit(b"{")
        for i, (key, item) in enumerate(value):
            if i:
                emit(b",")
            _write(key, emit)
            emit(b":")
            _write(item, emit)
        emit(b"}")
    elif kind is str:
        emit(json.encoder.encode_basestring(value).encode("utf-8", "surrogatepass"))
    elif kind is Token:
        emit(bytes(value))
    else:
        emit(json.dumps(value).encode())


# ---- Slots ----

def slots_within(container):
    if isinstance(container, Object):
        return [(member, 1) for member in container]
    return [(container, i) for i in range(len(container))]


def is_container(value):
    return isinstance(value, list)


def _value(slot):
    return slot[0][slot[1]]


def _replace(slot, value):
    slot[0][slot[1]] = value


def every_slot(tree, most=200_000):
    found = []
    pending = [tree]
    while pending and len(found) < most:
        slots = slots_within(pending.pop())
        found += slots
        pending += [_value(slot) for slot in slots if is_container(_value(slot))]
    return found


class Mutator:
    """Changes one tree. The root is in a list of one, so that it is a slot, too."""

    def __init__(self, tree, chance, others=()):
        self.holder = [tree]
        self.chance = chance
        self.others = others  # trees that provide parts

    @property
    def tree(self):
        return self.holder[0]

    def walk(self, wanted=lambda value: True):
        """A random slot, near the root as likely as in a long list, or None."""
        for _ in range(30):
            slot = (self.holder, 0)
            while is_container(_value(slot)) and _value(slot):
                if slot[0] is not self.holder and self.chance.random() < 0.12:
                    break
                slots = slots_within(_value(slot))
                deeper = [one for one in slots if is_container(_value(one))]
                slot = self.chance.choice(deeper if deeper and self.chance.random() < 0.6 else slots)
            # If the format's name is wrong, nothing else is read.
            if slot[1] == 1 and slot[0][0] in FORMAT_KEYS and self.chance.random() < 0.9:
                continue
            if wanted(_value(slot)):
                return slot
        return None

    def container(self, kind=list):
        def wanted(value):
            if not is_container(value) or not value:
                return False
            return type(value) is list if kind is _List else isinstance(value, kind)
        for _ in range(10):
            slot = self.walk(wanted)
            if slot is not None and self.chance.random() < 0.8:
                return _value(slot)
        return self.tree if wanted(self.tree) else None

    def text(self):
        # Text that is not UTF-8 is refused at once.
        return self.chance.choice(payloads.TEXTS if self.chance.random() < 0.15 else payloads.UTF8_TEXTS)

    # ---- Mutations, one per method ----

    def nearby(self):
        """A plausible number."""
        slot = self.walk(lambda value: isinstance(value, (int, float)) and not isinstance(value, bool))
        if slot is None:
            return self.payload()
        value = _value(slot)
        if isinstance(value, int):
            _replace(slot, self.chance.choice([value + 1, value - 1, 2 * value, value // 2, 4 * value, 1, 0]))
        else:
            _replace(slot, value * self.chance.choice([0.5, 0.99, 1.01, 2, 10, 0.1, -1]))

    def free_text(self):
        """A field that accepts any text."""
        slots = [slot for slot in every_slot(self.tree) if isinstance(slot[0][0], str) and slot[0][0] in FREE_TEXTS and slot[1] == 1]
        if not slots:
            return self.payload()
        member = self.chance.choice(slots)
        _replace(member, [Token.text(self.text())] if isinstance(_value(member), list) else Token.text(self.text()))

    def retype(self):
        slot = self.walk()
        _replace(slot, self.chance.choice([None, True, False, 0, -1, 1.5, "", "text", [], Object(), [None], [0], [[]],
                                           Object([["value", 1]]), Object([["", None]]), ["a", "b"]]))

    def number(self):
        slot = self.walk(lambda value: isinstance(value, (int, float)) and not isinstance(value, bool))
        if slot is None:
            return self.retype()
        kind = self.chance.random()
        if kind < 0.5:
            _replace(slot, Token(self.chance.choice(payloads.VALID_NUMBERS)))
        elif kind < 0.55:
            _replace(slot, Token(self.chance.choice(payloads.NUMBERS)))
        elif kind < 0.85:
            _replace(slot, _value(slot) * self.chance.choice([-1, 2, 1024, 1e-9, 1e9, 1e20]))
        else:
            _replace(slot, _value(slot) + self.chance.choice([-1, 1, 0.5, -1e6]))

    def payload(self):
        slot = self.walk(lambda value: isinstance(value, str)) or self.walk()
        _replace(slot, Token.text(self.text()))

    def payload_behind(self):
        slot = self.walk(lambda value: isinstance(value, str))
        if slot is None:
            return self.payload()
        before = _value(slot).encode("utf-8", "surrogatepass")
        _replace(slot, Token.text(before + self.text()))

    def payload_key(self):
        members = self.container(Object)
        if members is None:
            return self.payload()
        key = Token.text(self.text())
        member = self.chance.choice(members)
        if self.chance.random() < 0.5:
            member[0] = key
        else:
            members.append([key, member[1]])

    def number_in_text(self):
        """A number within a text, as in programs and addresses."""
        slot = self.walk(lambda value: isinstance(value, str) and re.search(r"\d", value))
        if slot is None:
            return self.number()
        found = self.chance.choice(list(re.finditer(r"\d+", _value(slot))))
        number = self.chance.choice(payloads.VALID_NUMBERS).decode()
        _replace(slot, _value(slot)[:found.start()] + number + _value(slot)[found.end():])

    def rename(self):
        members = self.container(Object)
        if members is None:
            return self.retype()
        donor = self.container(Object) or members
        self.chance.choice(members)[0] = self.chance.choice([self.chance.choice(donor)[0], self.chance.choice(payloads.WORDS)])

    def word(self):
        slot = self.walk(lambda value: isinstance(value, str))
        if slot is None:
            return self.retype()
        other = self.walk(lambda value: isinstance(value, str)) or slot
        _replace(slot, _value(other) if self.chance.random() < 0.4 else self.chance.choice(payloads.WORDS))

    def delete(self):
        items = self.container()
        if items is not None:
            at = self.chance.randrange(len(items))
            del items[at:at + self.chance.choice([1, 1, 1, 1, 3, 100])]

    def duplicate(self):
        # A repeated key is refused at once.
        items = self.container(list if self.chance.random() < 0.2 else _List)
        if items is None:
            return
        at = self.chance.randrange(len(items))
        times = self.chance.choice([1, 1, 1, 2, 50, 5000])
        size = len(written(items[at])) + 1
        items[at:at] = [items[at]] * max(1, min(times, LARGEST_BYTES // size))

    def move(self):
        items = self.container()
        if items is not None:
            if self.chance.random() < 0.5:
                self.chance.shuffle(items)
            else:
                items.insert(self.chance.randrange(len(items)), items.pop(self.chance.randrange(len(items))))

    def swap(self):
        one, other = self.walk(), self.walk()
        kept = written(_value(one)), written(_value(other))
        if sum(map(len, kept)) < LARGEST_BYTES:
            # Copies, because a part that contains itself could not be written.
            _replace(one, Token(kept[1]) if self._has_tokens(kept[1]) else parsed(kept[1]))
            _replace(other, Token(kept[0]) if self._has_tokens(kept[0]) else parsed(kept[0]))

    @staticmethod
    def _has_tokens(text):
        try:
            parsed(text)
            return False
        except (ValueError, RecursionError):
            return True

    def transplant(self):
        if not self.others:
            return self.swap()
        donor = Mutator(self.chance.choice(self.others), self.chance)
        part = written(_value(donor.walk()))
        if len(part) < LARGEST_BYTES:
            _replace(self.walk(), parsed(part))

    def everywhere(self):
        """Changes all values of one name."""
        members = self.container(Object)
        if members is None:
            return self.payload()
        key = self.chance.choice(members)[0]
        text, number = self.chance.choice(payloads.UTF8_TEXTS), self.chance.choice(payloads.VALID_NUMBERS)
        for member, _ in every_slot(self.tree):
            if isinstance(member, list) and len(member) == 2 and isinstance(member[0], str) and member[0] == key:
                if isinstance(member[1], str):
                    member[1] = Token.text(text)
                elif isinstance(member[1], (int, float)):
                    member[1] = Token(number)

    def many_payloads(self):
        for slot in every_slot(self.tree):
            if isinstance(_value(slot), str) and self.chance.random() < 0.05:
                _replace(slot, Token.text(self.chance.choice(payloads.UTF8_TEXTS)))

    def nest(self):
        _replace(self.walk(), Token.nested(self.chance.choice("[{"), self.chance.choice([10, 60, 64, 65, 1000, 100_000])))

    def long_text(self):
        text = self.chance.choice([b"A", b"\xe2\x80\xae", b"<", b"\x01", b"{}", b"a b ", b'"', b"\xf0\x9f\x98\x80"])
        slot = self.walk(lambda value: isinstance(value, str)) or self.walk()
        _replace(slot, Token.text(text * (self.chance.choice([300, 5000, 100_000, 1_000_000]) // len(text))))

    def long_list(self):
        item = self.chance.choice([b"0", b"1.5", b"null", b"[]", b"{}", b'""', b"[0]", b'{"a":0}'])
        most = HUGE_BYTES if self.chance.random() < 0.05 else LARGEST_BYTES
        count = min(self.chance.choice([300, 5000, 100_000, 1_000_000, 20_000_000]), most // (len(item) + 1))
        slot = self.walk(lambda value: isinstance(value, list) and not isinstance(value, Object)) or self.walk()
        if self.chance.random() < 0.3:
            whole = b"{" + b",".join(b'"k%d":0' % i for i in range(min(count, 300_000))) + b"}"
        else:
            whole = b"[" + b",".join([item] * count) + b"]"
        _replace(slot, Token(whole))

    def long_of_its_own(self):
        """Extends a list by many items like its first ones."""
        slot = self.walk(lambda value: isinstance(value, list) and not isinstance(value, Object) and len(value) > 0)
        if slot is None:
            return self.long_list()
        items = _value(slot)
        size = max(1, len(written(items)) // len(items))
        while 0 < len(items) * size < LARGEST_BYTES / 4:
            items += items
            if len(items) > 500_000:
                break

    KINDS = [(payload, 10), (payload_behind, 5), (payload_key, 4), (everywhere, 5), (many_payloads, 2), (number, 12), (number_in_text, 3), (retype, 6),
             (word, 6), (rename, 3), (delete, 5), (duplicate, 4), (move, 2), (swap, 4), (transplant, 3), (nest, 1), (long_text, 2),
             (long_list, 1), (long_of_its_own, 2)]

    GENTLE_KINDS = [(nearby, 10), (free_text, 8), (payload_behind, 1), (word, 1)]

    def mutate(self):
        # Half of the files should be readable, because a refused file tests nothing behind the reader.
        kinds, weights = zip(*(self.GENTLE_KINDS if self.chance.random() < 0.5 else self.KINDS))
        kind = self.chance.choices(kinds, weights)[0]
        kind(self)
        return kind.__name__


def damaged(data, chance):
    """Slightly damaged bytes, and the kind of damage."""
    data = bytearray(data)
    kind = chance.choice(["flip", "flip", "cut", "remove", "repeat", "exchange", "insert", "extend", "empty"])
    at = chance.randrange(max(1, len(data)))
    size = min(chance.choice([1, 1, 4, 64, 4096]), len(data) - at)
    if kind == "flip":
        for _ in range(chance.choice([1, 1, 2, 8, 64])):
            if data:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[at:]
    elif kind == "remove":
        del data[at:at + size]
    elif kind == "repeat":
        data[at:at] = data[at:at + size] * min(chance.choice([1, 1, 2, 100]), 1 + LARGEST_BYTES // max(size, 1))
    elif kind == "exchange":
        to = chance.randrange(max(1, len(data)))
        data[at:at + size], data[to:to + size] = data[to:to + size], data[at:at + size]
    elif kind == "insert":
        data[at:at] = chance.choice([b"\0", b"\xff", b"\xef\xbb\xbf", b"\n", b"\x1b[2J", b"\xff" * 8, b"\0" * 64, b'"', b"}", b"["])
    elif kind == "extend":
        data += chance.choice([b"\0" * 1000, b"}", b"{}", b"garbage", bytes(data[:LARGEST_BYTES])])
    else:
        data = bytearray(chance.choice([b"", b"\n", b"\0", b"{}", b"[]", b"null", b"0", b'""', b"\xff\xfe{\0}\0", b"\xef\xbb\xbf{}"]))
    return bytes(data), kind


def mutated(data, chances, others=(), decode=parsed, encode=written):
    """The document with one mutation for each of `chances`, and the names of these."""
    names = []
    mutator = None
    try:
        mutator = Mutator(decode(data), None, others)
    except (ValueError, RecursionError):
        pass
    if mutator is not None and is_container(mutator.tree):
        for chance in chances:
            mutator.chance = chance
            if chance.random() < 0.97:
                names.append(mutator.mutate())
        data = encode(mutator.tree)
    # Mutations without a tree to change damage the bytes instead.
    for chance in chances[len(names):]:
        data, name = damaged(data, chance)
        names.append(name)
    return data, names
