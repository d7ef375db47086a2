// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A view of a sequence store: reads or contigs that lie in a file, with a table in memory of where each one is. The table belongs to a resource batch
// (row type "sequence", one row per sequence in file order), which also keeps the file open; both outlive the view. Fetching may be done from any
// number of threads at once. Letters of some sequences may be in memory, too, which fetching uses; where speed matters packed_bases() and
// qualities_in_memory() save copying them.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sluice/batch.hpp>
#include <sluice/failure.hpp>
#include <sluice/sequence/letter_blocks.hpp>
#include <sluice/sequence/packed_bases.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

// Where letters of a sequence lie in a file.
struct StoredLetters {
  std::int64_t offset = 0;  // byte of the first one
  std::int64_t length = 0;
  std::int64_t line_letters = 0, line_bytes = 0;  // of a full line, without and with its end
};

// An open file of sequences, which outlives this. Reading may be done from any number of threads at once.
class SequenceFile {
 public:
  // path: for messages.
  SequenceFile(int descriptor, std::string path) : path_(std::move(path)), descriptor_(descriptor) {}
  const std::string& path() const { return path_; }

  // Letters [begin, end) to out[0 .. end - begin). `scratch` is working memory. Throws Failure (input) when the file cannot be read or has become
  // shorter.
  void fetch(const StoredLetters& letters, std::int64_t begin, std::int64_t end, char* out, std::vector<char>& scratch) const {
    if (begin == end) return;
    const std::int64_t line_letters = letters.line_letters;
    if (line_letters >= letters.length) return read(letters.offset + begin, out, end - begin);
    const auto place = [&](std::int64_t letter) { return letter / line_letters * letters.line_bytes + letter % line_letters; };
    const std::int64_t first = place(begin);
    scratch.resize(static_cast<std::size_t>(place(end - 1) + 1 - first));
    read(letters.offset + first, scratch.data(), static_cast<std::int64_t>(scratch.size()));
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t in_line = std::min(end - at, line_letters - at % line_letters);
      std::memcpy(out + (at - begin), scratch.data() + (place(at) - first), static_cast<std::size_t>(in_line));
      at += in_line;
    }
  }

 private:
  void read(std::int64_t offset, char* out, std::int64_t bytes) const {
    for (std::int64_t got = 0; got < bytes;) {
      const ssize_t part = ::pread(descriptor_, out + got, static_cast<std::size_t>(bytes - got), offset + got);
      if (part < 0 && errno == EINTR) continue;
      if (part < 0) throw Failure::input("'" + path_ + "' cannot be read: " + std::strerror(errno), "check the disk");
      if (part == 0) throw Failure::input("'" + path_ + "' became shorter during the run", "leave the file alone until the run has ended");
      got += part;
    }
  }
  std::string path_;
  int descriptor_;
};

class SequenceStoreView {
 public:
  // Throws Failure (usage) if the batch is no sequence store.
  explicit SequenceStoreView(const Batch& store)
      : names_(store.text("name")),
        length_(store.column<std::int64_t>("length")),
        bases_offset_(store.column<std::int64_t>("bases_offset")),
        qualities_offset_(store.column<std::int64_t>("qualities_offset")),
        line_bases_(store.column<std::int64_t>("line_bases")),
        line_bytes_(store.column<std::int64_t>("line_bytes")),
        file_(descriptor_of(store), std::string(store.attribute("path"))) {
    if (!store.has("packed_bases")) return;
    packed_bases_ = store.list<std::uint64_t>("packed_bases");
    is_packed_ = store.column<std::uint8_t>("is_packed");
    qualities_ = store.list<std::uint8_t>("qualities_in_memory");
  }

  std::int64_t size() const { return static_cast<std::int64_t>(length_.size()); }
  std::string_view name(std::int64_t row) const { return names_[row]; }
  std::int64_t length(std::int64_t row) const { return length_[index(row)]; }
  // Is there a sequence `row`, with bases [begin, end), at least one?
  bool has(std::int64_t row, std::int64_t begin, std::int64_t end) const {
    return row >= 0 && row < size() && begin >= 0 && begin < end && end <= length(row);
  }
  // False for FASTA, and for records whose qualities are all '!'.
  bool has_qualities(std::int64_t row) const { return qualities_offset_[index(row)] >= 0; }
  const std::string& path() const { return file_.path(); }
  // The sequence's bases as sluice/sequence/packed_bases.hpp has them; nullptr: they are in the file only, as are those of sequences with other
  // letters than A, C, G, T and U of either case.
  const std::uint64_t* packed_bases(std::int64_t row) const {
    return !packed_bases_ || is_packed_[index(row)] == 0 ? nullptr : (*packed_bases_)[row].data();
  }
  // Phred + 33 of all bases of the sequence; nullptr: they are in the file only, or there are none.
  const char* qualities_in_memory(std::int64_t row) const {
    if (!qualities_) return nullptr;
    const std::span<const std::uint8_t> all = (*qualities_)[row];
    return all.empty() ? nullptr : reinterpret_cast<const char*>(all.data());
  }

  // Bases [begin, end) of sequence `row` as upper case letters, U as T, to out[0 .. end - begin); 0 <= begin <= end <= length(row). `scratch` is
  // working memory. Throws Failure (input) when the file cannot be read or has become shorter.
  void fetch_bases(std::int64_t row, std::int64_t begin, std::int64_t end, char* out, std::vector<char>& scratch) const {
    if (const std::uint64_t* words = packed_bases(row); words != nullptr)
      return unpack_bases(words, static_cast<std::size_t>(begin), static_cast<std::size_t>(end), out);
    file_.fetch(letters(bases_offset_[index(row)], row), begin, end, out, scratch);
    to_normal_letters(out, static_cast<std::size_t>(end - begin));
  }
  // Phred + 33 of the same bases; only if has_qualities(row).
  void fetch_qualities(std::int64_t row, std::int64_t begin, std::int64_t end, char* out, std::vector<char>& scratch) const {
    if (const char* all = qualities_in_memory(row); all != nullptr) {
      std::copy(all + begin, all + end, out);
      return;
    }
    file_.fetch(letters(qualities_offset_[index(row)], row), begin, end, out, scratch);
  }

 private:
  static std::size_t index(std::int64_t row) { return static_cast<std::size_t>(row); }
  static int descriptor_of(const Batch& store) {
    const std::string_view text = store.attribute("descriptor");
    int descriptor = -1;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), descriptor);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || descriptor < 0)
      throw Failure::usage("a resource does not say where its sequences are", "use the resource stage sequence_store");
    return descriptor;
  }
  StoredLetters letters(std::int64_t offset, std::int64_t row) const {
    return {offset, length(row), line_bases_[index(row)], line_bytes_[index(row)]};
  }

  TextView names_;
  std::span<const std::int64_t> length_, bases_offset_, qualities_offset_, line_bases_, line_bytes_;
  std::span<const std::uint8_t> is_packed_;
  std::optional<ListView<std::uint64_t>> packed_bases_;
  std::optional<ListView<std::uint8_t>> qualities_;
  SequenceFile file_;
};

// Name -> row. 8 to 16 bytes a sequence beside the store's own names. Of sequences of one name the last counts, as in racon.
class SequenceNames {
 public:
  explicit SequenceNames(const SequenceStoreView& store) : store_(&store) {
    std::size_t slots = 16;
    while (slots < static_cast<std::size_t>(store.size()) * 2) slots *= 2;
    slots_.assign(slots, -1);
    for (std::int64_t row = 0; row < store.size(); ++row) {
      std::int64_t& slot = slots_[slot_of(store.name(row))];
      if (slot >= 0) ++duplicates_;
      slot = row;
    }
  }
  // -1: there is none.
  std::int64_t find(std::string_view name) const { return slots_[slot_of(name)]; }
  // Sequences that share their name with a later one.
  std::int64_t duplicates() const { return duplicates_; }

 private:
  std::size_t slot_of(std::string_view name) const {
    std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    hash ^= hash >> 32;
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(hash) & mask;
    while (slots_[slot] >= 0 && store_->name(slots_[slot]) != name) slot = (slot + 1) & mask;
    return slot;
  }
  const SequenceStoreView* store_;
  std::vector<std::int64_t> slots_;  // row, -1: free
  std::int64_t duplicates_ = 0;
};

}  // namespace sluice
