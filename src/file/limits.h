// How much an untrusted file may demand. Every bound on input is here, with its reason; larger inputs are refused with
// one line (SECURITY.md). The largest files of gputopo so far are recordings: one of an H200 (6 MB, 23 MB inflated,
// 5.1 million values, 8 levels deep) and one of a simulated B200 (10 MB, 67 MB inflated, 21 million values).
#pragma once

#include <cstddef>
#include <cstdint>

namespace gputopo::limits {

// ---- Files ----

// Bytes of any file or pipe: 20 times the largest, and what the memory of any GPU host can hold.
inline constexpr std::uint64_t kMaxInputBytes = 256ull << 20;
// Bytes of an inflated recording: four times the largest. zlib can expand a file a thousandfold.
inline constexpr std::uint64_t kMaxInflatedBytes = 256ull << 20;

// ---- Documents: JSON and CBOR ----

// Nesting of lists and objects: eight times the deepest file. Readers and writers recurse; the stack has 8 MiB.
inline constexpr std::size_t kMaxDepth = 64;
// Values and keys of a JSON file: a hundred times a report's. Each takes 16 bytes of memory or more.
inline constexpr std::size_t kMaxItems = 1u << 24;
// Values and keys of a recording: three times the largest. They take 1 GiB.
inline constexpr std::size_t kMaxRecordedItems = 1u << 26;
// Members of one object: a report's have at most a few dozen. A search in a report visits all of them.
inline constexpr std::size_t kMaxMembers = 4096;
// Characters of a file's text that a message quotes.
inline constexpr std::size_t kMaxShown = 80;
// Bytes of a message: three times the longest one, which lists all attributes. A path of 64 long keys is longer.
inline constexpr std::size_t kMaxMessage = 4000;

// ---- Stores of fleets ----

// Bytes of names, paths and text values.
inline constexpr std::size_t kMaxStoreText = 4096;
// Bytes of a compressed report in a store.
inline constexpr int kMaxStoreDocument = 1 << 28;
// Bytes that SQLite may allocate: its cache and one row, several times over.
inline constexpr std::int64_t kMaxStoreHeap = 1ll << 30;
// Runs that a judgement knows, and readings that it compares: 100 and 40 bytes of memory each.
inline constexpr std::size_t kMaxStoreRuns = 1u << 22;
inline constexpr std::size_t kMaxStoreReadings = 1u << 24;
// A store of the format before SQLite, of which gputopo wrote at most this much.
inline constexpr std::uint64_t kMaxArrowBytes = 4ull << 30;
// Readings of one of its runs.
inline constexpr std::size_t kMaxArrowRunRows = 1u << 16;
// Different values of one GPU model: several times those of a report with --full. The judgment compares all pairs.
inline constexpr std::size_t kMaxStoreValues = 2048;
// The judgment has a table of GPUs by values, with 16 bytes per cell. GPUs of one model have nearly the same values,
// so most cells are used. Cells per used one, beside kSmallTableCells: 10,000 GPUs, few measured in full.
inline constexpr std::size_t kMaxCellsPerReading = 64;
inline constexpr std::size_t kSmallTableCells = 1u << 24;

// ---- Programs in recordings ----

// Elements in the list of an array: 40 times as many as any probe lists. "0-4000000000" is a short text.
inline constexpr std::size_t kMaxListedElements = 1u << 20;
// Arrays, actors or steps of one program: the most so far are 270 steps.
inline constexpr std::size_t kMaxProgramItems = 1u << 16;
// Elements in the lists of all arrays of a program, which are in memory together.
inline constexpr std::size_t kMaxProgramElements = 1u << 22;

// ---- Devices, of machine files, recordings and reports ----

// SMs: ten times the largest GPU. Discoveries and drawings visit all SMs, or all pairs.
inline constexpr std::uint32_t kMaxSms = 4096;
// Slices of a GPU: a hundred times as many as any has.
inline constexpr std::uint32_t kMaxSlices = 1024;
// Bytes of memory, caches and arrays: a thousand times the largest. Sums and products of a few still fit 64 bits.
inline constexpr std::uint64_t kMaxDeviceBytes = 1ull << 50;
// Threads, blocks, registers and bits of a bus: a thousand times the largest.
inline constexpr std::uint64_t kMaxDeviceUnits = 1ull << 30;
inline constexpr std::uint64_t kMaxGridBlocks = 1ull << 32;
inline constexpr unsigned kMaxPowerMilliwatts = 100'000'000;
// A thousand GHz.
inline constexpr double kMaxClockMhz = 1e6;
// Carve-outs to choose from: a sweep visits all of them.
inline constexpr std::size_t kMaxCarveOuts = 256;

// GPUs and NUMA nodes of a node: ten times the largest. All pairs are visited.
inline constexpr std::size_t kMaxNodeGpus = 256;
inline constexpr std::size_t kMaxNumaNodes = 256;

// ---- Simulated machines ----

// Lines of one cache, entries of one TLB: limited by host memory.
inline constexpr std::uint64_t kMaxLines = 1ull << 24;
inline constexpr std::uint32_t kMaxInstances = 64;   // of a cache on each SM
inline constexpr std::uint32_t kMaxPartitions = 64;  // of a cache: a load may look into each of them
inline constexpr std::uint64_t kMaxPageBytes = 1ull << 31;
// Caches, TLB levels and stops of a path: a load visits all of them.
inline constexpr std::size_t kMaxLevels = 64;
// Latencies and added cycles: half a second on a GPU. Sums over a program's loads stay exact integers.
inline constexpr double kMaxCycles = 1e9;
// Bytes per second: a million times the fastest cache.
inline constexpr double kMaxBytesPerSecond = 1e20;

}  // namespace gputopo::limits
