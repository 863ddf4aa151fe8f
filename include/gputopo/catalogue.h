// The catalogue: what there is to know of a GPU. One row for each attribute (attributes.def) and for each element, of
// memory or of what computes (elements.def); reports, checks, plans and documents read these and keep no table of their
// own. Enumerations inside, names where text is read or written.
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
// Of what a device calls its vendor; NVIDIA's elements are those of a vendor that is not known.
[[nodiscard]] Vendor vendor_of(std::string_view name);
// What a vendor calls the unit that the caches of an SM serve: "CU" on AMD, "SM" elsewhere.
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
  kUnitGroups,  // which SMs (CUs) belong together
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
  std::string_view name;   // "read_bandwidth": in reports, on the command line
  std::string_view title;  // "Read bandwidth"
  std::string_view unit;   // "B/s"; "" for counts and names
  Quantity quantity;
  Better better;
};

// All of them, in the order that reports show them.
[[nodiscard]] std::span<const AttributeInfo> attribute_catalogue();
// Those of elements: of memory, of what computes, of both.
[[nodiscard]] std::span<const AttributeInfo> memory_attributes();
[[nodiscard]] std::span<const AttributeInfo> unit_attributes();
[[nodiscard]] std::span<const AttributeInfo> element_attributes();
[[nodiscard]] const AttributeInfo& info_of(AttributeId id);
[[nodiscard]] std::string_view to_string(AttributeId id);
// Nothing for a name that is not in the catalogue (a report of a later version may have some).
[[nodiscard]] const AttributeInfo* find_attribute(std::string_view name);
[[nodiscard]] std::vector<std::string> element_attribute_names();

// Of each operation.
inline constexpr AttributeId kOperationAttributes[] = {AttributeId::kLatency, AttributeId::kThroughput};
// What --only, reports and comparisons call all operations; one of them is "instructions.fma.f32".
inline constexpr std::string_view kInstructions = "instructions";
// And the units that these share.
inline constexpr std::string_view kPipesGroup = "pipes";

// ---- Coverage ----

// How an attribute of an element is found out.
enum class Coverage : std::uint8_t {
  kMeasured,
  kApi,
  kApiAndMeasured,
  kMeasuredInFull,    // measured where --full or the attribute's name asks for it, because it takes its time
  kMeasuredByMethod,  // measured where its method (below) or the attribute's name is asked for
  kMeasuredByName,    // measured where the attribute's name is asked for; like the one before it has no row elsewhere
  kNotApplicable,
};
[[nodiscard]] std::string_view to_string(Coverage coverage);

// Another method than this project's own, which is run only where it is asked for. What it finds is an attribute of its
// own, so that both can be set side by side; a report has no row for it where nobody asked.
struct MethodInfo {
  std::string_view name;  // "change-point": on the command line
  AttributeId attribute;  // what it finds
  AttributeId beside;     // what this project's own method finds of the same
};
[[nodiscard]] std::span<const MethodInfo> method_catalogue();
// Nothing for an attribute of this project's own methods.
[[nodiscard]] const MethodInfo* method_of(AttributeId attribute);

// Attributes that elements have together: attributes.def says which attributes are in a set, elements.def which element
// has it.
enum class CoverageSet : std::uint8_t {
  kMeasuredSize,
  kToldAndMeasuredSize,  // the vendor's figure, beside what was measured
  kToldSize,             // the vendor's figure
  kReads,                // latency and bandwidth of reads
  kWrites,
  kLines,        // of caches: lines, fetches, what a miss costs
  kPerSm,        // how many an SM has
  kPerGpu,       // how many a GPU has
  kUnified,      // whether several spaces meet in one cache
  kSharedBySms,  // which SMs have one together
  kScoped,       // how many SMs have one together
  kPlaced,       // of what all share: what it takes from each SM
  kAddresses,    // what further addresses in a warp cost
  kLocal,        // of a cache as local loads see it
  kStructure,    // ways, sets, index, replacement
  kParts,        // partitions and slices
  kStores,       // what happens to what is written
  kLoaded,       // latency under load
  kAtomics,
  kOneSm,   // what one SM gets of what all share
  kBanked,  // banks and their conflicts
  kPatterns,
  kTranslation,         // of a TLB
  kCode,                // of an instruction cache
  kJumps,               // what jumps to code that it holds take
  kFetches,             // what comes at once, of the instruction cache that is nearest
  kNearCode,            // of an instruction cache that straight-line code hides
  kOperands,            // of a cache of constants that are operands
  kTextureTranslation,  // of one that texture loads ask
  kClusters,
  kResidency,      // of warps and blocks
  kRegisterSteps,  // in which warps are given registers
  kClockReading,
  kControlFlow,     // branches, calls, and barriers of a block or of all
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
  kScratchpad,  // on-chip memory that programs address
  kMemory,
  kTlb,
  kCodeCache,
  kNearCodeCache,  // so near that straight-line code hides it
  kOperandCache,   // of constants whose address stands in the instruction
  kClusterPath,    // to the shared memory of other SMs
  kCopyPath,       // asynchronous copies into shared memory
  kRegisters,      // what computes, from here on: registers, and the warps that have them
  kClocks,
  kControl,  // branches and barriers
  kPeaks,    // the most arithmetic of each type
};

// Whose one instance of an element is. What was measured of it counts for more.
enum class Scope : std::uint8_t { kSm, kSomeSms, kGpu, kMeasuredScope };

// What an element is made of.
enum class Medium : std::uint8_t {
  kSram,
  kDram,
  kPath,   // nothing of its own: a way to what other elements hold
  kLogic,  // it computes
};

struct ElementInfo {
  ElementId id;
  std::string_view name;   // "l1": in reports, on the command line
  std::string_view title;  // "L1 data cache"
  ElementKind kind;
  std::optional<Space> space;  // whose loads pass it
  std::size_t depth;           // levels before it: of its space, of TLBs, of code
  Scope scope;
  Medium medium;
  ElementId next;  // the level behind it, if the vendor's GPUs have it, else the one behind that; itself: none

  [[nodiscard]] bool has_next() const { return next != id; }
  // Of what computes, not of memory.
  [[nodiscard]] bool is_unit() const { return medium == Medium::kLogic; }
};

[[nodiscard]] std::span<const ElementInfo> element_catalogue();
[[nodiscard]] const ElementInfo& info_of(ElementId id);
[[nodiscard]] std::string_view to_string(ElementId id);
// Those that elements like it may have.
[[nodiscard]] std::span<const AttributeInfo> attributes_of(const ElementInfo& element);
// Nothing for a name that is not in the catalogue.
[[nodiscard]] const ElementInfo* find_element(std::string_view name);

// Those of a vendor's GPUs, in the order of the catalogue.
[[nodiscard]] std::vector<const ElementInfo*> elements_of(Vendor vendor);
[[nodiscard]] bool has_element(Vendor vendor, ElementId element);
// The level behind an element on a vendor's GPUs.
[[nodiscard]] std::optional<ElementId> next_of(Vendor vendor, ElementId element);
// The cache that loads of the same space look up before it; nothing for the nearest.
[[nodiscard]] std::optional<ElementId> before_in_space(Vendor vendor, ElementId element);
[[nodiscard]] Coverage coverage_of(Vendor vendor, ElementId element, AttributeId attribute);

}  // namespace gputopo
