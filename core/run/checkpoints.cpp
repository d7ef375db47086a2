// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/checkpoints.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t no_border = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Checkpoints::Checkpoints(RunContext& run, CheckpointPace pace, std::function<void(Checkpoint)> keep)
    : run_(run),
      pace_(pace),
      keep_(std::move(keep)),
      stations_(run.plan.stages.size()),
      borders_(run.plan.stages.size()),
      due_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(pace.seconds))),
      keeper_([this] { keep_all(); }) {
  for (auto& border : borders_) border = no_border;
  for (const PlannedStage& stage : run.plan.stages)
    counts_with_.push_back(stage.stage->inputs.empty() ? stage.stream : run.plan.stages[stage.stage->inputs.front()].stream);
  run_.keeps(0, memory_bytes());
}

// A buffer for what each stage and the account save, and one for the copy into the journal.
std::uint64_t Checkpoints::memory_bytes() const { return (stations_.size() + 2) * SpoolFile::buffer_bytes; }
std::shared_ptr<SpoolFile> Checkpoints::spool() const { return std::make_shared<SpoolFile>(run_.options.journal, "run it with --checkpoint 0"); }

Checkpoints::~Checkpoints() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  keeper_.join();
  run_.keeps(memory_bytes(), 0);
}

void Checkpoints::add(Member member) {
  stations_[member.stage] = std::make_unique<Station>();
  stations_[member.stage]->member = member;
}

void Checkpoints::source_stands(std::size_t stage, std::uint64_t next, const std::function<std::string()>& position) {
  Station& station = *find(stage);
  std::vector<std::size_t> drawn;
  {
    const std::lock_guard lock(mutex_);
    station.next = next;
    if (!under_way_ && !keeping_ && !stopped_ && !broken_ && Clock::now() >= due_) drawn = begin();
  }
  if (!station.has_said) {
    StagePoint point{next, 0, false, position(), nullptr, {}};
    const std::lock_guard lock(mutex_);
    draw(*station.member.gives, next);
    drawn.push_back(*station.member.gives);
    put(station, std::move(point));
  }
  for (const std::size_t stream : drawn) on_border_(stream);
}

void Checkpoints::source_ends(std::size_t stage, std::uint64_t next, std::string position) {
  Station& station = *find(stage);
  {
    const std::lock_guard lock(mutex_);
    station.next = next;
    station.ended = true;
    station.position = std::move(position);
    if (station.has_said) return;
    draw(*station.member.gives, next);
    put(station, {next, 0, true, station.position, nullptr, {}});
  }
  on_border_(*station.member.gives);
}

// The streams through which a border can be drawn at once: those of sources that have ended.
std::vector<std::size_t> Checkpoints::begin() {
  under_way_ = true;
  missing_ = 0;
  cost_ = 0;
  checkpoint_ = {};
  std::vector<std::size_t> drawn;
  for (auto& border : borders_) border = no_border;
  for (const auto& station : stations_)
    if (station) ++missing_, station->has_said = false;
  for (const auto& station : stations_) {
    if (!station || station->member.takes || !station->ended) continue;
    draw(*station->member.gives, station->next);
    drawn.push_back(*station->member.gives);
    put(*station, {station->next, 0, true, station->position, nullptr, {}});
  }
  return drawn;
}

void Checkpoints::draw(std::size_t stream, std::uint64_t sequence) {
  for (std::size_t i = 0; i < counts_with_.size(); ++i)
    if (counts_with_[i] == stream) run_.recorder.stage(i).border(sequence);
  borders_[stream] = sequence;
}

void Checkpoints::count(Checkpoint& checkpoint) {
  for (std::size_t i = 0; i < run_.plan.stages.size(); ++i)
    checkpoint.counts[run_.plan.stages[i].stage->name] = run_.recorder.stage(i).counts_before_border();
  if (run_.options.listener == nullptr) return;
  const auto account = spool();
  run_.options.listener->save([&](std::string_view piece) { account->append(piece); });
  checkpoint.spooled_account = account;
}

void Checkpoints::release() {
  for (std::size_t i = 0; i < run_.plan.stages.size(); ++i) run_.recorder.stage(i).release();
}

bool Checkpoints::is_due(std::size_t stage, std::uint64_t next) const {
  const Station* station = find(stage);
  return station != nullptr && !station->has_said && next >= borders_[*station->member.takes];
}

void Checkpoints::stands(std::size_t stage, StagePoint point, std::vector<FilePoint> files, double seconds) {
  Station& station = *find(stage);
  const std::uint64_t emitted = point.emitted;
  {
    const std::lock_guard lock(mutex_);
    if (!under_way_ || station.has_said) return;
    cost_ += seconds;
    checkpoint_.files.insert(checkpoint_.files.end(), std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
    if (station.member.gives) draw(*station.member.gives, emitted);
    put(station, std::move(point));
  }
  if (station.member.gives) on_border_(*station.member.gives);
}

void Checkpoints::put(Station& station, StagePoint point) {
  station.has_said = true;
  checkpoint_.stages[run_.plan.stages[station.member.stage].stage->name] = std::move(point);
  if (--missing_ == 0) complete();
}

void Checkpoints::complete() {
  try {
    count(checkpoint_);
  } catch (const std::exception& exception) {
    return break_off(exception.what());
  }
  under_way_ = false;
  keeping_ = true;
  release();
  complete_ = std::move(checkpoint_);
  changed_.notify_all();
}

void Checkpoints::give_up(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  break_off(reason);
}

void Checkpoints::break_off(const std::string& reason) {
  run_.log(SLUICE_LOG_WARNING, "", "the run can't be resumed from here on: " + reason);
  broken_ = true;
  abandon();
}

void Checkpoints::abandon() {
  if (!under_way_) return;
  for (const auto& station : stations_)
    if (station) station->has_said = true;
  for (auto& border : borders_) border = no_border;
  under_way_ = false;
  checkpoint_ = {};
  release();
}

void Checkpoints::keep_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || complete_.has_value(); });
    if (!complete_) return;
    Checkpoint checkpoint = *std::exchange(complete_, std::nullopt);
    lock.unlock();
    const auto began = Clock::now();
    keep(std::move(checkpoint));
    lock.lock();
    cost_ += std::chrono::duration<double>(Clock::now() - began).count();
    if (!broken_) ++statistics_.kept;
    statistics_.seconds += cost_;
    const double pause = pace_.share > 0 ? std::max(pace_.seconds, cost_ / pace_.share) : pace_.seconds;
    due_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(pause));
    keeping_ = false;
    changed_.notify_all();
  }
}

void Checkpoints::keep(Checkpoint checkpoint) noexcept {
  try {
    keep_(std::move(checkpoint));
  } catch (const std::exception& exception) {
    give_up(exception.what());
  }
}

CheckpointStatistics Checkpoints::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void Checkpoints::settle() {
  std::unique_lock lock(mutex_);
  abandon();
  changed_.wait(lock, [this] { return !keeping_; });
}

bool Checkpoints::wants_one() const {
  const std::lock_guard lock(mutex_);
  return !broken_ && Clock::now() >= due_;
}

void Checkpoints::take(Checkpoint checkpoint, double seconds) {
  std::unique_lock lock(mutex_);
  if (broken_) return;
  cost_ = seconds;
  try {
    count(checkpoint);
  } catch (const std::exception& exception) {
    return break_off(exception.what());
  }
  keeping_ = true;
  complete_ = std::move(checkpoint);
  changed_.notify_all();
  changed_.wait(lock, [this] { return !keeping_; });
}

}  // namespace sluice
