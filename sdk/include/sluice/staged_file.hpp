// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A file that appears under its name complete or not at all, with the owner and permissions of what it replaces. It grows under a hidden name beside
// the final one (".NAME.xxxxxx.partial"), locked for as long as its process lives; publish() syncs and renames it. What a killed process left behind
// is removed by the next one that stages the same name: nobody holds its lock any more, it is the user's own, and the six letters of its name are
// made of its inode, so that no file that was named or copied by others is taken for one; or nothing is in it (its process was killed before it
// had that name).
//
// For index files that a stage makes beside its inputs. Outputs of a run go through sluice::OutputFile: they wait for the end of the run.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <sluice/failure.hpp>
#include <sluice/file_descriptor.hpp>
#include <sluice/folder.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

// Where a write to `path` ends up: symbolic links are followed, also one whose target does not exist yet.
inline std::filesystem::path followed(std::filesystem::path path) {
  constexpr int most_links = 40;  // as the kernel
  for (int links = 0; links < most_links; ++links) {
    std::error_code no_link;
    const std::filesystem::path target = std::filesystem::read_symlink(path, no_link);
    if (no_link) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

// The number of a file that this process has open already, where `path` names one: "/dev/stdout", "/dev/fd/3", "/proc/self/fd/3", or a link to such
// a name. -1: it names none.
inline int descriptor_named(std::filesystem::path path) {
  namespace fs = std::filesystem;
  constexpr int most_links = 40;
  for (int links = 0; links <= most_links; ++links) {
    const fs::path plain = path.lexically_normal();
    const std::string folder = plain.parent_path().string(), name = plain.filename().string();
    if (folder == "/dev")
      for (const auto& [number, standard] : {std::pair{STDIN_FILENO, "stdin"}, {STDOUT_FILENO, "stdout"}, {STDERR_FILENO, "stderr"}})
        if (name == standard) return number;
    const bool is_table = folder == "/dev/fd" || folder == "/proc/self/fd" || folder == "/proc/thread-self/fd" ||
                          folder == "/proc/" + std::to_string(::getpid()) + "/fd";
    int number = -1;
    if (is_table && std::from_chars(name.data(), name.data() + name.size(), number).ptr == name.data() + name.size()) return number;
    std::error_code no_link;
    const fs::path target = fs::read_symlink(path, no_link);
    if (no_link) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return -1;
}

// What is written directly, as it cannot be renamed: a device, pipe or socket (/dev/null, a FIFO), or a file that is open already (/dev/stdout).
inline bool is_special_file(const std::string& path) {
  struct stat info {};
  return descriptor_named(path) >= 0 || (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

// Opens such a file, or standard output ("-"), for writing. What is open already is written on where it stands, also by others that share it. Not
// open: errno says why.
inline FileDescriptor open_special_file(const std::string& path) {
  const int number = path == "-" ? STDOUT_FILENO : descriptor_named(path);
  return FileDescriptor(number >= 0 ? ::fcntl(number, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_WRONLY | O_CLOEXEC));
}

// What helps where a write has failed for this reason, an errno; "": nothing is known.
inline const char* remedy_of_write(int code) {
  if (code == ENOSPC || code == EDQUOT) return "free space there or write elsewhere";
  return code == EFBIG ? "raise the limit of 'ulimit -f' or write elsewhere" : "";
}

class StagedFile {
 public:
  StagedFile() = default;
  // Creates the hidden file and removes those of the same name whose processes are gone. Throws Failure::output.
  explicit StagedFile(const std::string& path) : path_(path), target_(followed(path)) {
    std::error_code no_link;
    if (std::filesystem::is_symlink(target_, no_link)) fail("create", ELOOP);
    const std::filesystem::path folder = folder_of(target_);
    const std::string prefix = hidden_prefix(target_.filename().string());
    remove_left_behind(folder, prefix);
    replaced_ = replaced_file();
    std::random_device random;
    for (;;) {
      temporary_ = (folder / (prefix + random_text(random) + std::string(hidden_suffix))).string();
      // Nobody may read it who may not read what it replaces; we may open it again by its name.
      file_ =
          FileDescriptor(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, replaced_ ? (replaced_->st_mode & 0666) | 0600 : 0666));
      if (!file_.is_open() && errno == EEXIST) continue;
      if (!file_.is_open()) fail("create", errno);
      ::flock(descriptor(), LOCK_EX);  // where files have no locks, nothing that was left behind is ever removed
      struct stat info {};
      if (::fstat(descriptor(), &info) != 0) return;
      const std::string own = (folder / (prefix + letters_of(info.st_ino) + std::string(hidden_suffix))).string();
      // Where a file system can't do this, nothing that was left behind is removed either.
      if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, own.c_str(), RENAME_NOREPLACE) == 0) temporary_ = own;
      if (info.st_nlink > 0) return;
      file_.close();  // taken for a left-over between the two calls
    }
  }
  // Is that the name of what an earlier process can have left of the file `path`: a hidden one, or NAME.partial, in the folder where it is written?
  static bool may_be_left_of(const std::string& path, const std::filesystem::path& temporary) {
    const std::filesystem::path target = followed(path);
    const std::string name = temporary.filename().string();
    return folder_of(temporary) == folder_of(target) &&
           (name == target.filename().string() + std::string(hidden_suffix) || is_hidden(hidden_prefix(target.filename().string()), name));
  }
  // Goes on with what another process of this user has left at `temporary`, behind the first so many bytes of it, if `is_unchanged` says so of them
  // (of an open descriptor, to be read by place). Nothing is changed before that. Throws Failure::output.
  static StagedFile going_on(const std::string& path, const std::string& temporary, std::uint64_t bytes,
                             const std::function<bool(int descriptor)>& is_unchanged) {
    StagedFile file;
    file.path_ = path;
    file.target_ = followed(path);
    file.temporary_ = temporary;
    file.replaced_ = file.replaced_file();
    if (!may_be_left_of(path, temporary)) file.refuse_left("is not where its bytes are kept");
    FileDescriptor opened(::open(temporary.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const int descriptor = opened.number();
    if (descriptor < 0) file.fail("continue", errno);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
      throw Failure::output("'" + path + "' is still being written by another process", "wait for it, or end it");
    struct stat info {};
    if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) file.refuse_left("is no file of yours");
    if (info.st_nlink != 1) file.refuse_left("has another name, too");
    if (static_cast<std::uint64_t>(info.st_size) < bytes) file.refuse_left("is shorter than it was");
    if (!is_unchanged(descriptor)) file.refuse_left("has other bytes than it had");
    if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0 || ::lseek(descriptor, 0, SEEK_END) < 0) file.fail("continue", errno);
    file.file_ = std::move(opened);
    return file;
  }
  StagedFile(StagedFile&& other) noexcept { *this = std::move(other); }
  StagedFile& operator=(StagedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(target_, other.target_);
    std::swap(temporary_, other.temporary_);
    std::swap(replaced_, other.replaced_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~StagedFile() { discard(); }

  // What killed processes have left of files of this name.
  static void remove_left_behind(const std::string& path) {
    const std::filesystem::path target = followed(path);
    remove_left_behind(folder_of(target), hidden_prefix(target.filename().string()));
  }

  // The name as given, where the bytes are now (for libraries that open files by name; they may truncate it, but not replace it), and an open
  // descriptor of it.
  const std::string& path() const { return path_; }
  const std::string& temporary() const { return temporary_; }
  int descriptor() const { return file_.number(); }

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write", errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  // The bytes are on the disk when this returns. Throws Failure::output.
  void sync() const {
    if (::fsync(descriptor()) != 0 && errno != EINVAL && errno != ENOTSUP) fail("write", errno);
  }
  // sync(), then the final name. Throws Failure::output.
  void publish() {
    sync();
    publish_synced_as(target_);
  }
  // Under its final name, or another one in the same folder, after sync().
  void publish_synced() { publish_synced_as(target_); }
  void publish_synced_as(const std::filesystem::path& name) {
    rename_to(name);
    named(name);
  }
  // The two halves of that, for several files that get their names together: between them the file can go back to temporary().
  void rename_to(const std::filesystem::path& name) const {
    keep_mode();
    if (std::rename(temporary_.c_str(), name.c_str()) != 0) fail("write", errno);
  }
  void named(const std::filesystem::path& name) noexcept {
    temporary_.clear();
    file_.close();
    sync_folder(name);
  }
  void discard() noexcept {
    if (!file_.is_open()) return;
    ::unlink(temporary_.c_str());
    file_.close();
    temporary_.clear();
  }
  // Closes the file and leaves it where it is, for a later going_on().
  void leave() noexcept {
    file_.close();
    temporary_.clear();
  }
  const std::filesystem::path& target() const { return target_; }
  // The hidden name beside `target` for a file that is there now; it is removed like what killed processes have left.
  static std::string hidden_name(const std::filesystem::path& target, const std::filesystem::path& file) {
    std::random_device random;
    struct stat info {};
    const std::string letters = ::stat(file.c_str(), &info) == 0 ? letters_of(info.st_ino) : random_text(random);
    return (folder_of(target) / (hidden_prefix(target.filename().string()) + letters + std::string(hidden_suffix))).string();
  }
  // Would staging `path` remove this file?
  static bool is_left_behind(const std::string& file, const std::string& path) {
    const std::filesystem::path target = followed(path), given = followed(file);
    std::error_code none;
    struct stat info {};
    return is_hidden(hidden_prefix(target.filename().string()), given.filename().string()) && ::stat(given.c_str(), &info) == 0 &&
           is_own(given, info) && std::filesystem::equivalent(folder_of(given), folder_of(target), none);
  }

 private:
  static constexpr std::string_view hidden_suffix = ".partial";
  static constexpr std::string_view random_letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  static constexpr std::size_t random_length = 6;

  // ".NAME."; a long name is cut, as file systems allow 255 bytes.
  static std::string hidden_prefix(const std::string& name) {
    constexpr std::size_t longest = 200;
    if (name.size() <= longest) return "." + name + ".";
    return "." + name.substr(0, longest) + "." + std::to_string(std::hash<std::string>()(name) % 100000) + ".";
  }
  static bool is_hidden(std::string_view prefix, std::string_view name) {
    return name.size() == prefix.size() + random_length + hidden_suffix.size() && name.starts_with(prefix) && name.ends_with(hidden_suffix) &&
           name.find_first_not_of(random_letters, prefix.size()) >= prefix.size() + random_length;
  }
  static std::filesystem::path folder_of(const std::filesystem::path& file) { return file.parent_path().empty() ? "." : file.parent_path(); }
  static bool is_own(const std::filesystem::path& file, const struct stat& info) {
    const std::string name = file.filename().string();
    return S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
           (info.st_size == 0 || name.substr(name.size() - hidden_suffix.size() - random_length, random_length) == letters_of(info.st_ino));
  }
  static std::string letters_of(ino_t inode) {
    auto bits = (static_cast<std::uint64_t>(inode) + 0x51C5) * 0x9E3779B97F4A7C15;  // spread over all digits
    bits ^= bits >> 32U;
    std::string text;
    for (std::size_t i = 0; i < random_length; ++i, bits /= random_letters.size()) text += random_letters[bits % random_letters.size()];
    return text;
  }
  static std::string random_text(std::random_device& random) {
    std::string text;
    for (std::size_t i = 0; i < random_length; ++i) text += random_letters[random() % random_letters.size()];
    return text;
  }
  static void remove_left_behind(const std::filesystem::path& folder, const std::string& prefix) {
    for_each_entry(folder, [&prefix](const std::filesystem::path& path) {
      if (!is_hidden(prefix, path.filename().string())) return;
      const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      struct stat info {};
      const bool is_left = file.is_open() && ::fstat(file.number(), &info) == 0 && is_own(path, info);
      if (is_left && ::flock(file.number(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    });
  }
  std::optional<struct stat> replaced_file() const {
    struct stat info {};
    return ::stat(target_.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? std::optional(info) : std::nullopt;
  }
  // Owner and permissions of what is replaced. Where its group cannot be kept, this one may do what others may.
  void keep_mode() const {
    std::optional<struct stat> replaced = replaced_file();
    if (!replaced) replaced = replaced_;  // indexes of before go before their files are replaced
    struct stat own {};
    if (!replaced || ::fstat(descriptor(), &own) != 0) return;
    if (own.st_uid != replaced->st_uid) static_cast<void>(::fchown(descriptor(), replaced->st_uid, static_cast<gid_t>(-1)));
    const bool same_group = own.st_gid == replaced->st_gid || ::fchown(descriptor(), static_cast<uid_t>(-1), replaced->st_gid) == 0;
    const mode_t mode = replaced->st_mode & 0777;
    ::fchmod(descriptor(), same_group ? mode : (mode & 0707) | (mode & 07) << 3);
  }
  // So that the new name of a file survives a power cut; a file system that cannot do it has no say in whether the file is there. Needs no memory,
  // as there is no way back from a name that has been given.
  static void sync_folder(const std::filesystem::path& file) noexcept {
    char folder[PATH_MAX] = ".";
    const std::size_t length = file.native().rfind('/') + 1;
    if (length >= sizeof folder) return;
    if (length > 0) folder[file.native().copy(folder, length)] = '\0';
    const FileDescriptor opened(::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.is_open()) ::fsync(opened.number());
  }
  [[noreturn]] void refuse_left(const char* reason) const {
    throw Failure::output("cannot continue '" + path_ + "': '" + temporary_ + "' " + reason, "begin the run anew, without --resume");
  }
  [[noreturn]] void fail(const char* what, int code) const {
    throw Failure::output(std::string("cannot ") + what + " '" + path_ + "': " + std::strerror(code), remedy_of_write(code));
  }

  std::string path_;
  std::filesystem::path target_;
  std::string temporary_;
  std::optional<struct stat> replaced_;  // as it was when this one was made
  FileDescriptor file_;
};

}  // namespace sluice
