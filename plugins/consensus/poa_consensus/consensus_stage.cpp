// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/consensus_stage.hpp"

#include <span>

namespace sluice::poa_consensus {
namespace {

// Cells of the alignments: each sequence against a graph about as long as the sequences are on average.
double cells(std::span<const std::int32_t> lengths) {
  double letters = 0;
  for (const std::int32_t length : lengths) letters += length;
  return lengths.empty() ? 1 : 1 + letters * (letters / static_cast<double>(lengths.size()));
}

}  // namespace

void PoaConsensus::describe(Describe<PoaConsensus>& d) {
  d.id("poa_consensus")
      .map("window")
      .summary("makes the consensus of each window by partial order alignment")
      .doc(
          "The sequences of a window are merged into a partial order graph one after the other. The consensus is the graph's heaviest bundle, with "
          "the same letters as spoa 4.0.8, or the majority of each column of the alignment. Layers (sequences that belong to a part of sequence 0) "
          "are aligned to that part of the graph, as in racon 1.5.0.")
      .work_unit("cell")
      .host_columns();
  d.needs("sequences", "utf8", "the window's sequences, one after the other")
      .needs("sequence_length", "list<i32>", "length of each")
      .needs("sequence_qualities", "utf8", "Phred scores + 33 of all their letters; empty: every letter weighs 1", Needed::optional)
      .needs("layer_begin", "list<i32>", "per sequence: first position on sequence 0", Needed::optional)
      .needs("layer_end", "list<i32>", "per sequence: last position on sequence 0", Needed::optional)
      .needs("window_name", "utf8", "what segments and paths of the graph are named after", Needed::optional);
  d.gives("consensus", "utf8", "the window's consensus")
      .gives("is_polished", "u8", "0: too few sequences, sequence 0 was kept")
      .gives("consensus_coverage", "list<i32>", "per base: sequences with a letter there", Needed::optional)
      .gives("consensus_support", "list<i32>", "per base: sequences with that letter there", Needed::optional)
      .gives("msa", "utf8", "the sequences with gaps, each followed by a newline", Needed::optional)
      .gives("graph_gfa", "utf8", "lines of GFA: the window's graph, without the header", Needed::optional)
      .gives("graph_dot", "utf8", "the window's graph as DOT", Needed::optional)
      .gives("haplotypes", "utf8", "with most_haplotypes above 1: consensus of each haplotype, each followed by a newline", Needed::optional)
      .gives("haplotype_of", "list<i32>", "with most_haplotypes above 1: number of each sequence's haplotype, from 0", Needed::optional);
  d.option("algorithm", &Parameters::algorithm, "heaviest_bundle: spoa's; majority: of each column").choices({"heaviest_bundle", "majority"});
  d.option("alignment", &Parameters::alignment, "of a sequence to the graph").choices({"global", "local", "semi_global"});
  d.option("match", &Parameters::match, "score of equal letters").range(-128, 127);
  d.option("mismatch", &Parameters::mismatch, "score of different letters").range(-128, 127);
  d.option("gap_open", &Parameters::gap_open, "score of a gap's first base").range(-128, 0);
  d.option("gap_extend", &Parameters::gap_extend, "score of each further base of a gap; not above gap_open: the same for all").range(-128, 0);
  d.option("second_gap_open", &Parameters::second_gap_open,
           "score of a gap's first base in the second piece; a gap scores the better of both (spoa -q, there -10)")
      .range(-128, 0);
  d.option("second_gap_extend", &Parameters::second_gap_extend, "score of each further base in the second piece (spoa -c, there -4)").range(-128, 0);
  d.option("strands", &Parameters::strands,
           "either: a sequence's reverse complement is merged where it scores more (spoa -s); not in windows with layers")
      .choices({"as_given", "either"});
  d.option("most_haplotypes", &Parameters::most_haplotypes, "tell apart up to so many haplotypes, each with a consensus of its own").range(1, 100);
  d.option("min_frequency", &Parameters::min_frequency, "least share of the sequences that a haplotype has").range(0, 0.5);
  d.option("layer_order", &Parameters::layer_order, "order of merging: file: as they come; racon: by layer_begin").choices({"file", "racon"});
  d.option("trim", &Parameters::trim, "racon: cut the ends that less than half of the layers cover").choices({"none", "racon"});
  d.option("min_sequences", &Parameters::min_sequences, "windows of fewer sequences keep sequence 0 (racon: 3)").range(1, 1000000);
  d.option("min_support", &Parameters::min_support, "majority: a column that fewer sequences agree on is undecided")
      .range(0, 1000000)
      .unit("sequences");
  d.option("template_fallback", &Parameters::template_fallback,
           "majority: undecided columns take sequence 0's letter, or its gap; else their first letter");
  d.option("rounds", &Parameters::rounds,
           "merge all sequences so often; from the second time on into a graph that begins with the consensus so far. Not of windows with layers; "
           "without it once for heaviest_bundle, twice for majority")
      .range(1, 10);
  d.option("layer_rounds", &Parameters::layer_rounds,
           "the same of windows with layers: from the second time on the consensus so far is the backbone, where each layer lies as it was aligned")
      .range(1, 10);
  d.option("compat", &Parameters::compat, "spoa: graph_gfa has spoa's overlaps, OM with a letter O instead of 0M").choices({"none", "spoa"});
  d.option("matrix", &Parameters::matrix, "windows that need a larger matrix fail");
#ifdef SLUICE_WITH_CUDA
  d.implementation<&PoaConsensus::process_cuda>(
      "cuda",
      "a warp a window, from the first sequence to the consensus; global alignment with linear gaps; windows that do not fit are made by the CPU");
#endif
  d.reason("bad_sequences", "lengths, letters and qualities of the sequences do not fit each other");
  d.reason("bad_layers", "a layer does not lie on sequence 0");
  d.reason("too_large", "an alignment of the window needs more memory than the option matrix allows");
}

void PoaConsensus::check_parameters(const Parameters& p) {
  if (p.alignment == "local" && p.match <= 0)
    throw Failure::usage("a local alignment needs a positive score of equal letters", "give match a value above 0");
  if (p.second_gap_open.has_value() != p.second_gap_extend.has_value())
    throw Failure::usage("a second piece of the gap's cost has an opening and an extension", "give both second_gap_open and second_gap_extend");
}

PoaConsensus::PoaConsensus(const Setup& setup, const Parameters& p)
    : has_qualities_(setup.available("sequence_qualities")),
      has_layers_(setup.available("layer_begin") && setup.available("layer_end")),
      has_name_(setup.available("window_name")),
      wants_coverage_(setup.wanted("consensus_coverage")),
      wants_support_(setup.wanted("consensus_support")),
      wants_text_{true, setup.wanted("msa"), setup.wanted("graph_gfa"), setup.wanted("graph_dot"), setup.wanted("haplotypes")},
      wants_haplotype_of_(setup.wanted("haplotype_of")) {
  parameters_.algorithm = p.algorithm == "majority" ? Algorithm::majority : Algorithm::heaviest_bundle;
  Scoring& scoring = parameters_.scoring;
  scoring.mode = p.alignment == "local" ? AlignmentMode::local : p.alignment == "semi_global" ? AlignmentMode::semi_global : AlignmentMode::global;
  scoring.match = static_cast<std::int32_t>(p.match);
  scoring.mismatch = static_cast<std::int32_t>(p.mismatch);
  scoring.gap_open = static_cast<std::int32_t>(p.gap_open);
  scoring.gap_extend = static_cast<std::int32_t>(p.gap_extend);
  if (p.second_gap_open && p.second_gap_extend) {
    scoring.second_gap_open = static_cast<std::int32_t>(*p.second_gap_open);
    scoring.second_gap_extend = static_cast<std::int32_t>(*p.second_gap_extend);
  }
  parameters_.strands = p.strands == "either" ? Strands::either : Strands::as_given;
  parameters_.groups = {static_cast<std::int32_t>(p.most_haplotypes), p.min_frequency};
  parameters_.layer_order = p.layer_order == "racon" ? LayerOrder::racon : LayerOrder::file;
  parameters_.trim = p.trim == "racon" ? Trim::racon : Trim::none;
  parameters_.min_sequences = static_cast<std::int32_t>(p.min_sequences);
  parameters_.min_support = static_cast<std::int32_t>(p.min_support);
  parameters_.rounds = static_cast<std::int32_t>(p.rounds.value_or(parameters_.algorithm == Algorithm::majority ? 2 : 1));
  parameters_.layer_rounds = static_cast<std::int32_t>(p.layer_rounds);
  parameters_.undecided = p.template_fallback ? Undecided::keep_template : Undecided::take_letter;
  parameters_.matrix_bytes = p.matrix.bytes;
  parameters_.overlaps = p.compat == "spoa" ? Overlaps::spoa : Overlaps::gfa;
}

Estimate PoaConsensus::estimate(const Batch& in) const {
  const auto lengths = in.list<std::int32_t>("sequence_length");
  Estimate e;
  e.row_work.reserve(static_cast<std::size_t>(in.rows()));
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    const double work = in.ok(row) ? cells(lengths[row]) : 1;
    e.row_work.push_back(work);
    e.work += work;
    e.largest_row_work = std::max(e.largest_row_work, work);
  }
  const auto letters = in.text("sequences").offsets();
  e.output_bytes =
      static_cast<std::uint64_t>(letters.back() - letters.front()) * (1 + (wants(alignment) ? 1 : 0) + (wants(gfa) ? 20 : 0) + (wants(dot) ? 20 : 0));
  e.scratch_bytes = static_cast<std::uint64_t>(e.largest_row_work) * 2;
  return e;
}

void PoaConsensus::process(const Call& call, const Batch& in, Output& out) {
  give(call, in, out, [&](std::int64_t row, WindowConsensus& maker, WindowResult& result) { return maker.make(window(in, row), result); });
}

// A device aligns globally with linear gaps, each sequence on its strand.
bool PoaConsensus::offers(std::string_view device) const {
  const Scoring& scoring = parameters_.scoring;
  return device == "cpu" || (scoring.mode == AlignmentMode::global && scoring.gap_cost() == GapCost::linear && scoring.gap_open < 0 &&
                             scoring.gap_open >= -127 && parameters_.strands == Strands::as_given && parameters_.layer_rounds == 1 &&
                             (parameters_.rounds == 1 || parameters_.algorithm == Algorithm::majority));
}

Window PoaConsensus::window(const Batch& in, std::int64_t row) const {
  Window window;
  window.sequences = in.text("sequences")[row];
  window.lengths = in.list<std::int32_t>("sequence_length")[row];
  if (has_qualities_) window.qualities = in.text("sequence_qualities")[row];
  if (has_layers_) {
    window.layer_begin = in.list<std::int32_t>("layer_begin")[row];
    window.layer_end = in.list<std::int32_t>("layer_end")[row];
  }
  return window;
}

void PoaConsensus::give_row(const Call& call, const Batch& in, std::int64_t row, WindowConsensus& maker, const WindowResult& result, Part& part,
                            RowSize& size, std::uint8_t& is_polished) const {
  is_polished = result.is_polished ? 1 : 0;
  if (!result.is_polished) call.count("windows_kept", 1);
  if (result.is_untrimmed) call.count("windows_untrimmed", 1);
  if (result.haplotypes.size() > 1) call.count("windows_of_several_haplotypes", 1);
  if (wants_coverage_) part.coverage.insert(part.coverage.end(), result.coverage.begin(), result.coverage.end());
  if (wants_support_) part.support.insert(part.support.end(), result.support.begin(), result.support.end());
  const std::string_view name = has_name_ ? in.text("window_name")[row] : std::string_view("window");
  const auto append = [&](Text text, auto&& to) {
    if (!wants(text)) return;
    std::string& joined = part.text[text];
    const std::size_t before = joined.size();
    to(joined);
    size.text[text] = joined.size() - before;
  };
  append(consensus, [&](std::string& to) { to += result.consensus; });
  append(alignment, [&](std::string& to) { maker.append_alignment(to); });
  append(gfa, [&](std::string& to) { maker.append_gfa(name, to); });
  append(dot, [&](std::string& to) { maker.append_dot(name, to); });
  append(haplotypes, [&](std::string& to) {
    for (const Haplotype& haplotype : result.haplotypes) to.append(haplotype.consensus).append("\n");
  });
  if (!wants_haplotype_of_ || result.haplotypes.empty()) return;
  size.haplotype_of = in.list<std::int32_t>("sequence_length")[row].size();
  const std::size_t before = part.haplotype_of.size();
  part.haplotype_of.resize(before + size.haplotype_of);
  for (std::size_t number = 0; number < result.haplotypes.size(); ++number)
    for (const std::int32_t s : result.haplotypes[number].sequences)
      part.haplotype_of[before + static_cast<std::size_t>(s)] = static_cast<std::int32_t>(number);
}

void PoaConsensus::join(const std::vector<Part>& parts, const std::vector<RowSize>& sizes, Output& out) const {
  constexpr std::array<const char*, texts> columns = {"consensus", "msa", "graph_gfa", "graph_dot", "haplotypes"};
  const auto size = [&](std::int64_t row) -> const RowSize& { return sizes[static_cast<std::size_t>(row)]; };
  for (std::size_t text = 0; text < texts; ++text) {
    if (!wants_text_[text]) continue;
    auto to = out.text(columns[text], out.offsets([&](std::int64_t row) { return size(row).text[text]; })).begin();
    for (const Part& part : parts) to = std::copy(part.text[text].begin(), part.text[text].end(), to);
  }
  const auto join_list = [&](const char* column, std::vector<std::int32_t> Part::*values, auto&& row_size) {
    auto to = out.list<std::int32_t>(column, out.offsets(row_size)).begin();
    for (const Part& part : parts) to = std::copy((part.*values).begin(), (part.*values).end(), to);
  };
  if (wants_coverage_) join_list("consensus_coverage", &Part::coverage, [&](std::int64_t row) { return size(row).text[consensus]; });
  if (wants_support_) join_list("consensus_support", &Part::support, [&](std::int64_t row) { return size(row).text[consensus]; });
  if (wants_haplotype_of_) join_list("haplotype_of", &Part::haplotype_of, [&](std::int64_t row) { return size(row).haplotype_of; });
}

}  // namespace sluice::poa_consensus
