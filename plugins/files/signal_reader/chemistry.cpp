// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/chemistry.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice::signal_reader {
namespace {

enum class Pore : std::uint8_t { unknown, r9, r9_5, r10_0, r10_3, r10_4, r10_4_1, rna_004 };
// What a kit is for. `r9_time`: DNA of R9.4.1 and of the pores that came beside it; `q20`: chemistry 12, of R10.4, which was also sold for R9.4.1.
enum class Kit : std::uint8_t { none, unknown, r9_time, q20, r10_4_1, rna_r9, rna_004 };

std::string upper_case(std::string_view text) {
  std::string result(text == "." ? std::string_view() : text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The kit without its maker's prefix and what stands behind the first word: LSK114 of SQK-LSK114-XL.
std::string_view word_of_kit(std::string_view kit) {
  for (const std::string_view prefix : {"SQK-", "OND-SQK-", "EXP-"})
    if (kit.starts_with(prefix)) kit.remove_prefix(prefix.size());
  while (kit.starts_with("-")) kit.remove_prefix(1);
  if (kit.starts_with("260")) kit.remove_prefix(3);  // dorado writes one kit of 260 bases a second so
  return kit.substr(0, kit.find('-'));
}

Kit kit_of(std::string_view kit) {
  constexpr std::array<std::string_view, 35> r9_time = {"CS9109", "LRK001", "LWP001", "LWB001", "PSK004", "PBK004", "RAD001", "RAD002", "RAD003",
                                                        "RAD004", "RAS201", "RAB201", "RAB204", "RBK001", "RBK004", "RLB001", "RLI001", "RPB004",
                                                        "ULK001", "16S024", "RBP004", "MAP005", "MAP006", "NSK007", "LSK007", "NBD103", "NBD104",
                                                        "LWK001", "LSK308", "LSK309", "PCB004", "CAS106", "DNA001", "LSK208", "EXP103"};
  constexpr std::array<std::string_view, 5> q20 = {"LSK112", "NBD112", "RBK112", "RAD112", "Q20EA"};
  if (kit.empty()) return Kit::none;
  const std::string_view word = word_of_kit(kit);
  if (word == "RNA004" || word == "DRB004") return Kit::rna_004;
  if (word == "RNA001" || word == "RNA002") return Kit::rna_r9;
  if (word.find("114") != std::string_view::npos || kit.find("114") != std::string_view::npos) return Kit::r10_4_1;
  if (is_one_of(word, q20)) return Kit::q20;
  if (is_one_of(word, r9_time) || kit.starts_with("VSK-") || word == "VSK") return Kit::r9_time;
  // Three letters and the number of their time: LSK109, PCS111.
  constexpr std::array<std::string_view, 4> times = {"108", "109", "110", "111"};
  if (word.size() == 6 && is_one_of(word.substr(3), times)) return Kit::r9_time;
  return Kit::unknown;
}

Pore pore_of_flow_cell(std::string_view flow_cell) {
  const auto has = [&](std::string_view number) { return flow_cell.find(number) != std::string_view::npos; };
  if (flow_cell.empty()) return Pore::unknown;
  if (has("004RA")) return Pore::rna_004;
  if (has("114")) return Pore::r10_4_1;
  if (has("112")) return Pore::r10_4;
  if (has("111")) return Pore::r10_3;
  if (has("MIN110")) return Pore::r10_0;
  if (has("MIN107")) return Pore::r9_5;
  for (const std::string_view number : {"FLG001", "MIN106", "MINSP6", "PRO001", "PRO002"})
    if (has(number)) return Pore::r9;
  return Pore::unknown;
}

const char* dna_name(Pore pore) {
  switch (pore) {
    case Pore::r9_5:
      return "dna_r9_5";
    case Pore::r10_0:
      return "dna_r10_0";
    case Pore::r10_3:
      return "dna_r10_3";
    case Pore::r10_4:
      return "dna_r10_4";
    case Pore::r10_4_1:
      return "dna_r10";
    case Pore::rna_004:
      return "rna_004";
    default:
      return "dna_r9";
  }
}

// "" if the name of a configuration or model says nothing.
const char* of_configuration(std::string_view configuration) {
  struct Name {
    std::string_view part;
    const char* chemistry;
  };
  constexpr std::array<Name, 11> names = {{{"R10.4.1", "dna_r10"},
                                           {"R10.4_", "dna_r10_4"},
                                           {"R10.3_", "dna_r10_3"},
                                           {"DNA_R10_450", "dna_r10_0"},
                                           {"RNA004", "rna_004"},
                                           {"RNA_RP4", "rna_004"},
                                           {"R9P4P1-W97A", "rna_004"},
                                           {"RNA_R9", "rna_r9"},
                                           {"RNA002", "rna_r9"},
                                           {"DNA_R9.5", "dna_r9_5"},
                                           {"DNA_R9.4.1", "dna_r9"}}};
  for (const Name& name : names)
    if (configuration.find(name.part) != std::string_view::npos) return name.chemistry;
  return "";
}

// Samples per second that its runs have; 260 and 400 bases a second alike.
bool has_rate(std::string_view chemistry, double rate_hz) {
  if (chemistry == "rna_r9") return rate_hz >= 3000 && rate_hz <= 3012;
  return rate_hz == 4000 || (chemistry == "dna_r10" && rate_hz == 5000);
}

// The facts as one case of the table after the other looks at them.
class Judge {
 public:
  explicit Judge(const ChemistryFacts& facts)
      : facts_(facts),
        kit_name_(upper_case(facts.kit)),
        type_(upper_case(facts.experiment_type)),
        configuration_(upper_case(facts.configuration)),
        configured_(of_configuration(configuration_)),
        flow_cell_(upper_case(facts.flow_cell)),
        pore_(pore_of_flow_cell(flow_cell_)),
        kit_(kit_of(kit_name_)) {}

  Chemistry verdict() {
    // RNA is the kit's matter, the pore that of the flow cell.
    if (kit_ == Kit::rna_004 || pore_ == Pore::rna_004)
      take_rna_004();
    else if (kit_ == Kit::rna_r9)
      take_rna_r9();
    else if (type_ == "RNA" && kit_ != Kit::r10_4_1 && may_be_rna())
      take_type_rna();
    else if (pore_ != Pore::unknown)
      take_flow_cell();
    else if (kit_is_known())
      take_kit();
    else
      take_what_is_left();
    add_general_doubts();
    return std::move(found_);
  }

 private:
  void take_rna_004() {
    found_.name = "rna_004";
    const bool belong = (kit_ == Kit::rna_004 || !kit_is_known()) && (pore_ == Pore::rna_004 || pore_ == Pore::unknown);
    if (!belong) doubt_pair();
  }
  void take_rna_r9() {
    // The first runs of RNA004, on PromethION, had the kit of RNA002 in their headers, and the rate of today's.
    const bool has_sign = configured_.empty() && facts_.rate_hz == 4000 && word_of_kit(kit_name_) == "RNA002" && !flow_cell_.starts_with("FLO-MIN");
    found_.name = has_sign || configured_ == "rna_004" ? "rna_004" : "rna_r9";
    if (has_sign) doubt("says '" + std::string(facts_.kit) + "' with 4000 Hz, as the first runs of RNA004 did");
    if (!may_be_rna()) doubt_pair();
  }
  void take_type_rna() {
    const bool is_slow = has_rate("rna_r9", facts_.rate_hz);
    found_.name = configured_ == "rna_004" || (configured_.empty() && facts_.rate_hz == 4000) ? "rna_004" : "rna_r9";
    if (kit_is_known())
      doubt("says the experiment type rna and the sequencing kit '" + std::string(facts_.kit) + "' of DNA");
    else if (configured_.empty() && !is_slow && (facts_.rate_hz == 4000 || pore_ == Pore::unknown))
      doubt("says that it is of RNA, and not by which sequencing kit");
  }
  void take_flow_cell() {
    found_.name = dna_name(pore_);
    const bool belong = kit_ == Kit::r10_4_1 ? pore_ == Pore::r10_4_1
                        : kit_ == Kit::q20   ? pore_ == Pore::r10_4 || pore_ == Pore::r9
                                             : pore_ != Pore::r10_4_1 && pore_ != Pore::r10_4;
    if (kit_is_known()) {
      if (!belong) doubt_pair();
      return;
    }
    if (!may_be_rna() || !type_.empty()) return;
    // DNA or RNA?
    if (configured_ == "rna_r9" || configured_ == "rna_004") {
      found_.name = configured_;
    } else if (has_rate("rna_r9", facts_.rate_hz)) {
      found_.name = "rna_r9";
      doubt("does not say whether it is of RNA, and has the rate of RNA002");
    } else if (configured_.empty()) {
      doubt("does not say whether its flow cell " + std::string(facts_.flow_cell) + " was used for DNA or RNA");
    }
  }
  void take_kit() {
    found_.name = kit_ == Kit::r10_4_1 ? "dna_r10" : "dna_r9";
    if (kit_ == Kit::r10_4_1) return;
    constexpr std::array<std::string_view, 4> of_r9_time = {"dna_r9", "dna_r9_5", "dna_r10_0", "dna_r10_3"};
    constexpr std::array<std::string_view, 3> of_q20 = {"dna_r10_4", "dna_r9", "dna_r10"};
    if (kit_ == Kit::q20 ? is_one_of(configured_, of_q20) : is_one_of(configured_, of_r9_time))
      found_.name = configured_;
    else
      doubt("is of the sequencing kit '" + std::string(facts_.kit) + "', which was used with the pores " +
            (kit_ == Kit::q20 ? "R10.4 and R9.4.1" : "R9.4.1, R9.5, R10 and R10.3") + ", and does not say its flow cell");
  }
  void take_what_is_left() {
    if (!configured_.empty()) {
      found_.name = configured_;
      return;
    }
    found_.name = has_rate("rna_r9", facts_.rate_hz) ? "rna_r9" : "dna_r9";
    if (kit_ == Kit::unknown)
      doubt("is of the sequencing kit '" + std::string(facts_.kit) + "', which sluice does not know");
    else
      doubt("does not say its sequencing kit or its flow cell");
  }
  void add_general_doubts() {
    if (pore_ == Pore::unknown && !flow_cell_.empty())
      doubt("is of the flow cell '" + std::string(facts_.flow_cell) + "', which sluice does not know");
    if (type_ == "RNA" && !found_.name.starts_with("rna")) doubt("says the experiment type rna");
    // Where the basecaller was set up for another pore, the header was filled in wrongly, or the reads were.
    if (!configured_.empty() && configured_ != found_.name)
      doubt("was basecalled as " + configured_ + " ('" + std::string(facts_.configuration) + "')");
    if (facts_.rate_hz > 0 && !has_rate(found_.name, facts_.rate_hz))
      doubt("has a sampling rate of " + std::to_string(static_cast<long long>(std::min(facts_.rate_hz, 1e15))) + " Hz, which runs of " + found_.name +
            " do not have");
    if (found_.name == "dna_r10" &&
        (kit_name_.find("260") != std::string::npos || word_of_kit(kit_name_) == "APK114" || configuration_.find("260BPS") != std::string::npos))
      doubt("is of 260 bases a second, and what is built in is of 400");
  }

  bool kit_is_known() const { return kit_ != Kit::none && kit_ != Kit::unknown; }
  // R9.4.1 and R9.5 read both, as long as nothing else says which.
  bool may_be_rna() const { return pore_ == Pore::unknown || pore_ == Pore::r9 || pore_ == Pore::r9_5; }
  void doubt(const std::string& text) { found_.doubt += (found_.doubt.empty() ? "" : ", and ") + text; }
  void doubt_pair() {
    doubt("says the flow cell " + std::string(facts_.flow_cell) + " and the sequencing kit '" + std::string(facts_.kit) +
          "', which do not belong together");
  }

  const ChemistryFacts& facts_;
  std::string kit_name_, type_, configuration_, configured_, flow_cell_;
  Pore pore_;
  Kit kit_;
  Chemistry found_;
};

}  // namespace

Chemistry chemistry_of(const ChemistryFacts& facts) { return Judge(facts).verdict(); }

namespace {

std::string_view first_of(const Slow5Header& header, std::uint32_t read_group, std::initializer_list<std::string_view> names) {
  std::string_view value;
  for (const std::string_view name : names)
    if (value.empty() || value == ".") value = header.attribute(name, read_group);
  return value;
}
std::string_view flow_cell_of(const Slow5Header& header, std::uint32_t read_group) {
  return first_of(header, read_group, {"flow_cell_product_code", "flowcell_type", "flow_cell_type"});
}
std::string_view kit_of(const Slow5Header& header, std::uint32_t read_group) {
  const std::string_view kit = first_of(header, read_group, {"sequencing_kit", "experiment_kit"});
  return kit == "genomic_dna" || kit == "rna" ? std::string_view() : kit;  // what experiment_kit says in headers of 2016 and 2017
}

}  // namespace

Chemistry chemistry_of(const Slow5Header& header, std::uint32_t read_group, std::string_view basecall_model) {
  ChemistryFacts facts;
  facts.flow_cell = flow_cell_of(header, read_group);
  facts.kit = kit_of(header, read_group);
  facts.experiment_type = header.attribute("experiment_type", read_group);
  facts.configuration = basecall_model.empty() ? first_of(header, read_group, {"basecall_config_filename", "basecall_model"}) : basecall_model;
  const std::string_view rate = first_of(header, read_group, {"sample_frequency", "sample_rate"});
  std::from_chars(rate.data(), rate.data() + rate.size(), facts.rate_hz);
  return chemistry_of(facts);
}

bool tells_chemistry(const Slow5Header& header, std::uint32_t read_group) {
  const auto is_said = [](std::string_view value) { return !value.empty() && value != "."; };
  return is_said(flow_cell_of(header, read_group)) || is_said(kit_of(header, read_group));
}

std::uint32_t telling_read_group(const Slow5Header& header) {
  for (std::uint32_t group = 0; group < header.read_groups; ++group)
    if (tells_chemistry(header, group)) return group;
  return 0;
}

}  // namespace sluice::signal_reader
