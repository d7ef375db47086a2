// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <optional>
#include <sluice/hts/region_file.hpp>
#include <sluice/region_table.hpp>
#include <sluice/stage.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace sluice::region_filter {
namespace {

const sluice_column& column_of(const Batch& batch, const std::string& name) {
  const sluice_column* column = batch.find(name);
  if (column == nullptr) throw std::logic_error("a batch lacks the column '" + name + "', which the plan has seen");
  return *column;
}

// Whole numbers of a column of any such type.
class WholeNumbers {
 public:
  WholeNumbers(const Batch& batch, const std::string& name) {
    const std::string_view type = column_of(batch, name).type;
    const bool known = take<std::int64_t>(batch, name, type) || take<std::int32_t>(batch, name, type) || take<std::uint32_t>(batch, name, type) ||
                       take<std::uint8_t>(batch, name, type) || take<std::int8_t>(batch, name, type) || take<std::int16_t>(batch, name, type) ||
                       take<std::uint16_t>(batch, name, type);
    if (!known) throw Failure::usage("column '" + name + "' holds no whole numbers but " + std::string(type), "name a column of positions");
  }
  std::int64_t operator[](std::int64_t row) const { return at_(values_, row); }

 private:
  template <Element T>
  bool take(const Batch& batch, const std::string& name, std::string_view type) {
    if (type != element_type<T>().name) return false;
    values_ = batch.column<T>(name).data();
    at_ = [](const void* values, std::int64_t row) { return static_cast<std::int64_t>(static_cast<const T*>(values)[row]); };
    return true;
  }
  const void* values_ = nullptr;
  std::int64_t (*at_)(const void* values, std::int64_t row) = nullptr;
};

class InRegions {
 public:
  struct Parameters {
    Path regions;
    std::string contig = "contig", start = "ref_start", end = "ref_end", strand;
    bool whole = false;
  };
  enum class Reason : std::uint32_t { outside_regions };

  static void describe(Describe<InRegions>& d) {
    d.id("in_regions").summary("keeps the rows that lie in regions of a BED file, and says in which").map("*").work_unit("row");
    d.doc(
        "A row that has a base in a region is kept, with whole = true one that lies in it as a whole. The column region has the regions' names, or "
        "their contigs' where they have none: by start, each once, with commas between them. The other rows are filtered, not bad.");
    d.needs("*", "*", "the columns of a row's place", Needed::optional);
    d.gives("region", "utf8", "names of the regions that the row lies in, with commas between them");
    d.option("regions", &Parameters::regions, "BED file, or table of contigs and regions; .gz allowed").required().reads();
    d.option("contig", &Parameters::contig, "text column: the contig").columns();
    d.option("start", &Parameters::start, "column with the first position, 0-based").columns();
    d.option("end", &Parameters::end, "column with the end, exclusive; empty: rows are of one base").columns();
    d.option("strand", &Parameters::strand, "column that is 1 for the reverse strand; empty: strands of the regions do not count").columns();
    d.option("whole", &Parameters::whole, "a row must lie in a region as a whole");
    d.reason("outside_regions", "the row lies in no region");
  }
  static void check_parameters(const Parameters& p) {
    for (const std::string* name : {&p.contig, &p.start, &p.end, &p.strand})
      if (name->find(',') != std::string::npos) throw Failure::usage("'" + *name + "' names more than one column", "name one");
    if (p.contig.empty() || p.start.empty()) throw Failure::usage("contig and start are columns that every row has", "name them");
  }

  InRegions(const Setup& setup, const Parameters& p) : p_(p), index_(hts::read_region_table(setup, p.regions)) {}

  void process(const Call& call, const Batch& in, Output& out) const {
    const std::string_view type = column_of(in, p_.contig).type;
    if (type != "utf8") throw Failure::usage("column '" + p_.contig + "' holds no texts but " + std::string(type), "name the column of contigs");
    const TextView contigs = in.text(p_.contig);
    const WholeNumbers starts(in, p_.start);
    const std::optional<WholeNumbers> ends = numbers(in, p_.end), strands = numbers(in, p_.strand);
    std::vector<std::string> names(static_cast<std::size_t>(in.rows()));
    call.parallel_for(names.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row)) continue;
        const std::int64_t start = starts[row];
        const Place place{contigs[row], start, ends ? (*ends)[row] : start + 1, strands ? std::optional((*strands)[row] != 0) : std::nullopt};
        if (!append_names(place, names[i])) out.filter(row, Reason::outside_regions);
      }
    });
    out.text_rows("region", names);
  }

 private:
  struct Place {
    std::string_view contig;
    std::int64_t start, end;
    std::optional<bool> is_reverse;
  };
  static std::optional<WholeNumbers> numbers(const Batch& in, const std::string& name) {
    return name.empty() ? std::nullopt : std::optional(WholeNumbers(in, name));
  }
  // False: it is in none.
  bool append_names(const Place& place, std::string& names) const {
    std::unordered_set<std::string_view> labels;
    index_.for_each(place.contig, place.start, place.end, [&](std::size_t which) {
      const TableRegion& region = index_.regions()[which];
      if (p_.whole && (region.start > place.start || region.end < place.end)) return;
      if (place.is_reverse && region.strand == (*place.is_reverse ? RegionStrand::forward : RegionStrand::reverse)) return;
      if (!labels.insert(region.label).second) return;
      names += (labels.size() == 1 ? "" : ",") + region.label;
    });
    return !labels.empty();
  }

  Parameters p_;
  RegionIndex index_;
};

}  // namespace
}  // namespace sluice::region_filter

SLUICE_PLUGIN("region_filter", "0.1.0", "MIT", sluice::region_filter::InRegions);
