// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/window_sequences.hpp"

#include <algorithm>
#include <memory>
#include <tuple>

#include "read_correction/pile_columns.hpp"

namespace sluice::read_correction {
namespace {

constexpr std::size_t windows_per_part = 128;
// Two parts of one read with fewer bases between them are fetched at once: a system call takes as long as copying these.
constexpr std::int64_t skipped_bases = 1024;
// Memory of a workspace that one huge window has blown up is not kept.
constexpr std::size_t kept_bytes = std::size_t{8} << 20U;

// Of a piece and its layers.
std::int64_t letters_of(std::int64_t piece, std::span<const std::int32_t> begin, std::span<const std::int32_t> end) {
  std::int64_t letters = piece;
  for (std::size_t i = 0; i < begin.size(); ++i) letters += end[i] - begin[i];
  return letters;
}

}  // namespace

void WindowSequences::describe(Describe<WindowSequences>& d) {
  d.id("window_sequences").summary("fetches the letters of a read's pieces and of their layers").map("window").work_unit("base");
  d.doc(
      "Sequence 0 of a window is the piece, the others are its layers in their order, on the piece's strand. Reads without qualities weigh 1 a "
      "base.");
  d.needs("target_index", "i64", "row of the target in the store");
  d.needs("window_start", "i64", "first base of the piece on the target").needs("window_end", "i64", "its end");
  describe_layer_columns([&d](const char* name, const char* type, const char* help) { d.needs(name, type, help); });
  d.gives("sequences", "utf8", "piece and layers, one after the other").gives("sequence_length", "list<i32>", "bases of each");
  d.gives("sequence_qualities", "utf8", "Phred + 33 of all of them");
  d.uses("reads", "sequence", "the reads");
  d.reason("bad_layers", "a piece or a layer that does not lie on its read");
}

WindowSequences::WindowSequences(const Setup& setup, const Parameters&) : reads_(setup.resource("reads")) {}

Estimate WindowSequences::estimate(const Batch& in) const {
  const auto start = in.column<std::int64_t>("window_start"), end = in.column<std::int64_t>("window_end");
  const auto layer_start = in.list<std::int32_t>("layer_query_start"), layer_end = in.list<std::int32_t>("layer_query_end");
  Estimate e;
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    const bool is_whole = in.ok(row) && layer_start[row].size() == layer_end[row].size();
    const double work = is_whole ? std::max(static_cast<double>(letters_of(end[r] - start[r], layer_start[row], layer_end[row])), 0.0) : 0;
    e.row_work.push_back(work);
    e.work += work;
    e.largest_row_work = std::max(e.largest_row_work, work);
  }
  e.output_bytes = static_cast<std::uint64_t>(e.work * 2);
  return e;
}

void WindowSequences::process(const Call& call, const Batch& in, Output& out) {
  const auto start = in.column<std::int64_t>("window_start"), end = in.column<std::int64_t>("window_end");
  const auto layer_start = in.list<std::int32_t>("layer_query_start"), layer_end = in.list<std::int32_t>("layer_query_end");
  const auto rows = static_cast<std::size_t>(in.rows());
  std::vector<std::uint8_t> is_good(rows, 0);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::int64_t>(r);
    if (!in.ok(row)) continue;
    is_good[r] = fits(in, row) ? 1 : 0;
    if (is_good[r] == 0) out.fail(row, Reason::bad_layers);
  }
  const auto if_good = [&](auto&& size) {
    return [&is_good, size](std::int64_t row) { return is_good[static_cast<std::size_t>(row)] != 0 ? static_cast<std::int64_t>(size(row)) : 0; };
  };
  const Buffer lists = out.offsets(if_good([&](std::int64_t row) { return layer_start[row].size() + 1; }));
  const Buffer ends = out.offsets(if_good([&](std::int64_t row) {
    const auto r = static_cast<std::size_t>(row);
    return letters_of(end[r] - start[r], layer_start[row], layer_end[row]);
  }));
  const auto length = out.list<std::int32_t>("sequence_length", lists);
  const Letters letters = {out.text("sequences", ends), out.text("sequence_qualities", ends)};
  const auto first_length = lists.as<std::int64_t>(), first_letter = ends.as<std::int64_t>();
  call.parallel_for(rows, windows_per_part, [&](std::size_t first, std::size_t last) {
    auto workspace = workspaces_.take();
    if (!workspace->reads) workspace->reads = std::make_unique<OrientedReads>(reads_);
    workspace->parts.clear();
    for (std::size_t r = first; r < last; ++r) {
      if (is_good[r] == 0) continue;
      const auto row = static_cast<std::int64_t>(r);
      auto to = length.begin() + static_cast<std::ptrdiff_t>(first_length[r]);
      *to++ = static_cast<std::int32_t>(end[r] - start[r]);
      std::transform(layer_start[row].begin(), layer_start[row].end(), layer_end[row].begin(), to,
                     [](std::int32_t begin_of, std::int32_t end_of) { return end_of - begin_of; });
      list_parts(in, row, first_letter[r], workspace->parts);
    }
    if (!call.cancelled()) fetch(*workspace, letters);
    if (workspace->bases.capacity() > kept_bytes) workspace.discard();
  });
  if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the sequences were cancelled");
}

bool WindowSequences::fits(const Batch& in, std::int64_t row) const {
  const auto r = static_cast<std::size_t>(row);
  const auto query = in.list<std::int64_t>("layer_query")[row];
  const auto begin = in.list<std::int32_t>("layer_query_start")[row], end = in.list<std::int32_t>("layer_query_end")[row];
  if (begin.size() != query.size() || end.size() != query.size() || in.list<std::uint8_t>("layer_is_reverse")[row].size() != query.size())
    return false;
  for (std::size_t i = 0; i < query.size(); ++i)
    if (!lies_on(reads_, query[i], begin[i], end[i])) return false;
  return lies_on(reads_, in.column<std::int64_t>("target_index")[r], in.column<std::int64_t>("window_start")[r],
                 in.column<std::int64_t>("window_end")[r]);
}

void WindowSequences::list_parts(const Batch& in, std::int64_t row, std::int64_t at, std::vector<Part>& parts) {
  const auto r = static_cast<std::size_t>(row);
  const auto append = [&](std::int64_t read, std::int64_t begin, std::int64_t end, Strand strand) {
    parts.push_back({read, begin, end, at, strand});
    at += end - begin;
  };
  append(in.column<std::int64_t>("target_index")[r], in.column<std::int64_t>("window_start")[r], in.column<std::int64_t>("window_end")[r],
         Strand::forward);
  const auto query = in.list<std::int64_t>("layer_query")[row];
  const auto begin = in.list<std::int32_t>("layer_query_start")[row], end = in.list<std::int32_t>("layer_query_end")[row];
  const auto is_reverse = in.list<std::uint8_t>("layer_is_reverse")[row];
  for (std::size_t i = 0; i < query.size(); ++i) append(query[i], begin[i], end[i], is_reverse[i] != 0 ? Strand::reverse : Strand::forward);
}

// Windows beside each other have layers of the same reads beside each other, so a read is fetched once for all of them.
void WindowSequences::fetch(Workspace& workspace, const Letters& letters) {
  std::vector<Part>& parts = workspace.parts;
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return std::tie(a.read, a.strand, a.begin, a.at) < std::tie(b.read, b.strand, b.begin, b.at); });
  for (std::size_t first = 0, last; first < parts.size(); first = last) {
    const auto [read, begin, first_end, at, strand] = parts[first];
    std::int64_t end = first_end;
    for (last = first + 1;
         last < parts.size() && parts[last].read == read && parts[last].strand == strand && parts[last].begin <= end + skipped_bases; ++last)
      end = std::max(end, parts[last].end);
    const auto size = static_cast<std::size_t>(end - begin);
    if (workspace.bases.size() < size) workspace.bases.resize(size), workspace.qualities.resize(size);
    workspace.reads->fetch_bases(read, begin, end, strand, workspace.bases.data());
    workspace.reads->fetch_qualities(read, begin, end, strand, workspace.qualities.data());
    for (std::size_t i = first; i < last; ++i) {
      const Part& part = parts[i];
      const auto from = strand == Strand::reverse ? end - part.end : part.begin - begin;
      std::copy_n(workspace.bases.data() + from, part.end - part.begin, letters.bases.data() + part.at);
      std::copy_n(workspace.qualities.data() + from, part.end - part.begin, letters.qualities.data() + part.at);
    }
  }
}

}  // namespace sluice::read_correction
