"""The part of CBOR (RFC 8949) that recordings use, as the trees of documents.py."""
import struct

from mutation.documents import Object, Token


class _Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        part = self.data[self.at:self.at + count]
        if len(part) < count:
            raise ValueError("cut short")
        self.at += count
        return part

    def head(self):
        first = self.take(1)[0]
        major, info = first >> 5, first & 31
        if info < 24:
            return major, info, info
        if info > 27:
            raise ValueError("of indefinite length")
        return major, info, int.from_bytes(self.take(1 << (info - 24)), "big")

    def value(self):
        major, info, number = self.head()
        if major == 0:
            return number
        if major == 1:
            return -1 - number
        if major == 2:
            return Token(encoded_head(2, number) + self.take(number))
        if major == 3:
            return self.take(number).decode()
        if major == 4:
            return [self.value() for _ in range(number)]
        if major == 5:
            return Object([self.value(), self.value()] for _ in range(number))
        if major == 7 and info in (25, 26, 27):
            return struct.unpack({25: ">e", 26: ">f", 27: ">d"}[info], number.to_bytes(1 << (info - 24), "big"))[0]
        if major == 7 and number in (20, 21, 22):
            return {20: False, 21: True, 22: None}[number]
        raise ValueError(f"major type {major}, {info}")


def decoded(data):
    reader = _Reader(data)
    value = reader.value()
    if reader.at != len(data):
        raise ValueError("more than one value")
    return value


def encoded_head(major, number):
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 24:
            return bytes([major << 5 | number])
        if number < 1 << (8 * size):
            return bytes([major << 5 | info]) + number.to_bytes(size, "big")
    raise ValueError("too large")


def encoded(value):
    parts = []
    _write(value, parts.append)
    return b"".join(parts)


def _write(value, emit):
    if isinstance(value, Token):
        emit(_of_token(value))
    elif value is None or isinstance(value, bool):
        emit({None: b"\xf6", False: b"\xf4", True: b"\xf5"}[value])
    elif isinstance(value, int):
        emit(_of_integer(value))
    elif isinstance(value, float):
        emit(b"\xfb" + struct.pack(">d", value))
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        emit(encoded_head(3, len(text)) + text)
    elif isinstance(value, Object):
        emit(encoded_head(5, len(value)))
        for key, item in value:
            _write(key, emit)
            _write(item, emit)
    else:
        emit(encoded_head(4, len(value)))
        for item in value:
            _write(item, emit)


def _of_integer(value):
    if not -(1 << 64) <= value < 1 << 64:
        return b"\xfb" + struct.pack(">d", float(value))
    return encoded_head(0, value) if value >= 0 else encoded_head(1, -1 - value)


# Writes a token that documents.py inserts as JSON text.
def _of_token(token):
    if token.startswith(b'"'):
        text = token.raw_text
        return encoded_head(3, len(text)) + text
    if token.nesting:
        opening = b"\x81" if token.nesting[0] == "[" else b"\xa1\x61k"
        return opening * token.nesting[1] + b"\xf6"
    if token.is_json:
        try:
            number = float(token)
        except ValueError:
            return b"\xf7"  # undefined
        return _of_integer(int(token)) if token.lstrip(b"-").isdigit() and len(token) < 25 else b"\xfb" + struct.pack(">d", number)
    return bytes(token)
