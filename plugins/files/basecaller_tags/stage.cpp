// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <atomic>
#include <limits>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "basecaller_tags/read_tags.hpp"

namespace sluice::basecaller_tags {
namespace {

// Columns of what the basecaller said.
class BasecallerTagsStage {
 public:
  struct Parameters {
    std::string moves = "check";
  };
  enum class Reason : std::uint32_t { duplex, bad_moves };

  static void describe(Describe<BasecallerTagsStage>& d) {
    d.id("basecaller_tags")
        .summary("which signal belongs to a read, and what else the basecaller said of it, from its tags")
        .map("read")
        .work_unit("row");
    d.doc(
        "Reads the tags of dorado, guppy and bonito that alignment_reader, read_reader and read_bases (out of comments of FASTQ) hand on. A split "
        "read (pi, sp) names the read of the "
        "sequencer that it is a part of; ts and ns say where its signal begins and ends; mv where each base lies in it. A read without tags has its "
        "own signal, all of it.\n\n"
        "Moves that are not those of the read's bases and samples fail it, unless `moves` is ignore. They are not used of direct RNA with a barcode "
        "that dorado before 1.4.0 called, as it cut them at the wrong end, and not without ts and ns.");
    d.option("moves", &Parameters::moves, "ignore: mv is not looked at; else the column moves is given").choices({"use", "check", "ignore"});
    d.needs("read_id", "utf8", "name of the read");
    d.needs("basecaller_tags", "binary", "the tags; layout: sluice/hts/basecaller_tags.hpp", Needed::optional);
    d.needs("read_file_tags", "binary", "further ones, from the file of the reads; of two tags of one name those of basecaller_tags count",
            Needed::optional);
    d.needs("bases", "utf8", "the whole read, to compare the moves with", Needed::optional);
    d.gives("signal_read", "utf8", "the read of the sequencer that has the signal", Needed::optional);
    d.gives("signal_part", "list<i64>", "which part of it: empty (all), {ts, ns}, or of a split read {ts, ns, sp, ms, front}; see its README",
            Needed::optional);
    d.gives("moves", "list<i8>", "mv: the stride in samples, then 1 for each stride of samples in which a base begins; empty: unknown",
            Needed::optional);
    d.gives("basecaller_seconds", "f32", "du: duration of the read, s; NaN: unknown", Needed::optional);
    d.gives("basecaller_poly_a", "i32", "pt: bases of the poly(A) tail; 0: found, but not how long, -1: not found, -2: not looked for",
            Needed::optional);
    d.gives("basecaller_poly_a_place", "list<i32>",
            "pa: anchor, start and end of the tail and of its second part, samples counted as ts is; empty: unknown", Needed::optional);
    d.gives("read_group", "utf8", "RG; empty: unknown", Needed::optional);
    d.gives("basecall_model", "utf8", "basecall_model of the read group's description (DS); empty: unknown", Needed::optional);
    d.reason("duplex", "a duplex read (dx:i:1), which no signal belongs to; its two strands are reads of their own");
    d.reason("bad_moves", "the moves (mv) are not those of the read's bases and samples");
  }

  BasecallerTagsStage(const Setup& setup, const Parameters& p)
      : has_tags_(setup.available("basecaller_tags")),
        has_file_tags_(setup.available("read_file_tags")),
        has_bases_(setup.available("bases")),
        takes_moves_(p.moves != "ignore"),
        wanted_{setup.wanted("signal_read"),        setup.wanted("signal_part"),       setup.wanted("moves"),
                setup.wanted("basecaller_seconds"), setup.wanted("basecaller_poly_a"), setup.wanted("basecaller_poly_a_place"),
                setup.wanted("read_group"),         setup.wanted("basecall_model")} {}

  void process(const Call& call, const Batch& in, Output& out) {
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<ReadTags> read(rows);
    std::vector<std::vector<std::int64_t>> parts(rows);
    std::vector<std::vector<std::int32_t>> places(rows);
    std::vector<std::span<const std::int8_t>> moves(rows);
    std::uint64_t split = 0, cut = 0, with_moves = 0, doubted = 0;
    const TextView read_ids = in.text("read_id");
    std::vector<std::string> joined(rows);  // what `read` looks at, where both have tags
    for (std::int64_t row = 0; (has_tags_ || has_file_tags_) && row < in.rows(); ++row) {
      const auto r = static_cast<std::size_t>(row);
      if (!in.ok(row)) continue;
      const std::string_view tags = tags_of(in, row, joined[r]);
      if (tags.empty()) continue;
      read[r] = parse(tags);
      if (read[r].dx.value_or(0) == 1) {
        out.filter(row, Reason::duplex);
        continue;
      }
      const std::int64_t bases = has_bases_ ? static_cast<std::int64_t>(in.text("bases")[row].size()) : -1;
      const MoveState state = takes_moves_ ? state_of_moves(read[r], bases) : MoveState::none;
      if (state == MoveState::broken) {
        out.fail(row, Reason::bad_moves);
        continue;
      }
      parts[r] = signal_part(read[r], read_ids[row], state);
      if (state == MoveState::sound) moves[r] = read[r].moves;
      places[r] = poly_a_place(read[r]);
      split += parts[r].size() > 2 ? 1 : 0;
      cut += parts[r].empty() ? 0 : 1;
      with_moves += moves[r].empty() ? 0 : 1;
      doubted += state == MoveState::doubted ? 1 : 0;
    }
    say(call, split, cut, with_moves, doubted);
    give(in, read, parts, places, moves, out);
  }

 private:
  // In their order above.
  struct Wanted {
    bool signal_read, signal_part, moves, seconds, poly_a, poly_a_place, read_group, model;
  };

  // The alignment's first. `joined`: memory for both.
  std::string_view tags_of(const Batch& in, std::int64_t row, std::string& joined) const {
    const std::string_view own = has_tags_ ? in.text("basecaller_tags")[row] : std::string_view();
    const std::string_view of_file = has_file_tags_ ? in.text("read_file_tags")[row] : std::string_view();
    if (own.empty() || of_file.empty()) return own.empty() ? of_file : own;
    joined = own;
    joined += of_file;
    return joined;
  }

  void say(const Call& call, std::uint64_t split, std::uint64_t cut, std::uint64_t with_moves, std::uint64_t doubted) {
    const auto count = [&call](const char* what, std::uint64_t reads) {
      if (reads > 0) call.count(what, static_cast<double>(reads));
    };
    count("split reads", split);
    count("reads with a part of a signal", cut);
    count("reads with moves", with_moves);
    count("reads with moves that are not used", doubted);
    if (doubted > 0 && !warned_.exchange(true))
      call.warn(
          "direct RNA with barcodes of dorado before 1.4.0: its moves, ts and ns are off by what was cut from the sequence, and the moves are not "
          "used; "
          "base-call again with a later one for borders that can be trusted");
  }

  void give(const Batch& in, const std::vector<ReadTags>& read, const std::vector<std::vector<std::int64_t>>& parts,
            const std::vector<std::vector<std::int32_t>>& places, const std::vector<std::span<const std::int8_t>>& moves, Output& out) const {
    const TextView read_ids = in.text("read_id");
    const auto texts = [&](const char* name, auto&& of) {
      std::vector<std::string_view> column(read.size());
      for (std::size_t row = 0; row < read.size(); ++row) column[row] = of(row);
      out.text_rows(name, column);
    };
    const auto lists = [&]<class T>(const char* name, T, const auto& rows) {
      const Buffer offsets = out.offsets([&](std::int64_t row) { return rows[static_cast<std::size_t>(row)].size(); });
      out.gather<T>(name, offsets, rows);
    };
    if (wanted_.signal_read)
      texts("signal_read", [&](std::size_t row) { return parts[row].size() > 2 ? read[row].pi : read_ids[static_cast<std::int64_t>(row)]; });
    if (wanted_.signal_part) lists("signal_part", std::int64_t{}, parts);
    if (wanted_.moves) lists("moves", std::int8_t{}, moves);
    if (wanted_.poly_a_place) lists("basecaller_poly_a_place", std::int32_t{}, places);
    if (wanted_.read_group) texts("read_group", [&](std::size_t row) { return read[row].read_group; });
    if (wanted_.model) texts("basecall_model", [&](std::size_t row) { return value_of(read[row].description, "basecall_model"); });
    const auto seconds = wanted_.seconds ? out.column<float>("basecaller_seconds") : std::span<float>();
    for (std::size_t row = 0; row < seconds.size(); ++row) seconds[row] = read[row].du.value_or(std::numeric_limits<float>::quiet_NaN());
    const auto poly_a = wanted_.poly_a ? out.column<std::int32_t>("basecaller_poly_a") : std::span<std::int32_t>();
    for (std::size_t row = 0; row < poly_a.size(); ++row) poly_a[row] = poly_a_bases(read[row]);
  }

  bool has_tags_, has_file_tags_, has_bases_, takes_moves_;
  Wanted wanted_;
  std::atomic<bool> warned_ = false;
};

}  // namespace
}  // namespace sluice::basecaller_tags

SLUICE_PLUGIN("basecaller_tags", "0.1.0", "MIT", sluice::basecaller_tags::BasecallerTagsStage);
