"""The kinds of files that gputopo reads: the sources of valid ones, their mutations, and their readers."""
import dataclasses
import hashlib
import json
import pathlib
import shutil
import subprocess
import typing
import uuid
import zlib

from mutation import cbor, checks, documents, stores
from mutation.documents import Token

ROOT = pathlib.Path(__file__).resolve().parents[3]
MEASURED = ["--only", "shared,constant_l1", "--attribute", "size,latency"]
RECORDED = ["--only", "shared,constant_l1", "--attribute", "latency"]  # sizes would need a hundred times as many answers
LONGEST_SECONDS = 1800  # for one valid file
SEEDS = pathlib.PurePosixPath("../seeds")  # relative to a mutant


@dataclasses.dataclass
class Step:
    """A command, and the checks of its outputs. Paths are relative to the folder of the mutant."""
    arguments: list
    codes: tuple = (0, 1)
    says_why: bool = True  # exit code 1 has a message
    output: typing.Callable = checks.visible  # of standard output
    files: dict = dataclasses.field(default_factory=dict)  # name: check
    input: str = None
    seconds: float = 0  # own budget of the command
    terminal: bool = False  # standard output is a terminal


@dataclasses.dataclass
class Kind:
    name: str
    weight: int
    seeds: list  # names in the folder of seeds; small ones occur more than once
    mutate: typing.Callable  # (data, chances, others) -> data, names
    place: str  # the mutant's name in its folder
    steps: typing.Callable  # (chance, place) -> a list of Step
    is_json: bool = True


# ---- Valid files ----

def _copy_seeds(folder):
    copied = {"h200.json": "tests/reports/h200.json", "mi300x.json": "tests/reports/mi300x.json", "gt200.json": "tests/reports/gt200.json",
              "node_h100x2.json": "tests/reports/h100x2.json", "sample.json": "tests/golden/expected/sample.json",
              "tiny_machine.json": "tests/fuzz/corpus/machine/tiny.json", "odd.arrow": "tests/fixtures/fleet.arrow",
              "links_h200x2.json": "recordings/h200x2/links.json"}
    for name in ("gt200", "h100-sxm", "h200", "mi300x", "v100"):
        copied[f"machine_{name}.json"] = f"machines/{name}.json"
    for name in ("h100x8", "h200x2", "ring4"):
        copied[f"sim_node_{name}.json"] = f"machines/nodes/{name}.json"
    for name in ("matrix_multiply", "stencil", "stream_copy"):
        copied[f"kernel_{name}.json"] = f"examples/kernels/{name}.json"
    for name, source in copied.items():
        shutil.copyfile(ROOT / source, folder / name)
    content = (ROOT / "tests/fuzz/corpus/recording/bandwidth.cbor").read_bytes()
    (folder / "bandwidth.rec").write_bytes(_recording_of(content))


def _make_seeds(run, folder):
    """Makes the files that the program itself writes."""
    patient = ["--quiet", "--budget", str(LONGEST_SECONDS)]  # other processes may use the processors
    run("--device", "sim:h200", *MEASURED, *patient, "--json", "made.json")
    run("--device", "sim:h200", *RECORDED, *patient, "--record", "made.rec")
    # All values that the kernels in examples need.
    run("--device", "sim:h200", "--full", *patient, "--only", "l1,l2,device,shared,registers,peaks,instructions.fma.f32,instructions.add.s32",
        "--attribute", "latency,read_bandwidth,write_bandwidth,loaded_latency,register_allocation_unit,shared_allocation_unit,schedulers,banks,"
        "bank_width,f32,s32", "--json", "model.json")
    run("node", "--node", "sim:h200x2", "--links-only", "--quiet", "--record", "links", "--json", "node_links.json")
    shutil.copyfile(folder / "links/links.json", folder / "links_made.json")
    run("node", "--node", "sim:h200x2", "--only", "shared", "--attribute", "latency", *patient, "--json", "node_whole.json")
    for path in ("shared.latency", "device.name"):
        run("get", path, "--device", "sim:h200")
    entries = list((folder / "cache/gputopo").iterdir())
    if len(entries) != 2:
        raise SystemExit(f"the cache has {len(entries)} entries after two values were asked for")
    for entry in entries:
        (folder / f"cache_entry_{entry.name}").write_bytes(entry.read_bytes())
    fleet = folder / "fleet"
    fleet.mkdir()
    report = json.loads((folder / "sample.json").read_bytes())
    report["device"]["simulated"] = False
    del report["device"]["label"]
    for number in range(9):
        report["device"]["name"] = "NVIDIA H200"
        report["timestamp"] = f"2026-11-{10 + number}T10:00:00Z"
        (fleet / f"gpu{number}.json").write_text(json.dumps(report))
    run("fleet", "merge", "fleet", "--out", "made.db")
    run("fleet", "merge", "odd.arrow", "--out", "odd.db", "--simulated")


def make_seeds(binary, folder):
    """Fills the folder. Returns the elements of pages of valid files."""
    _copy_seeds(folder)

    def run(*arguments):
        done = subprocess.run([str(binary), *arguments], cwd=folder, env=environment(folder), capture_output=True, check=False, timeout=LONGEST_SECONDS)
        if done.returncode not in (0, 1, 3) or done.returncode == 1 and arguments[0] not in ("check", "diff", "fleet"):
            raise SystemExit(f"gputopo {' '.join(arguments)} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done
    _make_seeds(run, folder)
    pages = checks.Pages()
    learn = folder / "learn"
    learn.mkdir()
    for number, seed in enumerate(["h200", "mi300x", "gt200", "sample", "made", "model", "node_h100x2", "node_links",
                                   "node_whole"]):
        more = [] if seed.startswith("node") else ["--curve", f"learn/c{number}.html"]
        run("show", f"{seed}.json", "--html", f"learn/{number}.html", "--svg", f"learn/s{number}.html", *more)
    run("diff", "h200.json", "mi300x.json", "--html", "learn/diff.html")
    run("diff", "h200.json", "h200.json", "--html", "learn/same.html")
    for store in ("odd", "made"):
        run("fleet", "report", f"{store}.db", "--html", f"learn/{store}.html")
    run("model", "model.json", "--kernel", "kernel_stencil.json", "--svg", "learn/model.html")
    for page in learn.iterdir():
        pages.learn(page.read_bytes())
    shutil.rmtree(learn)
    return pages


def environment(folder):
    (folder / "tmp").mkdir(exist_ok=True)
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "TMPDIR": str(folder / "tmp"),
            "LC_ALL": "C.UTF-8", "COLUMNS": "100"}


# ---- Mutations of other files than plain JSON ----

RECORDING_MAGIC = b"gputopo recording\n"


def _recording_of(content, length=None):
    length = len(content) if length is None else length
    return RECORDING_MAGIC + (length & ((1 << 64) - 1)).to_bytes(8, "little") + zlib.compress(content, 6)


def _bomb(chance):
    """Content that inflates to much more than the file."""
    count = chance.choice([1 << 20, 1 << 26, (1 << 26) + 1, 200 << 20])
    head = chance.choice([cbor.encoded_head(4, count), cbor.encoded_head(5, count), b"\x81" * 10_000_000, b"\x9f", b"\xa1\x64info",
                          cbor.encoded_head(4, (1 << 64) - 1), cbor.encoded_head(3, count), b"\xd9\xd9\xf7" * 1_000_000])
    content = head + chance.choice([b"\xf6", b"\0", b"\x80", b"\x60", b"\xa0"]) * count
    return content, chance.choice([len(content), 1 << 20, 1 << 28, (1 << 64) - 1])


def mutated_recording(data, chances, others):
    del others
    first = chances[0]
    kind = first.random()
    if kind < 0.03:
        content, length = _bomb(first)
        return _recording_of(content, length), ["bomb"]
    if kind < 0.13:
        return documents.damaged(data, first)[0], ["damaged"]
    content = zlib.decompress(data[len(RECORDING_MAGIC) + 8:])
    content, names = documents.mutated(content, chances, (), cbor.decoded, cbor.encoded)
    length = None
    if kind < 0.16:
        length = first.choice([0, 1, len(content) - 1, len(content) + 1, 1 << 28, (1 << 28) + 1, (1 << 64) - 1])
        names.append("length")
    return _recording_of(content, length), names


CACHE_MAGIC = b"gputopo cache 1 "


def mutated_entry(name):
    def mutate(data, chances, others):
        if chances[0].random() < 0.15:
            return documents.damaged(data, chances[0])[0], ["damaged"]
        report, names = documents.mutated(data.partition(b"\n")[2], chances, others)
        digest = hashlib.sha1(uuid.NAMESPACE_OID.bytes + name.encode() + report).digest()[:16]
        return CACHE_MAGIC + str(uuid.UUID(bytes=digest, version=5)).encode() + b"\n" + report, names
    return mutate


# ---- Readers of files ----

def _formats(pages):
    return {"--json": checks.is_json, "--html": pages.check, "--markdown": checks.is_markdown, "--svg": pages.check_xml,
            "--curve": pages.check_xml, "--csv": checks.is_csv, "--mt4g-json": checks.is_json, "--mt4g-csv": checks.visible,
            "--hwloc-xml": checks.is_xml, "--hwloc-annotate": checks.is_shell, "--accel-sim": checks.is_lines,
            "--roofline-csv": checks.is_csv, "--xla": checks.is_lines, "--latex": checks.is_latex}


OWN_FORMATS = ["--json", "--html", "--markdown", "--svg", "--curve", "--csv"]
OTHER_FORMATS = ["--mt4g-json", "--mt4g-csv", "--hwloc-xml", "--hwloc-annotate", "--accel-sim", "--roofline-csv", "--xla", "--latex"]
PATHS = ["l2.size", "device.name", "compute.sm_count", "shared.latency", "memory.l1.size.high", "l2.latency.details.far_cycles",
         "instructions.fma.f32.latency", "l1.size.reason", "l2.size.conditions.sm_clock_mhz", "l1.size.method", "l1.size.unit",
         "l1.size.flags", "device.driver", "device.pci_address", "clocks.sm_clock", "gpx7.gpx7"]


def all_kinds(pages, folder):
    formats = _formats(pages)

    def written(names, prefix="o"):
        """Arguments and checks of the outputs in these formats."""
        arguments, files = [], {}
        for name in names:
            file = prefix + name
            arguments += [name, file]
            files[file] = formats[name]
        return arguments, files

    def show(chance, place):
        kind = chance.random()
        if kind < 0.4:
            arguments, files = written(OWN_FORMATS)
            return [Step(["show", place, *arguments], files=files)]
        if kind < 0.7:
            return [Step(["show", place, *written([name])[0]], files=written([name])[1]) for name in chance.sample(OTHER_FORMATS, 2)]
        if kind < 0.8:
            name = chance.choice(["--html", "--csv", "--svg", "--markdown", "--latex"])
            return [Step(["show", place, name, "-"], output=formats[name])]
        return [Step(["show", place, *chance.choice([[], ["--tree"], ["--plot"], ["--published"], ["--long"]])],
                     terminal=chance.random() < 0.5)]

    def compared(chance, place):
        other = f"{SEEDS}/{chance.choice(['sample', 'made'])}.json"
        pair = [place, other] if chance.random() < 0.5 else [other, place]
        if chance.random() < 0.4:
            return [Step(["diff", *pair, "--html", "d.html"], says_why=False, files={"d.html": pages.check})]
        return [Step(["diff", *pair], says_why=False), Step(["diff", *pair, "--json"], says_why=False, output=checks.is_json)]

    def checked(chance, place, baseline):
        name, check = chance.choice([("text", checks.visible), ("json", checks.is_json), ("prometheus", checks.is_prometheus)])
        arguments = ["check", place, "--baseline", baseline, "--format", name]
        return [Step(arguments, codes=(0, 1, 3), says_why=False, output=lambda data, what: check(data, what) if data else ())]

    def merged(chance, place):
        arguments = ["fleet", "merge", f"{SEEDS}/fleet", place, "--out", "s.db", *chance.choice([[], ["--anonymous"]])]
        return [Step(arguments, codes=(0, 1, 3)), judged(chance, "s.db")]

    def judged(chance, store):
        if chance.random() < 0.3:
            return Step(["fleet", "report", store, "--long"], codes=(0, 1, 3), says_why=False)
        files = {"f.html": pages.check, "f.csv": checks.is_csv, "f.json": checks.is_json, "f.prom": checks.is_prometheus}
        return Step(["fleet", "report", store, "--html", "f.html", "--csv", "f.csv", "--json", "f.json", "--prometheus", "f.prom"],
                    codes=(0, 1, 3), says_why=False, files=files)

    def modelled(chance, report, kernel):
        name = chance.choice(["", "--json", "--svg"])
        arguments = ["model", report, "--kernel", kernel]
        if name == "--svg":
            return [Step([*arguments, "--svg", "m.svg"], files={"m.svg": pages.check_xml})]
        if name:
            return [Step([*arguments, name], output=lambda data, what: checks.is_json(data, what) if data else ())]
        if kernel.startswith("."):
            return [Step(arguments)]
        return [Step(["model", report, "--kernel", "-"], input=kernel)]

    def report_steps(chance, place):
        readers = [(show, 10), (compared, 3), (lambda c, p: checked(c, p, f"{SEEDS}/made.json"), 2), (merged, 2),
                   (lambda c, p: [Step(["get", c.choice(PATHS), "--report", p], codes=(0, 1, 2, 5)) for _ in range(2)], 2),
                   (lambda c, p: modelled(c, p, f"{SEEDS}/kernel_{c.choice(['stencil', 'stream_copy', 'matrix_multiply'])}.json"), 2),
                   (lambda c, p: [Step(["show", f"{SEEDS}/mi300x.json", "--instance", p], codes=(0, 1, 2))], 1)]
        steps, weights = zip(*readers)
        return [step for reader in chance.choices(steps, weights, k=chance.choice([1, 1, 2])) for step in reader(chance, place)]

    def baseline_steps(chance, place):
        if chance.random() < 0.1:
            # It measures the baseline's elements. One of another vendor is unknown, as if --only requested it.
            return [Step(["check", "--quick", "--baseline", place, "--device", f"sim:{SEEDS}/tiny_machine.json"], codes=(0, 1, 2, 3),
                         says_why=False, seconds=10)]
        return checked(chance, f"{SEEDS}/{chance.choice(['h200', 'sample', 'made'])}.json", place)

    def kernel_steps(chance, place):
        return modelled(chance, f"{SEEDS}/model.json", place)

    def node_steps(chance, place):
        arguments, files = written(["--json", "--html", "--svg"])
        whole = Step(["show", place, *arguments], files=files)
        return chance.choice([[whole], [whole], [Step(["show", place], terminal=chance.random() < 0.5)], merged(chance, place), compared(chance, place),
                              [Step(["get", "l2.size", "--report", place], codes=(0, 1, 2, 5))]])

    def device_steps(chance, device, budget):
        measured = chance.choice([["--only", "shared,constant_l1,lds,sl1d", "--attribute", "size,latency"], ["--only", "l1,vl1", "--attribute", "size"],
                                  ["--only", "device,l2", "--attribute", "latency,read_bandwidth"], MEASURED, MEASURED])
        # The elements of one vendor are unknown on the other's GPUs.
        vendors = [["--only", "shared,constant_l1"], ["--only", "lds,sl1d"]]
        if chance.random() < 0.7:
            measured = [*chance.choice(vendors), "--attribute", "size,latency"] if "lds" in measured[1] else measured
        arguments, files = written(chance.choice([[], [], OWN_FORMATS, ["--html", "--csv"]]))
        kind = chance.random()
        if kind < 0.1:
            return [Step(["get", chance.choice(PATHS[:4]), "--device", device], codes=(0, 1, 2, 3, 5), seconds=60)]
        if kind < 0.15:
            return [Step(["check", "--quick", "--baseline", f"{SEEDS}/made.json", "--device", device], codes=(0, 1, 2, 3), says_why=False,
                         seconds=60)]
        return [Step(["--device", device, *measured, "--quiet", "--budget", budget, *arguments], codes=(0, 1, 2, 3), files=files, seconds=10)]

    def machine_steps(chance, place):
        return device_steps(chance, f"sim:{place}", "0.5")

    def sim_node_steps(chance, place):
        arguments, files = written(["--json", "--html", "--svg"])
        if chance.random() < 0.2:
            return [Step(["node", "--node", f"sim:{place}", "--gpus-only", "--only", "shared", "--attribute", "latency", "--quiet",
                          "--budget", "0.5", *arguments], codes=(0, 1, 3), files=files, seconds=20)]
        return [Step(["node", "--node", f"sim:{place}", "--links-only", "--quiet", *arguments], codes=(0, 1, 3), files=files, seconds=10)]

    def recording_steps(chance, place):
        if chance.random() < 0.3:
            return device_steps(chance, f"replay:{place}", "2")
        measured = chance.choice([RECORDED, RECORDED, ["--only", "device,l1", "--attribute", "read_bandwidth,line_size"]])
        arguments, files = written(chance.choice([[], OWN_FORMATS, ["--html"]]))
        return [Step(["replay", place, *measured, "--quiet", "--budget", "2", *arguments], codes=(0, 1, 2, 3), files=files, seconds=10)]

    def link_steps(chance, place):
        del place
        arguments, files = written(["--json", "--html", "--svg"])
        if chance.random() < 0.2:
            return [Step(["node", "--node", "replay:rec", "--quiet", "--budget", "1", *arguments], codes=(0, 1, 3), files=files, seconds=20)]
        return [Step(["node", "--node", "replay:rec", "--links-only", "--quiet", *arguments], codes=(0, 1, 3), files=files, seconds=10)]

    def store_steps(chance, place):
        if chance.random() < 0.25:
            return [Step(["fleet", "merge", f"{SEEDS}/fleet", "--resume", "--out", place], codes=(0, 1, 3)), judged(chance, place)]
        if chance.random() < 0.1:
            return [Step(["fleet", "forget", place, "--before", "2026-11-14"])]
        if chance.random() < 0.1:
            return [Step(["fleet", "document", place, "gpu3"])]
        return [judged(chance, place)]

    def arrow_steps(chance, place):
        return [Step(["fleet", "merge", place, "--out", "s.db"], codes=(0, 1, 3)), judged(chance, "s.db")]

    def entry_steps(chance, place):
        del place
        return [Step(["get", chance.choice(["shared.latency", "shared.latency", "device.name"]), "--device", "sim:h200"],
                     codes=(0, 1, 2, 3, 5), seconds=60)]

    reports = ["sample", "sample", "sample", "sample", "sample", "made", "made", "model", "gt200", "mi300x", "h200"]
    reports = [f"{name}.json" for name in reports]
    entries = sorted(path.name for path in folder.glob("cache_entry_*"))
    kinds = [
        Kind("report", 24, reports, documents.mutated, "mutant.json", report_steps),
        Kind("baseline", 6, reports, documents.mutated, "mutant.json", baseline_steps),
        Kind("kernel", 10, [f"kernel_{name}.json" for name in ("matrix_multiply", "stencil", "stream_copy")], documents.mutated,
             "mutant.json", kernel_steps),
        Kind("node", 10, ["node_h100x2.json", "node_links.json", "node_whole.json"], documents.mutated, "mutant.json", node_steps),
        Kind("machine", 12, ["tiny_machine.json"] * 3 + [f"machine_{name}.json" for name in ("gt200", "h100-sxm", "h200", "mi300x", "v100")],
             documents.mutated, "mutant.json", machine_steps),
        Kind("sim_node", 5, [f"sim_node_{name}.json" for name in ("h200x2", "h200x2", "ring4", "h100x8")], documents.mutated, "mutant.json",
             sim_node_steps),
        Kind("recording", 10, ["bandwidth.rec", "made.rec"], mutated_recording, "mutant.rec", recording_steps, False),
        Kind("links", 6, ["links_made.json", "links_h200x2.json"], documents.mutated, "rec/links.json", link_steps),
        Kind("store", 12, ["odd.db", "made.db"], lambda data, chances, others: stores.mutated(data, chances), "mutant.db", store_steps, False),
        Kind("arrow", 2, ["odd.arrow"], lambda data, chances, others: (documents.damaged(data, chances[0])[0], ["damaged"]), "mutant.arrow",
             arrow_steps, False)]
    for entry in entries:
        name = entry.removeprefix("cache_entry_")
        kinds.append(Kind("cache", 3, [entry], mutated_entry(name), f"cache/gputopo/{name}", entry_steps, False))
    return kinds
