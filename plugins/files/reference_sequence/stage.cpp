// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdlib>
#include <mutex>
#include <new>
#include <sluice/hts/text_file.hpp>
#include <sluice/stage.hpp>
#include <utility>
#include <vector>

#include "reference_sequence/fasta.hpp"

namespace sluice::reference_sequence {
namespace {

// Text that grows in place: realloc moves pages instead of copying them, and nothing is zeroed first (a vector took 45 % of the loading time).
class GrowingText {
 public:
  GrowingText() = default;
  GrowingText(GrowingText&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  GrowingText& operator=(GrowingText&&) = delete;
  ~GrowingText() { std::free(bytes_); }
  void resize(std::size_t size) {
    void* grown = std::realloc(bytes_, size == 0 ? 1 : size);
    if (grown == nullptr) throw std::bad_alloc();
    bytes_ = static_cast<char*>(grown);
    size_ = size;
  }
  char* data() const { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

// The whole text of a plain, gzip or BGZF file.
GrowingText read_text(const Host& host, const std::string& path) {
  hts::TextFile file({path, "reference", "check the path of the FASTA file"}, 0);
  GrowingText text;
  std::size_t filled = 0;
  while (true) {
    if (text.size() - filled < (std::size_t{1} << 20)) text.resize(text.size() + text.size() / 2 + (std::size_t{4} << 20));
    const std::size_t got = file.read(text.data() + filled, text.size() - filled);
    if (got == 0) break;
    filled += got;
  }
  hts::warn_of_open_end(host, file);
  if (filled == 0) throw Failure::input("reference '" + path + "' is empty", "give a FASTA file");
  text.resize(filled);
  return text;
}

// All contigs of a FASTA file, in memory for the whole run.
class ReferenceSequence {
 public:
  struct Parameters {
    Path path;
    std::string ambiguous = "first_base";
  };
  static void describe(Describe<ReferenceSequence>& d) {
    d.id("reference_sequence").summary("loads reference sequences from a FASTA file").resource("contig");
    d.doc(
        "The file may be plain, gzip or bgzip. One row per contig, in file order. Bases are upper case; each IUPAC code becomes its first base in "
        "the order A, C, G, T (N becomes A), as f5c and nanopolish do, or N where `ambiguous` says so, and U becomes T. Any other character, and a "
        "name that comes twice, is an error.");
    d.option("path", &Parameters::path, "FASTA file, plain or compressed").required().reads();
    d.option("ambiguous", &Parameters::ambiguous, "what a code for several bases is read as: the first of them, or N").choices({"first_base", "n"});
    d.gives("name", "utf8", "name of the contig up to the first blank");
    d.gives("bases", "utf8", "its bases: A, C, G, T, and N if asked for");
    d.work_unit("base");
  }
  ReferenceSequence(const Setup&, const Parameters& p)
      : path_(p.path), ambiguous_(p.ambiguous == "n" ? AmbiguousBases::letter_n : AmbiguousBases::first_base) {}

  void process(const Call& call, Output& out) {
    const GrowingText text = read_text(call, path_);
    std::vector<ContigText> contigs;
    FastaProblem problem;
    if (!find_contigs({text.data(), text.size()}, contigs, problem)) fail(problem);
    out.set_rows(static_cast<std::int64_t>(contigs.size()));
    std::vector<std::string_view> names;
    for (const ContigText& contig : contigs) names.push_back(contig.name);
    out.text_rows("name", names);
    const Buffer offsets = out.offsets([&](std::int64_t row) { return contigs[static_cast<std::size_t>(row)].bases; });
    const std::span<char> bases = out.text("bases", offsets);
    const std::span<const std::int64_t> begin = offsets.as<std::int64_t>();
    std::mutex mutex;  // guards first_bad and problem
    std::size_t first_bad = contigs.size();
    call.parallel_for(contigs.size(), 1, [&](std::size_t from, std::size_t to) {
      FastaProblem here;
      for (std::size_t i = from; i < to; ++i) {
        if (copy_bases(contigs[i], ambiguous_, bases.data() + begin[i], here)) continue;
        const std::lock_guard lock(mutex);
        if (i < first_bad) first_bad = i, problem = here;
        return;
      }
    });
    if (first_bad != contigs.size()) fail(problem);
    out.set_attribute("path", path_);
  }

 private:
  [[noreturn]] void fail(const FastaProblem& problem) const {
    throw Failure::input(
        "reference '" + path_ + (problem.line == 0 ? std::string("': ") : "', line " + std::to_string(problem.line) + ": ") + problem.what,
        "give the FASTA file that the reads were aligned to");
  }
  std::string path_;
  AmbiguousBases ambiguous_;
};

}  // namespace
}  // namespace sluice::reference_sequence

SLUICE_PLUGIN("reference_sequence", "0.1.0", "MIT", sluice::reference_sequence::ReferenceSequence);
