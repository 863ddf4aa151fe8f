#include "file/output_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <optional>
#include <string_view>

#include "file/file_failure.h"
#include "gputopo/error.h"

namespace gputopo {
namespace {

constexpr int kMostLinks = 40;  // as many as Linux follows
constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;

// Links in procfs are not text: their targets may have no path, or a different one.
bool is_procfs(int folder) {
  struct statfs status {};
  return ::fstatfs(folder, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

// "a//b/." -> a, b, . ; a trailing slash becomes ".".
std::deque<std::string> parts_of(std::string_view path) {
  std::deque<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.emplace_back(path.substr(0, end));
    if (end + 1 == path.size()) parts.emplace_back(".");
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

class Walk {
 public:
  // `created`: unless null, receives missing folders, which are created with `mode`. `action`: for messages ("write").
  Walk(std::string_view action, const std::string& path, std::vector<NewFolder>* created, mode_t mode = 0)
      : action_(action), path_(path), created_(created), mode_(mode), parts_(parts_of(path)) {
    begin_at(path.starts_with('/') ? "/" : ".");
    if (path.empty()) fail(ENOENT);
  }

  // Walks to the last part. It is resolved only if it is a link.
  PathEnd to_end() {
    while (true) {
      PathEnd end{.folder = folder_, .name = parts_.empty() ? "." : parts_.front()};
      if (!parts_.empty()) parts_.pop_front();
      end.exists = look(end.name, end.status);
      if (end.exists && S_ISLNK(end.status.st_mode) && !(parts_.empty() && is_procfs(folder_->fd()))) {
        follow(end.name, end.status);
      } else if (parts_.empty()) {
        return end;
      } else if (!end.exists) {
        return {.folder = nullptr, .name = end.name};
      } else {
        enter(end.name, O_NOFOLLOW);
      }
    }
  }

  Folder to_folder() {
    while (!parts_.empty()) {
      const std::string name = parts_.front();
      parts_.pop_front();
      struct stat status {};
      if (!look(name, status)) {
        create(name);
      } else if (S_ISLNK(status.st_mode)) {
        follow(name, status);
      } else {
        enter(name, O_NOFOLLOW);
      }
    }
    return folder_;
  }

 private:
  [[noreturn]] void fail(int error) const { fail_on_file(action_, path_, error); }

  void begin_at(const char* folder) {
    folder_ = std::make_shared<const OpenFile>(::open(folder, kFolder));
    if (!folder_->is_open()) fail(errno);
  }

  // Whether it exists.
  bool look(const std::string& name, struct stat& status) const {
    if (::fstatat(folder_->fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
    if (errno != ENOENT) fail(errno);
    return false;
  }

  void enter(const std::string& name, int flags) {
    auto next = std::make_shared<const OpenFile>(::openat(folder_->fd(), name.c_str(), kFolder | flags));
    if (!next->is_open()) fail(errno);
    folder_ = std::move(next);
  }

  void create(const std::string& name) {
    if (::mkdirat(folder_->fd(), name.c_str(), mode_) == 0) {
      created_->emplace_back(folder_, name);
    } else if (errno != EEXIST) {
      fail(errno);
    }
    enter(name, O_NOFOLLOW);
  }

  void follow(const std::string& name, const struct stat& link) {
    if (is_procfs(folder_->fd())) return enter(name, 0);
    if (link.st_uid != ::geteuid() && link.st_uid != 0) {
      const std::string which = parts_.empty() && created_ == nullptr ? "it" : fmt::format("its folder '{}'", name);
      throw FileError(
          fmt::format("cannot {} '{}': {} is a symbolic link that belongs to another user; name the {} that it points "
                      "to, or choose another path",
                      action_, path_, which, which == "it" ? "file" : "folder"));
    }
    if (++links_ > kMostLinks) fail(ELOOP);
    std::array<char, PATH_MAX> text;
    const ssize_t length = ::readlinkat(folder_->fd(), name.c_str(), text.data(), text.size());
    if (length < 0) fail(errno);
    const std::string_view target(text.data(), static_cast<std::size_t>(length));
    if (target.starts_with('/')) begin_at("/");
    const std::deque<std::string> more = parts_of(target);
    parts_.insert(parts_.begin(), more.begin(), more.end());
  }

  std::string_view action_;
  const std::string& path_;
  std::vector<NewFolder>* created_;
  mode_t mode_;
  std::deque<std::string> parts_;  // remaining parts
  Folder folder_;                  // the folder they start in
  int links_ = 0;
};

}  // namespace

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool OpenFile::close() { return ::close(std::exchange(fd_, -1)) == 0; }

PathEnd find_path_end(const std::string& path) { return Walk("write", path, nullptr).to_end(); }

Folder open_or_create_folder(const std::string& path, std::vector<NewFolder>& created, mode_t mode) {
  return Walk("create the folder", path, &created, mode).to_folder();
}

}  // namespace gputopo
