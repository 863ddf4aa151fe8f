"""Finds the tunables in the sources, and rewrites the sources so that they can be varied at run time (tuned.h).

Tunables are the default member initializers of `struct *Parameters`, and of other structs with a constant
`constexpr NAME kName;`, in src, and the constants `constexpr TYPE kName = VALUE;` of src/probe, src/stats and
src/discover. Formatted sources (clang-format) are expected.
"""
import hashlib
import pathlib
import re
import sys
from dataclasses import dataclass

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "source"))
from check_limits import NOT_CODE, RAW_STRING

# Arguments of kernels, whose fields lie where device code reads them.
KERNEL_ARGUMENTS = re.compile(r"src/device/(?:cuda|hip)/|src/device/launch/kernel_layout\.h")
CONSTANTS_IN = re.compile(r"src/(?:probe|stats|discover)/")

NUMBER = r"(?:double|float|int|unsigned|(?:std::)?(?:u?int(?:8|16|32|64)_t|size_t))"
NUMBERS = rf"std::(?:array<\s*{NUMBER}\s*,[^<>]*>|vector<\s*{NUMBER}\s*>)"
STRUCT = re.compile(r"^ *struct (\w+) \{\n(.*?)^ *\};", re.M | re.S)
MEMBER = re.compile(r"(?:^|(?<=[;}]))\s*(?P<type>[\w:]+(?:<[^;{}=]*>)?)\s+(?P<name>\w+)\s*(?P<init>=\s*[^;]+|\{[^;]*\});", re.M)
INSTANCE = re.compile(
    r"(?P<inline>inline )?(?P<static>static )?constexpr (?P<type>(?:\w+::)*\w+) (?P<name>k\w+)(?P<init>\s*=\s*[^;]+|\s*\{[^;]*\})?;")
SCALAR = re.compile(
    rf"(?P<inline>inline )?(?P<static>static )?constexpr (?P<type>{NUMBER}|std::array<\s*{NUMBER}\s*,[^<>]*>) (?P<name>k\w+)\s*=\s*(?P<value>[^;]+);")
STATIC_ASSERT = re.compile(r"static_assert\([^;]*;")
LITERAL = re.compile(r"(?<![\w.])\.?\d")
ONE_MORE_OR_LESS = re.compile(r"[-+] 1\b")
UNVARIED_COMMENT = re.compile(r"power of (?:two|2)\b")


@dataclass
class Tunable:
    name: str  # "src/probe/tlb/rounds.h:NearestCacheParameters.few_served"
    value: str
    line: int
    unvaried: str = ""  # why it stays as it is
    group: str = ""  # the name under which its struct or itself takes part; empty: not known, so always


class SourceError(Exception):
    pass


def blanked(text):
    """The text with spaces for everything but code, at the same places."""
    def spaces(match):
        return re.sub(r"[^\n]", " ", match[0])
    return NOT_CODE.sub(spaces, RAW_STRING.sub(spaces, text))


def scopes(code):
    """For each position of a brace that opens: (its end, whether it is a namespace, a class or other code)."""
    found, open_braces = {}, []
    for match in re.finditer(r"[{}]", code):
        if match[0] == "{":
            before = re.split(r"[;{}]", code[max(0, match.start() - 300):match.start()])[-1]
            kind = "code"
            if re.search(r"\bnamespace\b[\w: ]*$|\bextern $", before):
                kind = "namespace"
            elif re.search(r"\b(?:class|struct|union)\b[^()=]*$", before):
                kind = "class"
            open_braces.append((match.start(), kind))
        elif open_braces:
            begin, kind = open_braces.pop()
            found[begin] = (match.start(), kind)
    return found


def innermost(found, position):
    """(end, kind) of the innermost braces around a position."""
    around = [(begin, end, kind) for begin, (end, kind) in found.items() if begin < position < end]
    return max(around)[1:] if around else (None, "namespace")


def comment_before(text, begin):
    """The comment lines directly before a line, and the one at its end."""
    lines = text[:text.rfind("\n", 0, begin) + 1].splitlines()
    comments = [text[begin:text.find("\n", begin)].partition("//")[2]]
    while lines and lines[-1].strip().startswith("//"):
        comments.append(lines.pop())
    return " ".join(comments)


def why_unvaried(kind, value, comment):
    value = " ".join(value.split())
    if re.fullmatch(r"(?:true|false)", value) or kind == "bool":
        return "no number"
    if not (re.fullmatch(NUMBER, kind) or re.fullmatch(NUMBERS, kind)):
        return f"no number but {kind}"
    if re.fullmatch(r"\{?\s*-?0*\.?0*[uUlLfF]*\s*\}?", value):
        return "zero"
    if value.startswith("~") or "numeric_limits" in value:
        return "a mark"
    if UNVARIED_COMMENT.search(comment) and kind != "double" and re.fullmatch(NUMBER, kind):
        return "its comment asks for a power of two"
    return ""


class Source:
    """One file, and the edits to it."""

    def __init__(self, path, text):
        self.path, self.text, self.code = path, text, blanked(text)
        self.scopes = scopes(self.code)
        self.begins = {end: begin for begin, (end, _) in self.scopes.items()}
        self.edits = []  # (begin, end, replacement)
        self.tunables, self.headers, self.dynamic = [], {}, []

    def line(self, position):
        return self.text.count("\n", 0, position) + 1

    def find(self, structs, everything):
        """`structs`: the names of structs of tunables in all files, with the file of each."""
        self.members(structs)
        self.instances(structs)
        if CONSTANTS_IN.match(self.path):
            self.scalars(everything)

    def members(self, structs):
        for struct in STRUCT.finditer(self.code):
            if structs.get(struct[1]) != self.path:
                continue
            for member in MEMBER.finditer(struct[2]):
                begin = struct.start(2) + member.start("init")
                end = struct.start(2) + member.end("init")
                init = self.text[begin:end]
                value = init[1:].strip() if init.startswith("=") else init
                group = f"{self.path}:{struct[1]}"
                name = f"{group}.{member['name']}"
                comment = comment_before(self.text, struct.start(2) + member.start("type"))
                tunable = Tunable(name, value, self.line(begin), why_unvaried(member["type"], value, comment), group)
                self.tunables.append(tunable)
                if not tunable.unvaried:
                    self.edits.append((begin, end, f'= gputopo_tuned::tuned<"{name}", {member["type"]}>({value})'))

    def instances(self, structs):
        for found in INSTANCE.finditer(self.code):
            struct = found["type"].split("::")[-1]
            if struct in structs:
                init = self.text[found.start("init"):found.end("init")].strip() if found["init"] else "{}"
                init = init[1:].strip() if init.startswith("=") else init
                self.make_dynamic(found, f"{found['type']}{init}", f"{structs[struct]}:{struct}")

    def scalars(self, everything):
        names = {}
        for found in SCALAR.finditer(self.code):
            value = self.text[found.start("value"):found.end("value")]
            name = f"{self.path}:{found['name']}"
            names[name] = names.get(name, 0) + 1
            if names[name] > 1:
                name += f"#{names[name]}"
            if not LITERAL.search(ONE_MORE_OR_LESS.sub("", value)):
                if "Parameters{}" in value or any(re.search(rf"\b{one}\b", value) for one in self.dynamic):
                    self.make_dynamic(found, value, "")
                continue
            tunable = Tunable(name, " ".join(value.split()), self.line(found.start()))
            tunable.unvaried = why_unvaried(found["type"], value, comment_before(self.text, found.start())) or \
                self.why_constant(found, everything)
            self.tunables.append(tunable)
            if not tunable.unvaried:
                new = f'gputopo_tuned::tuned<"{name}", {found["type"]}>({value})'
                tunable.group = name if self.make_dynamic(found, new, name) else ""

    def scope_of(self, found):
        """Where an unqualified name means this constant: (begin, end, kind)."""
        end, kind = innermost(self.scopes, found.start())
        return found.end(), end if kind != "namespace" else len(self.code), kind

    def uses(self, found):
        begin, end, _ = self.scope_of(found)
        return re.finditer(rf"(?<![\w.])(?:\w+::)*{found['name']}\b", self.code[begin:end])

    def statement_start(self, at):
        """Where the statement begins that holds a position, which may be within a list of values."""
        while at > 0 and self.code[at - 1] != ";":
            at -= 1
            if self.code[at] in "{}":
                brace = self.begins.get(at, at)
                if self.code[:brace].rstrip()[-1:] not in tuple("={,("):
                    return at + 1
                at = brace
        return at

    def why_constant(self, found, everything):
        """Why the compiler has to know the constant, if it does."""
        begin, _, _ = self.scope_of(found)
        reasons = [self.why_needed(begin + use.start(), begin + use.end()) for use in self.uses(found)]
        if found["inline"]:
            pattern = re.compile(rf"(?<![\w.:]){found['name']}\b")
            reasons += [other.why_needed(*use.span()) for other in everything
                        if other is not self and found["name"] in other.code for use in pattern.finditer(other.code)]
        return next((reason for reason in reasons if reason), "")

    def why_needed(self, begin, end):
        """Why the compiler has to know the constant that is used here, if it does."""
        around = [brace for brace, (after, kind) in self.scopes.items() if brace < begin < after and kind == "code"]
        if any(re.search(r"\bconstexpr [^;{}=]*\([^;{}]*$", self.code[:brace][-300:]) for brace in around):
            return "a function that is known to the compiler uses it"
        before, after = self.code[self.statement_start(begin):begin], self.code[end:end + 200]
        if re.match(r"\s*(?:inline |static )*constexpr\b", before) and \
                not SCALAR.match((before + self.code[begin:end] + after).lstrip()):
            return "another constant has to be known to the compiler"
        if re.search(r"\bcase\s*$", before):
            return "a label"
        if re.search(r"(?:array|span|bitset)<[^;()]*$|\w<\s*$", before) and re.match(r"[^;()]*>", after) and \
                not before.rstrip().endswith(" <"):
            return "a template argument"
        if re.search(r"^\s*(?!return)[\w:<>, ]+\s\w+\[[^\]]*$", before):
            return "an array bound"
        return ""

    def make_dynamic(self, found, value, group):
        """Has the constant initialized at run time, and its uses noted. Returns whether the uses are."""
        begin, end, kind = self.scope_of(found)
        storage = {"namespace": found["inline"] or "", "class": "static inline ", "code": "static "}[kind]
        self.edits.append((found.start(), found.end(),
                           f"{storage}const {found['type']} {found['name']} = "
                           f"gputopo_tuned::at_run_time([]() -> {found['type']} {{ return {value}; }});"))
        self.dynamic.append(found["name"])
        if kind == "class" or not group:
            return False
        for use in self.uses(found):
            self.edits.append((begin + use.start(), begin + use.end(), f'gputopo_tuned::used<"{group}">({use[0]})'))
        if kind == "namespace" and self.path.endswith(".h"):
            self.headers[found["name"]] = group
        return True

    def use_headers(self, headers):
        """Notes the uses of constants of other files."""
        own = set(re.findall(r"\bconstexpr [\w:<>, ]+ (k\w+)", self.code))
        for use in re.finditer(r"(?<![\w.])(?:(?:probe|stats|gputopo)::)*(k[A-Z]\w*)\b", self.code):
            if use[1] in headers and use[1] not in own and self.code[use.start() - 2:use.start()] != "::":
                self.edits.append((use.start(), use.end(), f'gputopo_tuned::used<"{headers[use[1]]}">({use[0]})'))
                if use[1] not in self.dynamic:
                    self.dynamic.append(use[1])

    def rewritten(self):
        text = self.text
        names = "|".join(self.dynamic)
        asserts = [match.span() for match in STATIC_ASSERT.finditer(self.code)
                   if names and re.search(rf"\b(?:{names})\b", match[0])]
        edits = [edit for edit in self.edits if not any(begin <= edit[0] < end for begin, end in asserts)]
        edits += [(begin, end, "") for begin, end in asserts]
        outer = sorted(edits, key=lambda edit: (edit[0], -edit[1]))
        kept = []
        for edit in outer:
            if kept and edit[0] < kept[-1][1]:
                # A use within another initializer: the initializer's text already holds it.
                kept[-1] = (kept[-1][0], kept[-1][1], kept[-1][2].replace(self.text[edit[0]:edit[1]], edit[2], 1))
            else:
                kept.append(edit)
        for begin, end, replacement in reversed(kept):
            text = text[:begin] + replacement + text[end:]
        return text


def structs_of(sources):
    """The names of the structs of tunables, with the file of each."""
    found = {}
    for path, code in sources.items():
        if KERNEL_ARGUMENTS.match(path):
            continue
        instances = {match["type"].split("::")[-1] for match in INSTANCE.finditer(code) if not match["init"]}
        for struct in STRUCT.finditer(code):
            if re.fullmatch(r"\w+Parameters", struct[1]) or struct[1] in instances:
                found[struct[1]] = path
    return found


def rewrite(texts):
    """`texts`: the text of each source. Returns the tunables, and the text of each source that differs in the copy."""
    sources = {path: Source(path, text) for path, text in texts.items()}
    structs = structs_of({path: source.code for path, source in sources.items()})
    for source in sources.values():
        source.find(structs, sources.values())
    headers = {name: group for source in sources.values() for name, group in source.headers.items()}
    for source in sources.values():
        source.use_headers(headers)
    tunables = [tunable for source in sources.values() for tunable in source.tunables]
    copies = {path: source.rewritten() for path, source in sources.items() if source.edits}
    check(tunables, copies, structs)
    return tunables, copies


def check(tunables, copies, structs):
    names = [tunable.name for tunable in tunables]
    for name in {name for name in names if names.count(name) > 1}:
        raise SourceError(f"two tunables are called {name}")
    for path, text in copies.items():
        code = blanked(text)
        for found in re.finditer(r"constexpr (?:\w+::)*(\w+) k\w+", code):
            if found[1] in structs:
                raise SourceError(f"{path}: {found[0]} stays known to the compiler")
    everything = "\n".join(copies.values())
    for tunable in tunables:
        if not tunable.unvaried and everything.count(f'tuned<"{tunable.name}"') != 1:
            raise SourceError(f"{tunable.name}: its initializer is not rewritten")


def read_sources(root):
    return {path.relative_to(root).as_posix(): path.read_text() for folder in ("src",)
            for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp")}


def digest_of(texts, name):
    """Changes with the text of the source of a tunable: of its header, too, or of the source of that name."""
    stem = name.partition(":")[0].rpartition(".")[0]
    text = "".join(texts.get(stem + suffix, "") for suffix in (".h", ".cpp"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
