// Streams whose blocks run on a few CUs only, where the runtime has CU masks: a launch that names CUs then starts a
// handful of blocks, and the other CUs stay quiet.
// Which bit of a mask stands for which CU is seen, not assumed: roll calls under masks that each leave every CU with
// one binary digit of its number. What does not fit ends it, and launches reach their CUs as they do without masks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "device/hip/runtime_api.h"

namespace gputopo::hip {

class CuMasks {
 public:
  // The CUs (by hardware id) that blocks launched on a stream have run on, of which its mask should leave `cus`.
  using RollCall = std::function<std::set<std::uint32_t>(StreamHandle stream, std::uint32_t cus)>;

  // `hardware_ids`: of all CUs of the device, which must be of one die: a queue that leaves some die without a CU
  // hangs.
  CuMasks(std::shared_ptr<const Runtime> runtime, std::vector<std::uint32_t> hardware_ids, RollCall roll_call);

  // A stream whose blocks run on these CUs, valid until the next call; nullptr where masks are not known to do that.
  // The first call learns. Throws DeviceLostError.
  [[nodiscard]] StreamHandle stream_of(const std::set<std::uint32_t>& hardware_ids);
  // Blocks were not where their mask should have them: from here on there are no streams.
  void give_up();

 private:
  using Stream = std::shared_ptr<StreamOpaque>;
  // The CUs that take part, and a stream of them.
  struct Masked {
    std::set<std::uint32_t> hardware_ids;
    Stream stream;
  };

  [[nodiscard]] Stream create(const std::vector<std::uint32_t>& bits) const;
  [[nodiscard]] bool learn();

  std::shared_ptr<const Runtime> runtime_;
  std::vector<std::uint32_t> hardware_ids_;
  RollCall roll_call_;
  std::map<std::uint32_t, std::uint32_t> bit_of_;  // by hardware id; empty until learned
  std::vector<Masked> streams_;                    // the one that was asked for last is the last
  bool usable_;
};

}  // namespace gputopo::hip
