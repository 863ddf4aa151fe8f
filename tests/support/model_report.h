// The saved H200 report plus the values that it lacks and the kernel model needs.
#pragma once

#include <string>
#include <utility>

#include "gputopo/report.h"
#include "support/saved_report.h"

namespace gputopo::test {

inline Attribute measured_value(Value value, std::string unit) {
  Attribute attribute = api_value(std::move(value), std::move(unit));
  attribute.source = Source::kMeasured;
  return attribute;
}

inline Topology model_report() {
  Topology topology = saved_report("h200");
  topology.memory.push_back({"registers",
                             "Registers and warps",
                             {{"register_allocation_unit", measured_value(std::int64_t{256}, "")},
                              {"shared_allocation_unit", measured_value(std::int64_t{128}, "B")},
                              {"resident_warps", measured_value(std::int64_t{64}, "")},
                              {"resident_blocks", measured_value(std::int64_t{32}, "")},
                              {"schedulers", measured_value(std::int64_t{4}, "")}}});
  topology.memory.push_back({"peaks",
                             "Peak arithmetic throughput",
                             {{"f32", measured_value(6.69e13, "FLOP/s")}, {"s32", measured_value(3.34e13, "OP/s")}}});
  for (const auto& [id, latency, throughput] : {std::tuple("fma.f32", 4.0, 128.0), std::tuple("add.s32", 4.5, 64.0)}) {
    topology.instructions.push_back(
        {id,
         id,
         {{"latency", measured_value(latency, "cycles")}, {"throughput", measured_value(throughput, "ops/clk")}}});
  }
  return topology;
}

}  // namespace gputopo::test
