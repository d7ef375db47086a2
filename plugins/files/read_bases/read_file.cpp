// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/read_file.hpp"

#include <fcntl.h>
#include <htslib/hfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sluice/hts/bgzf_block.hpp>
#include <sluice/hts/input_end.hpp>
#include <sluice/hts/open_input.hpp>
#include <utility>

#include "read_bases/bam_reads.hpp"
#include "read_bases/damaged_tags.hpp"
#include "read_bases/read_batches.hpp"
#include "read_bases/record_search.hpp"
#include "read_bases/zstd_text.hpp"

namespace sluice::read_bases {
namespace {

// What read_reader reads at a time: enough for all threads, and not much of anybody's memory.
constexpr std::size_t least_text_bytes = std::size_t{1} << 18, most_text_bytes = std::size_t{1} << 25;

std::int64_t bytes_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : 0;
}

// The columns of a batch of either kind.
template <class SomeBatch>
void give_columns(const SomeBatch& batch, const ReadFileWishes& wishes, const Call& call, Output& out) {
  for (const std::string& name : batch.without_bases) call.account(wishes.empty_sequence, 1, name);
  out.set_rows(batch.rows);
  const std::span<const std::int64_t> ends = batch.name_ends.template as<std::int64_t>();
  const auto* const names = static_cast<const char*>(batch.names.data());
  for (std::size_t row = 0; wishes.repeats != nullptr && row < static_cast<std::size_t>(batch.rows); ++row)
    wishes.repeats->look_at(call, {names + ends[row], static_cast<std::size_t>(ends[row + 1] - ends[row])});
  out.add("read_id", text_column(batch.rows, batch.name_ends, batch.names));
  out.add("bases", text_column(batch.rows, batch.base_ends, batch.bases));
  if (wishes.qualities) out.add("qualities", text_column(batch.rows, batch.quality_ends, batch.qualities));
  out.set_work(static_cast<double>(batch.bases_in_all));
}

void give_empty(const char* column, Output& out, const char* type = "utf8") {
  out.text_rows(column, std::vector<std::string_view>(static_cast<std::size_t>(out.rows())), type);
}

// In positions.
enum class FormatCode : std::uint8_t { unknown, fasta, fastq };
FormatCode code_of(SequenceFormat format) { return format == SequenceFormat::fasta ? FormatCode::fasta : FormatCode::fastq; }

// FASTA and FASTQ: read_batches.hpp.
class TextReads : public InputReader {
 public:
  TextReads(ReadStream stream, const InputTurns::File& file, const ReadFileWishes& wishes)
      : wishes_(wishes),
        label_("'" + file.path + "'"),
        takes_tags_(wishes.tags && wishes.choice != nullptr && wishes.choice->takes_any()),
        reads_(std::move(stream),
               ReadBatches::Wanted{wishes.qualities, wishes.reads_comments || takes_tags_ || wishes.basecaller_tags, wishes.written_bases}) {
    reads_.set_growing(file.growth == InputTurns::Growth::possible);
  }

  Given give(const Call& call, Output& out) override {
    const ParallelFor parallel_for = [&](std::size_t count, const std::function<void(std::size_t)>& body) {
      const auto each = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) body(i);
      };
      wishes_.sharing->share(count, each, [&](const auto& some) { call.parallel_for(count, 1, some); });
    };
    // One batch for each thread, with as many qualities as bases: then every thread has a part in reading, and something to do behind it.
    const double text_bytes = 2.1 * call.target_work() * std::max(call.threads(), 4);
    const ReadBatches::Sizes sizes{call.target_work(), call.target_bytes(),
                                   static_cast<std::size_t>(std::clamp(text_bytes, double{least_text_bytes}, double{most_text_bytes}))};
    if (reads_.needs_text()) wishes_.sharing->begin();
    const std::optional<ReadBatch> batch = reads_.next(sizes, call.memory(), parallel_for, [&] { return !wishes_.follows && call.cancelled(); });
    if (batch) {
      give_columns(*batch, wishes_, call, out);
      if (wishes_.written_bases) out.add("written_bases", text_column(batch->rows, batch->written_ends, batch->written));
      give_comments(*batch, call, out);
      return Given::rows;
    }
    if (reads_.ended()) reads_.check_end();
    if (reads_.ended() && reads_.stream().is_empty()) call.warn(hts::empty_text(label_));
    if (reads_.ended() && reads_.stream().ends_inside_line()) call.warn(hts::open_end_text(label_));
    out.set_rows(0);
    return reads_.ended() ? Given::end : Given::nothing_yet;
  }
  void end_here() override { reads_.set_growing(false); }
  bool could_end() const override { return reads_.stream().could_end(); }
  std::optional<std::uint64_t> resume_at() const override { return reads_.stream().place(); }
  std::int64_t consumed() const override { return static_cast<std::int64_t>(reads_.stream().consumed()); }
  std::uint64_t kept_bytes() const override { return reads_.stream().kept_bytes(); }
  std::string position() override {
    const StreamPlace place = reads_.place();
    return position_text({place.text.offset, place.text.letters, place.lines, place.records, place.counted_from,
                          static_cast<std::uint64_t>(reads_.stream().format() ? code_of(*reads_.stream().format()) : FormatCode::unknown)});
  }

 private:
  void give_comments(const ReadBatch& batch, const Call& call, Output& out) {
    if (wishes_.comments && wishes_.reads_comments)
      out.add("comment", text_column(batch.rows, batch.comment_ends, batch.comments));
    else if (wishes_.comments)
      give_empty("comment", out);
    if (takes_tags_)
      give_tags("tags", *wishes_.choice, batch, call, out);
    else if (wishes_.tags)
      give_empty("tags", out, "binary");
    if (wishes_.basecaller_tags) give_tags("basecaller_tags", of_basecallers(), batch, call, out);
  }
  void give_tags(const char* column, const TagChoice& choice, const ReadBatch& batch, const Call& call, Output& out) {
    const auto part = [](const Buffer& ends, const Buffer& text, std::size_t row) {
      const std::int64_t begin = ends.as<std::int64_t>()[row], end = ends.as<std::int64_t>()[row + 1];
      return std::string_view(static_cast<const char*>(text.data()) + begin, static_cast<std::size_t>(end - begin));
    };
    std::vector<std::string> tags(static_cast<std::size_t>(batch.rows));
    std::vector<char> is_damaged(tags.size());
    call.parallel_for(tags.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row)
        is_damaged[row] = append_comment_tags(part(batch.comment_ends, batch.comments, row), choice, tags[row]) == TagState::damaged ? 1 : 0;
    });
    out.text_rows(column, tags, "binary");
    std::vector<std::string> damaged;
    for (std::size_t row = 0; row < tags.size(); ++row)
      if (is_damaged[row] != 0) damaged.emplace_back(part(batch.name_ends, batch.names, row));
    damaged_.say(damaged, call);
  }

  ReadFileWishes wishes_;
  std::string label_;
  bool takes_tags_;
  DamagedTags damaged_;
  ReadBatches reads_;
};

// BAM, SAM and CRAM: bam_reads.hpp.
class RecordReads : public InputReader {
 public:
  RecordReads(hFILE* opened, const InputTurns::File& file, const ReadFileWishes& wishes)
      : wishes_(wishes),
        label_("'" + file.path + "'"),
        is_whole_(file.range.is_whole() && file.position.empty()),
        is_file_(bytes_of(file.path) > 0),
        reads_(opened, file.path,
               BamReads::Wanted{wishes.qualities, wishes.comments && wishes.reads_comments, tags_of(wishes), wishes.basecaller_tags}, wishes.threads,
               growth_of(file, wishes)) {
    if (wishes.header != nullptr) wishes.header->add(reads_.header());
    reads_.set_range(file.range, wishes.record_rules);
    if (file.position.empty()) return;
    const std::vector<std::uint64_t> numbers = position_numbers(file.position, 2);
    reads_.begin_at({numbers[0], numbers[1]});
  }

  Given give(const Call& call, Output& out) override {
    const hts::ParallelFor parallel_for = [&call](std::size_t count, std::size_t grain, const auto& body) { call.parallel_for(count, grain, body); };
    const auto threads = static_cast<std::size_t>(std::max(call.threads(), 4));
    // What comes through a pipe may come slowly, and has to be waited for. Else two blocks for each thread.
    const std::size_t window_bytes = (is_file_ ? std::min<std::size_t>(threads, 16) : 2) << 17;
    const std::optional<BamBatch> batch = reads_.next({call.target_work(), call.target_bytes(), is_file_ ? threads : 1, window_bytes}, call.memory(),
                                                      parallel_for, [&] { return !wishes_.follows && call.cancelled(); });
    if (!batch) {
      if (reads_.ended() && is_whole_ && reads_.records() == 0) call.warn(hts::empty_text(label_));
      if (reads_.ended() && reads_.ends_inside_line()) call.warn(hts::open_end_text(label_));
      out.set_rows(0);
      return reads_.ended() ? Given::end : Given::nothing_yet;
    }
    for (const std::string& name : batch->not_primary) call.account(wishes_.not_primary, 1, name);
    give_columns(*batch, wishes_, call, out);
    if (wishes_.written_bases) give_empty("written_bases", out);
    if (wishes_.comments && wishes_.reads_comments)
      out.add("comment", text_column(batch->rows, batch->comment_ends, batch->comments));
    else if (wishes_.comments)
      give_empty("comment", out);
    if (wishes_.tags) out.add("tags", text_column(batch->rows, batch->tag_ends, batch->tags, "binary"));
    if (wishes_.basecaller_tags) out.add("basecaller_tags", text_column(batch->rows, batch->basecaller_tag_ends, batch->basecaller_tags, "binary"));
    damaged_.say(batch->with_damaged_tags, call);
    return Given::rows;
  }
  void end_here() override { reads_.end_here(); }
  std::int64_t consumed() const override { return reads_.consumed(); }
  std::uint64_t kept_bytes() const override { return reads_.kept_bytes(); }
  std::string position() override {
    const RecordMark next = reads_.next_place();
    return position_text({next.place, next.records});
  }

 private:
  static BamReads::Growth growth_of(const InputTurns::File& file, const ReadFileWishes& wishes) {
    if (!wishes.follows) return BamReads::Growth::none;
    return file.growth == InputTurns::Growth::possible ? BamReads::Growth::possible : BamReads::Growth::has_ended;
  }
  static const TagChoice* tags_of(const ReadFileWishes& wishes) {
    static const TagChoice all("all");
    return !wishes.tags ? nullptr : wishes.choice == nullptr ? &all : wishes.choice;
  }

  ReadFileWishes wishes_;
  std::string label_;
  bool is_whole_;  // from its beginning to its end
  bool is_file_;
  DamagedTags damaged_;
  BamReads reads_;
};

// Is so much of a file there that its format can be told? Of a compressed one: its first block; of zstd: all.
bool can_be_told(hFILE* opened, std::int64_t bytes) {
  char start[hts::BgzfBlock::header_bytes] = {};
  if (hpeek(opened, start, sizeof start) < static_cast<ssize_t>(sizeof start)) return false;
  if (begins_as_zstd({start, sizeof start})) return false;
  return std::memcmp(start, "\x1f\x8b", 2) != 0 || bytes >= static_cast<std::int64_t>(hts::BgzfBlock::bytes(start));
}

bool is_before(const TextInput::Place& a, const TextInput::Place& b) { return a.offset != b.offset ? a.offset < b.offset : a.letters < b.letters; }

// Where a position that position() said is.
StreamPlace begin_at(const std::string& position, std::optional<SequenceFormat>& format) {
  const std::vector<std::uint64_t> numbers = position_numbers(position, 6);
  for (const SequenceFormat known : {SequenceFormat::fasta, SequenceFormat::fastq})
    if (numbers[5] == static_cast<std::uint64_t>(code_of(known))) format = known;
  return {{numbers[0], numbers[1]}, numbers[2], numbers[3], numbers[4]};
}

// The text from where it is to be read: from a position, or from before the range of a part on. None: there is nothing in that range.
std::optional<ReadStream> stream_of(const InputTurns::File& file, FileHandle opened, std::int64_t begin, const TextSearchRules& rules) {
  if (file.position.empty() && file.range.is_whole()) return ReadStream(open_text_input(file.path, std::move(opened), begin), file.path);
  const TextKind kind = file.range.is_whole() ? TextKind() : kind_of_text(file.path);
  const auto search = [&](std::uint64_t byte) {
    return byte == 0 || byte == ByteRange::no_end ? FoundRecord() : find_record(file.path, kind, byte, file.range.end, rules);
  };
  StreamPlace place;
  std::optional<SequenceFormat> format;
  if (!file.position.empty()) {
    place = begin_at(file.position, format);
  } else if (const FoundRecord first = search(file.range.begin); first.how == FoundRecord::How::nowhere) {
    return std::nullopt;
  } else if (first.how == FoundRecord::How::at_place) {
    place.text = first.place;
    place.counted_from = first.place.offset;
    format = kind.format;
  }
  ReadStream::Range range{file.range, {}};
  if (const FoundRecord next = search(file.range.end); next.how == FoundRecord::How::at_place) {
    range.seam = next.place;
    // Whichever comes first must lead to the other.
    if (is_before(next.place, place.text)) {
      if (file.position.empty())
        std::swap(*range.seam, place.text), place.counted_from = place.text.offset;
      else
        range.seam.reset();
    }
  }
  ReadStream stream(open_text_input_at(file.path, std::move(opened), place.text), file.path, place, format);
  stream.set_range(range);
  return stream;
}

// A file that has to be read from its beginning is one part's.
bool is_cut(const InputTurns::File& file, bool can_be_cut, const char* remedy) {
  if (file.range.is_whole() || can_be_cut) return true;
  if (file.is_only) refuse_to_cut(file.path, "it is compressed in one piece, or HTSlib has to read it in order", remedy);
  return false;
}

}  // namespace

std::unique_ptr<InputReader> open_read_file(const InputTurns::File& given, const ReadFileWishes& wishes) {
  InputTurns::File file = given;
  const std::string& path = file.path;
  const bool grows = file.growth == InputTurns::Growth::possible;
  // Where standard input stands, if it is a file.
  const std::int64_t begin = path == "-" ? ::lseek(STDIN_FILENO, 0, SEEK_CUR) : static_cast<std::int64_t>(file.begin);
  FileHandle opened(hts::open_input(path));
  if (!opened) throw Failure::input("cannot open '" + path + "': " + std::strerror(errno), "check the path of the reads");
  if (grows && !can_be_told(opened.get(), bytes_of(path))) return nullptr;
  htsFormat format{};
  const bool known = hts_detect_format(opened.get(), &format) == 0;
  if (known && format.category == sequence_data && (format.format == bam || format.format == sam || format.format == cram)) {
    if (grows && (format.format != bam || format.compression != bgzf)) return nullptr;  // HTSlib reads these, and takes the end for the end
    const bool can_be_cut = (format.format == bam && format.compression == bgzf) || (format.format == sam && format.compression == no_compression);
    if (!is_cut(file, can_be_cut, "convert it with `samtools view -b`, or give several files")) {
      if (file.range.begin > 0) return nullptr;
      file.range = {};
    }
    if (!wishes.follows && is_regular_file(path))
      if (const hts::File whole(hts_open(path.c_str(), "r")); whole) hts::RecordsInOrder::check_mark(*whole, "'" + path + "'");
    return std::make_unique<RecordReads>(opened.release(), file, wishes);
  }
  if (!is_cut(file, text_packing(opened.get()) != TextPacking::other, "compress it with `bgzip`, or give several files")) {
    if (file.range.begin > 0) return nullptr;
    file.range = {};
  }
  std::optional<ReadStream> stream = stream_of(file, std::move(opened), begin, wishes.text_rules);
  return stream ? std::make_unique<TextReads>(std::move(*stream), file, wishes) : nullptr;
}

}  // namespace sluice::read_bases
