// A folder for what a program keeps for itself and believes later: nobody else can have written what is read from it.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "file/output_path.h"

namespace gputopo {

class PrivateFolder {
 public:
  // Nothing where it is not there, belongs to another user, or others may write to it.
  [[nodiscard]] static std::optional<PrivateFolder> open(const std::string& path);
  // Creates it, and those above it that are missing, for this user alone (0700 whatever the umask takes away or
  // leaves), and takes away what rights others have to one that is there. Throws FileError, also if it is another
  // user's.
  [[nodiscard]] static PrivateFolder open_or_create(const std::string& path);

  struct File {
    std::string text;
    std::timespec modified{};
  };
  // Nothing where there is no plain file of this name, it belongs to another user, others may write to it, or it is
  // larger than files of gputopo are.
  [[nodiscard]] std::optional<File> read(const std::string& name) const;
  // Writes it whole or not at all, for this user alone (0600). Throws FileError.
  void write(const std::string& name, std::string_view text) const;

 private:
  PrivateFolder(Folder folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}

  Folder folder_;
  std::string path_;  // for messages
};

}  // namespace gputopo
