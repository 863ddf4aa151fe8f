"""What a command may write, whatever its input file contains. Each check yields problems."""
import csv
import html.parser
import io
import json
import re
import shlex
import xml.parsers.expat

from mutation.payloads import MARKER

# C0 except line ends and tabs, DEL, C1, direction marks and noncharacters (src/file/sanitize.cpp).
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff"
                      "\U000e0000-\U000e007f]")
RAW_EXCEPTIONS = re.compile(r"what\(\)|std::|nlohmann|\[json\.|filesystem error|bad_alloc|bad_array|terminate called|basic_string|"
                            r"vector::|\bsto(?:i|l|f|d|ul|ll|ld|ull)\b|map::at|_M_|invalid_argument|out_of_range|bad optional|bad_variant|"
                            r"regex_error|bad_function_call|__throw|Assertion|assertion|runtime error|Sanitizer|length_error|"
                            r"\bfmt::|invalid (format|type specifier)|std\.|internal error in gputopo", re.A)
MOST_MESSAGES = 30
LONGEST_MESSAGE = 4100


def visible(data, what):
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        yield f"{what}: bytes that are no UTF-8: {data[max(0, error.start - 20):error.end + 20]!r}"
        return
    found = COMMANDS.search(text)
    if found:
        yield f"{what}: a character that a terminal may obey: {text[max(0, found.start() - 30):found.end() + 20]!r}"


def messages(data):
    """Checks standard error."""
    yield from visible(data, "standard error")
    lines = data.decode(errors="replace").splitlines()
    if len(lines) > MOST_MESSAGES:
        yield f"standard error: {len(lines)} lines"
    for line in lines:
        if not line.startswith("gputopo: "):
            yield f"standard error: a line that is none of gputopo's: {line[:200]!r}"
            break
    for line in lines:
        if len(line) > LONGEST_MESSAGE:
            yield f"standard error: a line of {len(line)} characters: {line[:200]!r}"
            break
    found = RAW_EXCEPTIONS.search(data.decode(errors="replace").replace(MARKER, ""))
    if found:
        yield f"standard error: the text of an exception: {data.decode(errors='replace')[:300]!r}"


# ---- Markup ----

class _Markup(html.parser.HTMLParser):
    """Reads a page nearly like a browser: the elements, their attributes, and the text of scripts and styles."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.names = set()  # (element, attribute or None)
        self.values = []  # (element, attribute, value)
        self.raw = []  # (element, type, text)
        self.open = None
        self.problems = []

    def handle_starttag(self, tag, attrs):
        self.names.add((tag, None))
        for name, value in attrs:
            self.names.add((tag, name))
            self.values.append((tag, name, value or ""))
        if tag in ("script", "style"):
            self.open = [tag, dict(attrs).get("type", ""), ""]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if self.open:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[0] == tag:
            self.raw.append(tuple(self.open))
            self.open = None

    def handle_data(self, data):
        if self.open:
            self.open[2] += data

    def handle_comment(self, data):
        if MARKER in data:
            self.problems.append(f"a comment with a payload: {data[:100]!r}")

    def handle_pi(self, data):
        if not data.startswith("xml "):
            self.problems.append(f"an instruction: {data[:100]!r}")

    def unknown_decl(self, data):
        self.problems.append(f"a declaration: {data[:100]!r}")


class Pages:
    """Pages and drawings, compared with those of unmutated files."""

    def __init__(self):
        self.known = set()
        self.scripts = set()

    @staticmethod
    def _read(text):
        markup = _Markup()
        markup.feed(text)
        markup.close()
        return markup

    def learn(self, data):
        """Learns from the output for an unmutated file."""
        markup = self._read(data.decode())
        self.known |= markup.names
        self.scripts |= {text for tag, kind, text in markup.raw if kind != "application/json"}

    def check(self, data, what):
        yield from visible(data, what)
        markup = self._read(data.decode(errors="replace"))
        yield from (f"{what}: {problem}" for problem in markup.problems)
        for tag, name in sorted(markup.names - self.known, key=str):
            if MARKER in tag or MARKER in (name or "") or tag in ("script", "iframe", "object", "embed", "base", "form", "link", "meta",
                                                                   "img", "foreignobject", "animate", "set", "use", "image"):
                yield f"{what}: an element or attribute that is not of the page's own: {tag} {name or ''}"
            elif name and name.startswith("on"):
                yield f"{what}: a handler: {tag} {name}"
        for tag, name, value in markup.values:
            address = re.sub(r"[\x00-\x20]", "", value).lower()
            if name in ("href", "src", "xlink:href", "action", "formaction", "data", "srcset", "poster") and (
                    address.startswith(("javascript:", "vbscript:", "data:text")) or (MARKER in address and not address.startswith("#"))):
                yield f"{what}: an address of a payload: {tag} {name}={value[:100]!r}"
            if name == "style" and MARKER in value:
                yield f"{what}: a style of a payload: {value[:100]!r}"
        for tag, kind, text in markup.raw:
            if kind == "application/json":
                yield from is_json(text.encode("utf-8", "surrogatepass"), f"{what}: data of the page")
            elif MARKER in text or (tag == "script" and text not in self.scripts):
                yield f"{what}: a {tag} that is not the page's own: {text[:100]!r}"

    def check_xml(self, data, what):
        yield from self.check(data, what)
        yield from is_xml(data, what)


def is_xml(data, what):
    parser = xml.parsers.expat.ParserCreate()
    try:
        parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        yield f"{what}: no XML: {error}"


# ---- Formats for other programs ----

def is_json(data, what):
    def refuse(constant):
        raise ValueError(f"{constant} is no number of JSON")
    try:
        json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        yield f"{what}: no JSON: {error}"


def is_csv(data, what):
    yield from visible(data.replace(b"\r\n", b"\n"), what)
    csv.field_size_limit(1 << 30)
    widths = set()
    for row in csv.reader(io.StringIO(data.decode(errors="replace"), newline=""), strict=True):
        widths.add(len(row))
        for cell in row:
            if cell[:1] in ("=", "@", "\t", "\r") or (cell[:1] in ("+", "-") and MARKER in cell):
                yield f"{what}: a spreadsheet takes this for a formula: {cell[:100]!r}"
                return
    if len(widths) > 1:
        yield f"{what}: rows of {sorted(widths)[:5]} fields"


NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"(({NAME})(?:\{{{LABEL}(?:,{LABEL})*,?\}})?) ([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?|NaN|[-+]?Inf)")
COMMENT = re.compile(rf"# (?:HELP {NAME} .*|TYPE ({NAME}) (?:gauge|counter|untyped|histogram|summary)|(?!HELP|TYPE).*)")


def is_prometheus(data, what):
    yield from visible(data, what)
    samples, typed = set(), set()
    lines = data.decode(errors="replace").split("\n")
    if lines.pop() != "":
        yield f"{what}: the last line does not end"
    for line in lines:
        sample, comment = SAMPLE.fullmatch(line), COMMENT.fullmatch(line)
        if not sample and not comment:
            yield f"{what}: no line of a collector: {line[:200]!r}"
            return
        if (sample and sample[1] in samples) or (comment and comment[1] and comment[1] in typed):
            yield f"{what}: twice: {line[:200]!r}"
            return
        if sample:
            samples.add(sample[1])
        elif comment[1]:
            typed.add(comment[1])


def is_markdown(data, what):
    yield from visible(data, what)
    text = data.decode(errors="replace")
    found = re.search(rf"<[^>]*{MARKER}|(?<!\\)\]\([^)]*{MARKER}|^\|{MARKER}|^second line", text, re.M)
    if found:
        yield f"{what}: markup of a payload: {text[max(0, found.start() - 50):found.end() + 50]!r}"


def is_shell(data, what):
    yield from visible(data, what)
    lexer = shlex.shlex(data.decode(errors="replace"), posix=True, punctuation_chars=True)
    lexer.commenters = "#"
    before = ";"
    try:
        for word in lexer:
            if word.startswith(MARKER) and set(before) <= set(";&|()\n"):
                yield f"{what}: a command of a payload: {word[:100]!r}"
            before = word
    except ValueError as error:
        yield f"{what}: quotes that do not end: {error}"
    unquoted = re.sub(r"'[^']*'", "", data.decode(errors="replace"))
    if re.search(rf"^[^#\n]*(\$\(|`)[^\n]*{MARKER}", unquoted, re.M):
        yield f"{what}: a payload that the shell would run"


def is_latex(data, what):
    yield from visible(data, what)
    text = data.decode(errors="replace")
    found = re.search(rf"(?<!\\)(?:\\\\)*\\(?:{MARKER}|input\{{/etc|write18)", text)
    if found:
        yield f"{what}: a command of a payload: {text[max(0, found.start() - 50):found.end() + 50]!r}"


def is_lines(data, what):
    """Texts whose lines have a meaning (Accel-Sim, XLA): no payload may begin a line."""
    yield from visible(data, what)
    for line in data.decode(errors="replace").splitlines():
        if line.lstrip().startswith(MARKER) or line.startswith("second line"):
            yield f"{what}: a line of a payload: {line[:100]!r}"
            return
