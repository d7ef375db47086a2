// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sources that read several files one after the other: whose turn it is, at once or as they are written (sluice/followed_files.hpp).

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sluice/follow_state.hpp>
#include <sluice/followed_files.hpp>
#include <sluice/input_part.hpp>
#include <sluice/stage.hpp>
#include <sluice/text_record.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {

// Options of a source that can follow. The host sees by `follow` that such a stage may begin with an empty folder, and that the first Ctrl-C ends its
// input and not the run: follow_state() is then FollowState::ends, and the stage gives what is left.
struct FollowEnding {
  bool follow = false;
  std::optional<std::string> follow_until;
  double follow_idle = 0;
  std::optional<std::string> follow_also;

  FollowRules rules(std::string inputs, const char* endings) const {
    FollowRules rules{std::move(inputs), endings, follow_until.value_or(""), follow_idle};
    rules.also = follow_also.value_or("");
    return rules;
  }
};
struct FollowParameters : FollowEnding {
  double follow_settle = 5;
  std::optional<Path> follow_order;
};
template <class Stage>
void describe_follow_ending(Describe<Stage>& d) {
  using P = typename Stage::Parameters;
  d.option("follow", &P::follow, "read on in what others still write: files that come, and records at the end of files");
  d.option("follow_until", &P::follow_until, "with follow: ends when this file is there; left out: when a folder has a file sluice.stop");
  d.option("follow_idle", &P::follow_idle, "with follow: ends when nothing new has come for so long; 0: never").range(0, 1e9).unit("s");
  d.option("follow_also", &P::follow_also,
           "with follow: inputs that other stages follow, a line each: what comes there counts for follow_idle, and a folder's sluice.stop ends it");
}
template <class Stage>
void describe_follow(Describe<Stage>& d) {
  using P = typename Stage::Parameters;
  describe_follow_ending(d);
  d.option("follow_settle", &P::follow_settle, "with follow: a file without a mark at its end is whole when it has not changed for so long")
      .range(0, 1e9)
      .unit("s");
  d.option("follow_order", &P::follow_order, "with follow: where the names of the files go, as they were taken up").writes();
}

// One file.
class InputReader {
 public:
  enum class Given : std::uint8_t { rows, nothing_yet, end };
  virtual ~InputReader() = default;
  // Gives a batch. nothing_yet: the file grows, and has no further record so far; the batch is then empty, as it may be otherwise. Throws Failure.
  virtual Given give(const Call& call, Output& out) = 0;
  // What is in the file now is all of it. Said of one that grows.
  virtual void end_here() = 0;
  // Could the file end behind what has been read?
  virtual bool could_end() const { return true; }
  // At the end: where further records would begin, if they can be read without the ones before.
  virtual std::optional<std::uint64_t> resume_at() const { return std::nullopt; }
  // Bytes of the file that have been read; < 0: unknown.
  virtual std::int64_t consumed() const = 0;
  virtual std::uint64_t kept_bytes() const { return 0; }
  // Where the next row begins that give() has not given, in words of the reader: what File::position gives back.
  virtual std::string position() = 0;
};

class InputTurns {
 public:
  enum class Growth : std::uint8_t { none, possible };
  struct File {
    std::string path;
    std::uint64_t begin = 0;  // of the first record, where a file is read again behind what was read before
    Growth growth = Growth::none;
    std::size_t number = 0;     // among all, where they are not followed
    ByteRange range = {};       // in which the rows begin that are wanted
    std::string position = {};  // where to begin, if that is not where the range does
    bool is_only = false;       // there are no other files
  };
  // Null: nothing can be said of it before it has grown, or is whole; or nothing of it is in the range. Throws Failure.
  using Open = std::function<std::unique_ptr<InputReader>(const File&)>;

  // `incomplete`: the stage's reason under which files are named that could be read in part only, or not. `begin_at`: what position() has said.
  InputTurns(const Setup& setup, std::string_view inputs, const char* endings, const FollowParameters& parameters, std::uint32_t incomplete,
             Open open)
      : InputTurns(setup, inputs, endings, parameters, incomplete, std::move(open), setup.begin_at()) {}
  InputTurns(const Setup& setup, std::string_view inputs, const char* endings, const FollowParameters& parameters, std::uint32_t incomplete,
             Open open, const std::string& begin_at)
      : open_(std::move(open)), incomplete_(incomplete) {
    const bool begins_elsewhere = !begin_at.empty() || setup.parts() > 1;
    if (parameters.follow) {
      if (setup.parts() > 1) refuse_followed();
      refuse_unfollowed(inputs);
      FollowRules rules = parameters.rules(std::string(inputs), endings);
      rules.settle_seconds = parameters.follow_settle;
      followed_.emplace(std::move(rules));
      inputs_ = inputs;
      std::replace(inputs_.begin(), inputs_.end(), '\n', ' ');
      if (parameters.follow_order && !parameters.follow_order->empty()) order_.emplace(setup, *parameters.follow_order);
      if (!begin_at.empty()) go_on_following(begin_at);
      return;
    }
    paths_ = input_files(inputs, endings);
    if (begins_elsewhere)
      for (const std::string& path : paths_) refuse_unless_file(path);
    std::vector<std::uint64_t> sizes;
    for (const std::string& path : paths_) sizes.push_back(regular_file_bytes(path));
    part_ = InputPart(sizes, setup.part(), setup.parts());
    for (std::size_t file = 0; file < paths_.size(); ++file) all_bytes_ += bytes_in_part(file);
    begin(begin_at);
  }

  // The stage's process().
  bool process(const Call& call, Output& out) { return followed_ ? follow(call, out) : give_next(call, out); }
  // What the stage keeps beside the files, behind process().
  void keep_beside(const Call& call, std::uint64_t bytes) {
    if (std::exchange(beside_, bytes) != bytes) keep(call);
  }
  // The stage's position(): the number of a file, and what its reader says; of what is followed all that is known of each file.
  std::string position() {
    if (followed_) return followed_position();
    if (!reader_) return std::all_of(paths_.begin(), paths_.end(), is_regular_file) ? std::to_string(paths_.size()) : no_position;
    if (!is_regular_file(paths_[number_])) return no_position;
    return std::to_string(number_) + ":" + reader_->position();
  }

 private:
  using Given = InputReader::Given;
  using Followed = FollowedFiles::File;
  struct Taken {
    std::uint64_t rows = 0;
    bool in_order = false;  // its name has been written
    std::string position;   // where it is to be gone on with, of an earlier run
  };
  static constexpr double look_seconds = 1;
  static constexpr auto nap = std::chrono::milliseconds(100);

  static std::int64_t bytes_of(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : 0;
  }
  static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
  static void give_nothing(Output& out) { out.set_rows(0); }

  // ---- files as they are

  [[noreturn]] static void refuse_followed() {
    throw Failure::usage("an input that is followed (`follow`) can't be read in parts", "leave --follow out, when all of it is there");
  }
  std::int64_t bytes_in_part(std::size_t file) const {
    const std::optional<ByteRange> range = part_.of(file);
    return range ? static_cast<std::int64_t>(std::min(range->end, regular_file_bytes(paths_[file])) - range->begin) : 0;
  }
  void begin(const std::string& position) {
    if (position.empty()) return open_next("");
    const std::size_t colon = std::min(position.find(':'), position.size());
    const std::uint64_t file = position_numbers(position.substr(0, colon), 1)[0];
    if (file > paths_.size() || (file == paths_.size()) != (colon == position.size()) || colon + 1 == position.size())
      throw Failure::usage("'" + position + "' is no position in these " + std::to_string(paths_.size()) + " files",
                           "give the files that the position was said of");
    for (; number_ < file; ++number_) bytes_before_ += bytes_in_part(number_);
    if (number_ < paths_.size()) open_next(position.substr(colon + 1));
  }
  // The file at number_, or the next one of which there is something in the part.
  void open_next(std::string position) {
    for (reader_.reset(); number_ < paths_.size(); ++number_, position.clear()) {
      const std::optional<ByteRange> range = part_.of(number_);
      if (range) reader_ = open_({paths_[number_], 0, Growth::none, number_, *range, position, paths_.size() == 1});
      if (reader_) return;
      bytes_before_ += bytes_in_part(number_);
    }
  }
  bool give_next(const Call& call, Output& out) {
    if (!reader_) return give_nothing(out), false;
    const Given given = reader_->give(call, out);
    keep(call);
    if (const std::int64_t read = reader_->consumed(); all_bytes_ > 0 && read >= 0) {
      const std::int64_t of_part = std::max<std::int64_t>(read - static_cast<std::int64_t>(part_.of(number_)->begin), 0);
      call.progress(std::min(1.0, static_cast<double>(bytes_before_ + of_part) / static_cast<double>(all_bytes_)));
    }
    if (given != Given::end) return true;
    if (call.cancelled()) return false;
    bytes_before_ += bytes_in_part(number_++);
    open_next("");
    return reader_ != nullptr;
  }
  void keep(const Call& call) {
    std::uint64_t bytes = beside_ + (reader_ ? reader_->kept_bytes() : 0);
    for (const auto& [file, reader] : suspended_) bytes += reader->kept_bytes();
    if (bytes != kept_) call.keeps(kept_ = bytes);
  }

  // ---- files as they are written

  bool follow(const Call& call, Output& out) {
    const FollowState state = follow_state(call);
    if (state == FollowState::not_needed) return give_nothing(out), false;
    const bool interrupted = state == FollowState::ends && followed_->end().empty();
    if (interrupted) followed_->end_because("interrupted");
    if (interrupted || (followed_->end().empty() && seconds() - looked_at_ >= look_seconds)) look(call);
    if (current_ == nullptr) begin_next(call);
    if (current_ == nullptr) {
      give_nothing(out);
      if (!followed_->end().empty()) return finish(call), false;
      wait(call);
      return true;
    }
    if (!followed_->end().empty() && !std::exchange(told_end_, true)) reader_->end_here();
    Followed& file = *current_;
    file.offered = file.bytes;
    Given given = Given::end;
    try {
      given = reader_->give(call, out);
    } catch (const Failure& failure) {
      if (failure.status() != SLUICE_ERROR_INPUT) throw;
      drop(call, file, failure.what());
      give_nothing(out);
      return true;
    }
    note_rows(file, static_cast<std::uint64_t>(out.rows()));
    keep(call);
    say_progress(call);
    if (given == Given::end) end_turn(call);
    if (given == Given::nothing_yet) pass_turn(call);
    return true;
  }

  void look(const Call& call) {
    looked_at_ = seconds();
    followed_->look(looked_at_);
    for (Followed& file : followed_->files())
      if (!file.problem.empty() && !file.told) drop(call, file, file.problem);
    if (!followed_->end().empty() && !std::exchange(said_end_, true))
      call.info("no more files are waited for: " + followed_->end() + "; what is there is read to its end");
  }

  void begin_next(const Call& call) {
    // Of an earlier run the file whose turn it was goes first.
    for (Followed* file = had_turn_ != nullptr ? std::exchange(had_turn_, nullptr) : followed_->next(); file != nullptr; file = followed_->next()) {
      told_end_ = false;
      if (const auto suspended = suspended_.find(file); suspended != suspended_.end()) {
        reader_ = std::move(suspended->second);
        suspended_.erase(suspended);
        if (taken_[file].rows > 0) call.info("continues with '" + file->path + "', which had paused: its reads are not together");
      } else if (!begin(call, *file)) {
        continue;
      }
      current_ = file;
      waits_ = false;
      return;
    }
  }
  // False: it can't be read, or not yet.
  bool begin(const Call& call, Followed& file) {
    const bool is_final = !followed_->end().empty() || (file.whole > 0 && file.mark == EndMark::there);
    Taken& taken = taken_[&file];
    const auto open = [&](Growth growth) { return open_({file.path, file.begin_at, growth, 0, {}, taken.position}); };
    try {
      reader_ = open(is_final ? Growth::none : Growth::possible);
      if (!reader_ && file.whole > 0) reader_ = open(Growth::none);
    } catch (const Failure& failure) {
      if (failure.status() != SLUICE_ERROR_INPUT) throw;
      if (is_final || file.whole > 0) return drop(call, file, failure.what()), false;
    }
    if (!reader_) {
      file.offered = file.bytes;
      return false;
    }
    told_end_ = is_final;
    if (file.state == FollowedFiles::State::begun) {
      taken.position.clear();
      call.info("continues with '" + file.path + "'");
      return true;
    }
    file.state = FollowedFiles::State::begun;
    ++begun_;
    taken.in_order = false;
    call.info("takes up '" + file.path + "'" + (file.begin_at > 0 ? " again, which has grown: its reads are not together" : ""));
    return true;
  }

  // What an earlier run has to know of the files that it has seen, to go on as if it had not ended.
  std::string followed_position() {
    TextRecordWriter record;
    record.number(begun_);
    record.number(ordered_.size());
    for (const std::string& name : ordered_) record.text(name);
    for (const Followed& file : followed_->files()) {
      const Taken& taken = taken_[&file];
      const auto suspended = suspended_.find(&file);
      InputReader* const reader = &file == current_ ? reader_.get() : suspended != suspended_.end() ? suspended->second.get() : nullptr;
      record.text(file.path);
      for (const std::uint64_t number :
           {file.bytes, static_cast<std::uint64_t>(file.state), file.whole, file.begin_at, file.resume_at ? *file.resume_at + 1 : 0,
            std::uint64_t{file.told}, static_cast<std::uint64_t>(file.device), static_cast<std::uint64_t>(file.inode), taken.rows,
            std::uint64_t{taken.in_order}, std::uint64_t{&file == current_ || &file == had_turn_}})
        record.number(number);
      record.number(static_cast<std::int64_t>(file.modified.tv_sec));
      record.number(static_cast<std::int64_t>(file.modified.tv_nsec));
      record.text(file.problem);
      const std::string position = reader != nullptr ? reader->position() : taken.position;
      if (position == no_position) return no_position;
      record.text(position);
    }
    return record.take();
  }
  void go_on_following(const std::string& position) {
    TextRecordReader record(position);
    begun_ = record.number<std::uint64_t>();
    for (auto names = record.number<std::uint64_t>(); names > 0; --names) note_name(record.text());
    while (!record.at_end()) {
      Followed file;
      Taken taken;
      file.path = record.text();
      file.bytes = record.number<std::uint64_t>();
      file.state = static_cast<FollowedFiles::State>(std::min<unsigned>(record.number<unsigned>(), 2));
      file.whole = record.number<std::uint64_t>();
      file.begin_at = record.number<std::uint64_t>();
      if (const auto resume = record.number<std::uint64_t>(); resume > 0) file.resume_at = resume - 1;
      file.told = record.number<unsigned>() != 0;
      file.device = record.number<dev_t>();
      file.inode = record.number<ino_t>();
      taken.rows = record.number<std::uint64_t>();
      taken.in_order = record.number<unsigned>() != 0;
      const bool had_turn = record.number<unsigned>() != 0;
      file.modified.tv_sec = record.number<std::int64_t>();
      file.modified.tv_nsec = record.number<std::int64_t>();
      file.problem = record.text();
      taken.position = record.text();
      followed_->know(std::move(file), seconds());
      taken_[&followed_->files().back()] = std::move(taken);
      if (had_turn) had_turn_ = &followed_->files().back();
    }
  }
  // The order is that of the first rows.
  void note_rows(const Followed& file, std::uint64_t rows) {
    Taken& taken = taken_[&file];
    taken.rows += rows;
    if (rows > 0) note_order(file, taken);
  }
  void note_order(const Followed& file, Taken& taken) {
    if (!std::exchange(taken.in_order, true) && order_) note_name(file.path);
  }
  void note_name(std::string name) {
    if (!order_) return;
    order_->write(name + "\n");
    ordered_.push_back(std::move(name));
  }

  // The file has nothing more for the time being.
  void pass_turn(const Call& call) {
    if (!followed_->end().empty()) return;
    look(call);
    if (current_ == nullptr || current_->bytes > current_->offered || !followed_->end().empty()) return;
    if (current_->mark == EndMark::there) return end_here();
    if (followed_->is_quiet(*current_, looked_at_) && followed_->others_wait(*current_)) {
      if (current_->mark == EndMark::of_no_kind && reader_->could_end()) return end_here();
      current_->whole = 0;  // it ends inside a record: it is not to be taken again at once
      suspended_[current_] = std::move(reader_);
      current_ = nullptr;
      return;
    }
    wait(call);
  }
  void end_here() {
    told_end_ = true;
    reader_->end_here();
  }
  void end_turn(const Call& call) {
    Followed& file = *current_;
    note_order(file, taken_[&file]);
    file.resume_at = reader_->resume_at();
    file.state = FollowedFiles::State::done;
    if (file.mark == EndMark::missing && end_mark(file.path, static_cast<std::uint64_t>(bytes_of(file.path))) == EndMark::missing)
      drop(call, file, "it is truncated: it has no mark at its end");
    else
      reader_.reset(), current_ = nullptr;
  }
  // Named in the account; what has been read of it stays.
  void drop(const Call& call, Followed& file, const std::string& what) {
    const std::string text = "'" + file.path + "': " + std::to_string(taken_[&file].rows) + " rows were taken, then: " + what;
    call.account(incomplete_, 1, text);
    call.warn("incomplete: " + text);
    if (file.problem.empty()) file.problem = what;
    file.told = true;
    file.state = FollowedFiles::State::done;
    suspended_.erase(&file);
    if (current_ == &file) reader_.reset(), current_ = nullptr;
  }

  void wait(const Call& call) {
    if (!std::exchange(waits_, true)) call.info("waits for more in " + inputs_ + " (Ctrl-C ends it)");
    for (const double until = looked_at_ + look_seconds; seconds() < until && !call.cancelled();) std::this_thread::sleep_for(nap);
  }
  void finish(const Call& call) {
    if (order_) order_->close();
    call.info("took up " + std::to_string(begun_) + (begun_ == 1 ? " file" : " files"));
  }
  // Of what there is.
  void say_progress(const Call& call) const {
    double read = 0, all = 0;
    for (const Followed& file : followed_->files()) {
      all += static_cast<double>(file.bytes);
      if (file.state == FollowedFiles::State::done) read += static_cast<double>(file.bytes);
      if (&file == current_)
        read += static_cast<double>(std::max<std::int64_t>(reader_->consumed(), 0));
      else if (file.state == FollowedFiles::State::begun)
        read += static_cast<double>(file.offered);
    }
    if (all > 0) call.progress(std::min(1.0, read / all));
  }

  Open open_;
  std::uint32_t incomplete_;
  std::unique_ptr<InputReader> reader_;  // of the file whose turn it is
  std::uint64_t kept_ = 0, beside_ = 0;

  std::vector<std::string> paths_;
  InputPart part_;
  std::size_t number_ = 0;
  std::int64_t bytes_before_ = 0, all_bytes_ = 0;  // of the part

  std::optional<FollowedFiles> followed_;
  std::string inputs_;
  std::optional<OutputFile> order_;
  std::vector<std::string> ordered_;  // the names in it
  Followed *current_ = nullptr, *had_turn_ = nullptr;
  std::map<const Followed*, std::unique_ptr<InputReader>> suspended_;  // of files that are not whole
  std::map<const Followed*, Taken> taken_;
  std::uint64_t begun_ = 0;
  double looked_at_ = -look_seconds;
  bool told_end_ = false, said_end_ = false, waits_ = false;
};

}  // namespace sluice
