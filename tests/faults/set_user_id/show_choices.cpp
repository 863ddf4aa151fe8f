// Prints what the environment has chosen for a program that uses gputopo's objects: the devices that its drivers show
// and the folder of the system's files. The tests give it the rights of another user.
#include <cstdio>

#include "device/driver/sysfs.h"
#include "gputopo/device.h"

int main() {
  std::string problem;
  for (const gputopo::DeviceListing& device : gputopo::list_devices(problem)) std::puts(device.spec.c_str());
  std::puts(gputopo::sysfs_root().c_str());
}
