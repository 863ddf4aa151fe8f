// The catalogue of everything gputopo can report about a GPU: one row for each attribute (attributes.def) and one for
// each memory or unit element (elements.def). Reports, checks, plans and documents read these rows and keep no table
// of their own. Code uses the enumerations; text input and output use the names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/space.h"

namespace gputopo {

// ---- Vendors ----

enum class Vendor : std::uint8_t { kNvidia, kAmd };
inline constexpr Vendor kAllVendors[] = {Vendor::kAmd, Vendor::kNvidia};  // by name
// "NVIDIA", "AMD".
[[nodiscard]] std::string_view to_string(Vendor vendor);
// The vendor for a device's vendor string. An unknown vendor counts as NVIDIA.
[[nodiscard]] Vendor vendor_of(std::string_view name);
// The vendor's name for a streaming multiprocessor: "CU" for AMD, "SM" for every other vendor string.
[[nodiscard]] std::string unit_name(std::string_view vendor);

// ---- Attributes ----

enum class AttributeGroup : std::uint8_t { kDevice, kCompute, kOperation, kMemory, kUnit };

enum class Quantity : std::uint8_t {
  kCapacity,    // bytes
  kLatency,     // cycles
  kBandwidth,   // bytes per second
  kThroughput,  // operations per clock
  kFrequency,   // MHz
  kRate,        // operations per second
  kTime,        // nanoseconds
  kPower,       // watts
  kCount,
  kFlag,
  kName,
  kNames,
  kUnitGroups,  // the SMs (CUs) of each group
  kHealth,      // a count or state that tells of faults, judged by itself
};

enum class Better : std::uint8_t { kLower, kHigher, kNeither };

enum class AttributeId : std::uint8_t {
#define GPUTOPO_DEVICE_ATTRIBUTE(id, ...) id,
#define GPUTOPO_COMPUTE_ATTRIBUTE(id, ...) id,
#define GPUTOPO_OPERATION_ATTRIBUTE(id, ...) id,
#define GPUTOPO_MEMORY_ATTRIBUTE(id, ...) id,
#define GPUTOPO_UNIT_ATTRIBUTE(id, ...) id,
#include "gputopo/attributes.def"
};

struct AttributeInfo {
  AttributeId id;
  AttributeGroup group;
  std::string_view name;   // "read_bandwidth": in reports and on the command line
  std::string_view title;  // "Read bandwidth"
  std::string_view unit;   // "B/s"; "" for counts and names
  Quantity quantity;
  Better better;
};

// All attributes, in the order of reports.
[[nodiscard]] std::span<const AttributeInfo> attribute_catalogue();
// The attributes of memory elements, of unit elements, and of both.
[[nodiscard]] std::span<const AttributeInfo> memory_attributes();
[[nodiscard]] std::span<const AttributeInfo> unit_attributes();
[[nodiscard]] std::span<const AttributeInfo> element_attributes();
[[nodiscard]] const AttributeInfo& info_of(AttributeId id);
[[nodiscard]] std::string_view to_string(AttributeId id);
// Null for a name that is not in the catalogue: a report of a later version may contain such names.
[[nodiscard]] const AttributeInfo* find_attribute(std::string_view name);
[[nodiscard]] std::vector<std::string> element_attribute_names();

// The attributes of each operation.
inline constexpr AttributeId kOperationAttributes[] = {AttributeId::kLatency, AttributeId::kThroughput};
// The name of all operations together in --only, reports and comparisons; one operation is "instructions.fma.f32".
inline constexpr std::string_view kInstructions = "instructions";
// The name of the execution units that the operations share.
inline constexpr std::string_view kPipesGroup = "pipes";

// ---- Coverage ----

// How an attribute of an element is determined.
enum class Coverage : std::uint8_t {
  kMeasured,
  kApi,
  kApiAndMeasured,
  kMeasuredInFull,    // measured only with --full or if the attribute is named, because the measurement takes long
  kMeasuredByMethod,  // measured only if its method (below) or the attribute is named
  kMeasuredByName,    // measured only if the attribute is named; like kMeasuredByMethod, it has no row otherwise
  kNotApplicable,
};
[[nodiscard]] std::string_view to_string(Coverage coverage);

// An alternative to one of gputopo's own methods. It runs only on request. Its result is a separate attribute, so that
// both results can be compared; reports that did not request it have no row for it.
struct MethodInfo {
  std::string_view name;  // "change-point": on the command line
  AttributeId attribute;  // the attribute it measures
  AttributeId beside;     // the same quantity by gputopo's own method
};
[[nodiscard]] std::span<const MethodInfo> method_catalogue();
// Null for an attribute of gputopo's own methods.
[[nodiscard]] const MethodInfo* method_of(AttributeId attribute);

// Sets of attributes. attributes.def says which attributes a set contains, elements.def which sets an element has.
enum class CoverageSet : std::uint8_t {
  kMeasuredSize,
  kReportedAndMeasuredSize,  // the vendor's size, and a measured one to compare with it
  kReportedSize,             // the vendor's size
  kReads,                    // latency and bandwidth of reads
  kWrites,
  kLines,        // caches: line size, fetch granularity, miss penalty
  kPerSm,        // instances per SM
  kPerGpu,       // instances per GPU
  kUnified,      // which other spaces use the same cache
  kSharedBySms,  // which SMs share an instance
  kScoped,       // how many SMs share an instance
  kPlaced,       // shared by all SMs: the latency from each SM
  kAddresses,    // cost of further addresses in one warp
  kLocal,        // a cache as local loads see it
  kStructure,    // ways, sets, index, replacement
  kParts,        // partitions and slices
  kStores,       // write policy and write allocation
  kLoaded,       // latency under load
  kAtomics,
  kOneSm,   // bandwidth of one SM from an element that all SMs share
  kBanked,  // banks and their conflicts
  kPatterns,
  kTranslation,         // a TLB
  kCode,                // an instruction cache
  kJumps,               // latency of jumps to cached code
  kFetches,             // fetch size of the nearest instruction cache
  kNearCode,            // an instruction cache that straight-line code does not reveal
  kOperands,            // a cache of constants that are instruction operands
  kTextureTranslation,  // a TLB of texture loads
  kClusters,
  kResidency,      // resident warps and blocks per SM
  kRegisterSteps,  // granularity of register allocation
  kClockReading,
  kControlFlow,     // branches, calls, barriers of a block and of all SMs
  kClusterControl,  // barriers of clusters
  kPeaks,
  kMatrixF32Peak,
};

// ---- Elements ----

enum class ElementId : std::uint8_t {
#define GPUTOPO_ELEMENT(id, ...) id,
#include "gputopo/elements.def"
};

enum class ElementKind : std::uint8_t {
  kDataCache,
  kScratchpad,  // on-chip memory that programs address directly
  kMemory,
  kTlb,
  kCodeCache,
  kNearCodeCache,  // so near that straight-line code does not reveal it
  kOperandCache,   // constants whose address is part of the instruction
  kClusterPath,    // loads from the shared memory of other SMs
  kCopyPath,       // asynchronous copies into shared memory
  kRegisters,      // the first unit element: registers, and the warps that use them
  kClocks,
  kControl,  // branches and barriers
  kPeaks,    // the highest arithmetic rate of each type
};

// Which units share one instance of an element. A measured scope takes precedence.
enum class Scope : std::uint8_t { kSm, kSomeSms, kGpu, kMeasuredScope };

enum class Medium : std::uint8_t {
  kSram,
  kDram,
  kPath,   // no storage of its own: a path to other elements
  kLogic,  // arithmetic or control
};

struct ElementInfo {
  ElementId id;
  std::string_view name;   // "l1": in reports and on the command line
  std::string_view title;  // "L1 data cache"
  ElementKind kind;
  std::optional<Space> space;  // the space whose loads look it up
  std::size_t depth;           // levels before it: of its space, among TLBs, or among instruction caches
  Scope scope;
  Medium medium;
  ElementId next;  // the level behind it; if the vendor's GPUs lack that, the one behind that; itself: none

  [[nodiscard]] bool has_next() const { return next != id; }
  // True for unit elements, false for memory.
  [[nodiscard]] bool is_unit() const { return medium == Medium::kLogic; }
};

[[nodiscard]] std::span<const ElementInfo> element_catalogue();
[[nodiscard]] const ElementInfo& info_of(ElementId id);
[[nodiscard]] std::string_view to_string(ElementId id);
// The attributes that elements of this group can have.
[[nodiscard]] std::span<const AttributeInfo> attributes_of(const ElementInfo& element);
// Null for a name that is not in the catalogue.
[[nodiscard]] const ElementInfo* find_element(std::string_view name);

// The elements of a vendor's GPUs, in the order of the catalogue.
[[nodiscard]] std::vector<const ElementInfo*> elements_of(Vendor vendor);
[[nodiscard]] bool has_element(Vendor vendor, ElementId element);
// The next level behind an element on a vendor's GPUs; nothing if there is none.
[[nodiscard]] std::optional<ElementId> next_of(Vendor vendor, ElementId element);
// The data cache that loads of the same space look up just before this element; nothing for the nearest cache.
[[nodiscard]] std::optional<ElementId> before_in_space(Vendor vendor, ElementId element);
[[nodiscard]] Coverage coverage_of(Vendor vendor, ElementId element, AttributeId attribute);

}  // namespace gputopo
