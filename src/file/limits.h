// How much a file from a stranger may ask of us. Every bound on what is read stands here, with its reason; what is
// beyond is refused in one line (SECURITY.md). The largest files that gputopo wrote so far are recordings: an H200's of
// 6 MB, 23 MB inflated, 5.1 million values, 8 levels deep, and a simulated B200's of 10 MB, 67 MB and 21 million.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gputopo::limits {

// ---- Files ----

// Of any file or pipe: twenty times those, and what any host that has a GPU holds in memory.
inline constexpr std::uint64_t kMaxInputBytes = 256ull << 20;
// Of a recording, inflated: four times those. zlib makes up to a thousand times as much of a file.
inline constexpr std::uint64_t kMaxInflatedBytes = 256ull << 20;

// ---- Documents: JSON and CBOR ----

// Lists and objects within one another: eight times as deep as any file is. What writes or reads a document calls
// itself for each level, and the stack is 8 MiB.
inline constexpr std::size_t kMaxDepth = 64;
// Values and keys of JSON: a hundred times a report's. Each takes 16 bytes of memory or more, whatever it takes in the
// file.
inline constexpr std::size_t kMaxItems = 1u << 24;
// Those of a recording: three times as many as the largest has. They take a GiB.
inline constexpr std::size_t kMaxRecordedItems = 1u << 26;
// Of one object: a report's has at most a few dozen. Finding one in a report goes through all of them.
inline constexpr std::size_t kMaxMembers = 4096;
// Characters of a file's text that a message repeats.
inline constexpr std::size_t kMaxShown = 80;
// Bytes of a message: three times the longest of ours, which lists all attributes. A path of 64 long keys is longer.
inline constexpr std::size_t kMaxMessage = 4000;

// ---- Stores of fleets ----

// A thousand nights of a thousand GPUs are more; a store of 10,000 GPUs has 100 MB.
inline constexpr std::uint64_t kMaxStoreBytes = 4ull << 30;
// Tables of the messages that say where things are: a few for each column and batch.
inline constexpr std::uint32_t kMaxStoreTables = 1u << 20;
// Of an entry of a dictionary: names, paths and values that are texts.
inline constexpr std::size_t kMaxStoreText = 4096;
// Columns, and rows of one batch: all of a batch is in memory at a time. Ours have 18, and 65,536 and those of a
// report.
inline constexpr std::size_t kMaxStoreColumns = 64;
inline constexpr std::size_t kMaxStoreBatchRows = 1u << 22;
// Rows in all: each takes forty bytes of memory while it is judged.
inline constexpr std::size_t kMaxStoreRows = 1u << 26;
// Bytes that may be decoded from a store, for each of its own and besides: a file can name the same bytes many times
// over. Decoding a store that gputopo wrote takes 4 to 9 times its size.
inline constexpr std::uint64_t kMaxStoreExpansion = 16;
inline constexpr std::uint64_t kSmallStoreBytes = 1u << 20;
// The same for a store of any size: what kMaxStoreRows rows and their texts take.
inline constexpr std::uint64_t kMaxDecodedStoreBytes = 16ull << 30;
// Different values of one model of GPU: several times as many as a report with --full has. The judgement compares each
// of them with each other.
inline constexpr std::size_t kMaxStoreValues = 2048;
// The judgement keeps a table of GPUs and values, 16 bytes a cell. GPUs of one model have nearly the same values, so
// most cells are in use. Cells for each that is in use, and besides: 10,000 GPUs, a few of them measured in full.
inline constexpr std::size_t kMaxCellsPerReading = 64;
inline constexpr std::size_t kSmallTableCells = 1u << 24;

// ---- Programs in recordings ----

// Elements that an array lists: forty times as many as any probe does. "0-4000000000" is a short text.
inline constexpr std::size_t kMaxListedElements = 1u << 20;
// Arrays, actors or steps of one program: 270 steps are the most so far.
inline constexpr std::size_t kMaxProgramItems = 1u << 16;
// Elements that the arrays of one program list together: memory is taken for all of them at a time.
inline constexpr std::size_t kMaxProgramElements = 1u << 22;

// ---- Devices, of machine files, recordings and reports ----

// SMs: ten times the largest GPU. Discoveries and drawings go through them, or through all pairs.
inline constexpr std::uint32_t kMaxSms = 4096;
// That a GPU is shared out in: a hundred times as many as any.
inline constexpr std::uint32_t kMaxSlices = 1024;
// Of memory, caches and arrays: a thousand times the largest; sums and products of a few still fit 64 bits.
inline constexpr std::uint64_t kMaxDeviceBytes = 1ull << 50;
// Threads, blocks, registers and bits of a bus: a thousand times the largest.
inline constexpr std::uint64_t kMaxDeviceUnits = 1ull << 30;
// A thousand GHz.
inline constexpr std::uint64_t kMaxGridBlocks = 1ull << 32;
inline constexpr unsigned kMaxPowerMilliwatts = 100'000'000;
inline constexpr double kMaxClockMhz = 1e6;
// Carve-outs to choose from: a sweep goes through all of them.
inline constexpr std::size_t kMaxCarveOuts = 256;

// GPUs and NUMA nodes of a node: ten times the largest. Pairs of them are gone through.
inline constexpr std::size_t kMaxNodeGpus = 256;
inline constexpr std::size_t kMaxNumaNodes = 256;

// ---- Simulated machines ----

// Lines of one cache, entries of one TLB: what the host's memory bears.
inline constexpr std::uint64_t kMaxLines = 1ull << 24;
inline constexpr std::uint32_t kMaxInstances = 64;   // of a cache, on each SM
inline constexpr std::uint32_t kMaxPartitions = 64;  // of a cache: each is one more that a load may look into
inline constexpr std::uint64_t kMaxPageBytes = 1ull << 31;
// Caches, levels of TLB and stops of a path: a load goes through them.
inline constexpr std::size_t kMaxLevels = 64;
// Latencies, and cycles that something adds: half a second of a GPU. Sums over a program's loads stay whole numbers.
inline constexpr double kMaxCycles = 1e9;
// Bytes a second: a million times the fastest cache.
inline constexpr double kMaxBytesPerSecond = 1e20;

}  // namespace gputopo::limits
