// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A view of a reference (resource rows of the type "contig"). That of the stage reference_sequence has all bases in memory. That of
// reference_on_demand has room for them, in which a contig's bases are where they belong, but they are read from the FASTA file when a stage says
// that it needs them: of 3 Gb only what lies under the reads takes time and memory. A stage that reads through this view takes both:
//
//   ReferenceText reference(setup.resource("reference"));
//   const std::string_view contig = reference.bases(row);                                 // its place and its length
//   reference.read(contig.substr(start, length), call);                                   // before its letters are looked at
//
// The resource outlives the view, and everything that read() gives. All of it may be called from any number of threads at once.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sluice/batch.hpp>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/sequence/bases.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace sluice {

// What a base of a reference is read as: U as T, in upper case; a code for several bases is the first of them in the order A, C, G, T
// (M R W V H D N -> A, S Y B -> C, K -> G), as f5c does, or N. '\0': not a base.
inline constexpr std::array<char, 256> reference_first_bases = letter_table(iupac_letters, "ACGTTAAACCGAAACA", '\0');
inline constexpr std::array<char, 256> reference_bases_or_n = letter_table(iupac_letters, "ACGTTNNNNNNNNNNN", '\0');

namespace reference_text_detail {
struct File {
  std::string path;
  char* memory = nullptr;
  int descriptor = -1;
  std::int64_t bytes = 0, changed_s = 0, changed_ns = 0;
  const std::array<char, 256>* letters = nullptr;
  std::span<const std::int64_t> first_byte, line_bases, line_bytes;
  std::vector<std::uint8_t*> states;
};
}  // namespace reference_text_detail

class ReferenceText {
 public:
  // Bases are read in blocks of so many, counted from the contig's first.
  static constexpr std::int64_t block_bases = 8192;
  enum BlockState : std::uint8_t { not_read, being_read, is_read };

  // Throws Failure (usage) if the batch is no reference.
  explicit ReferenceText(const Batch& reference) : names_(reference.text("name")) {
    if (reference.has("bases") || reference.attribute("descriptor").empty()) {
      const TextView bases = reference.text(reference.has("bases") ? "bases" : "loaded_bases");
      for (std::int64_t row = 0; row < bases.rows(); ++row) contigs_.push_back(bases[row]);
      return;
    }
    File& file = file_.emplace();
    file.path = reference.attribute("path");
    file.memory = reinterpret_cast<char*>(number_of<std::uintptr_t>(reference, "memory"));
    file.descriptor = number_of<int>(reference, "descriptor");
    file.bytes = number_of<std::int64_t>(reference, "file_bytes");
    file.changed_s = number_of<std::int64_t>(reference, "file_changed_s");
    file.changed_ns = number_of<std::int64_t>(reference, "file_changed_ns");
    file.letters = reference.attribute("ambiguous") == "n" ? &reference_bases_or_n : &reference_first_bases;
    file.first_byte = reference.column<std::int64_t>("first_byte");
    file.line_bases = reference.column<std::int64_t>("line_bases");
    file.line_bytes = reference.column<std::int64_t>("line_bytes");
    const auto states = reference.list<std::uint8_t>("block_state");
    const char* begin = file.memory;
    for (const std::int64_t length : reference.column<std::int64_t>("length")) {
      contigs_.emplace_back(begin, static_cast<std::size_t>(length));
      begin += length;
    }
    // The blocks' states are the one part of a resource that changes: the resource and all who read it share them.
    for (std::int64_t row = 0; row < reference.rows(); ++row) file.states.push_back(const_cast<std::uint8_t*>(states[row].data()));
  }

  std::int64_t contigs() const { return static_cast<std::int64_t>(contigs_.size()); }
  std::string_view name(std::int64_t contig) const { return names_[contig]; }
  // Where the contig's bases are, or will be.
  std::string_view bases(std::int64_t contig) const { return contigs_[static_cast<std::size_t>(contig)]; }

  // Reads what has not been read of `part`, which lies in the bases() of one contig, and returns it. Counts the bases of blocks that it read as
  // "reference_bases_read". Throws Failure (input) when the file can't be read, has changed since the resource was made, or has what is no base.
  std::string_view read(std::string_view part, const Host& host) const {
    if (!file_ || part.empty()) return part;
    const std::size_t contig = contig_of(part);
    const std::int64_t begin = part.data() - contigs_[contig].data(), end = begin + static_cast<std::int64_t>(part.size());
    std::int64_t bases = 0;
    bool others = false;  // blocks that other threads are reading
    for (std::int64_t block = begin / block_bases; block * block_bases < end; ++block) {
      const std::int64_t first = block;
      std::int64_t last = block;  // behind the blocks that are read together
      while (last * block_bases < end && last - first < blocks_at_once && claim(contig, last)) ++last;
      if (last == first) {
        others = others || state(contig, block).load(std::memory_order_acquire) != is_read;
        continue;
      }
      bases += read_blocks(contig, first, last);
      block = last - 1;
    }
    if (bases > 0) host.count("reference_bases_read", static_cast<double>(bases));
    for (std::int64_t block = begin / block_bases; others && block * block_bases < end; ++block) wait_for(contig, block);
    return part;
  }
  // The same of a contig's bases [begin, end), as far as they are there.
  std::string_view read_near(std::string_view contig, std::int64_t begin, std::int64_t end, const Host& host) const {
    const auto length = static_cast<std::int64_t>(contig.size());
    begin = std::clamp<std::int64_t>(begin, 0, length);
    return read(contig.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::clamp(end, begin, length) - begin)), host);
  }
  // Everything, on the run's threads. Not under a lock: those threads may want it, too.
  void read_all(const Call& call) const {
    if (!file_ || all_is_read_.load(std::memory_order_acquire)) return;
    struct Part {
      std::size_t contig;
      std::int64_t begin;
    };
    std::vector<Part> parts;
    constexpr std::int64_t part_bases = blocks_at_once * block_bases;
    for (std::size_t contig = 0; contig < contigs_.size(); ++contig)
      for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(contigs_[contig].size()); begin += part_bases) parts.push_back({contig, begin});
    call.parallel_for(parts.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) read_near(contigs_[parts[i].contig], parts[i].begin, parts[i].begin + part_bases, call);
    });
    all_is_read_.store(true, std::memory_order_release);
  }

 private:
  static constexpr std::int64_t blocks_at_once = 128;  // 1 MiB: working memory of a thread

  using File = reference_text_detail::File;

  template <class Number>
  static Number number_of(const Batch& reference, std::string_view key) {
    const std::string_view text = reference.attribute(key);
    Number number{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
      throw Failure::usage("a resource does not say where its bases are", "use the resource stage reference_sequence or reference_on_demand");
    return number;
  }
  std::atomic_ref<std::uint8_t> state(std::size_t contig, std::int64_t block) const { return std::atomic_ref(file_->states[contig][block]); }
  bool claim(std::size_t contig, std::int64_t block) const {
    std::uint8_t expected = not_read;
    const auto place = state(contig, block);
    return place.load(std::memory_order_acquire) == not_read && place.compare_exchange_strong(expected, being_read, std::memory_order_acquire);
  }
  std::size_t contig_of(std::string_view part) const {
    const auto behind = std::upper_bound(contigs_.begin(), contigs_.end(), part.data(),
                                         [](const char* place, std::string_view contig) { return place < contig.data(); });
    return static_cast<std::size_t>(behind - contigs_.begin()) - 1;
  }
  void wait_for(std::size_t contig, std::int64_t block) const {
    while (true) {
      const std::uint8_t now = state(contig, block).load(std::memory_order_acquire);
      if (now == is_read) return;
      if (now == being_read)
        std::this_thread::yield();
      else if (claim(contig, block))  // whoever was reading it failed: so does this, and says why
        read_blocks(contig, block, block + 1);
    }
  }

  // Of blocks that have been claimed. Returns their bases.
  std::int64_t read_blocks(std::size_t contig, std::int64_t first, std::int64_t last) const {
    try {
      const std::int64_t end = std::min(last * block_bases, static_cast<std::int64_t>(contigs_[contig].size()));
      read_bases(contig, first * block_bases, end);
      for (std::int64_t block = first; block < last; ++block) state(contig, block).store(is_read, std::memory_order_release);
      return end - first * block_bases;
    } catch (...) {
      for (std::int64_t block = first; block < last; ++block) state(contig, block).store(not_read, std::memory_order_release);
      throw;
    }
  }
  void read_bases(std::size_t contig, std::int64_t begin, std::int64_t end) const {
    static thread_local std::vector<char> text;
    const std::int64_t line_bases = file_->line_bases[contig], line_bytes = file_->line_bytes[contig];
    const auto place = [&](std::int64_t base) { return base / line_bases * line_bytes + base % line_bases; };
    const std::int64_t from = place(begin);
    text.resize(static_cast<std::size_t>(place(end - 1) + 1 - from));
    fetch(file_->first_byte[contig] + from, text);
    char* out = file_->memory + (contigs_[contig].data() - file_->memory) + begin;
    const char* in = text.data();
    for (std::int64_t base = begin; base < end;) {
      const std::int64_t in_line = std::min(end - base, line_bases - base % line_bases);
      unsigned char least = 0xFF;
      for (std::int64_t i = 0; i < in_line; ++i) {
        const auto letter = static_cast<unsigned char>((*file_->letters)[static_cast<unsigned char>(in[i])]);
        least = letter < least ? letter : least;
        out[i] = static_cast<char>(letter);
      }
      if (least == 0) refuse_letter(contig, base, {in, static_cast<std::size_t>(in_line)});
      base += in_line, in += in_line, out += in_line;
      if (base == end) break;
      const std::string_view line_end(in, static_cast<std::size_t>(line_bytes - line_bases));
      if (line_end != "\n" && line_end != "\r\n")
        throw other_text("line of sequence '" + std::string(names_[static_cast<std::int64_t>(contig)]) + "' that holds base " + std::to_string(base) +
                         " is longer than its first line");
      in += line_end.size();
    }
  }
  [[noreturn]] void refuse_letter(std::size_t contig, std::int64_t first, std::string_view line) const {
    std::size_t at = 0;
    while ((*file_->letters)[static_cast<unsigned char>(line[at])] != '\0') ++at;
    if (line[at] == '\n')
      throw other_text("line of sequence '" + std::string(names_[static_cast<std::int64_t>(contig)]) + "' that holds base " +
                       std::to_string(first + 1) + " is shorter than its first line");
    throw Failure::input(
        "reference '" + file_->path + "': " + not_a_base(names_[static_cast<std::int64_t>(contig)], static_cast<std::uint64_t>(first) + at, line[at]),
        "give the FASTA file that the reads were aligned to");
  }
  Failure other_text(const std::string& what) const {
    return Failure::input("reference '" + file_->path + "' is not as its index '" + file_->path + ".fai' says: the " + what,
                          "make the index again: samtools faidx");
  }
  Failure changed() const {
    return Failure::input("reference '" + file_->path + "' has changed during the run", "leave the file alone until the run has ended");
  }
  // pread, not a mapping: of a file that becomes shorter a page that is not there any more would end the process.
  void fetch(std::int64_t offset, std::span<char> to) const {
    for (std::size_t got = 0; got < to.size();) {
      const ssize_t part = ::pread(file_->descriptor, to.data() + got, to.size() - got, offset + static_cast<std::int64_t>(got));
      if (part < 0 && errno == EINTR) continue;
      if (part < 0)
        throw Failure::input("reference '" + file_->path + "' cannot be read: " + std::generic_category().message(errno), "check the disk");
      if (part == 0) throw changed();
      got += static_cast<std::size_t>(part);
    }
    struct stat now {};
    if (::fstat(file_->descriptor, &now) != 0 || now.st_size != file_->bytes || now.st_mtim.tv_sec != file_->changed_s ||
        now.st_mtim.tv_nsec != file_->changed_ns)
      throw changed();
  }

  TextView names_;
  std::vector<std::string_view> contigs_;
  std::optional<File> file_;
  mutable std::atomic<bool> all_is_read_ = false;
};

}  // namespace sluice
