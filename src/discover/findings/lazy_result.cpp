#include "discover/findings/lazy_result.h"

#include "gputopo/error.h"
#include "probe/bench/probe_runner.h"

namespace gputopo {

void raise(const MissingReason& absence) {
  switch (absence.reason) {
    case Reason::kInconclusive:
      throw probe::Inconclusive(absence.detail);
    case Reason::kNotPresent:
      throw probe::NotPresent(absence.detail);
    case Reason::kDeviceError:
      throw DeviceError(absence.detail);
    case Reason::kDisturbed:
      throw probe::Disturbed(absence.detail);
    default:
      throw NotSupportedError(absence.detail);
  }
}

MissingReason current_missing_reason() {
  try {
    throw;
  } catch (const probe::Inconclusive& error) {
    return {Reason::kInconclusive, error.what()};
  } catch (const probe::NotPresent& error) {
    return {Reason::kNotPresent, error.what()};
  } catch (const probe::Disturbed& error) {
    return {Reason::kDisturbed, error.what()};
  } catch (const NotSupportedError& error) {
    return {Reason::kNotSupported, error.what()};
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceError& error) {
    return {Reason::kDeviceError, error.what()};
  }
}

}  // namespace gputopo
