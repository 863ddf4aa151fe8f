// Prints what the environment selects for a program that uses gputopo's objects: the devices that its drivers show,
// and the root of sysfs. The tests run it with the rights of another user.
#include <cstdio>

#include "device/driver/sysfs.h"
#include "gputopo/device.h"

int main() {
  std::string problem;
  for (const gputopo::DeviceListing& device : gputopo::list_devices(problem)) std::puts(device.spec.c_str());
  std::puts(gputopo::sysfs_root().c_str());
}
