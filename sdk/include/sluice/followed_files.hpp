// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Input files while others still write them: which there are, which of them are whole, in which order they are read, and when no more are waited
// for. Files are looked at by name, time and size again and again, which works on network file systems, too. Nothing here reads records.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <sluice/input_files.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

// What says that a file is whole: BGZF (BAM too), BLOW5 and POD5 end with a mark, others with nothing.
enum class EndMark : std::uint8_t { of_no_kind, missing, there };

namespace followed_files_detail {

inline std::string bytes_at(int file, std::uint64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  const ssize_t got = ::pread(file, bytes.data(), count, static_cast<off_t>(offset));
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

}  // namespace followed_files_detail

// Of a file that has so many bytes.
inline EndMark end_mark(const std::string& path, std::uint64_t bytes) {
  using namespace std::string_literals;
  static const std::string bgzf_end = "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0"s, blow5_begin = "BLOW5\1"s,
                           blow5_end = "5WOLB"s, pod5_mark = "\x8BPOD\r\n\x1A\n"s;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return EndMark::of_no_kind;
  const std::string begin = followed_files_detail::bytes_at(file, 0, 18);
  std::string end;
  if (begin.starts_with(blow5_begin))
    end = blow5_end;
  else if (begin.starts_with(pod5_mark))
    end = pod5_mark;
  else if (begin.size() == 18 && begin.starts_with("\x1f\x8b\x08") && (begin[3] & 4) != 0 && begin.substr(12, 2) == "BC")
    end = bgzf_end;
  // POD5 begins with what it ends with.
  const std::size_t least = end == pod5_mark ? 2 * end.size() : end.size();
  const bool there = !end.empty() && bytes >= least && followed_files_detail::bytes_at(file, bytes - end.size(), end.size()) == end;
  ::close(file);
  return end.empty() ? EndMark::of_no_kind : there ? EndMark::there : EndMark::missing;
}

struct FollowRules {
  std::string inputs, endings;  // as input_files() takes them
  std::string until;            // the file that ends it; "": any folder's sluice.stop
  double idle_seconds = 0;      // without anything new for so long it ends; 0: never
  double settle_seconds = 5;    // a file without a mark that has not changed for so long is whole
  std::string also;             // inputs that others follow: what is new there counts for idle_seconds, and a stop file for the end
};

inline constexpr const char* usual_stop_file = "sluice.stop";
// Of files in a folder of `also`.
inline constexpr const char* followed_endings =
    ".bam .sam .cram .blow5 .slow5 .pod5 .fast5 .fastq .fq .fasta .fa .fastq.gz .fq.gz .fasta.gz .fa.gz .fastq.zst .fq.zst .fasta.zst .fa.zst";

// Throws Failure (usage): what is neither a file nor a folder.
inline void refuse_unfollowed(std::string_view inputs) {
  for (const std::string& name : input_files_detail::words(inputs, "\n")) {
    struct stat info {};
    const bool there = ::stat(name.c_str(), &info) == 0;
    if (name == "-" || name.find("://") != std::string::npos || (there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
      throw Failure::usage("'" + name + "' can't be followed: it is neither a file nor a folder", "leave --follow out: a stream is read as it comes");
  }
}

class FollowedFiles {
 public:
  enum class State : std::uint8_t { waiting, begun, done };
  struct File {
    std::string path;
    std::uint64_t bytes = 0;
    EndMark mark = EndMark::of_no_kind;
    State state = State::waiting;
    std::uint64_t whole = 0;                 // the how manieth that was seen to be whole, from 1; 0: it is not yet
    std::uint64_t offered = 0;               // bytes of it that have been read, or that its reader could not begin with
    std::optional<std::uint64_t> resume_at;  // done: where more records can begin, if it grows after all
    std::uint64_t begin_at = 0;              // waiting: where to begin
    std::string problem;                     // what became of it while it was followed; "": nothing
    bool told = false;                       // of the problem
    dev_t device = 0;
    ino_t inode = 0;
    timespec modified{};
    double changed = 0;  // when its size or time was last seen to change
    int missed = 0;      // so often it has not been there
  };

  explicit FollowedFiles(FollowRules rules) : rules_(std::move(rules)) {}

  // What an earlier run knew of a file, before the first look. It is looked at as if that run had gone on: what has changed since is seen.
  void know(File file, double now) {
    struct stat info {};
    // A copy of the folder has other numbers.
    if (::stat(file.path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) file.device = info.st_dev, file.inode = info.st_ino;
    file.mark = end_mark(file.path, file.bytes);
    file.changed = now;
    whole_ = std::max(whole_, file.whole);
    by_path_[file.path] = files_.size();
    files_.push_back(std::move(file));
  }
  // Looks at everything. `now` in seconds, of a clock that never goes back.
  void look(double now) {
    // First of all: what was there before the end was told is read.
    if (const std::string file = stop_file(); !file.empty() && end_.empty()) end_ = "'" + file + "' is there";
    if (!looked_) changed_ = now;
    for (const std::string& path : listing(rules_.inputs, rules_.endings)) look_at(path, now);
    look_beside(now);
    for (File& file : files_) look_for_missing(file);
    looked_ = true;
    if (rules_.idle_seconds > 0 && end_.empty() && now - changed_ >= rules_.idle_seconds && !has_unread())
      end_ = "nothing new came for " + std::to_string(static_cast<int>(rules_.idle_seconds)) + " s";
  }
  // Why it ends; "": it goes on.
  const std::string& end() const { return end_; }
  void end_because(const std::string& reason) {
    if (end_.empty()) end_ = reason;
  }

  // The next file to be read: those that are whole in the order in which they were seen to be, then, as they came, those that have something new.
  // Null: there is none yet.
  File* next() {
    File* found = nullptr;
    for (File& file : files_)
      if (file.state != State::done && file.problem.empty() && file.whole > 0 && (found == nullptr || file.whole < found->whole)) found = &file;
    if (found != nullptr) return found;
    for (const State state : {State::begun, State::waiting})
      for (File& file : files_)
        if (file.state == state && file.problem.empty() && (!end_.empty() || has_news(file)) && (state == State::begun || may_begin())) return &file;
    return nullptr;
  }
  // Is there something to be read beside this one?
  bool others_wait(const File& than) {
    return std::any_of(files_.begin(), files_.end(), [&](const File& file) {
      return &file != &than && file.state != State::done && file.problem.empty() &&
             (file.whole > 0 || (has_news(file) && (file.state == State::begun || may_begin())));
    });
  }
  // When something new was last seen.
  double changed() const { return changed_; }
  bool is_quiet(const File& file, double now) const { return now - file.changed >= rules_.settle_seconds; }

  std::deque<File>& files() { return files_; }
  const std::deque<File>& files() const { return files_; }
  const FollowRules& rules() const { return rules_; }

 private:
  // Files that are read while they grow have a reader each.
  static constexpr std::size_t most_begun = 32;
  static constexpr int missed_for_good = 2;  // a listing while a file is renamed may have neither name

  bool may_begin() const {
    return !end_.empty() ||
           std::count_if(files_.begin(), files_.end(), [](const File& file) { return file.state == State::begun; }) < std::ptrdiff_t{most_begun};
  }
  static bool has_news(const File& file) { return file.bytes > std::max(file.offered, file.begin_at); }
  bool has_unread() const {
    return std::any_of(files_.begin(), files_.end(), [this](const File& file) {
      return file.state != State::done && file.problem.empty() && has_news(file) && (file.state == State::begun || file.whole > 0 || may_begin());
    });
  }

  std::string stop_file() const {
    namespace detail = input_files_detail;
    if (!rules_.until.empty()) return detail::exists(rules_.until) ? rules_.until : "";
    for (const std::string& name : detail::words(rules_.inputs + "\n" + rules_.also, "\n")) {
      std::error_code ignored;
      const std::string file = (std::filesystem::is_directory(name, ignored) ? name : std::filesystem::path(name).parent_path().string());
      const std::string candidate = (std::filesystem::path(file) / usual_stop_file).string();
      if (detail::exists(candidate)) return candidate;
    }
    return "";
  }

  // As input_files(), but nothing need be there.
  static std::vector<std::string> listing(const std::string& inputs, const std::string& ending_list) {
    namespace detail = input_files_detail;
    const std::vector<std::string> endings = detail::words(ending_list, " ");
    std::vector<std::string> all;
    const auto add = [&](const std::string& name, bool from_list, const auto& self) -> void {
      try {
        std::error_code ignored;
        std::vector<std::string> more;
        if (name.size() > 1 && name.front() == '@' && !from_list && !detail::exists(name)) {
          for (const std::string& line : detail::in_list(name.substr(1))) self(line, true, self);
        } else if (std::filesystem::is_directory(name, ignored)) {
          more = detail::in_folder(name, endings);
          all.insert(all.end(), more.begin(), more.end());
        } else if (name.find_first_of("*?[") != std::string::npos && !detail::exists(name)) {
          for (const std::string& match : detail::matching(name)) self(match, true, self);
        } else {
          all.push_back(name);
        }
      } catch (const Failure&) {  // a folder or a list that can't be read now: the next time, perhaps
      }
    };
    for (const std::string& name : detail::words(inputs, "\n")) add(name, false, add);
    return all;
  }
  void look_beside(double now) {
    for (const std::string& path : listing(rules_.also, followed_endings)) {
      struct stat info {};
      if (::stat(path.c_str(), &info) != 0) continue;
      const auto [known, is_new] = beside_.try_emplace(path, 0);
      if (std::exchange(known->second, info.st_size) != info.st_size || is_new) changed_ = now;
    }
  }

  void look_at(const std::string& path, double now) {
    const auto known = by_path_.find(path);
    if (known != by_path_.end() && is_settled(files_[known->second])) return;
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    if (known != by_path_.end()) return look_again(files_[known->second], info, now);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      File& file = files_[i];
      if (file.device != info.st_dev || file.inode != info.st_ino) continue;
      struct stat other {};
      if (::stat(file.path.c_str(), &other) == 0 && other.st_dev == info.st_dev && other.st_ino == info.st_ino) return;  // a link to it
      const bool same = file.state == State::done ? has_same_content(file, info) : static_cast<std::uint64_t>(info.st_size) >= file.bytes;
      if (!same) continue;
      by_path_.erase(file.path);  // it was renamed
      file.path = path;
      by_path_[path] = i;
      return look_again(file, info, now);
    }
    File& file = files_.emplace_back();
    by_path_[path] = files_.size() - 1;
    file.path = path;
    file.device = info.st_dev, file.inode = info.st_ino;
    // What has been there for long is known to be quiet.
    const double age = static_cast<double>(::time(nullptr) - info.st_mtim.tv_sec) - 1;
    take(file, info, now);
    file.changed = now - std::max(age, 0.0);
    judge(file, now);
  }
  static bool has_same_content(const File& file, const struct stat& info) {
    return static_cast<std::uint64_t>(info.st_size) == file.bytes && info.st_mtim.tv_sec == file.modified.tv_sec &&
           info.st_mtim.tv_nsec == file.modified.tv_nsec;
  }
  // What became of it has been said.
  static bool is_settled(const File& file) { return !file.problem.empty(); }

  void take(File& file, const struct stat& info, double now) {
    file.bytes = static_cast<std::uint64_t>(info.st_size);
    file.modified = info.st_mtim;
    file.changed = changed_ = now;
    file.mark = end_mark(file.path, file.bytes);
  }
  void look_again(File& file, const struct stat& info, double now) {
    file.missed = 0;
    if (file.device != info.st_dev || file.inode != info.st_ino) {
      if (file.state != State::waiting) {
        file.problem = "was replaced by another file " + std::string(file.state == State::done ? "after it had been read" : "while it was read");
        return;
      }
      file.device = info.st_dev, file.inode = info.st_ino;
      file.whole = file.offered = 0;
      take(file, info, now);
    } else if (!has_same_content(file, info)) {
      if (static_cast<std::uint64_t>(info.st_size) < file.bytes && file.state != State::waiting) {
        file.problem = "has become shorter: " + std::to_string(info.st_size) + " bytes instead of " + std::to_string(file.bytes);
        return;
      }
      if (file.state == State::done && static_cast<std::uint64_t>(info.st_size) > file.bytes && !resume(file)) return;
      file.whole = 0;
      file.offered = std::min(file.offered, static_cast<std::uint64_t>(info.st_size));
      take(file, info, now);
    }
    judge(file, now);
  }
  // More in a file that was taken for whole. False: nobody can say what it is.
  static bool resume(File& file) {
    char before = 0;
    const int opened = file.resume_at ? ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
    const bool at_line =
        opened >= 0 && (*file.resume_at == 0 || (::pread(opened, &before, 1, static_cast<off_t>(*file.resume_at - 1)) == 1 && before == '\n'));
    if (opened >= 0) ::close(opened);
    if (!at_line) {
      file.problem = "has grown after it had been taken for whole, and what came later is not read";
      return false;
    }
    file.state = State::waiting;
    file.begin_at = file.offered = *file.resume_at;
    return true;
  }
  void judge(File& file, double now) {
    if (file.whole > 0 || file.state == State::done || file.bytes == 0) return;
    if (file.mark == EndMark::there || (file.mark == EndMark::of_no_kind && file.state == State::waiting && is_quiet(file, now)))
      file.whole = ++whole_;
  }
  void look_for_missing(File& file) {
    if (file.state == State::done || !file.problem.empty() || input_files_detail::exists(file.path)) return;
    if (++file.missed >= missed_for_good) file.problem = file.state == State::begun ? "has gone while it was read" : "has gone before it was read";
  }

  FollowRules rules_;
  std::deque<File> files_;  // as they came; those of one look as input_files() has them
  std::map<std::string, std::size_t> by_path_;
  std::map<std::string, off_t> beside_;  // sizes of the files of rules().also
  std::uint64_t whole_ = 0;
  double changed_ = 0;
  bool looked_ = false;
  std::string end_;
};

}  // namespace sluice
