// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <sluice/file_descriptor.hpp>
#include <sluice/hts/text_file.hpp>
#include <sluice/reference_text.hpp>
#include <sluice/stage.hpp>
#include <utility>
#include <vector>

#include "reference_sequence/contig_places.hpp"
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

[[noreturn]] void fail(const std::string& path, const FastaProblem& problem) {
  throw Failure::input(
      "reference '" + path + (problem.line == 0 ? std::string("': ") : "', line " + std::to_string(problem.line) + ": ") + problem.what,
      "give the FASTA file that the reads were aligned to");
}

AmbiguousBases ambiguous_of(const std::string& option) { return option == "n" ? AmbiguousBases::letter_n : AmbiguousBases::first_base; }

// Rows of all contigs, with their bases in this column.
void give_all(const Call& call, const std::string& path, AmbiguousBases ambiguous, const char* column, Output& out) {
  const GrowingText text = read_text(call, path);
  std::vector<ContigText> contigs;
  FastaProblem problem;
  if (!find_contigs({text.data(), text.size()}, contigs, problem)) fail(path, problem);
  out.set_rows(static_cast<std::int64_t>(contigs.size()));
  std::vector<std::string_view> names;
  for (const ContigText& contig : contigs) names.push_back(contig.name);
  out.text_rows("name", names);
  const Buffer offsets = out.offsets([&](std::int64_t row) { return contigs[static_cast<std::size_t>(row)].bases; });
  const std::span<char> bases = out.text(column, offsets);
  const std::span<const std::int64_t> begin = offsets.as<std::int64_t>();
  std::mutex mutex;  // guards first_bad and problem
  std::size_t first_bad = contigs.size();
  call.parallel_for(contigs.size(), 1, [&](std::size_t from, std::size_t to) {
    FastaProblem here;
    for (std::size_t i = from; i < to; ++i) {
      if (copy_bases(contigs[i], ambiguous, bases.data() + begin[i], here)) continue;
      const std::lock_guard lock(mutex);
      if (i < first_bad) first_bad = i, problem = here;
      return;
    }
  });
  if (first_bad != contigs.size()) fail(path, problem);
  out.set_attribute("path", path);
}

struct ReferenceParameters {
  Path path;
  std::string ambiguous = "first_base";
};
template <class Stage>
void describe_options(Describe<Stage>& d) {
  d.option("path", &ReferenceParameters::path, "FASTA file, plain or compressed").required().reads();
  d.option("ambiguous", &ReferenceParameters::ambiguous, "what a code for several bases is read as: the first of them, or N")
      .choices({"first_base", "n"});
  d.gives("name", "utf8", "name of the contig up to the first blank");
}

// All contigs of a FASTA file, in memory for the whole run.
class ReferenceSequence {
 public:
  using Parameters = ReferenceParameters;
  static void describe(Describe<ReferenceSequence>& d) {
    d.id("reference_sequence").summary("loads reference sequences from a FASTA file").resource("contig");
    d.doc(
        "The file may be plain, gzip or bgzip. One row per contig, in file order. Bases are upper case; each IUPAC code becomes its first base in "
        "the order A, C, G, T (N becomes A), as f5c and nanopolish do, or N where `ambiguous` says so, and U becomes T. Any other character, and a "
        "name that comes twice, is an error.");
    describe_options(d);
    d.gives("bases", "utf8", "its bases: A, C, G, T, and N if asked for");
    d.work_unit("base");
  }
  ReferenceSequence(const Setup&, const Parameters& p) : path_(p.path), ambiguous_(ambiguous_of(p.ambiguous)) {}
  void process(const Call& call, Output& out) { give_all(call, path_, ambiguous_, "bases", out); }

 private:
  std::string path_;
  AmbiguousBases ambiguous_;
};

// An open FASTA file, where its contigs lie in it, and room for their bases. Nothing of that room takes memory before it is written to.
struct OpenReference {
  FileDescriptor file;
  struct stat info {};
  ContigPlaces places;
  std::vector<std::uint8_t> block_states;  // ReferenceText::BlockState
  char* bases = nullptr;
  std::size_t total_bases = 0;

  OpenReference() = default;
  OpenReference(const OpenReference&) = delete;
  OpenReference& operator=(const OpenReference&) = delete;
  ~OpenReference() {
    if (bases != nullptr) ::munmap(bases, total_bases);
  }
  std::string bytes_at(const std::string& path, std::int64_t offset, std::int64_t bytes) const {
    std::string text(static_cast<std::size_t>(bytes), '\0');
    std::size_t got = 0;
    while (got < text.size()) {
      const ssize_t part = ::pread(file.number(), text.data() + got, text.size() - got, offset + static_cast<std::int64_t>(got));
      if (part < 0 && errno == EINTR) continue;
      if (part < 0) throw Failure::input("reference '" + path + "' cannot be read: " + std::strerror(errno), "check the disk");
      if (part == 0) break;
      got += static_cast<std::size_t>(part);
    }
    text.resize(got);
    return text;
  }
  void make_room() {
    std::size_t blocks = 0;
    for (const std::int64_t length : places.length) {
      total_bases += static_cast<std::size_t>(length);
      blocks += blocks_of(length);
    }
    block_states.assign(blocks, ReferenceText::not_read);
    if (total_bases == 0) return;
    void* room = ::mmap(nullptr, total_bases, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) throw Failure::memory("no room for a reference of " + std::to_string(total_bases) + " bases");
    bases = static_cast<char*>(room);
    ::madvise(bases, total_bases, MADV_NOHUGEPAGE);  // a wish; a huge page would be 256 blocks for each one that is needed
  }
  static std::size_t blocks_of(std::int64_t length) {
    return static_cast<std::size_t>((length + ReferenceText::block_bases - 1) / ReferenceText::block_bases);
  }
};

// A FASTA file of which stages read what they need.
class ReferenceOnDemand {
 public:
  using Parameters = ReferenceParameters;
  static void describe(Describe<ReferenceOnDemand>& d) {
    d.id("reference_on_demand").summary("opens a FASTA file of reference sequences, to read only what is needed of it").resource("contig");
    d.doc(
        "The same contigs and bases as of `reference_sequence`. Of a plain file whose lines are of one length each stage reads what lies under its "
        "reads, in blocks of 8,192 bases, with the rules of `reference_sequence`; where the contigs lie is known from the .fai file beside it, if it "
        "is not older "
        "and fits the file, or by reading the file once, without keeping it. Other files (gzip, bgzip, uneven lines, pipes) are loaded whole. Stages "
        "read it "
        "by `sluice/reference_text.hpp`.");
    describe_options(d);
    d.gives("loaded_bases", "utf8", "its bases, where the file was loaded whole, with 0 and nothing in the columns below; else empty");
    d.gives("length", "i64", "number of its bases");
    d.gives("first_byte", "i64", "byte of its first base in the open file");
    d.gives("line_bases", "i64", "bases in a full line").gives("line_bytes", "i64", "bytes of a full line with its end");
    d.gives("block_state", "list<u8>", "per block of bases: 0 not read, 1 being read, 2 read");
    d.work_unit("base");
  }
  ReferenceOnDemand(const Setup&, const Parameters& p) : path_(p.path), ambiguous_(p.ambiguous) {}

  void process(const Call& call, Output& out) {
    const auto reference = std::make_shared<OpenReference>();
    if (!open(*reference) || !find_places(call, *reference)) {
      give_all(call, path_, ambiguous_of(ambiguous_), "loaded_bases", out);
      for (const char* nothing : {"length", "first_byte", "line_bases", "line_bytes"}) out.column<std::int64_t>(nothing);
      out.list<std::uint8_t>("block_state", out.offsets([](std::int64_t) { return std::size_t{0}; }));
      return;
    }
    if (hts::is_fasta_with_open_end(path_)) call.warn(hts::open_end_text("reference '" + path_ + "'"));
    reference->make_room();
    give(reference, out);
  }

 private:
  // False: it has to be loaded whole, which says what is wrong with it, too.
  bool open(OpenReference& reference) const {
    if (path_ == "-") return false;
    struct stat named {};
    if (::stat(path_.c_str(), &named) != 0 || !S_ISREG(named.st_mode)) return false;
    reference.file = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    return reference.file.is_open() && ::fstat(reference.file.number(), &reference.info) == 0 && reference.bytes_at(path_, 0, 1) == ">";
  }
  bool find_places(const Call& call, OpenReference& reference) const {
    const BytesAt bytes_at = [&](std::int64_t offset, std::int64_t bytes) { return reference.bytes_at(path_, offset, bytes); };
    const std::string fai_path = path_ + ".fai";
    struct stat fai_info {};
    const char* why = "there is none";
    if (::stat(fai_path.c_str(), &fai_info) == 0) {
      why = "it is older than the file";
      const timespec fai = fai_info.st_mtim, fasta = reference.info.st_mtim;
      if (fai.tv_sec > fasta.tv_sec || (fai.tv_sec == fasta.tv_sec && fai.tv_nsec >= fasta.tv_nsec)) {
        std::ifstream file(fai_path, std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        if (auto places = places_of_index(text, reference.info.st_size, bytes_at)) return reference.places = std::move(*places), true;
        why = "it is not of this file";
      }
    }
    call.debug("reference '" + path_ + "' is read once to find its contigs, without index '" + fai_path + "' (samtools faidx): " + why);
    constexpr std::int64_t piece_bytes = 1 << 20;
    std::string piece;
    std::int64_t at = 0;
    FastaProblem problem;
    const auto next = [&]() -> std::string_view {
      if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
      piece = bytes_at(at, piece_bytes);
      at += static_cast<std::int64_t>(piece.size());
      return piece;
    };
    switch (scan_places(next, reference.places, problem)) {
      case Scanned::malformed:
        fail(path_, problem);
      case Scanned::uneven:
        call.info("reference '" + path_ + "' is loaded whole: its lines are of different lengths");
        return false;
      case Scanned::even:
        break;
    }
    call.count("reference_bytes_scanned", static_cast<double>(at));
    return true;
  }
  void give(const std::shared_ptr<OpenReference>& reference, Output& out) const {
    const ContigPlaces& places = reference->places;
    const auto rows = static_cast<std::int64_t>(places.size());
    out.set_rows(rows);
    out.text_rows("name", places.name);
    out.text_rows("loaded_bases", std::vector<std::string>(places.size()));
    const auto add = [&](const char* name, const std::vector<std::int64_t>& values) {
      out.add(name, fixed_column<std::int64_t>(rows, Buffer::adopt(reference, values.data(), values.size() * sizeof values[0])));
    };
    add("length", places.length);
    add("first_byte", places.first_byte);
    add("line_bases", places.line_bases);
    add("line_bytes", places.line_bytes);
    const Buffer blocks = out.offsets([&](std::int64_t row) { return OpenReference::blocks_of(places.length[static_cast<std::size_t>(row)]); });
    static const std::uint8_t none = 0;
    const std::vector<std::uint8_t>& states = reference->block_states;
    out.add("block_state", list_column<std::uint8_t>(rows, blocks, Buffer::adopt(reference, states.empty() ? &none : states.data(), states.size())));
    out.set_attribute("path", path_);
    out.set_attribute("ambiguous", ambiguous_);
    out.set_attribute("descriptor", std::to_string(reference->file.number()));
    out.set_attribute("memory", std::to_string(reinterpret_cast<std::uintptr_t>(reference->bases)));
    out.set_attribute("file_bytes", std::to_string(reference->info.st_size));
    out.set_attribute("file_changed_s", std::to_string(reference->info.st_mtim.tv_sec));
    out.set_attribute("file_changed_ns", std::to_string(reference->info.st_mtim.tv_nsec));
  }

  std::string path_, ambiguous_;
};

}  // namespace
}  // namespace sluice::reference_sequence

SLUICE_PLUGIN("reference_sequence", "0.1.0", "MIT", sluice::reference_sequence::ReferenceSequence, sluice::reference_sequence::ReferenceOnDemand);
