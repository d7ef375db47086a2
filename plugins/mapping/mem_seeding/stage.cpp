// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <sluice/fm_index.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "mem_seeding/anchors.hpp"
#include "mem_seeding/match_search.hpp"

#ifdef SLUICE_WITH_CUDA
#include "mem_seeding/device_search.hpp"
#endif

namespace sluice::mem_seeding {
namespace {

// Reads that are searched together; 16 searches take turns, so the last ones of a part are the only ones that wait.
constexpr std::size_t reads_at_once = 64;
// Memory that a workspace may keep for the next batch.
constexpr std::size_t kept_places = std::size_t{1} << 24;

// The searches of a part of a batch, and what they found: two for each row (the read, and its reverse complement) or one.
struct Part {
  std::size_t first_row = 0;
  std::vector<PackedRead> reads;
  std::vector<Matches> found;
  std::vector<SearchTask> tasks;
  std::vector<Anchors> anchors;
  StrandUses uses;
};

class MemSeeding {
 public:
  struct Parameters {
    std::string definition = "auto";
    std::string format = "table";
    std::string occurrences = "all";
    std::string strands = "apart";
    std::int32_t min_length = 20;
    std::optional<std::int64_t> max_occurrences;
  };
  enum class Reason : std::uint32_t { too_long, too_many_matches };

  static void describe(Describe<MemSeeding>& d) {
    d.id("mem_seeding").summary("finds the maximal exact matches of reads in an FM-index").map("read").work_unit("base");
    d.doc(
        "In an index of the forward strand the read and its reverse complement are searched; in one of both strands the read. Ambiguous bases of a "
        "read match "
        "nothing. Definition 1: matches that can be extended to neither side where they occur, within contigs (mummer -maxmatch). Definition 2: for "
        "each base "
        "of the read the longest match that ends there, without those that a longer match with the same start and as many occurrences covers "
        "(GPUseed). "
        "smem: of these the longest for each start (bwa fastmap).");
    d.uses("index", "fm_index", "the reference");
    d.uses("contigs", "minimizer_index", "what the anchors are for; it has to have the same contigs", Needed::optional);
    d.needs("bases", "utf8", "the read");
    d.gives("read_length", "i32", "bases");
    d.gives("match_reverse", "list<u8>", "per match: 1: of the read's reverse complement", Needed::optional);
    d.gives("match_start", "list<i32>", "per match: its first base in what was searched", Needed::optional);
    d.gives("match_end", "list<i32>", "per match: its end, exclusive", Needed::optional);
    d.gives("match_count", "list<u32>", "per match: occurrences in the text", Needed::optional);
    d.gives("match_places", "list<u32>", "per match: places of it in match_place; 0 if there are more than max_occurrences", Needed::optional);
    d.gives("match_place", "list<u32>", "places in the text of all matches, one after the other", Needed::optional);
    d.gives("anchor_x", "list<u64>", "reverse strand << 63 | contig << 32 | position of the last base, ascending", Needed::optional);
    d.gives("anchor_y", "list<u64>", "span << 32 | position of the last base on the read, in the direction of the contig", Needed::optional);
    d.gives("repeat_length", "i32", "bases of the read in matches that have too many occurrences to be listed", Needed::optional);
    d.gives("seed_position", "list<u64>", "span << 32 | last base, of the matches with anchors, ascending by base", Needed::optional);
    d.option("definition", &Parameters::definition, "1, 2 or smem; auto: what the format is made of: 2 for table, smem for fastmap, 1 for mummer")
        .choices({"auto", "1", "2", "smem"});
    d.option("format", &Parameters::format, "the output that the matches are for").choices({"table", "fastmap", "mummer"});
    d.option("occurrences", &Parameters::occurrences,
             "definition 2: all: every place of a match; longest: a place only with the longest match of the same start that occurs there")
        .choices({"all", "longest"});
    d.option("strands", &Parameters::strands,
             "anchors of smem in an index of the forward strand: apart: of what the read and its reverse complement have; joined: of what both have "
             "together, as in an index of both strands")
        .choices({"apart", "joined"});
    d.option("min_length", &Parameters::min_length, "shortest match").range(1, 1e6).unit("bases");
    d.option("max_occurrences", &Parameters::max_occurrences,
             "matches that occur more often are listed without places; 0: no limit; without it 20 for fastmap, as there, else no limit")
        .range(0, 4294967295.0);
#ifdef SLUICE_WITH_CUDA
    d.implementation<&MemSeeding::process_cuda>(
        "cuda", "one thread an occurrence of a word of k bases; definition 2 and smem, without anchors; others are left to the CPU");
#endif
    d.reason("too_long", "the read has 2^31 bases or more");
    d.reason("too_many_matches", "the read's matches have more than 2^27 places; set max_occurrences");
  }

  MemSeeding(const Setup& setup, const Parameters& p) : index_(fm_index_view(setup.resource("index"))) {
    options_.definition = p.definition == "1"      ? Definition::maximal
                          : p.definition == "2"    ? Definition::longest_left
                          : p.definition == "smem" ? Definition::supermaximal
                          : p.format == "fastmap"  ? Definition::supermaximal
                          : p.format == "mummer"   ? Definition::maximal
                                                   : Definition::longest_left;
    options_.occurrences = p.occurrences == "longest" ? Occurrences::longest : Occurrences::all;
    options_.min_length = p.min_length;
    options_.max_occurrences = static_cast<std::uint64_t>(p.max_occurrences.value_or(p.format == "fastmap" ? 20 : 0));
    if (options_.definition == Definition::maximal) text_parts_ = text_parts(index_);
    wants_anchors_ = setup.wanted("anchor_x") || setup.wanted("anchor_y") || setup.wanted("repeat_length") || setup.wanted("seed_position");
    for (std::size_t i = 0; i < columns; ++i) wants_[i] = setup.wanted(column_names[i]);
    joins_strands_ = p.strands == "joined" && options_.definition == Definition::supermaximal && !index_.both_strands();
    if (setup.has_resource("contigs")) refuse_other_contigs(minimizer_index_view(setup.resource("contigs")));
  }

  bool offers(std::string_view device) const {
    return device != "cuda" || (options_.definition != Definition::maximal && !wants_anchors_ && options_.min_length >= least_device_length);
  }

  Estimate estimate(const Batch& in) const {
    const TextView bases = in.text("bases");
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      const double length = in.ok(row) ? static_cast<double>(bases[row].size()) : 0;
      e.work += length;
      e.largest_row_work = std::max(e.largest_row_work, length);
    }
    // Random bases have a match of 12 bases every third base; longer ones are rare.
    e.output_bytes = static_cast<std::uint64_t>(e.work * (options_.min_length < 14 ? 12 : 2));
    e.scratch_bytes = e.output_bytes * 2 + static_cast<std::uint64_t>(e.largest_row_work);
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const TextView bases = in.text("bases");
    const auto rows = static_cast<std::size_t>(in.rows());
    const std::size_t strands = index_.both_strands() ? 1 : 2;
    std::vector<Workspaces<Part>::Lease> parts;
    for (std::size_t row = 0; row < rows; row += reads_at_once) {
      parts.push_back(workspaces_.take());
      parts.back()->first_row = row;
    }
    call.parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (; begin < end && !call.cancelled(); ++begin) search(in, bases, std::min(rows, (begin + 1) * reads_at_once), strands, out, *parts[begin]);
    });
    if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the search was cancelled");
    const auto part_of = [&](std::int64_t row) -> Part& { return *parts[static_cast<std::size_t>(row) / reads_at_once]; };
    const std::span<std::int32_t> read_length = out.column<std::int32_t>("read_length");
    for (std::size_t row = 0; row < rows; ++row) {
      const auto r = static_cast<std::int64_t>(row);
      if (in.ok(r) && bases[r].size() <= max_read) read_length[row] = static_cast<std::int32_t>(bases[r].size());
    }
    give_matches(rows, strands, part_of, out);
    if (wants_anchors_) give_anchors(rows, part_of, out);
    for (auto& part : parts) {
      std::size_t places = 0;
      for (const Matches& found : part->found) places += found.places.capacity();
      if (places > kept_places) part.discard();
    }
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const auto rows = static_cast<std::size_t>(in.rows());
    const sluice::cuda::Text bases = device.text(in, "bases");
    const std::int64_t first_offset = device.download(bases.offsets, 1).front(), last_offset = device.download(bases.offsets + rows, 1).front();
    const sluice::cuda::Memory row_status = device.row_status(in);
    cuda::DeviceReads reads{in.rows(), bases.offsets, bases.bytes, row_status.as<std::uint16_t>()};
    reads.first_offset = first_offset;
    reads.strands = index_.both_strands() ? 1 : 2;
    reads.length = static_cast<std::uint64_t>(last_offset - first_offset) * reads.strands;
    if (reads.length > ReadStrands::most_bases) throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "a batch of 2^31 bases or more");
    const DeviceIndex& index = indexes_.get(device.ordinal(), [&] { return DeviceIndex(device, index_); });
    int multiprocessors = 0;
    sluice::cuda::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device.ordinal()), "cudaDeviceGetAttribute");

    const sluice::cuda::Memory packed = device.allocate_array<std::uint64_t>(ReadStrands::packed_words(reads.length));
    const sluice::cuda::Memory edges = device.allocate_array<std::uint32_t>(ReadStrands::edge_words(reads.length));
    WordSearch search{.index = index.tables,
                      .reads = {packed.as<std::uint64_t>(), edges.as<std::uint32_t>(), reads.length},
                      .min_length = static_cast<std::uint64_t>(options_.min_length),
                      .max_occurrences = options_.max_occurrences,
                      .definition = options_.definition,
                      .occurrences = options_.occurrences,
                      .word = std::min<std::uint32_t>(index.tables.k, static_cast<std::uint32_t>(options_.min_length))};
    search.step = search.min_length - search.word + 1;

    sluice::cuda::Memory given_up;  // once a read has too many places, all others are searched again without it
    while (true) {
      sluice::cuda::check(cuda::pack_reads(reads, packed.as<std::uint64_t>(), edges.as<std::uint32_t>(), device.stream()), "pack_reads");
      sluice::cuda::Memory memory;
      cuda::Workspace workspace;
      cuda::Totals totals{};
      do {
        const cuda::Capacity capacity = search_memory_.capacity(search.words());
        memory = device.allocate(cuda::workspace_bytes(search.words(), capacity));
        workspace = cuda::workspace_in(memory.get(), search.words(), capacity);
        sluice::cuda::check(cuda::find_matches(search, workspace, multiprocessors, device.stream()), "find_matches");
        totals = device.download(workspace.totals, 1)[0];
        if (search.words() > 0) search_memory_.learn(search.words(), totals);
      } while (!workspace.capacity.holds(totals) && !call.cancelled());
      if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the search was cancelled");

      const sluice::cuda::Memory first_place = device.allocate_array<std::uint64_t>(totals.matches + 1);
      const sluice::cuda::Memory sequence_start = device.allocate_array<std::uint32_t>(totals.matches);
      cuda::DeviceMatches matches;
      matches.first_place = first_place.as<std::uint64_t>();
      matches.sequence_start = sequence_start.as<std::uint32_t>();
      if (totals.places > max_places && given_up.get() == nullptr) {
        sluice::cuda::Memory too_many = device.allocate_array<std::uint8_t>(rows);
        sluice::cuda::check(cuda::write_matches(search, workspace, totals, reads, matches, multiprocessors, device.stream()), "write_matches");
        sluice::cuda::check(cuda::write_rows(reads, matches, totals, {.too_many = too_many.as<std::uint8_t>()}, device.stream()), "write_rows");
        const std::vector<std::uint8_t> flags = device.download(too_many.as<std::uint8_t>(), rows);
        if (std::find(flags.begin(), flags.end(), 1) != flags.end()) {
          for (std::size_t row = 0; row < rows; ++row)
            if (flags[row] != 0) out.fail(static_cast<std::int64_t>(row), Reason::too_many_matches);
          given_up = std::move(too_many);
          reads.given_up = given_up.as<std::uint8_t>();
          continue;
        }
      }
      give_from_device(device, search, workspace, totals, reads, matches, multiprocessors, out);
      return;
    }
  }
#endif

 private:
  static constexpr std::size_t max_read = std::numeric_limits<std::int32_t>::max() - 64;
  static constexpr std::size_t columns = 6;
  static constexpr const char* column_names[columns] = {"match_reverse", "match_start", "match_end", "match_count", "match_places", "match_place"};

  // Anchors name contigs by number.
  void refuse_other_contigs(const MinimizerIndexView& wanted) const {
    bool same = index_.contigs() == wanted.contigs();
    for (std::size_t i = 0; same && i < wanted.contigs(); ++i)
      same = index_.contig_name(i) == wanted.contig_name(i) && index_.contig_begin[i + 1] - index_.contig_begin[i] == wanted.contig_length[i];
    if (!same)
      throw Failure::input("the FM-index and the minimizer index are not of the same contigs",
                           "make both from the same sequences, or leave the FM-index out");
  }

  void search(const Batch& in, const TextView& bases, std::size_t end_row, std::size_t strands, Output& out, Part& part) const {
    const std::size_t count = end_row - part.first_row;
    part.reads.resize(std::max(part.reads.size(), count * strands));
    part.found.resize(std::max(part.found.size(), count * strands));
    part.tasks.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::int64_t>(part.first_row + i);
      for (std::size_t strand = 0; strand < strands; ++strand) part.found[i * strands + strand].clear();
      if (!in.ok(row)) continue;
      if (bases[row].size() > max_read) {
        out.fail(row, Reason::too_long);
        continue;
      }
      PackedRead* read = &part.reads[i * strands];
      pack_read(bases[row], read[0]);
      if (strands == 2) reverse_complement(read[0], read[1]);
      for (std::size_t strand = 0; strand < strands; ++strand) part.tasks.push_back({&read[strand], &part.found[i * strands + strand]});
    }
    if (options_.definition == Definition::maximal)
      find_maximal(index_.tables, text_parts_, options_, part.tasks);
    else
      find_longest_left(index_.tables, options_, part.tasks);
    if (wants_anchors_) part.anchors.resize(std::max(part.anchors.size(), count));
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::int64_t>(part.first_row + i);
      if (wants_anchors_) part.anchors[i].clear();
      Matches* found = &part.found[i * strands];
      if (found[0].too_many || found[strands - 1].too_many) {
        out.fail(row, Reason::too_many_matches);
        for (std::size_t strand = 0; strand < strands; ++strand) found[strand].clear();
      }
      if (!wants_anchors_ || !in.ok(row)) continue;
      const auto length = static_cast<std::int32_t>(bases[row].size());
      if (joins_strands_) join_strands(found[0], found[1], length, options_.max_occurrences, part.uses);
      add_anchors(index_, found[0], Strand::forward, length, part.uses.forward, part.anchors[i]);
      if (strands == 2) add_anchors(index_, found[1], Strand::reverse, length, part.uses.reverse, part.anchors[i]);
      finish_anchors(part.anchors[i]);
    }
  }

  template <Element T, class PartOf, class Value>
  static void give_list(const char* name, const Buffer& offsets, std::size_t rows, std::size_t strands, const PartOf& part_of, Output& out,
                        Value&& value) {
    T* to = out.list<T>(name, offsets).data();
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t strand = 0; strand < strands; ++strand)
        for (const Match& match : part_of(static_cast<std::int64_t>(row)).found[row % reads_at_once * strands + strand].matches)
          *to++ = value(match, strand);
  }

  template <class PartOf>
  void give_matches(std::size_t rows, std::size_t strands, const PartOf& part_of, Output& out) const {
    const auto size = [&](std::int64_t row, auto&& of) {
      std::size_t sum = 0;
      for (std::size_t strand = 0; strand < strands; ++strand)
        sum += of(part_of(row).found[static_cast<std::size_t>(row) % reads_at_once * strands + strand]);
      return sum;
    };
    const Buffer offsets = out.offsets([&](std::int64_t row) { return size(row, [](const Matches& found) { return found.matches.size(); }); });
    if (wants_[0])
      give_list<std::uint8_t>(column_names[0], offsets, rows, strands, part_of, out,
                              [](const Match&, std::size_t strand) { return static_cast<std::uint8_t>(strand); });
    if (wants_[1])
      give_list<std::int32_t>(column_names[1], offsets, rows, strands, part_of, out, [](const Match& match, std::size_t) { return match.start; });
    if (wants_[2])
      give_list<std::int32_t>(column_names[2], offsets, rows, strands, part_of, out, [](const Match& match, std::size_t) { return match.end; });
    if (wants_[3])
      give_list<std::uint32_t>(column_names[3], offsets, rows, strands, part_of, out, [](const Match& match, std::size_t) { return match.count; });
    if (wants_[4])
      give_list<std::uint32_t>(column_names[4], offsets, rows, strands, part_of, out, [](const Match& match, std::size_t) { return match.listed; });
    if (!wants_[5]) return;
    const Buffer place_offsets = out.offsets([&](std::int64_t row) { return size(row, [](const Matches& found) { return found.places.size(); }); });
    std::uint32_t* to = out.list<std::uint32_t>(column_names[5], place_offsets).data();
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t strand = 0; strand < strands; ++strand) {
        const Matches& found = part_of(static_cast<std::int64_t>(row)).found[row % reads_at_once * strands + strand];
        to = std::copy(found.places.begin(), found.places.end(), to);
      }
  }

  template <class PartOf>
  void give_anchors(std::size_t rows, const PartOf& part_of, Output& out) const {
    const auto of = [&](std::int64_t row) -> const Anchors& { return part_of(row).anchors[static_cast<std::size_t>(row) % reads_at_once]; };
    const Buffer offsets = out.offsets([&](std::int64_t row) { return of(row).anchors.size(); });
    const Buffer seed_offsets = out.offsets([&](std::int64_t row) { return of(row).seeds.size(); });
    std::uint64_t* x = out.list<std::uint64_t>("anchor_x", offsets).data();
    std::uint64_t* y = out.list<std::uint64_t>("anchor_y", offsets).data();
    std::uint64_t* seeds = out.list<std::uint64_t>("seed_position", seed_offsets).data();
    const std::span<std::int32_t> repeat_length = out.column<std::int32_t>("repeat_length");
    for (std::size_t row = 0; row < rows; ++row) {
      const Anchors& anchors = of(static_cast<std::int64_t>(row));
      for (const Anchors::Anchor& anchor : anchors.anchors) *x++ = anchor.x, *y++ = anchor.y;
      seeds = std::copy(anchors.seeds.begin(), anchors.seeds.end(), seeds);
      repeat_length[row] = anchors.repeat_length;
    }
  }

#ifdef SLUICE_WITH_CUDA
  // The columns, which stay on the device.
  void give_from_device(const sluice::cuda::DeviceCall& device, const WordSearch& search, const cuda::Workspace& workspace,
                        const cuda::Totals& totals, const cuda::DeviceReads& reads, cuda::DeviceMatches matches, int multiprocessors,
                        Output& out) const {
    const auto rows = static_cast<std::size_t>(reads.rows);
    sluice::cuda::Memory column[columns];
    for (std::size_t i = 0; i < columns; ++i) {
      const std::size_t bytes = i == 0 ? totals.matches : sizeof(std::uint32_t) * (i == 5 ? totals.places : totals.matches);
      if (wants_[i]) column[i] = device.allocate(bytes);
    }
    matches.reverse = column[0].as<std::uint8_t>();
    matches.start = column[1].as<std::int32_t>();
    matches.end = column[2].as<std::int32_t>();
    matches.count = column[3].as<std::uint32_t>();
    matches.listed = column[4].as<std::uint32_t>();
    matches.places = column[5].as<std::uint32_t>();
    const sluice::cuda::Memory match_offsets = device.allocate_array<std::int64_t>(rows + 1);
    const sluice::cuda::Memory place_offsets = device.allocate_array<std::int64_t>(rows + 1);
    sluice::cuda::Memory read_length = device.allocate_array<std::int32_t>(rows);
    sluice::cuda::check(cuda::write_matches(search, workspace, totals, reads, matches, multiprocessors, device.stream()), "write_matches");
    const cuda::DeviceRows device_rows{match_offsets.as<std::int64_t>(), place_offsets.as<std::int64_t>(), read_length.as<std::int32_t>()};
    sluice::cuda::check(cuda::write_rows(reads, matches, totals, device_rows, device.stream()), "write_rows");
    device.add_column<std::int32_t>(out, "read_length", std::move(read_length));
    const auto add_list = [&]<Element T>(std::size_t i, const sluice::cuda::Memory& offsets, std::uint64_t count) {
      if (wants_[i]) device.add_list<T>(out, column_names[i], offsets, std::move(column[i]), static_cast<std::int64_t>(count));
    };
    add_list.template operator()<std::uint8_t>(0, match_offsets, totals.matches);
    add_list.template operator()<std::int32_t>(1, match_offsets, totals.matches);
    add_list.template operator()<std::int32_t>(2, match_offsets, totals.matches);
    add_list.template operator()<std::uint32_t>(3, match_offsets, totals.matches);
    add_list.template operator()<std::uint32_t>(4, match_offsets, totals.matches);
    add_list.template operator()<std::uint32_t>(5, place_offsets, totals.places);
  }

  sluice::cuda::PerDevice<DeviceIndex> indexes_;
  SearchMemory search_memory_;
#endif

  // Shorter matches are everywhere in texts that are worth a device.
  static constexpr std::int32_t least_device_length = 5;

  FmIndexView index_;
  SearchOptions options_;
  std::vector<TextPart> text_parts_;
  bool wants_anchors_ = false;
  bool joins_strands_ = false;
  bool wants_[columns] = {};
  Workspaces<Part> workspaces_;
};

}  // namespace
}  // namespace sluice::mem_seeding

SLUICE_PLUGIN("mem_seeding", "0.1.0", "MIT", sluice::mem_seeding::MemSeeding);
