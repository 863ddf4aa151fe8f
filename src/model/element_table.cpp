// What there is to know of each memory element: Table I of the MT4G paper (Vanecek et al., SC Workshops 2025), with the
// cells it leaves empty filled. A new element is one row; a new attribute is one column.
#include <algorithm>

#include "gputopo/model.h"

namespace gputopo {
namespace {

constexpr Coverage kM = Coverage::kMeasured;
constexpr Coverage kA = Coverage::kApi;
constexpr Coverage kAM = Coverage::kApiAndMeasured;
constexpr Coverage kFull = Coverage::kMeasuredInFull;
constexpr Coverage kNo = Coverage::kNotApplicable;

// Cells in the order of memory_attribute_ids(); those that are left out at the end are not applicable.
ElementRow row(std::string id, std::string title, const std::vector<Coverage>& cells) {
  ElementRow result{std::move(id), {}, std::move(title), {}};
  const std::vector<std::string>& ids = memory_attribute_ids();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    result.coverage.emplace_back(ids[i], i < cells.size() ? cells[i] : kNo);
  }
  return result;
}

// The row with these attributes too.
ElementRow with(ElementRow row, Coverage coverage, const std::vector<std::string>& attributes) {
  for (auto& [attribute, cell] : row.coverage) {
    if (std::find(attributes.begin(), attributes.end(), attribute) != attributes.end()) cell = coverage;
  }
  return row;
}

// A cache whose structure is measured too.
ElementRow cache_row(std::string id, std::string title, const std::vector<Coverage>& cells) {
  return with(row(std::move(id), std::move(title), cells), kFull, {"ways", "sets", "index", "replacement"});
}

// A level of TLB: what it reaches, in how many entries of how many bytes each, and what a miss adds.
ElementRow tlb_row(std::string id, std::string title) {
  //                                               size latency read write line fetch amount shared penalty partitions
  return with(row(std::move(id), std::move(title), {kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kM, kNo, kM, kM, kM, kM}),
              kFull, {"scope"});
}

// A level of instruction cache.
ElementRow icache_row(std::string id, std::string title) {
  //                                               size latency read write line fetch amount shared penalty partitions
  return with(
      row(std::move(id), std::move(title), {kM, kNo, kNo, kNo, kM, kNo, kM, kM, kNo, kNo, kNo, kNo, kNo, kM, kM, kM}),
      kFull, {"shared_between"});
}

// Of on-chip memory that programs address, by accesses of whole warps.
const std::vector<std::string>& scratchpad_attributes() {
  static const std::vector<std::string> kAttributes = {
      "banks", "bank_width", "conflict_cost", "store_latency", "atomic_latency", "atomic_throughput", "loaded_latency"};
  return kAttributes;
}

// Of the cache that all SMs write to.
const std::vector<std::string>& l2_attributes() {
  static const std::vector<std::string> kAttributes = {"atomic_latency", "atomic_throughput", "loaded_latency",
                                                       "write_policy", "write_allocate"};
  return kAttributes;
}

std::vector<ElementRow> nvidia_rows() {
  // clang-format off
  return {
      //                                           size latency read  write line  fetch amount shared penalty partitions
      with(cache_row("l1", "L1 data cache",        {kM,  kM,    kM,   kM,   kM,   kM,   kM,    kM,    kM,     kNo}),
           kM, {"loaded_latency", "write_policy", "write_allocate"}),
      cache_row("texture", "Texture cache",        {kM,  kM,    kM,   kNo,  kM,   kM,   kM,    kM,    kM,     kNo}),
      cache_row("readonly", "Read-only data cache", {kM,  kM,    kM,   kNo,  kM,   kM,   kM,    kM,    kM,     kNo}),
      cache_row("constant_l1", "Constant L1 cache", {kM,  kM,    kM,   kNo,  kM,   kM,   kM,    kM,    kM,     kNo}),
      cache_row("constant_l15", "Constant L1.5 cache", {kM,  kM,    kM,   kNo,  kM,   kM,   kNo,   kNo,   kM,     kNo}),
      with(with(cache_row("l2", "L2 cache",        {kAM, kM,    kM,   kM,   kM,   kM,   kNo,   kNo,   kM,     kM}),
                kFull, {"near_sms", "slices"}),
           kM, l2_attributes()),
      with(row("shared", "Shared memory",          {kA,  kM,    kM,   kM,   kNo,  kNo,  kNo,   kNo,   kNo,    kNo}),
           kM, scratchpad_attributes()),
      with(with(row("device", "Device memory",     {kA,  kM,    kM,   kM,   kNo,  kNo,  kNo,   kNo,   kNo,    kNo}),
                kM, {"loaded_latency"}),
           kFull, {"latency_patterns"}),
      tlb_row("tlb_l1", "First-level TLB"),
      tlb_row("tlb_l2", "Second-level TLB"),
      tlb_row("tlb_l3", "Third-level TLB"),
      icache_row("icache_l1", "L1 instruction cache"),
      icache_row("icache_l2", "L2 instruction cache"),
      icache_row("icache_l3", "L3 instruction cache"),
      with(row("cluster", "Distributed shared memory", {kNo, kM, kM}), kM, {"max_cluster_size", "gpc_sms"}),
      row("bulk_copy", "Asynchronous bulk copy (TMA)", {kNo, kM, kM}),
  };
  // clang-format on
}

std::vector<ElementRow> amd_rows() {
  // The scalar caches are the only ones that several CUs share.
  const ElementRow scalar = with(
      cache_row("sl1d", "Scalar L1 data cache", {kM, kM, kM, kNo, kM, kM, kNo, kNo, kM, kNo}), kM, {"shared_between"});
  // clang-format off
  return {
      //                                           size latency read  write line  fetch amount shared penalty partitions
      with(cache_row("vl1", "Vector L1 data cache", {kM,  kM,    kM,   kNo,  kM,   kM,   kM,    kNo,   kM,     kNo}),
           kM, {"loaded_latency", "write_policy", "write_allocate"}),
      scalar,
      with(cache_row("l2", "L2 cache",             {kAM, kM,    kM,   kM,   kM,   kM,   kA,    kNo,   kM,     kNo}),
           kM, l2_attributes()),
      row("l3", "L3 cache (Infinity Cache)",       {kAM, kM,    kM,   kM,   kM,   kM,   kA,    kNo,   kM,     kNo}),
      with(row("lds", "Local data share",          {kA,  kM,    kM,   kM,   kNo,  kNo,  kNo,   kNo,   kNo,    kNo}),
           kM, scratchpad_attributes()),
      with(row("device", "Device memory",          {kA,  kM,    kM,   kM,   kNo,  kNo,  kNo,   kNo,   kNo,    kNo}),
           kM, {"loaded_latency"}),
      tlb_row("tlb_l1", "First-level TLB"),
      tlb_row("tlb_l2", "Second-level TLB"),
      tlb_row("tlb_l3", "Third-level TLB"),
      // Behind it code comes from L2. Nothing else that programs load passes it: there is no constant bank.
      with(icache_row("icache_l1", "L1 instruction cache"), kNo, {"shared_with"}),
  };
  // clang-format on
}

}  // namespace

const std::vector<std::string>& memory_attribute_ids() {
  static const std::vector<std::string> kIds = {"size",
                                                "latency",
                                                "read_bandwidth",
                                                "write_bandwidth",
                                                "line_size",
                                                "fetch_granularity",
                                                "amount",
                                                "shared_with",
                                                "miss_penalty",
                                                "partitions",
                                                "reach",
                                                "entries",
                                                "entry_bytes",
                                                "ways",
                                                "cycles_per_instruction",
                                                "scope",
                                                "sets",
                                                "index",
                                                "replacement",
                                                "shared_between",
                                                "near_sms",
                                                "slices",
                                                "latency_patterns",
                                                "banks",
                                                "bank_width",
                                                "conflict_cost",
                                                "store_latency",
                                                "atomic_latency",
                                                "atomic_throughput",
                                                "loaded_latency",
                                                "max_cluster_size",
                                                "gpc_sms",
                                                "write_policy",
                                                "write_allocate"};
  return kIds;
}

const std::vector<ElementRow>& element_table() {
  static const std::vector<ElementRow> kTable = [] {
    std::vector<ElementRow> table;
    const auto add = [&](const char* vendor, std::vector<ElementRow> rows) {
      for (ElementRow& row : rows) {
        row.vendor = vendor;
        table.push_back(std::move(row));
      }
    };
    add("NVIDIA", nvidia_rows());
    add("AMD", amd_rows());
    return table;
  }();
  return kTable;
}

std::vector<ElementRow> elements_of(std::string_view vendor) {
  const auto of = [](std::string_view wanted) {
    std::vector<ElementRow> rows;
    for (const ElementRow& row : element_table()) {
      if (row.vendor == wanted) rows.push_back(row);
    }
    return rows;
  };
  std::vector<ElementRow> rows = of(vendor);
  return rows.empty() ? of(element_table().front().vendor) : rows;
}

Coverage ElementRow::of(std::string_view attribute) const {
  for (const auto& [attribute_id, cell] : coverage) {
    if (attribute_id == attribute) return cell;
  }
  return Coverage::kNotApplicable;
}

}  // namespace gputopo
