// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The stage sdtw: a row is a whole query.

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "sdtw/targets.hpp"

#ifdef SLUICE_WITH_CUDA
#include "sdtw/device_search.hpp"
#include "sdtw/host_columns.hpp"
#endif

namespace sluice::sdtw {

class Sdtw {
 public:
  using Parameters = sdtw::Parameters;
  enum class Reason : std::uint32_t { level_outside_range, query_too_long, bad_candidates };

  static void describe(Describe<Sdtw>& d) {
    d.id("sdtw").summary("finds where the signal of a read fits best in the targets (subsequence dynamic time warping)");
    d.doc(
        "All of the query is aligned, to any stretch of either strand of any target. Scores are exact integers. Without reference deletions, which "
        "is "
        "the default, the recurrence is that of DTWax (Sadasivan et al. 2023).");
    describe_both(d);
#ifdef SLUICE_WITH_CUDA
    d.implementation<&Sdtw::process_cuda>("cuda", "16-bit cells in registers; what they can't hold is computed by the CPU");
#endif
    d.reason("level_outside_range", "a level of the query is beyond +-63").reason("query_too_long", "the score might not fit 31 bits");
    d.reason("bad_candidates", "the candidates do not ascend, overlap, or do not lie within one strand each");
  }

  Sdtw(const Setup& setup, const Parameters& parameters) : targets_(setup, parameters) {
#ifdef SLUICE_WITH_CUDA
    if (targets_.can_be_searched_on_devices()) device_search_.emplace(targets_.reference);
#endif
  }

  bool offers(std::string_view device) const {
    return device == "cpu" || targets_.can_be_searched_on_devices() || targets_.has_candidates_for_devices();
  }

  Estimate estimate(const Batch& in) const {
    const auto query = in.list<std::int16_t>("query_level").offsets();
    Estimate e;
    for (std::size_t row = 0; row + 1 < query.size(); ++row) {
      const double cells = targets_.cells(query[row + 1] - query[row]);
      e.work += cells;
      e.largest_row_work = std::max(e.largest_row_work, cells);
    }
    e.output_bytes = 33 * static_cast<std::uint64_t>(in.rows());
    if (!targets_.by_seeds) e.scratch_bytes = targets_.search().workspace_bytes();
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto query = in.list<std::int16_t>("query_level");
    const ResultColumns columns(out, targets_.wants_start, targets_.wants_end);
    const auto rows = static_cast<std::size_t>(in.rows());
    if (rows == 0) return;
    if (targets_.by_seeds) return align_to_candidates(call, in, columns, out);
    std::size_t longest = 0;
    const std::vector<std::uint8_t> searched = check_rows(call, in, out, [&](std::size_t row) { return query[static_cast<std::int64_t>(row)]; });
    for (std::size_t i = 0; i < rows; ++i)
      if (searched[i] != 0) longest = std::max(longest, query[static_cast<std::int64_t>(i)].size());
    // Few reads and a long reference: several threads take parts of the reference.
    const auto threads = static_cast<std::size_t>(std::max(1, call.threads()));
    const std::size_t parts = rows >= 4 * threads ? 1 : targets_.search().useful_parts(longest, (4 * threads + rows - 1) / rows);
    std::vector<SearchResult> results(rows * parts);
    call.parallel_for(rows * parts, 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t item = begin; item < end && !call.cancelled(); ++item)
        if (searched[item / parts] != 0)
          results[item] = targets_.search().find_part(query[static_cast<std::int64_t>(item / parts)], item % parts, parts, *workspace);
    });
    call.parallel_for(rows, 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end && !call.cancelled(); ++i) {
        if (searched[i] == 0) continue;
        const std::span<const std::int16_t> levels = query[static_cast<std::int64_t>(i)];
        columns.set(i, targets_.reference,
                    targets_.search().join_parts(levels, std::span(results).subspan(i * parts, parts), targets_.path_start, *workspace),
                    levels.size());
      }
    });
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const cuda::HostList<std::int16_t> query(device, in, "query_level");
    const std::int16_t* const levels = device.list<std::int16_t>(in, "query_level").values;
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<std::uint8_t> searched = check_rows(call, in, out, [&](std::size_t row) { return query[row]; });
    std::vector<SearchResult> results(rows);
    if (targets_.by_seeds)
      align_to_candidates(call, device, in, query, levels, out, searched, results);
    else
      align_to_all(call, device, query, levels, searched, results);
    const ResultColumns columns(out, targets_.wants_start, targets_.wants_end);
    for (std::size_t i = 0; i < rows; ++i)
      if (searched[i] != 0) columns.set(i, targets_.reference, results[i], query[i].size());
  }
#endif

 private:
#ifdef SLUICE_WITH_CUDA
  // All of the targets.
  void align_to_all(const Call& call, const sluice::cuda::DeviceCall& device, const cuda::HostList<std::int16_t>& query, const std::int16_t* levels,
                    const std::vector<std::uint8_t>& searched, std::vector<SearchResult>& results) {
    std::vector<cuda::Job> jobs;
    std::vector<std::size_t> row_of_job;
    for (std::size_t i = 0; i < searched.size(); ++i) {
      if (searched[i] == 0 || query[i].empty()) continue;
      jobs.push_back({query.begin(i), static_cast<std::int64_t>(query[i].size()), static_cast<std::int32_t>(jobs.size())});
      row_of_job.push_back(i);
    }
    const std::vector<Hit> hits = device_search_->find(device, jobs, levels);
    std::vector<std::size_t> again;  // rows for the CPU
    std::vector<cuda::PathJob> paths;
    std::vector<std::size_t> row_of_path;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const std::size_t row = row_of_job[j];
      results[row].hit = hits[j];
      if (!cuda::is_exact(hits[j])) {
        again.push_back(row);
      } else if (targets_.path_start == Search::PathStart::wanted) {
        if (jobs[j].levels > cuda::most_rows) {
          again.push_back(row);
        } else {
          paths.push_back({levels + jobs[j].query, jobs[j].levels, hits[j], static_cast<std::int32_t>(paths.size())});
          row_of_path.push_back(row);
        }
      }
    }
    const std::vector<std::int64_t> starts = device_search_->path_starts(device, paths);
    for (std::size_t p = 0; p < paths.size(); ++p) results[row_of_path[p]].first_column = starts[p];

    if (!again.empty()) call.count("queries_finished_by_the_cpu", static_cast<double>(again.size()));
    call.parallel_for(again.size(), 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end && !call.cancelled(); ++i) {
        SearchResult& result = results[again[i]];
        if (!cuda::is_exact(result.hit))
          result = targets_.search().find(query[again[i]], targets_.path_start, *workspace);
        else
          result.first_column = path_start(targets_.reference, query[again[i]], result.hit, targets_.method.cost, workspace->path);
      }
    });
  }

  // Fails rows whose candidates are none, which are not `searched` then.
  void align_to_candidates(const Call& call, const sluice::cuda::DeviceCall& device, const Batch& in, const cuda::HostList<std::int16_t>& query,
                           const std::int16_t* levels, Output& out, std::vector<std::uint8_t>& searched, std::vector<SearchResult>& results) {
    const cuda::HostList<std::int64_t> begin(device, in, "candidate_begin"), end(device, in, "candidate_end");
    std::vector<cuda::Job> jobs;
    std::vector<std::size_t> row_of_job, again;  // again: rows for the CPU
    std::vector<cuda::OwnStretch> own;
    std::vector<std::int16_t> own_levels;
    std::vector<Stretch> stretches;
    for (std::size_t row = 0; row < searched.size(); ++row) {
      if (searched[row] == 0) continue;
      if (!make_stretches(begin[row], end[row], stretches) || !targets_.candidates->are_valid(stretches)) {
        out.fail(static_cast<std::int64_t>(row), Reason::bad_candidates);
        searched[row] = 0;
        continue;
      }
      const auto length = static_cast<std::int64_t>(query[row].size());
      const auto is_long = [](const Stretch& stretch) { return stretch.end - stretch.begin > std::numeric_limits<std::int32_t>::max(); };
      if (length == 0 || stretches.empty() || length > cuda::most_rows || std::ranges::any_of(stretches, is_long)) {
        again.push_back(row);
        continue;
      }
      for (const Stretch& stretch : stretches) {
        const std::span<const std::int16_t> of_stretch = targets_.candidates->levels_of(stretch);
        own.push_back(
            {static_cast<std::int64_t>(own_levels.size()), stretch.end - stretch.begin, stretch.begin, 0, 0, static_cast<std::int32_t>(jobs.size())});
        own_levels.insert(own_levels.end(), of_stretch.begin(), of_stretch.end());
      }
      jobs.push_back({query.begin(row), length, static_cast<std::int32_t>(jobs.size())});
      row_of_job.push_back(row);
    }
    const std::vector<SearchResult> found = cuda::search_stretches(device, jobs, levels, std::move(own), own_levels, targets_.path_start);
    std::size_t beyond = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      results[row_of_job[j]] = found[j];
      if (cuda::is_exact(found[j].hit)) continue;
      again.push_back(row_of_job[j]);
      ++beyond;
    }
    if (beyond > 0) call.count("queries_finished_by_the_cpu", static_cast<double>(beyond));
    call.parallel_for(again.size(), 1, [&](std::size_t first, std::size_t last) {
      auto workspace = workspaces_.take();
      std::vector<Stretch> candidates;
      for (std::size_t i = first; i < last && !call.cancelled(); ++i) {
        make_stretches(begin[again[i]], end[again[i]], candidates);
        results[again[i]] = targets_.candidates->find(query[again[i]], candidates, targets_.path_start, *workspace);
      }
    });
  }
#endif

  void align_to_candidates(const Call& call, const Batch& in, const ResultColumns& columns, Output& out) {
    const auto query = in.list<std::int16_t>("query_level");
    const CandidateColumns candidates(in);
    const std::vector<std::uint8_t> searched = check_rows(call, in, out, [&](std::size_t row) { return query[static_cast<std::int64_t>(row)]; });
    call.parallel_for(searched.size(), 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      std::vector<Stretch> stretches;
      for (std::size_t i = begin; i < end && !call.cancelled(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (searched[i] == 0) continue;
        if (!candidates.of(row, stretches) || !targets_.candidates->are_valid(stretches))
          out.fail(row, Reason::bad_candidates);
        else
          columns.set(i, targets_.reference, targets_.candidates->find(query[row], stretches, targets_.path_start, *workspace), query[row].size());
      }
    });
  }

  // 1 for each row that is to be searched; the others have failed.
  template <class QueryOfRow>
  std::vector<std::uint8_t> check_rows(const Call& call, const Batch& in, Output& out, QueryOfRow&& query_of_row) const {
    std::vector<std::uint8_t> searched(static_cast<std::size_t>(in.rows()), 0);
    constexpr std::size_t grain = 64;
    call.parallel_for(searched.size(), grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row)) continue;
        const std::span<const std::int16_t> levels = query_of_row(i);
        if (static_cast<std::int64_t>(levels.size()) > longest_query(targets_.method.cost))
          out.fail(row, Reason::query_too_long);
        else if (!levels_are_valid(levels))
          out.fail(row, Reason::level_outside_range);
        else
          searched[i] = 1;
      }
    });
    return searched;
  }

  Targets targets_;
  Workspaces<Workspace> workspaces_;
#ifdef SLUICE_WITH_CUDA
  std::optional<cuda::DeviceSearch> device_search_;
#endif
};

}  // namespace sluice::sdtw
