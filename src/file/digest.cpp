#include "file/digest.h"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

namespace gputopo {

std::string digest(const std::string& text) {
  static const boost::uuids::name_generator_sha1 kGenerator(boost::uuids::ns::oid());
  return to_string(kGenerator(text));
}

}  // namespace gputopo
