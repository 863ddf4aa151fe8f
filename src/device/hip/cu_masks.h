// Streams whose blocks run on a few CUs only, if the runtime has CU masks. A launch that names CUs then starts a
// handful of blocks, and the other CUs stay quiet.
// Which bit of a mask stands for which CU is observed, not assumed: each of several roll calls under masks yields one
// binary digit of every CU's number. A contradiction ends this, and launches reach their CUs as they do without masks.
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
  // The CUs (by hardware id) that ran blocks launched on a stream. Its mask should leave `cus` of them.
  using RollCall = std::function<std::set<std::uint32_t>(StreamHandle stream, std::uint32_t cus)>;

  // `hardware_ids`: of all CUs of the device. All must be on one die: a queue that leaves a die without a CU hangs.
  CuMasks(std::shared_ptr<const Runtime> runtime, std::vector<std::uint32_t> hardware_ids, RollCall roll_call);

  // A stream whose blocks run on these CUs, valid until the next call; nullptr if masks are not known to do that. The
  // first call learns the bits. Throws DeviceLostError.
  [[nodiscard]] StreamHandle stream_of(const std::set<std::uint32_t>& hardware_ids);
  // Called if blocks did not run where their mask should put them. From then on there are no streams.
  void give_up();

 private:
  using Stream = std::shared_ptr<StreamOpaque>;
  // The CUs that take part, and a stream for them.
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
  std::vector<Masked> streams_;                    // the last one was used last
  bool usable_;
};

}  // namespace gputopo::hip
