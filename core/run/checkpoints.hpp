// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Takes checkpoints of a run that goes on: a border is drawn through the batches, and each stage that keeps state says what it has when all in front
// of the border are behind it. Sources draw it, in front of the batch that they read next; regroups, in front of the one that they emit next.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "run/checkpoint.hpp"
#include "run/run_context.hpp"

namespace sluice {

class StageRunner;

class Checkpoints {
 public:
  // keep: gets each checkpoint, on a thread of its own; what it throws ends nothing: the run then goes on without checkpoints, and says so.
  // pace: how far they are apart.
  Checkpoints(RunContext& run, CheckpointPace pace, std::function<void(Checkpoint)> keep);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;

  // The stages that take part: sources, and all that keep state. stream: of the batches that it takes (sources and regroups: that they give).
  // Called before the first batch.
  struct Member {
    std::size_t stage = 0;
    std::optional<std::size_t> takes, gives;  // streams
  };
  void add(Member member);
  // Told, on any thread, when a border has been drawn through a stream: stages may stand at it already.
  void on_border(std::function<void(std::size_t stream)> told) { on_border_ = std::move(told); }

  // Sources, between two batches. position() is asked where a checkpoint is under way.
  void source_stands(std::size_t stage, std::uint64_t next, const std::function<std::string()>& position);
  void source_ends(std::size_t stage, std::uint64_t next, std::string position);
  // Others, between two batches: must the stage say what it has now?
  bool is_due(std::size_t stage, std::uint64_t next) const;
  // It has; emitted: regroups.
  void stands(std::size_t stage, StagePoint point, std::vector<FilePoint> files, double seconds);

  // Where a stage writes what it has now.
  std::shared_ptr<SpoolFile> spool() const;
  // There will be no more checkpoints, and why; the run goes on.
  void give_up(const std::string& reason);

  // Nothing is under way: what a checkpoint that has been begun still lacks doesn't come. Waits until the last one has been kept.
  void settle();
  // Has the time come for one?
  bool wants_one() const;
  // One that somebody has taken while nothing was under way. Kept when this returns.
  void take(Checkpoint checkpoint, double seconds);
  CheckpointStatistics statistics() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Station {
    Member member;
    std::uint64_t next = 0;  // of a source
    bool ended = false;
    std::string position;  // where it ended
    std::atomic<bool> has_said{true};
  };
  Station* find(std::size_t stage) const { return stations_[stage].get(); }
  std::vector<std::size_t> begin();
  void draw(std::size_t stream, std::uint64_t sequence);
  void put(Station& station, StagePoint point);
  void complete();
  void count(Checkpoint& checkpoint);
  void break_off(const std::string& reason);
  void abandon();
  void release();
  void keep_all();
  std::uint64_t memory_bytes() const;
  void keep(Checkpoint checkpoint) noexcept;

  RunContext& run_;
  const CheckpointPace pace_;
  const std::function<void(Checkpoint)> keep_;
  std::function<void(std::size_t)> on_border_;
  std::vector<std::unique_ptr<Station>> stations_;   // by stage; null: takes no part
  std::vector<std::atomic<std::uint64_t>> borders_;  // by stream
  std::vector<std::size_t> counts_with_;             // by stage: the stream that it takes; sources: that they give
  mutable std::mutex mutex_;                         // guards everything below
  std::condition_variable changed_;
  bool under_way_ = false, keeping_ = false, stopped_ = false, broken_ = false;
  std::size_t missing_ = 0;
  double cost_ = 0;  // of the one under way
  CheckpointStatistics statistics_;
  Clock::time_point due_;
  Checkpoint checkpoint_;
  std::optional<Checkpoint> complete_;
  std::thread keeper_;
};

}  // namespace sluice
