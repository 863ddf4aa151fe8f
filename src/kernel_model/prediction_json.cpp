#include "kernel_model/prediction_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "kernel_model/prediction.h"

namespace gputopo::kernel_model {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity.
Json finite(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

Json occupancy_json(const Prediction& prediction) {
  return {{"blocks_per_sm", prediction.occupancy.blocks},
          {"warps_per_sm", prediction.occupancy.warps()},
          {"most_warps_per_sm", prediction.max_warps},
          {"limited_by", to_string(prediction.occupancy.limit)}};
}

Json model_json(const Prediction& prediction) {
  const HongKim& model = prediction.model;
  return {{"warps_per_sm", model.warps},
          {"active_sms", prediction.active_sms},
          {"repetitions", model.repetitions},
          {"comp_cycles", model.comp_cycles},
          {"mem_cycles", model.mem_cycles},
          {"mem_latency_cycles", model.mem_l},
          {"departure_delay_cycles", model.departure_delay},
          {"departure_delay_of", model.delay_level},
          {"cwp_full", finite(model.cwp_full)},
          {"cwp", model.cwp},
          {"mwp_without_bandwidth", finite(model.mwp_without_bandwidth)},
          {"mwp_peak_bandwidth", finite(model.mwp_peak_bandwidth)},
          {"mwp_bandwidth_of", model.mwp_level},
          {"mwp", model.mwp},
          {"case", to_string(model.which)},
          {"barrier_cycles", model.barrier_cycles},
          {"cycles", model.cycles},
          {"seconds", model.cycles / prediction.clock_hz}};
}

}  // namespace

std::string prediction_to_json(const Prediction& prediction) {
  Json json = {{"kernel", prediction.kernel},
               {"gpu", prediction.gpu},
               {"predicted_seconds", prediction.seconds},
               {"sm_clock_hz", prediction.clock_hz},
               {"occupancy", occupancy_json(prediction)},
               {"hong_kim", model_json(prediction)}};
  Json& ceilings = json["roofline"] = Json::array();
  for (const Ceiling& ceiling : prediction.ceilings) {
    Json entry = {{"ceiling", ceiling.name},
                  {"unit", ceiling.unit},
                  {"work", ceiling.work},
                  {"rate_per_second", ceiling.rate},
                  {"seconds", ceiling.seconds()}};
    if (ceiling.is_memory()) entry["flop_per_byte"] = intensity(prediction.ceilings, ceiling);
    ceilings.push_back(std::move(entry));
  }
  Json& bounds = json["bounds"] = Json::array();
  for (const Bound& bound : prediction.bounds) bounds.push_back({{"name", bound.name}, {"seconds", bound.seconds}});
  json["notes"] = prediction.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gputopo::kernel_model
