#!/usr/bin/env python3
"""Varies each tunable by 20% up and down, and records what that changes on simulated machines and replays.

  tunables.py run [--machines N] [--minutes M] [--cases REGEX] [--baselines] [NAME-PATTERN...]
                    vary those without an effect so far, on machines on which they were not varied yet: at most N
                    random machines of each tier of noise (default 2000), for M minutes (default: until the end);
                    with --baselines vary nothing, and only find out which tunables take part where
  tunables.py report [NAME-PATTERN...]
                    a table of the results: how many have an effect, which have none, what changed
  tunables.py list [NAME-PATTERN...]
                    the tunables, and why some are not varied
  tunables.py tree FOLDER
                    write the copy of the sources alone
  tunables.py check expect the rewriting to fit the sources

README.md explains how. Results are in build/tunables/results.jsonl; a run goes on where the last one ended.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "planted"))
import copied_tree
import runs
import sources
from copied_tree import ROOT
from runs import Case

OUTPUT = ROOT / "build" / "tunables"
RESULTS = OUTPUT / "results.jsonl"
STAGES = [1, 3, 60, 300, 2000]  # random machines of each tier, most of which are left out as soon as an effect is seen
TIERS = 3
LARGEST_GROUP = 32

# What the copies note: the results of discover(), measure_links(), judge() of fleets, and the verdicts of truth tests.
HOOKS = [
    ("src/discover/discover.cpp", "Topology discover(Device& device, const DiscoverOptions& options) {",
     """std::string to_json(const Topology& topology);
static Topology discover_as_is(Device& device, const DiscoverOptions& options);
Topology discover(Device& device, const DiscoverOptions& options) {
  DiscoverOptions noted = gputopo_tuned::noted(options);
  if (noted.budget_seconds >= 1) noted.budget_seconds = 1e5;  // never reached, however busy the host is
  Topology topology = discover_as_is(device, noted);
  gputopo_tuned::note("report", topology.name + " of seed " + std::to_string(options.seed), to_json(topology));
  return topology;
}
static Topology discover_as_is(Device& device, const DiscoverOptions& options) {"""),
    ("src/node/measure_links.cpp", "void measure_links(Links& links, const NodeOptions& options, NodeReport& report) {",
     """static void measure_links_as_is(Links& links, const NodeOptions& options, NodeReport& report);
void measure_links(Links& links, const NodeOptions& options, NodeReport& report) {
  gputopo_tuned::has_begun = true;
  measure_links_as_is(links, options, report);
  gputopo_tuned::note("report", "node", node_to_json(report));
}
static void measure_links_as_is(Links& links, const NodeOptions& options, NodeReport& report) {"""),
    ("src/fleet/judgement.cpp", "Judgement judge(const Store& store, std::int64_t now, const JudgeParameters& parameters) {",
     """std::string findings_to_json(const Judgement& judgement);
static Judgement judge_as_is(const Store& store, std::int64_t now, const JudgeParameters& parameters);
Judgement judge(const Store& store, std::int64_t now, const JudgeParameters& parameters) {
  gputopo_tuned::has_begun = true;
  Judgement judgement = judge_as_is(store, now, parameters);
  gputopo_tuned::note("report", "fleet", findings_to_json(judgement));
  return judgement;
}
static Judgement judge_as_is(const Store& store, std::int64_t now, const JudgeParameters& parameters) {"""),
    ("tests/support/truths.cpp", "Judged judge(const Truth& truth, const Topology& topology) {",
     """static Judged judge_as_is(const Truth& truth, const Topology& topology);
Judged judge(const Truth& truth, const Topology& topology) {
  static constexpr const char* kVerdicts[] = {"right", "close", "flagged", "silent", "rightly silent", "wrong"};
  Judged judged = judge_as_is(truth, topology);
  gputopo_tuned::note("verdict", topology.name + "." + truth.element + "." + truth.attribute,
                      kVerdicts[static_cast<int>(judged.verdict)]);
  return judged;
}
static Judged judge_as_is(const Truth& truth, const Topology& topology) {"""),
    # own_noise.h says why.
    ("src/device/sim/memory/noise.cpp", "random_(derive_seed(seed, index))", "random_(seed)"),
    ("src/device/sim/sim_device.cpp", '#include "device/sim/limits.h"', '#include "device/sim/limits.h"\n#include "own_noise.h"'),
    ("src/device/sim/sim_device.cpp", "sms.push_back(next_sm(programs[i]));",
     "places.push_back(own_noise_.place_of(to_text(programs[i])));\n      sms.push_back(next_sm(programs[i]));"),
    ("src/device/sim/sim_device.cpp", "std::vector<std::uint32_t> sms;",
     "std::vector<std::uint32_t> sms;\n    std::vector<gputopo_tuned::OwnNoise::Place> places;"),
    ("src/device/sim/sim_device.cpp", "answer(programs[i], program_index_ + i, sms[i], *worker)",
     "answer(programs[i], places[i], sms[i], *worker)"),
    ("src/device/sim/sim_device.cpp", "    program_index_ += programs.size();\n", ""),
    ("src/device/sim/sim_device.cpp", "answer(const Program& program, std::uint64_t index,",
     "answer(const Program& program, const gputopo_tuned::OwnNoise::Place& place,"),
    ("src/device/sim/sim_device.cpp", "Noise(spec_.noise, seed_, index, spec_.neighbour)",
     "Noise(spec_.noise, derive_seed(seed_, place.seed), program_index_ + place.index, spec_.neighbour)"),
    ("src/device/sim/sim_device.cpp", "derive_seed(seed_, ~index)", "derive_seed(seed_, ~place.seed)"),
    ("src/device/sim/sim_device.cpp", "const std::uint32_t sm = sm_;\n    sm_ = (sm_ + 1) % info_.sm_count;",
     "std::uint32_t& next = own_noise_.next_sm();\n    const std::uint32_t sm = next;\n"
     "    next = (next + 1) % info_.sm_count;"),
    ("src/device/sim/sim_device.cpp", "std::uint64_t program_index_ = 0;",
     "std::uint64_t program_index_ = 0;\n  gputopo_tuned::OwnNoise own_noise_;"),
]
HEADERS = [HERE / "tuned.h", HERE / "own_noise.h"]


def with_hooks(copies):
    copies = dict(copies)
    for file, original, replacement in HOOKS:
        text = copies.get(file) or (ROOT / file).read_text()
        if text.count(original) != 1:
            raise sources.SourceError(f"{file}: adapt HOOKS of tests/tunables/tunables.py, because this is not there "
                                      f"once:\n{original}")
        copies[file] = text.replace(original, replacement)
    return copies


def chosen(tunables, patterns):
    """Those whose name matches a pattern, or holds it."""
    return [tunable for tunable in tunables if not patterns or
            any(fnmatch.fnmatch(tunable.name, pattern) or pattern in tunable.name for pattern in patterns)]


# ---- The results ----


class Results:
    """What is known from all runs so far. `digests`: by tunable, of its source now; results of other texts are void."""

    def __init__(self, path, digests):
        self.path, self.digests, self.lock = path, digests, threading.Lock()
        self.cases = set()  # whole ones, of all runs
        self.effects = {}  # by tunable: the first effect that was seen
        self.tried = {}  # by variant: the cases without an effect
        self.idle = {}  # by variant: those of them in which the tunable takes no part
        self.unanswered = set()  # variants with cases that lack answers to their programs
        if path.is_file():
            for line in path.read_text().splitlines():
                try:
                    self.take(json.loads(line))
                except ValueError:
                    continue  # the last run was interrupted while it wrote this line

    def take(self, entry):
        current = {variant for variant, digest in entry["variants"].items() if self.digests.get(variant[1:]) == digest}
        if entry["effect"]:
            for variant in current:
                self.effects.setdefault(variant[1:], entry | {"change": variant[0]})
        elif entry.get("unanswered"):
            self.unanswered |= {(variant, entry["case"], entry["only"]) for variant in current}
        else:
            for variant in current:
                self.tried.setdefault(variant, set()).add((entry["case"], entry["only"]))
                if not entry["only"]:
                    self.cases.add(entry["case"])
                if not entry.get("took_part", True):
                    self.idle.setdefault(variant, set()).add(entry["case"])

    def add(self, case, variants, effect, **more):
        entry = {"case": case.name, "only": case.only, "effect": effect, **more,
                 "variants": {variant: self.digests[variant[1:]] for variant in variants}}
        with self.lock:
            self.take(entry)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a") as file:
                file.write(json.dumps(entry) + "\n")

    def is_open(self, variant, case):
        return variant[1:] not in self.effects and (case.name, case.only) not in self.tried.get(variant, ()) and \
            (variant, case.name, case.only) not in self.unanswered

    def cases_without_effect(self, name):
        """How many whole cases were run with the tunable larger and smaller, without an effect."""
        whole = [{case for case, only in self.tried.get(sign + name, ()) if not only} for sign in "+-"]
        return whole[0] & whole[1]


# ---- The search ----


class Search:
    """Runs cases with variants. Variants without an effect so far share runs, in groups whose size follows how rare
    effects have become; a group that changes something is halved until one variant explains it."""

    def __init__(self, results, baselines, end, workers):
        self.results, self.baselines, self.end, self.workers = results, baselines, end, workers
        self.recent = []  # whether single variants of the last groups had an effect
        self.runs = 0
        self.without_variants = False  # only finds out who takes part where

    def is_over(self):
        return time.monotonic() > self.end

    def group_size(self):
        if len(self.recent) < 20:
            return 1
        part = max(sum(self.recent[-200:]) / len(self.recent[-200:]), 1 / (2 * LARGEST_GROUP))
        return max(1, min(LARGEST_GROUP, int(0.5 / part)))

    def try_group(self, case, variants):
        variants = [variant for variant in variants if self.results.is_open(variant, case)]
        if not variants or self.is_over() or self.baselines.steady.get(case) is False:
            return
        outcome = runs.run_case(case, self.baselines.build, variants, self.baselines.timeout(case))
        self.runs += 1
        unanswered = runs.is_unanswered(self.baselines.of(case), outcome)
        if unanswered and len(variants) == 1:
            self.results.add(case, variants, None, unanswered=True)
            return
        found = runs.changes(self.baselines.of(case), outcome)
        if found is not None and not self.baselines.is_steady(case):
            print(f"{case.name} {case.only}: differs from run to run; left out", flush=True)
            return
        if found is None or len(variants) == 1:
            self.results.add(case, variants, found)
            self.recent += [found is not None] * len(variants)
            return
        half = len(variants) // 2
        self.try_group(case, variants[:half])
        self.try_group(case, variants[half:])

    def try_case(self, case, variants):
        """All variants that take part in a case."""
        open_ones = [variant for variant in variants if self.results.is_open(variant, case)]
        size = self.group_size()
        groups = [open_ones[i:i + size] for i in range(0, len(open_ones), size)]
        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            try:
                list(pool.map(lambda group: self.try_group(case, group), groups))
            except (KeyboardInterrupt, runs.KilledError):
                self.end = 0  # so that no other run begins
                raise

    def run(self, name, tunables):
        """One machine or test: first the attribute alone at which a tunable takes part first, then everything."""
        case = Case(name)
        baseline = self.baselines.of(case)
        if baseline.failure:
            print(f"{name}: without a change it {baseline.failure}; left out", flush=True)
            return
        variants = [sign + tunable.name for sign in "+-" for tunable in tunables]
        groups = {tunable.name: tunable.group for tunable in tunables}

        def step_of(variant):
            """The attribute; empty: not known; None: takes no part."""
            group = groups[variant[1:]]
            return baseline.parts.get(variant[1:], baseline.parts.get(group)) if group else ""

        idle = [variant for variant in variants if step_of(variant) is None and self.results.is_open(variant, case)]
        if idle:
            self.results.add(case, idle, None, took_part=False)
        if self.without_variants:
            return
        by_step = {}
        for variant in variants:
            if self.results.is_open(variant, case) and (step := step_of(variant)):
                by_step.setdefault(step, []).append(variant)
        for step, part in sorted(by_step.items()):
            alone = Case(name, step)
            part = [variant for variant in part if self.results.is_open(variant, alone)]
            # Alone it pays only for many.
            if len(part) > 4 and not self.is_over() and 3 * self.baselines.of(alone).seconds < baseline.seconds:
                self.try_case(alone, part)
        self.try_case(case, variants)


def names_of_cases(build_folder, machines, pattern):
    """Names of cases, those that are run first at first."""
    names, done = [], 0
    for stage, limit in enumerate(STAGES):
        until = min(limit, machines)
        names += [f"wide:{seed}" for seed in range(TIERS * done + 1, TIERS * until + 1)]
        done = max(done, until)
        if stage == 1:
            names += tests_of(build_folder, "replay", whole_suites=True) + tests_of(build_folder, "truth")
    return [name for name in names if re.search(pattern, name)]


def tests_of(build_folder, folder, whole_suites=False):
    listed = subprocess.run([build_folder / "tests" / f"{folder}_tests", "--gtest_list_tests"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        name = line.partition("#")[0].rstrip()
        if not name.startswith(" "):
            suite = name
            if whole_suites and suite.endswith("."):
                names.append(f"{folder}:{suite}*")
        elif not whole_suites and "DISABLED_" not in name and suite + name.strip() != runs.WIDE_TEST:
            names.append(f"{folder}:{suite}{name.strip()}")
    return names


def run(arguments):
    texts = sources.read_sources(ROOT)
    tunables, copies = sources.rewrite(texts)
    copied_tree.write_tree(OUTPUT / "source", with_hooks(copies), HEADERS)
    copied_tree.build(OUTPUT / "source", OUTPUT / "build", ["truth_tests", "replay_tests"])
    wanted = [tunable for tunable in chosen(tunables, arguments.names) if not tunable.unvaried]
    if not wanted:
        raise sources.SourceError("no tunable that can be varied has such a name; './dev tunables list' lists them")
    results = Results(RESULTS, {tunable.name: sources.digest_of(texts, tunable.name) for tunable in tunables})
    everything = texts | {path.relative_to(ROOT).as_posix(): path.read_text()
                          for folder in ("tests/support", "tests/truth", "tests/replay", "tests/tunables", "include")
                          for path in sorted((ROOT / folder).rglob("*.[ch]*"))}
    baselines = runs.Baselines(OUTPUT / "baselines", OUTPUT / "build", runs.digest_of_tree(everything))
    end = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")
    search = Search(results, baselines, end, os.cpu_count())
    names = names_of_cases(OUTPUT / "build", arguments.machines, arguments.cases)
    if arguments.baselines:
        search.without_variants = True
        with concurrent.futures.ThreadPoolExecutor(search.workers) as pool:
            list(pool.map(lambda name: search.is_over() or search.run(name, wanted), names))
        return 0
    for name in names:
        left = [tunable for tunable in wanted if tunable.name not in results.effects]
        if not left or search.is_over():
            break
        before, begin = search.runs, time.monotonic()
        search.run(name, left)
        if search.runs > before:
            now = sum(tunable.name not in results.effects for tunable in wanted)
            print(f"{name:50} {search.runs - before:5} runs {time.monotonic() - begin:6.0f} s  "
                  f"{now} of {len(wanted)} without an effect", flush=True)
    return 0


# ---- The report ----


def report(arguments):
    texts = sources.read_sources(ROOT)
    tunables = chosen(sources.rewrite(texts)[0], arguments.names)
    results = Results(RESULTS, {tunable.name: sources.digest_of(texts, tunable.name) for tunable in tunables})
    print(report_text(tunables, results), end="")
    return 0


def report_text(tunables, results):
    unvaried = [tunable for tunable in tunables if tunable.unvaried]
    varied = [tunable for tunable in tunables if not tunable.unvaried]
    with_effect = [tunable for tunable in varied if tunable.name in results.effects]
    tried = {tunable.name: results.cases_without_effect(tunable.name) for tunable in varied}
    parts = {tunable.name: tried[tunable.name] - results.idle.get("+" + tunable.name, set()) for tunable in varied}
    others = [tunable for tunable in varied if tunable.name not in results.effects]
    without = [tunable for tunable in others if parts[tunable.name]]
    nowhere = [tunable for tunable in others if results.cases and tried[tunable.name] == results.cases
               and not parts[tunable.name]]
    untried = [tunable for tunable in others if tunable not in without and tunable not in nowhere]
    lines = [f"{len(tunables)} tunables: {len(with_effect)} have an effect, {len(without)} had none so far, "
             f"{len(nowhere)} took part in none of {len(results.cases)} machines and tests, "
             f"{len(untried)} were not yet varied where they take part, {len(unvaried)} cannot be varied"]
    lines += ["", "Without an effect: the random machines, and the tests and replays, in which it took part:", ""]
    for tunable in without:
        wide = sum(case.startswith("wide:") for case in parts[tunable.name])
        lines.append(f"{wide:6} {len(parts[tunable.name]) - wide:4}  {tunable.name} = {' '.join(tunable.value.split())}")
    lines += ["", "Took part nowhere:", ""] + [f"  {tunable.name} = {tunable.value}" for tunable in nowhere]
    lines += ["", "Not yet varied where they take part:", ""]
    lines += [f"  {tunable.name} = {tunable.value}" for tunable in untried]
    lines += ["", "Cannot be varied:", ""]
    lines += [f"  {tunable.name} = {tunable.value}: {tunable.unvaried}" for tunable in unvaried]
    lines += ["", "With an effect: the strongest kind of change, the largest change of a value, where, and an example:", ""]
    for tunable in with_effect:
        entry = results.effects[tunable.name]
        effect = entry["effect"]
        largest = f"{100 * effect['largest']:.1f}%" if "largest" in effect else ""
        where = entry["case"] + (f" {entry['only']}" if entry["only"] else "")
        lines.append(f"  {effect['kind']:12} {largest:>8} {entry['change']}{tunable.name} ({where}): "
                     f"{effect['examples'][0]}")
    return "\n".join(lines) + "\n"


def list_tunables(arguments):
    for tunable in chosen(sources.rewrite(sources.read_sources(ROOT))[0], arguments.names):
        print(f"{tunable.name} = {' '.join(tunable.value.split())}"
              + (f"  (not varied: {tunable.unvaried})" if tunable.unvaried else ""))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "report", "list", "tree", "check"])
    parser.add_argument("--machines", type=int, default=STAGES[-1], help="random machines of each tier")
    parser.add_argument("--minutes", type=float, default=0, help="end after this time; 0: at the end")
    parser.add_argument("--cases", default="", help="only machines and tests whose names match: '^wide:', 'replay'")
    parser.add_argument("--baselines", action="store_true", help="vary nothing")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    try:
        if arguments.command == "run":
            return run(arguments)
        if arguments.command == "report":
            return report(arguments)
        if arguments.command == "list":
            return list_tunables(arguments)
        copies = with_hooks(sources.rewrite(sources.read_sources(ROOT))[1])
        if arguments.command == "tree":
            if len(arguments.names) != 1:
                parser.error("name a folder")
            copied_tree.write_tree(pathlib.Path(arguments.names[0]), copies, HEADERS)
        return 0
    except (sources.SourceError, runs.KilledError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tunables.py: interrupted; the same command goes on", file=sys.stderr)
        return 130
    except subprocess.CalledProcessError as error:
        print(f"tunables.py: '{error.cmd[0]} {error.cmd[1]} ...' failed; what it printed says why", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
