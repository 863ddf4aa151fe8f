// A folder for data that a program stores and later trusts: nobody else can have written what is read from it.
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
  // Nothing if the folder does not exist, belongs to another user, or is writable by others.
  [[nodiscard]] static std::optional<PrivateFolder> open(const std::string& path);
  // Creates the folder and its missing parents for this user only (0700, whatever the umask), and removes rights that
  // others have to an existing folder. Throws FileError, also if another user owns it.
  [[nodiscard]] static PrivateFolder open_or_create(const std::string& path);

  struct File {
    std::string text;
    std::timespec modified{};
  };
  // Nothing without a regular file of this name, if another user owns or may write it, or if it is too large.
  [[nodiscard]] std::optional<File> read(const std::string& name) const;
  // Writes the file whole or not at all, for this user only (0600). Throws FileError.
  void write(const std::string& name, std::string_view text) const;

 private:
  PrivateFolder(Folder folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}

  Folder folder_;
  std::string path_;  // for messages
};

}  // namespace gputopo
