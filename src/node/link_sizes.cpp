#include "node/link_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "gputopo/error.h"
#include "node/link_runs.h"

namespace gputopo::node {
namespace {

constexpr std::uint64_t kBytesOfRow = 64ull << 20;  // total bytes of a row of small copies
constexpr std::uint64_t kLeastSize = 4096;
constexpr std::uint64_t kSizeStep = 4;

class Sizes {
 public:
  explicit Sizes(LinkRuns& runs) : runs_(runs) {}

  void measure(const Batch& batch) {
    if (!find(runs_.values_of(batch.front()), "copy_bandwidth")->available()) return;
    Sweeps sweeps(batch.size());
    if (batch.size() > 1 && !try_sweeps(batch, sweeps)) {
      for (const Transfer& transfer : batch) measure({transfer});
      return;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) sizes(batch[i], sweeps[i]);
  }

 private:
  // Returns one sample per transfer; all transfers run at the same time.
  std::vector<SizeSample> copies_of(const Batch& batch, std::uint64_t bytes) {
    constexpr std::uint32_t kMost = 64;  // driver queues hold some hundreds, and each copy costs the host microseconds
    const auto repeats = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kBytesOfRow / bytes, 1, kMost));
    const TransferResult answer = runs_.ask({TransferOp::kCopy, batch, bytes, repeats});
    std::vector<SizeSample> samples;
    for (const double seconds : answer.seconds) samples.push_back({bytes, seconds / repeats});
    return samples;
  }

  // Indexed by transfer, run and size.
  using Sweeps = std::vector<std::vector<std::vector<SizeSample>>>;

  // Reuses copy_bandwidth for the size that it was measured with.
  std::vector<SizeSample> known_copies(const Batch& batch, std::uint64_t bytes) {
    std::vector<SizeSample> samples;
    for (const Transfer& transfer : batch) {
      const Attribute& bandwidth = *find(runs_.values_of(transfer), "copy_bandwidth");
      const std::optional<double> rate = bandwidth.number();
      if (!rate || bytes_of(bandwidth) != bytes) return {};
      samples.push_back({bytes, static_cast<double>(bytes) / *rate});
    }
    return samples;
  }

  // Stops at the first size that does not fit into memory.
  void add_sweep(const Batch& batch, Sweeps& sweeps) {
    for (auto& runs : sweeps) runs.emplace_back();
    const std::uint64_t most = runs_.options().full ? kMaxTransferBytes : kLargestSize;
    for (std::uint64_t bytes = kLeastSize; bytes <= most; bytes *= kSizeStep) {
      try {
        std::vector<SizeSample> samples = known_copies(batch, bytes);
        if (samples.empty()) samples = copies_of(batch, bytes);
        for (std::size_t i = 0; i < batch.size(); ++i) sweeps[i].back().push_back(samples[i]);
      } catch (const DeviceMemoryError&) {
        if (bytes == kLeastSize) throw;
        break;
      }
    }
  }

  bool try_sweeps(const Batch& batch, Sweeps& sweeps) {
    try {
      for (std::size_t run = 0; run < kRuns; ++run) add_sweep(batch, sweeps);
      return true;
    } catch (const DeviceError&) {
      return false;
    }
  }

  // Derives one link's values from its sweeps over all sizes. Measures the sweeps first if `runs` is empty.
  void sizes(const Transfer& transfer, std::vector<std::vector<SizeSample>>& runs) {
    AttributeMap& values = runs_.values_of(transfer);
    const Attribute whole = *find(values, "copy_bandwidth");
    runs_.put(values, "copy_latency", [&] {
      if (runs.empty()) {
        Sweeps own(1);
        for (std::size_t run = 0; run < kRuns; ++run) add_sweep({transfer}, own);
        runs = std::move(own.front());
      }
      std::vector<double> least;
      for (const std::vector<SizeSample>& run : runs) least.push_back(run.front().seconds / kNano);
      return LinkRuns::attribute_of(estimate(least), "copy_latency", "copies by size");
    });
    if (runs.empty()) return;
    const Estimate bandwidth{whole.number().value_or(0), whole.low.value_or(0), whole.high.value_or(0)};
    runs_.put(values, "half_bandwidth_copy_size", [&] {
      try_between(transfer, runs, bandwidth);
      const Estimate size = half_bandwidth_size(runs, bandwidth);
      Attribute attribute = size.value > 0 ? LinkRuns::attribute_of(size, "half_bandwidth_copy_size", "copies by size")
                                           : unavailable(Reason::kInconclusive,
                                                         "the tried copy sizes do not bracket half of copy_bandwidth");
      attribute.samples.push_back(table_of(transfer, runs));
      return attribute;
    });
  }

  // Adds a sample near half of the bandwidth: sizes are a factor of four apart, and times between them are unknown.
  void try_between(const Transfer& transfer, std::vector<std::vector<SizeSample>>& runs, const Estimate& bandwidth) {
    const Estimate size = half_bandwidth_size(runs, bandwidth);
    if (size.value <= 0) return;
    const auto lines = static_cast<std::uint64_t>(size.value) / kTransferStride;
    const std::uint64_t bytes = std::max<std::uint64_t>(lines, 1) * kTransferStride;
    for (std::vector<SizeSample>& run : runs) {
      const auto place = std::ranges::lower_bound(run, bytes, {}, &SizeSample::bytes);
      if (place != run.end() && place->bytes == bytes) return;
      const auto index = place - run.begin();
      const SizeSample sample = copies_of({transfer}, bytes).front();
      run.insert(run.begin() + index, sample);
    }
  }

  static SampleTable table_of(const Transfer& transfer, const std::vector<std::vector<SizeSample>>& sweeps) {
    SampleTable table{
        .name = fmt::format("{}_{}.copy_by_size", to_text(transfer.from), to_text(transfer.to)),
        .plot = Plot::kLine,
        .columns = {{"bytes", ColumnRole::kAxis, "size", "B"},
                    {"bytes_per_second", ColumnRole::kValue, "bandwidth", "B/s"}},
        .data = {{}, {}},
    };
    for (std::size_t i = 0; i < sweeps.front().size(); ++i) {
      std::vector<double> seconds;
      for (const std::vector<SizeSample>& sweep : sweeps) {
        if (i < sweep.size()) seconds.push_back(sweep[i].seconds);
      }
      const auto bytes = static_cast<double>(sweeps.front()[i].bytes);
      table.data[0].push_back(bytes);
      table.data[1].push_back(bytes / estimate(seconds).value);
    }
    return table;
  }

  LinkRuns& runs_;
};

}  // namespace

void measure_sizes(LinkRuns& runs, const Batch& batch) { Sizes(runs).measure(batch); }

}  // namespace gputopo::node
